/* The idle scheduling and I/O classes, for all threads of the members. */
#include <errno.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "machine/act/hold.h"

static int set_policy(uint32_t tid, struct sched_attr *a)
{
	a->size = sizeof(*a);
	return syscall(SYS_sched_setattr, tid, a, 0) == 0 || errno == ESRCH ? 0 : -errno;
}

static int set_io(uint32_t tid, int io)
{
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, io) == 0 || errno == ESRCH ? 0 : -errno;
}

static int thread_start(const char *proc_root, uint32_t process, uint32_t tid, uint64_t *ret)
{
	_cleanup_free_ char *root = NULL;
	struct process p;
	int r;

	if (asprintf(&root, "%s/%u/task", proc_root, process) < 0)
		return -ENOMEM;
	r = process_read(root, tid, &p);
	if (r == 0)
		*ret = p.start;
	return r;
}

/* Calls back for every thread of a process; stops at an error. */
static int each_thread(const char *proc_root, uint32_t process,
		       int (*each)(struct hold *h, uint32_t process, uint32_t tid, uint64_t start),
		       struct hold *h)
{
	_cleanup_free_ char *name = NULL;
	int r = 0;

	if (asprintf(&name, "%s/%u/task", proc_root, process) < 0)
		return -ENOMEM;
	FOLDER_EACH(e, opendir(name)) {
		uint64_t tid, start;

		if (r == 0 && str_parse_u64(e.name, &tid) == 0 && thread_start(proc_root, process, (uint32_t)tid, &start) == 0)
			r = each(h, process, (uint32_t)tid, start);
	}
	return r;
}

static const struct hold_thread *find_saved(const struct hold *h, uint32_t tid, uint64_t start)
{
	return VEC_FIND(x, h->threads, x->tid == tid && x->start == start);
}

static int save_thread(struct hold *h, uint32_t process, uint32_t tid, uint64_t start)
{
	struct sched_attr a = {};
	long io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid);

	if (syscall(SYS_sched_getattr, tid, &a, sizeof(a), 0) < 0 || io < 0)
		return errno == ESRCH ? 0 : -errno;
	return VEC_PUSH(h->threads, (struct hold_thread){.tid = tid,
							 .process = process,
							 .start = start,
							 .policy = a.sched_policy,
							 .priority = a.sched_priority,
							 .nice = a.sched_nice,
							 .flags = a.sched_flags,
							 .runtime = a.sched_runtime,
							 .deadline = a.sched_deadline,
							 .period = a.sched_period,
							 .io = (int32_t)io});
}

int hold_class_save(const char *proc_root, const struct target *t, struct hold *h)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->members.list.n; i++)
		r = each_thread(proc_root, t->members.list.v[i].pid, save_thread, h);
	return r;
}

/* The nice value stays what it was, so that it is there again with the policy. */
int hold_class_lower(const char *proc_root, struct hold *h)
{
	int r = 0;

	VEC_EACH(t, h->threads) {
		struct sched_attr idle = {.sched_policy = SCHED_IDLE, .sched_nice = t->nice};
		uint64_t start;
		int policy, io;

		if (thread_start(proc_root, t->process, t->tid, &start) < 0 || start != t->start)
			continue;
		policy = set_policy(t->tid, &idle);
		io = set_io(t->tid, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
		r = policy < 0 ? policy : io < 0 ? io : r;
	}
	return r;
}

/* A change that another has made in the meantime stays: an administrator's renice must not end with the hold of a user. */
static int restore_thread(uint32_t tid, const struct hold_thread *t)
{
	struct sched_attr now = {};
	struct sched_attr a = {.sched_policy = t->policy,
			       .sched_priority = t->priority,
			       .sched_flags = t->flags & SCHED_FLAG_RESET_ON_FORK,
			       .sched_runtime = t->runtime,
			       .sched_deadline = t->deadline,
			       .sched_period = t->period};
	long io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid);
	int policy = 0;

	if (io < 0 || syscall(SYS_sched_getattr, tid, &now, sizeof(now), 0) < 0)
		return errno == ESRCH ? 0 : -errno;
	a.sched_nice = now.sched_nice;
	if (now.sched_policy == SCHED_IDLE)
		policy = set_policy(tid, &a);
	return policy < 0 || IOPRIO_PRIO_CLASS(io) != IOPRIO_CLASS_IDLE ? policy : set_io(tid, t->io);
}

/* A process that was begun while it was held back has inherited the idle class: it gets what its process had, as far as that is handed on. */
static int restore_younger(struct hold *h, uint32_t process, uint32_t tid, uint64_t start)
{
	struct sched_attr a = {};
	const struct hold_thread *parent = &h->threads.v[0];
	struct hold_thread like;

	if (find_saved(h, tid, start) || syscall(SYS_sched_getattr, tid, &a, sizeof(a), 0) < 0 ||
	    a.sched_policy != SCHED_IDLE)
		return 0;
	for (size_t i = 0; i < h->threads.n; i++)
		if (h->threads.v[i].tid == process)
			parent = &h->threads.v[i];
	like = *parent;
	if (like.flags & SCHED_FLAG_RESET_ON_FORK) {
		like.policy = SCHED_NORMAL;
		like.priority = 0;
		like.flags = 0;
	}
	return restore_thread(tid, &like);
}

/* Children whose parent ended are reported by their process group and session. */
static bool may_be_younger(const struct hold *h, const struct target *t, const struct process *p)
{
	VEC_EACH(head, h->heads.list)
		if (p->start >= head->start && (p->group == head->group || (head->session && p->session == head->session)))
			return true;
	return target_has(t, p->pid);
}

static int restore_children(const char *proc_root, struct hold *h)
{
	_cleanup_(processes_free) struct processes all = {};
	_cleanup_(target_free) struct target t = {};
	int r = processes_read(proc_root, &all);

	if (r == 0)
		(void)target_of(proc_root, &h->heads, false, &t);
	for (size_t i = 0; r == 0 && i < all.list.n; i++)
		if (may_be_younger(h, &t, &all.list.v[i]))
			r = each_thread(proc_root, all.list.v[i].pid, restore_younger, h);
	return r;
}

int hold_class_restore(const char *proc_root, const struct hold *h)
{
	int r = 0;

	VEC_EACH(t, h->threads) {
		uint64_t start;
		int set;

		if (thread_start(proc_root, t->process, t->tid, &start) < 0 || start != t->start)
			continue;
		set = restore_thread(t->tid, t);
		r = set < 0 ? set : r;
	}
	if (r < 0 || !h->threads.n)
		return r;
	return restore_children(proc_root, (struct hold *)h);
}
