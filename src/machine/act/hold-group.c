/* Control groups: members go into a group below their own one, and come back. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "machine/act/hold.h"

#define ROUNDS 20 /* a process may be forking while it is moved */

static int write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int remove_folder(const char *path, const char *unused)
{
	(void)unused;
	return rmdir(path) < 0 ? -errno : 0;
}

/* A user may own the group (user@.service), and the recorder, which gives back what a killed `confirm` of root's held, has no right to
 * write to files of other users. It may take a user's id, so it does this as the owner of `owned`. The kernel asks for the rights of the
 * thread alone, when it opens and when it writes. */
static int do_as_owner(const char *owned, int (*work)(const char *path, const char *text), const char *path, const char *text)
{
	int r = work(path, text);
	struct stat st;

	if (r != -EACCES || geteuid() != 0 || stat(owned, &st) < 0 || st.st_uid == 0)
		return r;
	(void)setfsuid(st.st_uid);
	r = work(path, text);
	(void)setfsuid(0);
	return r;
}

int hold_group_write(const char *path, const char *text)
{
	return do_as_owner(path, write_text, path, text);
}

/* An empty group holds nothing back. One below the topmost group, to which not even its owner may write, stays until something with all
 * of root's rights sweeps (hold_group_sweep()). */
static int remove_group(const struct hold_step *s)
{
	int r = do_as_owner(s->before, remove_folder, s->path, NULL);

	return r == -ENOENT || r == -EACCES ? 0 : r;
}

static int put_process(const char *group, uint32_t pid)
{
	_cleanup_free_ char *path = NULL;
	int r;

	if (asprintf(&path, "%s/cgroup.procs", group) < 0)
		return -ENOMEM;
	r = hold_group_write(path, STR_TEXT(16, "%u", pid));
	return r == -ESRCH ? 0 : r; /* it has just ended */
}

struct pids {
	VEC(uint32_t) list;
};

static void pids_free(struct pids *p)
{
	VEC_FREE(p->list);
}

static int read_group(const char *group, struct pids *ret)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	unsigned pid;

	ret->list.n = 0;
	if (asprintf(&path, "%s/cgroup.procs", group) < 0)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fscanf(f, "%u", &pid) == 1)
		if (pid && VEC_PUSH(ret->list, pid) < 0)
			return -ENOMEM;
	return 0;
}

static bool has_pid(const struct pids *p, uint32_t pid)
{
	return ANY_WHERE(i, p->list.n, p->list.v[i] == pid);
}

/* Moves those of the members that are in `from`; until a round finds nothing left there: children may come
 * in the meantime. */
int hold_group_move_in(const char *proc_root, const struct hold *h, const struct hold_step *s)
{
	_cleanup_(pids_free) struct pids there = {};
	int r = mkdir(s->path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
	bool moved = r == 0;

	for (int round = 0; r == 0 && moved && round < ROUNDS; round++) {
		_cleanup_(target_free) struct target t = {};

		moved = false;
		r = target_of(proc_root, &h->heads, false, &t);
		r = r ?: read_group(s->before, &there);
		for (size_t i = 0; r == 0 && i < t.members.list.n; i++) {
			uint32_t pid = t.members.list.v[i].pid;

			if (!has_pid(&there, pid))
				continue;
			r = put_process(s->path, pid);
			moved = true;
		}
	}
	return r;
}

/* 1 = it is there, 0 = it is not, or -errno; a hold that moves nothing has all of it. */
static int is_in_its_group(const struct hold *h, uint32_t pid)
{
	_cleanup_(pids_free) struct pids there = {};
	bool moves = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->steps.n; i++) {
		if (h->steps.v[i].kind != STEP_MOVE)
			continue;
		moves = true;
		r = read_group(h->steps.v[i].path, &there);
		if (r == 0 && has_pid(&there, pid))
			return 1;
	}
	return r < 0 ? r : !moves;
}

int hold_group_check(const char *proc_root, const struct hold *h)
{
	int r = 1;

	for (size_t i = 0; r > 0 && i < h->heads.list.n; i++) {
		const struct process *head = &h->heads.list.v[i];

		r = is_in_its_group(h, head->pid);
		if (r == 0 && process_lives(proc_root, head->pid, head->start))
			return -EAGAIN;
		r = r == 0 ? 1 : r; /* it has ended */
	}
	return r < 0 ? r : 0;
}

/* The group it came from, or where that is gone in the meantime the nearest above it. */
static int put_back(const char *group, uint32_t pid)
{
	_cleanup_free_ char *at = strdup(group);
	int r = at ? put_process(at, pid) : -ENOMEM;

	while (r == -ENOENT) {
		char *slash = strrchr(at, '/');

		if (!slash || slash == at)
			return r;
		*slash = '\0';
		r = put_process(at, pid);
	}
	return r;
}

int hold_group_move_back(const struct hold_step *s)
{
	_cleanup_(pids_free) struct pids there = {};
	int r = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int read = read_group(s->path, &there);

		if (read == -ENOENT)
			return r;
		if (read < 0)
			return read;
		for (size_t i = 0; i < there.list.n; i++) {
			int put = put_back(s->before, there.list.v[i]);

			r = put < 0 ? put : r;
		}
		if (!there.list.n && remove_group(s) == 0)
			return r;
		if (round)
			poll(NULL, 0, 5); /* something is just ending in there */
	}
	return r < 0 ? r : -EBUSY;
}
