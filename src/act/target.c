#include "act/target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/folder.h"
#include "base/str.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

void processes_free(struct processes *p)
{
	VEC_FREE(p->list);
}

void target_free(struct target *t)
{
	processes_free(&t->members);
}

static int parse_stat(char *text, struct process *ret)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start;
	unsigned flags, threads;
	char state;
	size_t n;

	if (!open || !close || close < open || sscanf(text, "%u", &ret->pid) != 1 ||
	    sscanf(close + 1, " %c %u %u %u %d %d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu",
		   &state, &ret->parent, &ret->group, &ret->session, &ret->terminal, &ret->foreground, &flags,
		   &threads, &start) != 9)
		return -EBADMSG;
	n = (size_t)(close - open - 1);
	n = n < PROCESS_NAME ? n : PROCESS_NAME;
	memcpy(ret->name, open + 1, n);
	ret->name[n] = '\0';
	for (char *c = ret->name; *c; c++)
		*c = iscntrl((unsigned char)*c) ? '?' : *c;
	ret->start = start;
	ret->kernel = flags & PF_KTHREAD;
	/* a leader may be done while its other threads go on */
	ret->ended = (state == 'Z' || state == 'X') && threads <= 1;
	return 0;
}

int process_read(const char *proc_root, uint32_t pid, struct process *ret)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct process p = {};
	struct stat st;
	char text[1024];

	if (asprintf(&name, "%s/%u/stat", proc_root, pid) < 0)
		return -ENOMEM;
	f = fopen(name, "re");
	if (!f || fstat(fileno(f), &st) < 0 || !fgets(text, sizeof(text), f))
		return -ESRCH;
	if (parse_stat(text, &p) < 0)
		return -EBADMSG;
	p.uid = st.st_uid;
	*ret = p;
	return 0;
}

static bool same_executable(const char *proc_root, uint32_t a, uint32_t b)
{
	const uint32_t pids[] = {a, b};
	struct stat st[2];

	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *exe = NULL;

		if (asprintf(&exe, "%s/%u/exe", proc_root, pids[i]) < 0 || stat(exe, &st[i]) < 0)
			return false;
	}
	return st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
}

uint32_t process_origin(const char *proc_root, uint32_t pid)
{
	struct process child, parent;

	if (process_read(proc_root, pid, &child) < 0)
		return pid;
	while (child.parent > 1 && process_read(proc_root, child.parent, &parent) == 0 && parent.group == child.group &&
	       parent.pid != pid && same_executable(proc_root, child.pid, parent.pid))
		child = parent;
	return child.pid;
}

bool process_lives(const char *proc_root, uint32_t pid, uint64_t start)
{
	struct process p;

	return process_read(proc_root, pid, &p) == 0 && p.start == start && !p.ended;
}

static int compare_processes(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int processes_read(const char *proc_root, struct processes *ret)
{
	_cleanup_(close_folder) DIR *folder = opendir(proc_root);
	_cleanup_(processes_free) struct processes all = {};
	struct dirent *e;

	if (!folder)
		return -errno;
	while ((e = readdir(folder))) {
		struct process p;
		uint64_t pid;

		if (parse_u64(e->d_name, &pid) < 0 || process_read(proc_root, (uint32_t)pid, &p) < 0)
			continue;
		if (VEC_PUSH(all.list, p) < 0)
			return -ENOMEM;
	}
	if (all.list.n)
		qsort(all.list.v, all.list.n, sizeof(*all.list.v), compare_processes);
	*ret = all;
	all = (struct processes){};
	return 0;
}

const struct process *processes_find(const struct processes *p, uint32_t pid)
{
	struct process key = {.pid = pid};

	return p->list.n ? bsearch(&key, p->list.v, p->list.n, sizeof(key), compare_processes) : NULL;
}

bool target_has(const struct target *t, uint32_t pid)
{
	for (size_t i = 0; i < t->members.list.n; i++)
		if (t->members.list.v[i].pid == pid)
			return true;
	return false;
}

/* A child may have a smaller number than its parent: until a round finds nobody more. */
static int add_descendants(const struct processes *all, struct target *t)
{
	size_t before;

	do {
		before = t->members.list.n;
		for (size_t i = 0; i < all->list.n; i++) {
			const struct process *p = &all->list.v[i];

			if (target_has(t, p->parent) && !target_has(t, p->pid) &&
			    VEC_PUSH(t->members.list, *p) < 0)
				return -ENOMEM;
		}
	} while (t->members.list.n > before);
	return 0;
}

int target_find(const char *proc_root, uint32_t pid, struct target *ret)
{
	_cleanup_(processes_free) struct processes all = {};
	_cleanup_(target_free) struct target t = {};
	const struct process *head;
	int r = processes_read(proc_root, &all);

	if (r < 0)
		return r;
	head = processes_find(&all, pid);
	if (!head)
		return -ESRCH;
	t.head = *head;
	if (VEC_PUSH(t.members.list, *head) < 0)
		return -ENOMEM;
	/* everybody descends from pid 1: it is refused, not listed */
	r = pid > 1 ? add_descendants(&all, &t) : 0;
	if (r < 0)
		return r;
	*ret = t;
	t = (struct target){};
	return 0;
}
