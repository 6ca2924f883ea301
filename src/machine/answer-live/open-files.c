#include "machine/answer-live/open-files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/answer-live/live-thread.h"

static void read_process(struct open_files *f, unsigned pid)
{
	char link[OPEN_FILES_LINK];
	size_t before = f->list.n;

	FOLDER_EACH(e, opendir(STR_TEXT(300, "%s/%u/fd", f->proc_root, pid))) {
		ssize_t n = readlinkat(dirfd(e.folder), e.name, link, sizeof(link));
		unsigned fd = (unsigned)strtoul(e.name, NULL, 10);

		if (f->list.n >= OPEN_FILES_MOST || f->list.n - before >= OPEN_FILES_OF_ONE)
			return;
		if (n > 0 && n < (ssize_t)sizeof(link) && VEC_PUSH(f->list, (struct open_file){hmap_hash_bytes(link, (size_t)n), pid, fd}) < 0)
			return;
	}
}

ORDER(by_link, struct open_file, ASCENDING(link) ?: ASCENDING(pid) ?: ASCENDING(fd))

static void read_all(struct open_files *f)
{
	_cleanup_(folder_close) DIR *dir = opendir(f->proc_root);
	unsigned pid;

	f->was_read = true;
	while ((pid = live_next_process(dir)))
		read_process(f, pid);
	VEC_SORT(f->list, by_link);
}

bool open_files_next(struct open_files *f, const char *link, size_t *at, unsigned *ret_pid, unsigned *ret_fd)
{
	uint64_t hash = hmap_hash_bytes(link, strlen(link));
	char now[OPEN_FILES_LINK];

	if (!f->was_read)
		read_all(f);
	if (!*at)
		*at = FIRST_WHERE(i, f->list.n, f->list.v[i].link >= hash);
	while (*at < f->list.n && f->list.v[*at].link == hash) {
		const struct open_file *o = &f->list.v[(*at)++];

		if (!live_fd_link(f->proc_root, o->pid, o->fd, now, sizeof(now)) || strcmp(now, link) != 0)
			continue;
		*ret_pid = o->pid;
		*ret_fd = o->fd;
		return true;
	}
	return false;
}

void open_files_skip_process(const struct open_files *f, size_t *at)
{
	const struct open_file last = f->list.v[*at - 1];

	*at = FIRST_WHERE(i, f->list.n, f->list.v[i].link > last.link || (f->list.v[i].link == last.link && f->list.v[i].pid > last.pid));
}

void open_files_free(struct open_files *f)
{
	VEC_FREE(f->list);
	f->was_read = false;
}
