#include "store/trace-folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

char *trace_folder(const char *store_file)
{
	const char *slash = strrchr(store_file, '/');
	char *folder;
	int n = slash ? asprintf(&folder, "%.*s/traces", (int)(slash - store_file), store_file) : asprintf(&folder, "traces");

	return n < 0 ? NULL : folder;
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
};

static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static int parse_mark(const char *name, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(name, &end, 10);
	return errno || end == name || strcmp(end, ".trace") != 0 ? -EINVAL : 0;
}

int trace_trim(const char *folder, uint64_t bytes, int64_t keep)
{
	struct {
		VEC(struct kept) all;
	} found = {};
	DIR *dir = opendir(folder);
	uint64_t sum = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct kept k;
		struct stat st;

		if (parse_mark(entry->d_name, &k.mark) < 0 || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
			continue;
		k.bytes = (uint64_t)st.st_blocks * 512;
		k.written = st.st_mtim;
		sum += k.bytes;
		(void)VEC_PUSH(found.all, k);
	}
	if (found.all.n)
		qsort(found.all.v, found.all.n, sizeof(found.all.v[0]), compare_kept);
	for (size_t i = 0; i < found.all.n && sum > bytes; i++) {
		char name[40];

		if (found.all.v[i].mark == keep)
			continue;
		snprintf(name, sizeof(name), "%" PRId64 ".trace", found.all.v[i].mark);
		if (unlinkat(dirfd(dir), name, 0) == 0)
			sum -= found.all.v[i].bytes;
	}
	closedir(dir);
	VEC_FREE(found.all);
	return 0;
}
