/* whyslow ship [TO]: brings the recording, the events kept of marks and the profiles to where those of many machines lie, once or on a schedule: HOST.db in a folder (replaced whole, so
 * that rsync and readers never meet half a file), or uploaded to a URL. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fleet/verb/fleet-verb.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/rights/own-folder.h"
#include "lib/rights/write-path.h"
#include "lib/data/str.h"
#include "lib/net/http-client.h"
#include "lib/net/users.h"
#include "lib/rights/outside.h"

#define EVERY_LEAST   (60 * NS_PER_SEC)
#define LIST_MAX      ((size_t)16 << 20)
#define UPLOAD_LONGEST (3600 * NS_PER_SEC) /* 2 GB at 5 Mbit/s */

static const char *const kinds[] = {"traces", "profiles"};

/* --- a folder and its likeness --- */

static int copy_bytes(int from, int to)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)n) != n)
			return -ENOSPC;
	return n < 0 ? -errno : 0;
}

/* The copy has the time of the original: by it and the size a later run knows that it has this one. */
static int copy_file(int from, int to, const char *name, const struct stat *st)
{
	const struct timespec times[2] = {st->st_mtim, st->st_mtim};
	_cleanup_close_ int source = outside_open_in_folder(from, name), copy = -1;
	int r;

	if (source < 0)
		return source == -ENOENT ? 0 : source; /* deleted in the meantime */
	copy = openat(to, ".unfinished", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (copy < 0)
		return -errno;
	r = copy_bytes(source, copy);
	if (r == 0 && (futimens(copy, times) < 0 || renameat(to, ".unfinished", to, name) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(to, ".unfinished", 0);
	return r;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int bring(int from, int to, const char *name)
{
	struct stat there, here;

	if (*name == '.' || fstatat(from, name, &here, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(here.st_mode))
		return 0;
	if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&here, &there))
		return 0;
	return copy_file(from, to, name, &here);
}

static int drop(int from, int to, const char *name)
{
	if (*name != '.' && faccessat(from, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		(void)unlinkat(to, name, 0);
	return 0;
}

/* For each name in `listed`. */
static int each_name(const char *listed, int from, int to, int (*act)(int from, int to, const char *name))
{
	DIR *dir = opendir(listed);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	FOLDER_EACH(entry, dir)
		r = r ?: act(from, to, entry.name);
	return r;
}

static int make_alike(const char *from, int pool, const char *name)
{
	_cleanup_close_ int source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy = -1;
	_cleanup_free_ char *aside = NULL, *listed = NULL;
	int r;

	if (source < 0)
		return errno == ENOENT ? 0 : -errno;
	copy = own_folder_open(pool, name, &aside);
	if (aside)
		log_warning("another folder or file had the name %s where the recordings lie: it is left alone, as %s", name, aside);
	if (copy < 0)
		return copy;
	if (asprintf(&listed, "/proc/self/fd/%d", copy) < 0) {
		listed = NULL;
		return -ENOMEM;
	}
	r = each_name(from, source, copy, bring);
	return r < 0 ? r : each_name(listed, source, copy, drop);
}

/* Makes TO/NAME.traces and TO/NAME.profiles like the recording's own folders: what is new or changed is copied (each file replaced whole),
 * what is not there any more is deleted, of folders that an earlier call made (own_folder_open()). 0 or -errno, said in the log. */
static int ship_files_to_folder(const char *store_file, const char *to, const char *name)
{
	_cleanup_free_ char *reason = NULL;
	_cleanup_close_ int pool = write_path_folder(to, false, &reason);
	int r = 0;

	if (pool < 0)
		return log_failure(pool, "cannot copy events to %s: %s", to, reason ? reason : strerror(-pool));
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		_cleanup_free_ char *from = folder_beside(store_file, kinds[i]), *copy = NULL;

		if (!from || asprintf(&copy, "%s.%s", name, kinds[i]) < 0)
			return -ENOMEM;
		r = make_alike(from, pool, copy);
		if (r < 0)
			log_error("cannot copy %s to %s/%s: %s", from, to, copy, strerror(-r));
	}
	return r;
}

/* --- the files next to it --- */

static int each_file(const char *folder, const char *kind, const char *name, int (*each)(int fd, const char *place, void *data), void *data)
{
	DIR *dir = opendir(folder);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	FOLDER_EACH(entry, dir) {
		_cleanup_free_ char *place = NULL;
		_cleanup_close_ int fd = -1;
		struct stat st;

		if (r < 0 || *entry.name == '.' || fstatat(dirfd(dir), entry.name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (asprintf(&place, "%s.%s/%s", name, kind, entry.name) < 0)
			return -ENOMEM;
		fd = outside_open_in_folder(dirfd(dir), entry.name);
		r = fd < 0 ? fd : each(fd, place, data);
		r = r == -ENOENT ? 0 : r; /* deleted in the meantime */
	}
	return r;
}

/* Calls back for each file, open for reading, with where it belongs ("NAME.traces/3.trace"); stops where that returns other than 0, and returns
 * it. 0 or -errno. */
static int ship_files_each(const char *store_file, const char *name, int (*each)(int fd, const char *place, void *data), void *data)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		_cleanup_free_ char *folder = folder_beside(store_file, kinds[i]);

		r = folder ? each_file(folder, kinds[i], name, each, data) : -ENOMEM;
	}
	return r;
}

static const char *arg_name, *arg_token_file, *arg_ca_file;
static int64_t arg_every;

static const struct option_row options[] = {
	{OPTION_SPAN, 0, "every", "SPAN", &arg_every, "repeat after this time, until stopped (default: once)"},
	{OPTION_TEXT, 0, "name", "HOST", &arg_name, "the recording's name there (default: this machine's)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &arg_token_file, "of a URL: a file with the token or user:password"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &arg_ca_file, "of a URL: the authority that signed the server's certificate, or the certificate itself"},
	{},
};

static bool is_url(const char *to)
{
	return str_starts(to, "http://") || str_starts(to, "https://");
}

static const char *shipped_file(const struct common *common)
{
	return common_paths(common).file;
}

/* --- a folder --- */

static int ship_to_folder(struct common *common, const char *folder, const char *name)
{
	_cleanup_free_ char *path = NULL, *error = NULL;
	struct store *store;
	int r;

	if (asprintf(&path, "%s/%s.db", folder, name) < 0)
		return -ENOMEM;
	store = common_open_store(common, STORE_READ);
	if (!store)
		return -EIO;
	r = store_export(store, path, true, &error);
	store_close(store);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	else
		printf("%s\n", path);
	return r < 0 ? r : ship_files_to_folder(shipped_file(common), folder, name);
}

/* --- a URL --- */

static int open_client(struct http_client **ret)
{
	const struct http_client_options o = {.ca_file = arg_ca_file, .timeout = UPLOAD_LONGEST};
	_cleanup_free_ char *error = NULL;
	int r = user_open_client(&o, arg_token_file, ret, &error);

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

static int put_bytes(const char *url, const void *bytes, size_t n)
{
	const struct http_request q = {.method = "PUT", .url = url, .body = bytes, .n = n, .content_type = "application/octet-stream"};
	struct http_client *client = NULL;
	_cleanup_(http_reply_free) struct http_reply reply = {};
	int r = open_client(&client);

	if (r < 0)
		return r;
	http_client_warn_of_readers(client, url, "the recording");
	r = http_send(client, &q, &reply);
	if (r == 0)
		r = http_check_status(client, &q, &reply);
	if (r < 0)
		log_error("%s", http_client_error(client));
	else
		printf("%s\n", url);
	http_client_close(client);
	return r;
}

static int put_file(const char *url, int fd)
{
	struct stat st;
	void *bytes;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!st.st_size)
		return 0;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	r = put_bytes(url, bytes, (size_t)st.st_size);
	munmap(bytes, (size_t)st.st_size);
	return r;
}

/* Which files were uploaded is in FILE.shipped, a line for each: its URL, size and time. By a list and not by the time of the last upload: a
 * clock that was ahead then would hold back all that is kept until it is there again. */
struct upload {
	const char *to;
	struct str before, now, sent; /* the list, which begins with a line's end; sent: what is new in it */
};

static int put_one(int fd, const char *place, void *data)
{
	struct upload *u = data;
	_cleanup_str_ struct str url = {}, line = {};
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : 0;

	str_printf(&url, "%s%s%s", u->to, u->to[strlen(u->to) - 1] == '/' ? "" : "/", place);
	if (r == 0 && !url.error)
		str_printf(&line, "\n%s %lld %lld.%09ld\n", url.data, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	r = r ?: url.error ?: line.error;
	if (r == 0 && !(u->before.len && strstr(u->before.data, line.data))) {
		r = put_file(url.data, fd);
		if (r == 0)
			str_puts(&u->sent, line.data);
	}
	if (r == 0)
		str_puts(&u->now, line.data + (u->now.len ? 1 : 0));
	return r;
}

static int read_list(const char *path, struct str *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	ret->max = LIST_MAX;
	return fd < 0 ? (errno == ENOENT ? 0 : -errno) : file_read_all(fd, ret);
}

static int write_list(const char *path, const struct str *list)
{
	_cleanup_free_ char *unused = NULL;
	_cleanup_close_ int fd = write_path_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, &unused);

	return list->error ? list->error : fd < 0 ? fd : file_write(fd, list->data, list->len);
}

/* Those that are new or changed. */
static int put_files(const char *store_file, const char *to, const char *name)
{
	_cleanup_free_ char *path = NULL;
	struct upload u = {.to = to};
	const struct str *list = &u.now;
	int r;

	if (asprintf(&path, "%s.shipped", store_file) < 0)
		return -ENOMEM;
	if (read_list(path, &u.before) < 0)
		str_clear(&u.before);
	r = ship_files_each(store_file, name, put_one, &u);
	if (r < 0 && u.sent.len) /* the files behind the one that failed were not looked at */
		str_puts(&u.before, u.sent.data);
	if (r < 0)
		list = &u.before;
	if (list->len && write_list(path, list) < 0)
		log_warning("cannot write %s: all kept events are uploaded again the next time", path);
	str_free(&u.before);
	str_free(&u.now);
	str_free(&u.sent);
	return r;
}

/* The copy to upload is made next to the recording: there is room for it where that is. */
static int open_copy(struct common *common)
{
	_cleanup_free_ char *folder = folder_of(shipped_file(common)), *error = NULL;
	struct store *store = folder ? common_open_store(common, STORE_READ) : NULL;
	int fd = -1, r;

	if (!store)
		return folder ? -EIO : -ENOMEM;
	r = store_export_open(store, folder, &fd, &error);
	store_close(store);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r < 0 ? r : fd;
}

static int ship_to_url(struct common *common, const char *to, const char *name)
{
	_cleanup_close_ int copy = -1;
	_cleanup_str_ struct str url = {};
	int r;

	str_printf(&url, "%s%s", to, to[strlen(to) - 1] == '/' ? "" : "/");
	http_url_escape(&url, name);
	str_puts(&url, ".db");
	if (url.error)
		return url.error;
	copy = open_copy(common);
	if (copy < 0)
		return copy;
	r = put_file(url.data, copy);
	return r < 0 ? r : put_files(shipped_file(common), to, name);
}

/* --- */

static int ship(struct common *common, const char *to, const char *name)
{
	int r = is_url(to) ? ship_to_url(common, to, name) : ship_to_folder(common, to, name);

	if (r == -ENOMEM)
		log_error("out of memory");
	return r;
}

/* A failure is reported, and the next time is another try. */
static _Noreturn void ship_again_and_again(struct common *common, const char *to, const char *name)
{
	for (;;) {
		struct timespec rest = {arg_every / NS_PER_SEC, arg_every % NS_PER_SEC};

		(void)ship(common, to, name);
		fflush(stdout);
		while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
			continue;
	}
}

/* The configuration has the rest. Returns whether there is a place. */
static bool take_settings(const struct config *c, const char *given, const char **ret)
{
	*ret = given ? given : c->ship_to;
	if (!arg_token_file && !given && strcmp(c->ship_token_file, "none") != 0)
		arg_token_file = c->ship_token_file;
	return given || strcmp(c->ship_to, "none") != 0;
}

static int run(struct common *common, int argc, char **argv)
{
	char host[HOST_NAME_MAX + 1] = "";
	const char *name = arg_name ? arg_name : host, *to;

	(void)gethostname(host, sizeof(host) - 1);
	if (argc > 2 || !take_settings(&common->config, argc == 2 ? argv[1] : NULL, &to))
		return verb_usage_error("ship", "expected where to: a folder, or the URL of one that takes uploads (PUT); or the setting ship.to");
	if (!*name || strchr(name, '/') || *name == '.')
		return verb_usage_error("ship", "invalid --name '%s'; expected a host's name", name);
	if (arg_every && arg_every < EVERY_LEAST)
		return verb_usage_error("ship", "--every is at least 1min: each time the whole recording is copied");
	if (!is_url(to) && !folder_path_exists(to)) {
		log_error("there is no folder %s", to);
		return EXIT_CANNOT;
	}
	if (verb_give_up_rights(DAEMON_SHIPS))
		return EXIT_CANNOT;
	if (arg_every)
		ship_again_and_again(common, to, name);
	return ship(common, to, name) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_ship = {
	.name = "ship",
	.group = "Export",
	.words = "[TO] ",
	.help = "copy the recording to a folder or a URL that collects those of many machines, once or on a schedule",
	.about = "Writes the recording into a folder, or sends it by HTTP, where those of many machines are collected. TO is ship.to of the "
		 "settings unless given.",
	.examples = (const struct example[]){
		{"whyslow ship /srv/recordings", "once, into a folder"},
		{"whyslow ship https://central:8443/recordings/ --token-file token --every 1h", "once an hour, to a server"},
		{}},
	.options = options,
	.text_only = true,
	.run = run,
};
