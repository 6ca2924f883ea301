#include "machine/act/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

void processes_free(struct processes *p)
{
	VEC_FREE(p->list);
}

void target_free(struct target *t)
{
	processes_free(&t->heads);
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
	str_make_printable(ret->name);
	ret->start = start;
	ret->kernel = flags & PF_KTHREAD;
	/* a leader may be done while its other threads continue */
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
	size_t n;

	if (asprintf(&name, "%s/%u/stat", proc_root, pid) < 0)
		return -ENOMEM;
	f = fopen(name, "re");
	if (!f || fstat(fileno(f), &st) < 0)
		return -ESRCH;
	n = fread(text, 1, sizeof(text) - 1, f); /* not a line: a name may have a newline */
	text[n] = '\0';
	if (!n)
		return -ESRCH;
	if (parse_stat(text, &p) < 0)
		return -EBADMSG;
	p.uid = st.st_uid;
	*ret = p;
	return 0;
}

bool process_lives(const char *proc_root, uint32_t pid, uint64_t start)
{
	struct process p;

	return process_read(proc_root, pid, &p) == 0 && p.start == start && !p.ended;
}

bool processes_live(const char *proc_root, const struct processes *p)
{
	return ANY_WHERE(i, p->list.n, process_lives(proc_root, p->list.v[i].pid, p->list.v[i].start));
}

int processes_copy(const struct processes *from, struct processes *ret)
{
	struct processes p = {};

	for (size_t i = 0; i < from->list.n; i++)
		if (VEC_PUSH(p.list, from->list.v[i]) < 0) {
			processes_free(&p);
			return -ENOMEM;
		}
	*ret = p;
	return 0;
}

ORDER(compare_processes, struct process, ASCENDING(pid))

int processes_read(const char *proc_root, struct processes *ret)
{
	DIR *folder = opendir(proc_root);
	_cleanup_(processes_free) struct processes all = {};

	if (!folder)
		return -errno;
	FOLDER_EACH(e, folder) {
		struct process p;
		uint64_t pid;

		if (str_parse_u64(e.name, &pid) < 0 || process_read(proc_root, (uint32_t)pid, &p) < 0)
			continue;
		if (VEC_PUSH(all.list, p) < 0)
			return -ENOMEM;
	}
	VEC_SORT(all.list, compare_processes);
	*ret = all;
	all = (struct processes){};
	return 0;
}

const struct process *processes_find(const struct processes *p, uint32_t pid)
{
	struct process key = {.pid = pid};

	return p->list.n ? bsearch(&key, p->list.v, p->list.n, sizeof(key), compare_processes) : NULL;
}

bool processes_have(const struct processes *p, uint32_t pid)
{
	return ANY_WHERE(i, p->list.n, p->list.v[i].pid == pid);
}

bool target_has(const struct target *t, uint32_t pid)
{
	return processes_have(&t->members, pid);
}

const struct process *target_head(const struct target *t)
{
	return &t->heads.list.v[0];
}

/* Who has outlived a parent belongs to pid 1, as do others. */
bool target_takes(const struct target *t, uint32_t parent, const char *name)
{
	return t->open && parent > 1 && ANY_WHERE(i, t->heads.list.n, t->heads.list.v[i].parent == parent && strcmp(t->heads.list.v[i].name, name) == 0);
}

static bool is_head(const struct target *t, const struct process *p)
{
	return ANY_WHERE(i, t->heads.list.n, t->heads.list.v[i].pid == p->pid && t->heads.list.v[i].start == p->start);
}

static int add_heads(const struct processes *all, struct target *t)
{
	VEC_EACH(p, all->list) {
		bool head = is_head(t, p), joins = !head && target_takes(t, p->parent, p->name);

		if (p->ended || !(head || joins))
			continue;
		if ((joins && VEC_PUSH(t->heads.list, *p) < 0) || VEC_PUSH(t->members.list, *p) < 0)
			return -ENOMEM;
	}
	return t->members.list.n ? 0 : -ESRCH;
}

/* A child may have a smaller number than its parent: until a round finds nothing more. Everybody descends from pid 1: it is
 * refused, not listed. */
static int add_descendants(const struct processes *all, struct target *t)
{
	size_t before;

	do {
		before = t->members.list.n;
		VEC_EACH(p, all->list)
			if (p->parent > 1 && target_has(t, p->parent) && !target_has(t, p->pid) &&
			    VEC_PUSH(t->members.list, *p) < 0)
				return -ENOMEM;
	} while (t->members.list.n > before);
	return 0;
}

int target_of(const char *proc_root, const struct processes *heads, bool open, struct target *ret)
{
	_cleanup_(processes_free) struct processes all = {};
	_cleanup_(target_free) struct target t = {.open = open};
	int r = processes_read(proc_root, &all);

	r = r ?: processes_copy(heads, &t.heads);
	r = r ?: add_heads(&all, &t);
	r = r ?: add_descendants(&all, &t);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct target){};
	return 0;
}
