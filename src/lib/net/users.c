#include "lib/net/users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/net/http-client.h"

#define DIGEST_PREFIX "sha256:"
#define OTHERS_READ   077 /* mode bits that a file with tokens in clear must not have */
#define OTHERS_WRITE  037 /* the same of one with digests alone, which a group may read */
#define WEB_GROUP     "whyslow-web" /* of the web view's own user */
#define FILE_MAX      (1 << 20)	    /* thousands of users */

struct token {
	char user[TOKEN_USER_MAX];
	char *text; /* or its digest */
	bool in_clear;
	enum scope scope;
	int64_t expires; /* wall ns */
};

struct users {
	pthread_mutex_t lock;
	char *file;
	int fd; /* stays open: who serves may lack the right to open it again */
	struct timespec changed;
	ino_t inode;
	VEC(struct token) list;
};

static const char *const scopes[] = {[SCOPE_ALL] = "all", [SCOPE_READ] = "read", [SCOPE_METRICS] = "metrics"};

const char *user_scope_name(enum scope scope)
{
	return scope < SCOPE_PUBLIC ? scopes[scope] : "public";
}

int user_scope_parse(const char *name, enum scope *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (strcmp(scopes[i], name) == 0) {
			*ret = (enum scope)i;
			return 0;
		}
	return -EINVAL;
}

static void forget(struct users *t)
{
	for (size_t i = 0; i < t->list.n; i++) {
		explicit_bzero(t->list.v[i].text, strlen(t->list.v[i].text));
		free(t->list.v[i].text);
	}
	VEC_FREE(t->list);
}

void users_free(struct users *t)
{
	if (!t)
		return;
	forget(t);
	cleanup_fd(&t->fd);
	pthread_mutex_destroy(&t->lock);
	FREE_ALL(t->file, t);
}

static int check_private(const char *file, const struct stat *s, mode_t forbidden, char **ret_error)
{
	if (!S_ISREG(s->st_mode))
		return str_fail(ret_error, -EINVAL, "%s is not a regular file", file);
	if (s->st_mode & forbidden)
		return str_fail(ret_error, -EACCES, "others may read %s: chmod 600 it, and change its tokens", file);
	return 0;
}

/* "scope=read", "expires=2027-01-31T00:00:00Z". */
static int take_word(struct token *token, const char *word)
{
	if (str_starts(word, "scope="))
		return user_scope_parse(word + strlen("scope="), &token->scope);
	if (str_starts(word, "expires="))
		return clock_parse_time(word + strlen("expires="), 0, &token->expires);
	return -EINVAL;
}

/* Takes a line's words apart; 1 = nothing is on it. */
static int parse_line(char *line, struct token *ret, const char **ret_secret)
{
	char *rest = NULL, *first = strtok_r(line, " \t\r\n", &rest), *second = first ? strtok_r(NULL, " \t\r\n", &rest) : NULL, *word;

	*ret = (struct token){.expires = INT64_MAX};
	if (!first || *first == '#')
		return 1;
	*ret_secret = second ? second : first;
	if (second && strlen(first) >= sizeof(ret->user))
		return -EINVAL;
	snprintf(ret->user, sizeof(ret->user), "%s", second ? first : "anybody");
	while ((word = strtok_r(NULL, " \t\r\n", &rest)))
		if (take_word(ret, word) < 0)
			return -EINVAL;
	ret->in_clear = !str_starts(*ret_secret, DIGEST_PREFIX);
	if (!ret->in_clear)
		*ret_secret += strlen(DIGEST_PREFIX);
	return 0;
}

static int take_line(struct users *t, char *line, unsigned number, char **ret_error)
{
	const char *secret = "";
	struct token token;
	int r = parse_line(line, &token, &secret);

	if (r == 1)
		return 0;
	if (r < 0 || (!token.in_clear && strlen(secret) != DIGEST_TEXT - 1))
		return str_fail(ret_error, -EINVAL, "%s:%u: invalid line; expected NAME TOKEN [scope=all|read|metrics] [expires=TIME]; "
				"'whyslow serve --add-token NAME' writes one", t->file, number);
	if (strlen(secret) < TOKEN_LENGTH_MIN)
		return str_fail(ret_error, -EINVAL, "%s:%u: a token has at least %d characters: 'whyslow serve --add-token NAME' makes one",
				t->file, number, TOKEN_LENGTH_MIN);
	token.text = strdup(secret);
	return VEC_PUSH_OWNER(t->list, token.text, token);
}

/* The whole file from its descriptor. */
static int read_whole(int fd, struct str *ret)
{
	ssize_t n;

	ret->max = FILE_MAX;
	do {
		if (str_reserve(ret, 4096) < 0)
			return ret->error;
		n = pread(fd, ret->data + ret->len, 4096, (off_t)ret->len);
		if (n < 0)
			return -errno;
		ret->len += (size_t)n;
	} while (n > 0);
	ret->data[ret->len] = '\0';
	return 0;
}

static int parse(struct users *t, char *text, char **ret_error)
{
	unsigned number = 0;
	int r = 0;

	while (r == 0 && text && *text) {
		char *line = strsep(&text, "\n");

		r = take_line(t, line, ++number, ret_error);
	}
	return r;
}

static int load(struct users *t, char **ret_error)
{
	struct str text = {};
	struct stat s;
	int r;

	forget(t);
	if (t->fd < 0)
		t->fd = open(t->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 || fstat(t->fd, &s) < 0)
		return str_fail(ret_error, -errno, "cannot read the tokens in %s: %s", t->file, strerror(errno));
	r = check_private(t->file, &s, OTHERS_WRITE, ret_error);
	r = r ?: read_whole(t->fd, &text);
	r = r ?: parse(t, text.data, ret_error);
	if (r == 0 && users_in_clear(t))
		r = check_private(t->file, &s, OTHERS_READ, ret_error);
	if (text.data)
		explicit_bzero(text.data, text.len);
	str_free(&text);
	t->changed = s.st_ctim;
	t->inode = s.st_ino;
	return r;
}

int users_open(const char *file, bool may_come, struct users **ret, char **ret_error)
{
	struct users *t = calloc(1, sizeof(*t));
	_cleanup_free_ char *error = NULL;
	int r;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->fd = -1;
	t->file = strdup(file);
	r = t->file ? load(t, may_come ? &error : ret_error) : -ENOMEM;
	if (r == -ENOENT && may_come)
		r = 0;
	if (r < 0 && error)
		*ret_error = TAKE(error);
	if (r < 0)
		users_free(t);
	else
		*ret = t;
	return r;
}

static bool is_unchanged(const struct users *t, const struct stat *s)
{
	return s->st_ino == t->inode && s->st_ctim.tv_sec == t->changed.tv_sec && s->st_ctim.tv_nsec == t->changed.tv_nsec;
}

/* What is known stays only while the file that stands there says so: one that cannot be read any more lets in no one. One in a folder
 * that this process may not enter (it gave up root's rights) is the one that is open. */
static void load_if_changed(struct users *t)
{
	_cleanup_free_ char *error = NULL;
	struct stat s;
	bool there = stat(t->file, &s) == 0;

	if (!there && errno == EACCES && t->fd >= 0)
		there = fstat(t->fd, &s) == 0 && s.st_nlink > 0;
	if (!there) {
		cleanup_fd(&t->fd);
		t->fd = -1;
		t->inode = 0;
		forget(t);
		return;
	}
	if (is_unchanged(t, &s))
		return;
	if (s.st_ino != t->inode) {
		cleanup_fd(&t->fd);
		t->fd = -1;
	}
	if (load(t, &error) < 0)
		forget(t);
}

/* Without GnuTLS no digest matches. */
static bool is_of_digest(const struct token *k, const char *digest)
{
	char own[DIGEST_TEXT] = "";

	if (k->in_clear)
		(void)digest_text(k->text, own, NULL);
	return *digest && digest_is_of_secret(k->in_clear ? own : k->text, digest);
}

/* token: NULL = the digest alone is known */
static int check(struct users *t, const char *token, const char *digest, struct user *ret)
{
	const struct token *found = NULL;
	int r = -EACCES;

	pthread_mutex_lock(&t->lock);
	load_if_changed(t);
	VEC_EACH(k, t->list)
		if (token && k->in_clear ? digest_is_of_secret(k->text, token) : is_of_digest(k, digest))
			found = k;
	if (found) {
		memcpy(ret->name, found->user, TOKEN_USER_MAX);
		ret->scope = found->scope;
		memmove(ret->token, digest, DIGEST_TEXT);
		r = found->expires > clock_wall() ? 0 : -ETIME;
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

int users_check(struct users *t, const char *token, struct user *ret)
{
	char digest[DIGEST_TEXT] = "";

	(void)digest_text(token, digest, NULL);
	return check(t, token, digest, ret);
}

int users_check_digest(struct users *t, const char *digest, struct user *ret)
{
	return check(t, NULL, digest, ret);
}

size_t users_count(const struct users *t)
{
	return t->list.n;
}

size_t users_in_clear(const struct users *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->list.n; i++)
		n += t->list.v[i].in_clear;
	return n;
}

void users_each(struct users *t, void (*each)(void *data, const struct listed_token *token), void *data)
{
	pthread_mutex_lock(&t->lock);
	load_if_changed(t);
	VEC_EACH(k, t->list)
		each(data, &(struct listed_token){k->user, k->scope, k->expires, k->in_clear});
	pthread_mutex_unlock(&t->lock);
}

/* --- writing --- */

static bool is_name(const char *name)
{
	return *name && *name != '#' && strlen(name) < TOKEN_USER_MAX && !name[strcspn(name, " \t\r\n")];
}

/* Of the web view's user, where there is one: it reads digests, and writes nothing. */
static void hand_to_web_group(int fd)
{
	const struct group *group = geteuid() == 0 ? getgrnam(WEB_GROUP) : NULL;

	if (group && fchown(fd, (uid_t)-1, group->gr_gid) == 0)
		(void)fchmod(fd, 0640);
}

/* The file, locked against another writer. */
static int open_to_write(const char *file, char **ret_error)
{
	int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT && folder_make_parent(file, 0755) == 0) {
		fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			hand_to_web_group(fd);
	}
	if (fd < 0)
		return str_fail(ret_error, -errno, "cannot write the tokens in %s: %s", file, strerror(errno));
	(void)flock(fd, LOCK_EX);
	return fd;
}

static bool is_of(const char *line, size_t n, const char *name)
{
	_cleanup_free_ char *copy = strndup(line, n);
	const char *secret = "";
	struct token token;
	bool same = copy && parse_line(copy, &token, &secret) == 0 && strcmp(token.user, name) == 0;

	if (copy)
		explicit_bzero(copy, strlen(copy));
	return same;
}

/* Calls for each line with its length, end included; those for which it returns true are counted, and others kept. */
static int keep_others(const struct str *text, const char *name, struct str *kept)
{
	int n = 0;

	for (const char *at = text->data; at && *at;) {
		size_t length = strcspn(at, "\n");

		length += at[length] == '\n';
		if (is_of(at, length, name))
			n++;
		else
			str_append(kept, at, length);
		at += length;
	}
	return kept->error ? kept->error : n;
}

/* In place, so that who has it open sees what is new. */
static int rewrite(int fd, const struct str *text)
{
	size_t done = 0;

	while (done < text->len) {
		ssize_t n = pwrite(fd, text->data + done, text->len - done, (off_t)done);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return ftruncate(fd, (off_t)text->len) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static void wipe(struct str *text)
{
	if (text->data)
		explicit_bzero(text->data, text->len);
	str_free(text);
}

/* The new line, with the end of the last one where that lacks it. */
static int put_line(struct str *out, const char *name, enum scope scope, int64_t expires, const char *token, char **ret_error)
{
	char digest[DIGEST_TEXT], when[32];
	int r = digest_text(token, digest, ret_error);

	if (r < 0)
		return r;
	if (out->len && out->data[out->len - 1] != '\n')
		str_putc(out, '\n');
	str_printf(out, "%s " DIGEST_PREFIX "%s scope=%s", name, digest, user_scope_name(scope));
	if (expires != INT64_MAX)
		str_printf(out, " expires=%s", clock_format_rfc3339(expires, when, sizeof(when)));
	return str_putc(out, '\n');
}

int users_add(const char *file, const char *name, enum scope scope, int64_t expires, char ret_token[SECRET_TEXT], char **ret_error)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(wipe) struct str text = {}, others = {};
	char token[SECRET_TEXT];
	int r;

	if (!is_name(name))
		return str_fail(ret_error, -EINVAL, "invalid NAME '%s'; expected at most %d characters without spaces", name, TOKEN_USER_MAX - 1);
	fd = open_to_write(file, ret_error);
	if (fd < 0)
		return fd;
	r = read_whole(fd, &text);
	if (r == 0 && keep_others(&text, name, &others) > 0)
		return str_fail(ret_error, -EEXIST, "%s has a token of the name '%s': end it with --revoke-token %s, or choose another name", file, name, name);
	r = r ?: digest_make_secret(token);
	r = r ?: put_line(&text, name, scope, expires, token, ret_error);
	r = r ?: rewrite(fd, &text);
	if (r == 0)
		memcpy(ret_token, token, sizeof(token));
	explicit_bzero(token, sizeof(token));
	return r;
}

int users_remove(const char *file, const char *name, char **ret_error)
{
	_cleanup_close_ int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_(wipe) struct str text = {}, others = {};
	int r, n;

	if (fd < 0)
		return str_fail(ret_error, -errno, "cannot change the tokens in %s: %s", file, strerror(errno));
	(void)flock(fd, LOCK_EX);
	r = read_whole(fd, &text);
	n = r == 0 ? keep_others(&text, name, &others) : r;
	if (n > 0)
		r = rewrite(fd, &others);
	return r < 0 ? r : n;
}

int user_token_make(const char *file, const char *user)
{
	_cleanup_close_ int fd = -1;
	char secret[SECRET_TEXT], line[TOKEN_USER_MAX + SECRET_TEXT + 2];
	int n, r = folder_make_parent(file, 0700);

	if (r < 0)
		return r;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	r = digest_make_secret(secret);
	if (r < 0)
		return r;
	n = snprintf(line, sizeof(line), "%.*s %s\n", TOKEN_USER_MAX - 1, user, secret);
	if (write(fd, line, (size_t)n) == n)
		return 0;
	r = errno ? -errno : -EIO;
	unlink(file);
	return r;
}

static void forget_text(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void user_credentials_free(struct credentials *c)
{
	forget_text(&c->token);
	forget_text(&c->user);
	forget_text(&c->password);
}

int user_open_client(const struct http_client_options *options, const char *file, struct http_client **ret, char **ret_error)
{
	struct http_client_options o = *options;
	struct credentials who = {};
	int r = file ? user_credentials_read(file, &who, ret_error) : 0;

	o.token = who.token;
	o.user = who.user;
	o.password = who.password;
	r = r ?: http_client_open(&o, ret, ret_error);
	user_credentials_free(&who);
	return r;
}

/* Takes the line's words apart. */
static int take_credentials(const char *file, char *line, struct credentials *ret, char **ret_error)
{
	char *colon = strchr(line, ':'), *space = strpbrk(line, " \t");

	if (colon && !space) {
		*colon = '\0';
		ret->user = strdup(line);
		ret->password = strdup(colon + 1);
		return ret->user && ret->password ? 0 : -ENOMEM;
	}
	if (space) {
		line = space + strspn(space, " \t");
		line[strcspn(line, " \t")] = '\0';
	}
	if (str_starts(line, DIGEST_PREFIX))
		return str_fail(ret_error, -EINVAL, "%s holds the digest of a token: a client needs the token itself", file);
	if (strlen(line) < TOKEN_LENGTH_MIN || strpbrk(line, " \t"))
		return str_fail(ret_error, -EINVAL, "%s holds neither a token (of %d characters or more) nor USER:PASSWORD", file,
				 TOKEN_LENGTH_MIN);
	ret->token = strdup(line);
	return ret->token ? 0 : -ENOMEM;
}

int user_credentials_read(const char *file, struct credentials *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	_cleanup_free_ char *line = NULL;
	struct credentials c = {};
	struct stat s;
	size_t n = 0;
	int r;

	if (!f || fstat(fileno(f), &s) < 0)
		return str_fail(ret_error, -errno, "cannot read %s: %s", file, strerror(errno));
	r = check_private(file, &s, OTHERS_READ, ret_error);
	do {
		if (r == 0 && getline(&line, &n, f) < 0)
			r = str_fail(ret_error, -EINVAL, "%s is empty: one line with a token or USER:PASSWORD", file);
		if (r == 0)
			line[strcspn(line, "\r\n")] = '\0';
	} while (r == 0 && (!*line || *line == '#'));
	r = r ?: take_credentials(file, line, &c, ret_error);
	if (line)
		explicit_bzero(line, n);
	if (r < 0)
		user_credentials_free(&c);
	else
		*ret = c;
	return r;
}

char *users_token_file(void)
{
	return geteuid() == 0 ? strdup("/etc/whyslow/tokens") : folder_of_user("XDG_CONFIG_HOME", ".config", "whyslow/tokens");
}
