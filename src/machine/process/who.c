#include "machine/process/who.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/model/visibility.h"
#include "machine/process/describe.h"

void who_hits_free(struct who_hits *hits)
{
	VEC_FREE_EACH(hits->list, entity_info_free(each));
}

/* 0, or -ESRCH: it has ended. */
static int read_process(const char *proc_root, uint32_t pid, struct entity_info *ret)
{
	struct process_text text;
	char path[64], comm[64] = "";
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/comm", proc_root, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);
	if (n <= 0 || fstat(fd, &st) < 0 || describe_live(proc_root, pid, 0, &text) < 0)
		return -ESRCH;
	comm[strcspn(comm, "\n")] = '\0';
	*ret = (struct entity_info){.kind = ENTITY_PROCESS, .pid = pid, .uid = st.st_uid, .name = strdup(comm), .exe = text.exe,
				    .cmdline = text.cmdline, .unit = text.unit, .container = text.container};
	if (!ret->name) {
		entity_info_free(ret);
		return -ENOMEM;
	}
	str_make_printable(ret->name);
	return 0;
}

static int take_if_meant(const char *proc_root, uint32_t pid, const char *who, const struct viewer *v, struct who_hits *hits)
{
	struct entity_info info = {};
	int r = read_process(proc_root, pid, &info);

	if (r < 0)
		return r == -ESRCH ? 0 : r;
	entity_hide(&info, v); /* before it is compared: an answer must not tell what is hidden */
	if (entity_is_visible(&info, v) && entity_matches(&info, who)) {
		r = VEC_PUSH(hits->list, info);
		if (r == 0)
			return 0;
	}
	entity_info_free(&info);
	return r;
}

ORDER(by_pid, struct entity_info, ASCENDING(pid))

int who_find(const char *proc_root, const char *who, const struct viewer *v, struct who_hits *ret)
{
	struct who_hits hits = {};
	DIR *dir = opendir(proc_root);
	int r = dir ? 0 : -errno;

	FOLDER_EACH(entry, dir) {
		uint64_t pid;

		if (r == 0 && str_parse_u64(entry.name, &pid) == 0 && pid && pid != (uint64_t)getpid())
			r = take_if_meant(proc_root, (uint32_t)pid, who, v, &hits);
	}
	if (r < 0) {
		who_hits_free(&hits);
		return r;
	}
	VEC_SORT(hits.list, by_pid);
	*ret = hits;
	return 0;
}
