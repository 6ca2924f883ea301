#include "net/users.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/folder.h"
#include "base/str.h"
#include "base/vec.h"

struct token {
	char user[TOKEN_USER_MAX];
	char *text;
};

struct users {
	pthread_mutex_t lock;
	char *file;
	struct timespec changed;
	ino_t inode;
	VEC(struct token) list;
};

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
	pthread_mutex_destroy(&t->lock);
	free(t->file);
	free(t);
}

static int check_private(const char *file, const struct stat *s, char **ret_error)
{
	if (!S_ISREG(s->st_mode))
		return fail_with(ret_error, -EINVAL, "%s is no file", file);
	if (s->st_mode & 077)
		return fail_with(ret_error, -EACCES, "others may read %s: chmod 600 it, and change its tokens", file);
	return 0;
}

/* "NAME TOKEN", or "TOKEN" alone; empty lines and those with # at the beginning are nothing. */
static int take_line(struct users *t, char *line, unsigned number, char **ret_error)
{
	char *rest = NULL, *first = strtok_r(line, " \t\r\n", &rest), *second = first ? strtok_r(NULL, " \t\r\n", &rest) : NULL;
	struct token token = {};
	int r;

	if (!first || *first == '#')
		return 0;
	if (strlen(second ? second : first) < TOKEN_LENGTH_MIN)
		return fail_with(ret_error, -EINVAL, "%s:%u: a token has at least %d characters: openssl rand -hex 32 makes one",
				t->file, number, TOKEN_LENGTH_MIN);
	if (strtok_r(NULL, " \t\r\n", &rest) || (second && strlen(first) >= sizeof(token.user)))
		return fail_with(ret_error, -EINVAL, "%s:%u: a line is NAME TOKEN", t->file, number);
	snprintf(token.user, sizeof(token.user), "%s", second ? first : "anybody");
	token.text = strdup(second ? second : first);
	r = token.text ? VEC_PUSH(t->list, token) : -ENOMEM;
	if (r < 0)
		free(token.text);
	return r;
}

static int load(struct users *t, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(t->file, "re");
	_cleanup_free_ char *line = NULL;
	struct stat s;
	size_t n = 0;
	int r;

	if (!f || fstat(fileno(f), &s) < 0)
		return fail_with(ret_error, -errno, "cannot read the tokens in %s: %s", t->file, strerror(errno));
	r = check_private(t->file, &s, ret_error);
	forget(t);
	for (unsigned number = 1; r == 0 && getline(&line, &n, f) >= 0; number++)
		r = take_line(t, line, number, ret_error);
	if (line)
		explicit_bzero(line, n);
	if (r == 0 && t->list.n == 0)
		r = fail_with(ret_error, -EINVAL, "%s has no token: one line NAME TOKEN for each user", t->file);
	t->changed = s.st_ctim;
	t->inode = s.st_ino;
	return r;
}

int users_open(const char *file, struct users **ret, char **ret_error)
{
	struct users *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->file = strdup(file);
	r = t->file ? load(t, ret_error) : -ENOMEM;
	if (r < 0)
		users_free(t);
	else
		*ret = t;
	return r;
}

/* A file that cannot be read any more lets nobody in. */
static void load_if_changed(struct users *t)
{
	_cleanup_free_ char *error = NULL;
	struct stat s;

	if (stat(t->file, &s) == 0 && s.st_ino == t->inode && s.st_ctim.tv_sec == t->changed.tv_sec &&
	    s.st_ctim.tv_nsec == t->changed.tv_nsec && !(s.st_mode & 077))
		return;
	if (load(t, &error) < 0)
		forget(t);
}

static bool same(const char *known, const char *given)
{
	size_t n = strlen(known), given_n = strlen(given);
	unsigned difference = n != given_n;

	for (size_t i = 0; i < n; i++)
		difference |= (unsigned char)known[i] ^ (unsigned char)given[given_n ? i % given_n : 0];
	return difference == 0;
}

int users_check(struct users *t, const char *token, char ret_user[TOKEN_USER_MAX])
{
	int r = -EACCES;

	pthread_mutex_lock(&t->lock);
	load_if_changed(t);
	for (size_t i = 0; i < t->list.n; i++)
		if (same(t->list.v[i].text, token)) {
			memcpy(ret_user, t->list.v[i].user, TOKEN_USER_MAX);
			r = 0;
		}
	pthread_mutex_unlock(&t->lock);
	return r;
}

int token_make(const char *file, const char *user)
{
	_cleanup_close_ int fd = -1;
	unsigned char secret[32];
	char line[TOKEN_USER_MAX + 2 * sizeof(secret) + 3];
	int n, r = make_folder_of(file, 0700);

	if (r < 0)
		return r;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	n = snprintf(line, sizeof(line), "%.*s ", TOKEN_USER_MAX - 1, user);
	for (size_t i = 0; i < sizeof(secret); i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%02x", secret[i]);
	line[n++] = '\n';
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

void credentials_free(struct credentials *c)
{
	forget_text(&c->token);
	forget_text(&c->user);
	forget_text(&c->password);
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
	if (space)
		line = space + strspn(space, " \t");
	if (strlen(line) < TOKEN_LENGTH_MIN || strpbrk(line, " \t"))
		return fail_with(ret_error, -EINVAL, "%s holds neither a token (of %d characters or more) nor USER:PASSWORD", file,
				 TOKEN_LENGTH_MIN);
	ret->token = strdup(line);
	return ret->token ? 0 : -ENOMEM;
}

int credentials_read(const char *file, struct credentials *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	_cleanup_free_ char *line = NULL;
	struct credentials c = {};
	struct stat s;
	size_t n = 0;
	int r;

	if (!f || fstat(fileno(f), &s) < 0)
		return fail_with(ret_error, -errno, "cannot read %s: %s", file, strerror(errno));
	r = check_private(file, &s, ret_error);
	do {
		if (r == 0 && getline(&line, &n, f) < 0)
			r = fail_with(ret_error, -EINVAL, "%s is empty: one line with a token or USER:PASSWORD", file);
		if (r == 0)
			line[strcspn(line, "\r\n")] = '\0';
	} while (r == 0 && (!*line || *line == '#'));
	if (r == 0)
		r = take_credentials(file, line, &c, ret_error);
	if (line)
		explicit_bzero(line, n);
	if (r < 0)
		credentials_free(&c);
	else
		*ret = c;
	return r;
}
