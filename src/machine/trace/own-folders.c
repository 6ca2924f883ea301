#include "machine/trace/own-folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "machine/trace/trace-file.h"

#define MAGIC	    "SQLite format 3" /* a database begins with it, and with a NUL */
#define AROUND	    (10 * NS_PER_SEC) /* a press lies within its trace, but for the time that either takes */
#define PROFILE_SPAN 3600	      /* s: a file of profiles covers so much */

/* Whose are they? */
struct owner {
	struct store *store; /* NULL: nothing is recorded yet, and so nothing is this one's */
	bool alone;	     /* no other recording lies in the folder */
	int64_t from, to;    /* what is recorded, s */
};

static bool is_database(int folder, const char *name, const struct stat *but)
{
	_cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char begin[sizeof(MAGIC)];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_dev == but->st_dev && st.st_ino == but->st_ino))
		return false;
	return read(fd, begin, sizeof(begin)) == sizeof(begin) && memcmp(begin, MAGIC, sizeof(begin)) == 0;
}

static bool is_alone(const char *file)
{
	_cleanup_free_ char *folder = folder_of(file);
	struct stat own;
	DIR *dir = folder && stat(file, &own) == 0 ? opendir(folder) : NULL;
	bool opened = dir;

	FOLDER_EACH(entry, dir)
		if (is_database(dirfd(dir), entry.name, &own))
			return false;
	return opened;
}

static bool is_of_mark(struct store *store, const char *path, int64_t id, bool alone)
{
	_cleanup_free_ char *error = NULL;
	struct trace trace = {};
	struct mark mark;
	bool same;

	if (store_mark_get(store, id, &mark) < 0)
		return false;
	same = trace_read_file(path, &trace, &error) < 0 ?
		       alone :
		       mark.wall >= trace_wall(&trace, trace.from) - AROUND && mark.wall <= trace_wall(&trace, trace.to) + AROUND;
	trace_clear(&trace);
	mark_free(&mark);
	return same;
}

static bool trace_is_owned(const struct owner *o, const char *path, const char *name)
{
	char *end;
	int64_t id = strtoll(name, &end, 10);

	return end != name && strcmp(end, ".trace") == 0 && is_of_mark(o->store, path, id, o->alone);
}

static bool profile_is_owned(const struct owner *o, const char *path, const char *name)
{
	char *end;
	int64_t began = strtoll(name, &end, 10);

	(void)path;
	return end != name && strcmp(end, ".pb.gz") == 0 && (o->alone || (began >= o->from - PROFILE_SPAN && began <= o->to));
}

static const struct {
	const char *what;
	bool (*is_owned)(const struct owner *o, const char *path, const char *name);
} kinds[] = {{"traces", trace_is_owned}, {"profiles", profile_is_owned}};

static int move_one(const struct owner *o, size_t kind, const char *shared, const char *own, const char *name)
{
	_cleanup_free_ char *from = NULL, *to = NULL;

	if (asprintf(&from, "%s/%s", shared, name) < 0 || asprintf(&to, "%s/%s", own, name) < 0)
		return -ENOMEM;
	if (*name == '.' || folder_path_exists(to) || !kinds[kind].is_owned(o, from, name))
		return 0;
	return rename(from, to) < 0 ? -errno : 0;
}

static int move_owned(const struct owner *o, size_t kind, const char *shared, const char *own)
{
	DIR *dir = opendir(shared);
	int r = 0;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	FOLDER_EACH(entry, dir) {
		r = move_one(o, kind, shared, own, entry.name);
		if (r < 0)
			break;
	}
	(void)rmdir(shared); /* where nothing is left in it */
	return r;
}

static int make_one(const struct owner *o, size_t kind, const char *file)
{
	_cleanup_free_ char *own = folder_own(file, kinds[kind].what), *folder = folder_of(file), *shared = NULL;
	int r;

	if (!own || !folder || asprintf(&shared, "%s/%s", folder, kinds[kind].what) < 0)
		return -ENOMEM;
	r = folder_make(own, 0700);
	return r < 0 || !o->store ? r : move_owned(o, kind, shared, own);
}

int own_folders_make(const struct store_paths *recording)
{
	struct owner o = {.alone = is_alone(recording->file)};
	_cleanup_free_ char *error = NULL;
	int r = 0;

	/* what cannot be read has no marks that any trace could be of */
	if (folder_path_exists(recording->file) && store_open(recording, STORE_READ, &o.store, &error) < 0)
		o.store = NULL;
	if (o.store && store_extent(o.store, &o.from, &o.to) < 0)
		o.from = o.to = 0;
	o.from /= NS_PER_SEC;
	o.to /= NS_PER_SEC;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kinds); i++)
		r = make_one(&o, i, recording->file);
	store_close(o.store);
	return r;
}
