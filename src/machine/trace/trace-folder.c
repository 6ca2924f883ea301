#include "machine/trace/trace-folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"
#include "machine/recording/store.h"

char *trace_folder(const char *store_file)
{
	return folder_beside(store_file, "traces");
}

char *trace_file_of(const char *folder, int64_t mark)
{
	char *path;

	return asprintf(&path, "%s/%" PRId64 ".trace", folder, mark) < 0 ? NULL : path;
}

struct kept {
	int64_t mark;
	uint64_t bytes;
	struct timespec written;
	uint32_t uid; /* who pressed; 0 also for a rule */
};

struct traces {
	DIR *dir;
	VEC(struct kept) all; /* oldest first */
	uint64_t sum;
};

ORDER(compare_kept, struct kept, ASCENDING(written.tv_sec) ?: ASCENDING(mark))

static int parse_mark(const char *name, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(name, &end, 10);
	return errno || end == name || strcmp(end, ".trace") != 0 ? -EINVAL : 0;
}

static int list_traces(const char *folder, struct traces *ret)
{
	ret->dir = opendir(folder);
	if (!ret->dir)
		return -errno;
	for (struct dirent *entry; (entry = readdir(ret->dir));) {
		struct kept k = {};
		struct stat st;

		if (parse_mark(entry->d_name, &k.mark) < 0 || fstatat(dirfd(ret->dir), entry->d_name, &st, 0) < 0)
			continue;
		k.bytes = (uint64_t)st.st_blocks * 512;
		k.written = st.st_mtim;
		if (VEC_PUSH(ret->all, k) == 0)
			ret->sum += k.bytes;
	}
	VEC_SORT(ret->all, compare_kept);
	return 0;
}

static void find_owners(struct traces *t, const struct store_paths *recording)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_store_ struct store *store = NULL;

	if (!recording->file || store_open(recording, STORE_READ, &store, &error) < 0)
		return;
	for (size_t i = 0; i < t->all.n; i++) {
		struct mark m;

		if (store_mark_get(store, t->all.v[i].mark, &m) < 0)
			continue;
		t->all.v[i].uid = m.uid;
		mark_free(&m);
	}
}

static uint64_t bytes_of(const struct traces *t, uint32_t uid)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->all.n; i++)
		sum += t->all.v[i].uid == uid ? t->all.v[i].bytes : 0;
	return sum;
}

/* Whose oldest trace goes next. */
static uint32_t choose_owner(const struct traces *t, uint64_t bytes)
{
	uint64_t most = 0;
	uint32_t owner = 0;

	if (t->sum - bytes_of(t, 0) <= bytes / 2)
		return 0;
	for (size_t i = 0; i < t->all.n; i++) {
		uint32_t uid = t->all.v[i].uid;
		uint64_t own = uid ? bytes_of(t, uid) : 0;

		if (own > most) {
			most = own;
			owner = uid;
		}
	}
	return owner;
}

/* The oldest of one owner, else (only the one to keep is left of those) the oldest of all; -1 = none. */
static ptrdiff_t choose_trace(const struct traces *t, uint32_t owner, int64_t keep)
{
	ptrdiff_t any = -1;

	for (size_t i = 0; i < t->all.n; i++) {
		if (t->all.v[i].mark == keep)
			continue;
		if (t->all.v[i].uid == owner)
			return (ptrdiff_t)i;
		any = any < 0 ? (ptrdiff_t)i : any;
	}
	return any;
}

static void drop_trace(struct traces *t, size_t at)
{
	(void)unlinkat(dirfd(t->dir), STR_TEXT(40, "%" PRId64 ".trace", t->all.v[at].mark), 0);
	t->sum -= t->all.v[at].bytes;
	memmove(t->all.v + at, t->all.v + at + 1, (t->all.n - at - 1) * sizeof(t->all.v[0]));
	t->all.n--;
}

int trace_trim(const char *folder, uint64_t bytes, int64_t keep, const char *store_file, const char *run_dir)
{
	const struct store_paths recording = {store_file, run_dir};
	struct traces t = {};
	int r = list_traces(folder, &t);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (t.sum > bytes)
		find_owners(&t, &recording);
	while (t.sum > bytes) {
		ptrdiff_t at = choose_trace(&t, choose_owner(&t, bytes), keep);

		if (at < 0)
			break;
		drop_trace(&t, (size_t)at);
	}
	closedir(t.dir);
	VEC_FREE(t.all);
	return 0;
}
