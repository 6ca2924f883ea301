#include "machine/trace/profile-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/store/age.h"
#include "machine/trace/pprof.h"

#define FILE_SPAN   (3600 * NS_PER_SEC)
#define FRAMES_MAX  (1u << 18)		/* of stacks, in memory until a file is complete: 1 MB, and as much for the rest */
#define FILE_MAX    ((size_t)256 << 20) /* bytes that are read of one */

struct profile_file {
	char *folder;
	int64_t began; /* wall ns; 0 = no file yet */
	struct profile profile;
	struct pprof_written written;
};

char *profile_folder(const char *store_file)
{
	return folder_beside(store_file, "profiles");
}

static char *path_of(const char *folder, int64_t began)
{
	char *path;

	return asprintf(&path, "%s/%lld.pb.gz", folder, (long long)(began / NS_PER_SEC)) < 0 ? NULL : path;
}

/* --- writing --- */

int profile_file_new(const char *folder, struct profile_file **ret)
{
	struct profile_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->folder = strdup(folder);
	if (!f->folder || profile_begin(&f->profile) < 0) {
		profile_file_free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

void profile_file_free(struct profile_file *f)
{
	if (!f)
		return;
	profile_free(&f->profile);
	FREE_ALL(f->folder, f);
}

struct profile *profile_file_profile(struct profile_file *f)
{
	return &f->profile;
}

/* A killed recorder may leave a damaged member at the end, where readers stop: the next recorder begins another file. */
static int append(const struct profile_file *f, const struct str *bytes)
{
	_cleanup_free_ char *path = path_of(f->folder, f->began);
	bool first = !f->written.texts;
	_cleanup_close_ int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (first ? O_CREAT | O_TRUNC : 0), 0600) : -1;

	if (!path)
		return -ENOMEM;
	return fd < 0 ? -errno : file_write(fd, bytes->data, bytes->len);
}

static int begin_again(struct profile_file *f)
{
	profile_free(&f->profile);
	f->written = (struct pprof_written){};
	f->began = 0;
	return profile_begin(&f->profile);
}

ORDER(by_weight, struct profile_row, CMP(b->cpu + b->waited, a->cpu + a->waited))

/* Only rows that are not written yet change. */
static int keep_heaviest(struct profile_file *f, size_t most)
{
	struct profile *p = &f->profile;
	size_t first = f->written.rows, n = p->rows.n - first;
	_cleanup_free_ struct profile_row *others = NULL;
	int r = 0;

	if (n <= most)
		return 0;
	qsort(p->rows.v + first, n, sizeof(*p->rows.v), by_weight);
	others = calloc(n - most, sizeof(*others));
	if (!others)
		return -ENOMEM;
	memcpy(others, p->rows.v + first + most, (n - most) * sizeof(*others));
	p->rows.n = first + most;
	profile_close_rows(p);
	for (size_t i = 0; i < n - most && r == 0; i++) {
		others[i].stack = 0;
		others[i].waker_uid = others[i].uid;
		r = profile_add(p, &others[i]);
	}
	return r;
}

int profile_file_save(struct profile_file *f, int64_t now, size_t most)
{
	_cleanup_str_ struct str bytes = {};
	struct pprof_written written = f->written;
	int r = 0, again;

	if (f->profile.rows.n > f->written.rows) {
		if (!f->began)
			f->began = now;
		r = keep_heaviest(f, most);
		r = r ?: pprof_write(&f->profile, f->began, &written, &bytes);
		r = r ?: append(f, &bytes);
		f->written = written;
	}
	if (r == 0 && !(f->began && now - f->began >= FILE_SPAN) && f->profile.chain.n < FRAMES_MAX)
		return 0;
	again = begin_again(f);
	return r < 0 ? r : again;
}

/* --- reading --- */

struct kept {
	int64_t began; /* s */
	uint64_t bytes;
};

struct list {
	VEC(struct kept) all; /* oldest first */
};

ORDER(by_time, struct kept, ASCENDING(began))

static bool parse_name(const char *name, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(name, &end, 10);
	return !errno && end != name && strcmp(end, ".pb.gz") == 0;
}

static int list_files(const char *folder, struct list *ret)
{
	DIR *dir = opendir(folder);
	int r = 0;

	if (!dir)
		return -errno;
	FOLDER_EACH(entry, dir) {
		struct kept k = {};
		struct stat st;

		if (!parse_name(entry.name, &k.began) || fstatat(dirfd(dir), entry.name, &st, 0) < 0)
			continue;
		k.bytes = (uint64_t)st.st_blocks * 512;
		r = r ?: VEC_PUSH(ret->all, k);
	}
	VEC_SORT(ret->all, by_time);
	return r;
}

static int read_file(const char *path, struct str *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	ret->max = FILE_MAX;
	return file_read_all(fd, ret);
}

int profile_load_file(const char *path, const struct profile_wish *wish, struct profile *into, char **ret_unit)
{
	_cleanup_str_ struct str bytes = {};
	struct profile whole;
	int r = profile_begin(&whole);

	*ret_unit = NULL;
	if (r < 0)
		return r;
	r = read_file(path, &bytes);
	r = r ?: pprof_read(bytes.data ? bytes.data : "", bytes.len, &whole, ret_unit);
	r = r ?: profile_copy(into, &whole, wish);
	if (r < 0) {
		free(*ret_unit);
		*ret_unit = NULL;
	}
	profile_free(&whole);
	return r;
}

/* A file has the minutes from its beginning up to FILE_SPAN later; a clock that was set back or forward may move them by a minute. */
static bool overlaps(const struct kept *k, const struct profile_wish *wish)
{
	return k->began / 60 < wish->to + 1 && (k->began + FILE_SPAN / NS_PER_SEC) / 60 + 2 > wish->from;
}

static int load_one(const char *folder, const struct kept *k, const struct profile_wish *wish, struct profile *into)
{
	_cleanup_free_ char *path = path_of(folder, k->began * NS_PER_SEC), *unit = NULL;

	return path ? profile_load_file(path, wish, into, &unit) : -ENOMEM;
}

int profile_load(const char *folder, const struct profile_wish *wish, struct profile *into, unsigned *ret_damaged)
{
	struct list list = {};
	int r = list_files(folder, &list);

	*ret_damaged = 0;
	for (size_t i = 0; i < list.all.n && r == 0; i++) {
		if (!overlaps(&list.all.v[i], wish))
			continue;
		r = load_one(folder, &list.all.v[i], wish, into);
		if (r == -EBADMSG || r == -ENOENT) { /* ENOENT: deleted at the same time */
			*ret_damaged += r == -EBADMSG;
			r = 0;
		}
	}
	VEC_FREE(list.all);
	return r == 0 && !into->rows.n ? -ENOENT : r;
}

/* --- retention --- */

/* How many of the oldest files ended longer ago than `age`, as those after them tell. */
static size_t count_aged(const struct list *list, int64_t age)
{
	struct age a = {};

	for (size_t i = list->all.n; i-- > 0;) {
		const int64_t began = list->all.v[i].began * NS_PER_SEC;

		if (age_add(&a, &(struct age_span){.first = began, .last = began + FILE_SPAN}) > age)
			return i + 1;
	}
	return 0;
}

int profile_trim(const char *folder, int64_t age, uint64_t bytes, struct profile_size *ret_left)
{
	struct list list = {};
	struct profile_size left = {};
	int r = list_files(folder, &list);
	const size_t aged = age ? count_aged(&list, age) : 0;

	for (size_t i = 0; i < list.all.n; i++)
		left.bytes += list.all.v[i].bytes;
	left.files = list.all.n;
	for (size_t i = 0; r == 0 && i + 1 < list.all.n; i++) {
		const struct kept *k = &list.all.v[i];
		_cleanup_free_ char *path = i < aged || (bytes && left.bytes > bytes) ? path_of(folder, k->began * NS_PER_SEC) : NULL;

		if (!path || unlink(path) < 0)
			continue;
		left.bytes -= k->bytes;
		left.files--;
	}
	VEC_FREE(list.all);
	*ret_left = left;
	return r == -ENOENT ? 0 : r;
}
