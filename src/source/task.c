/* Processes by BPF: one pass over all tasks a tick, and the last word of every task that exits.
 *
 * The pass is a walk of our own where the kernel has what it takes (6.7), else, and for more tasks than the walk's memory
 * holds, the kernel's iterator. Most processes sleep on: of those nothing is touched but their place in the roll, which
 * stands in the order in which the kernel tells of them.
 *
 * Sums never fall: a thread's counters go on counting in `ended` after it ends. A thread may be in the sweep *and*
 * announce its exit before the ring is emptied; then its last word is kept for the next tick, so that no tick counts
 * it twice (seen_in_sweep). The exit is announced before the kernel takes the thread's memory and files down, so a
 * later sweep may see a thread again whose last word was counted (announced), or have seen it do more than its last word
 * says (hold_sums).
 *
 * A thread that calls exec takes over the leader's number and start time when the leader has ended: of two with the
 * same number and start the one with the higher exec_id is another thread (same_thread).
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/vec.h"
#include "model/task-sample.h"
#include "source/gpu.h"
#include "source/ring.h"
#include "source/source.h"
#include "task-old.skel.h"
#include "task.skel.h"

/* The same programs built without what old kernels lack: the skeletons differ in the bytes of the object only. */
_Static_assert(sizeof(struct task_bpf) == sizeof(struct task_old_bpf) &&
		       sizeof(struct task_bpf__bss) == sizeof(struct task_old_bpf__bss) &&
		       sizeof(struct task_bpf__rodata) == sizeof(struct task_old_bpf__rodata),
	       "one skeleton stands for both");

#define SWEEP_READ_SIZE (64 << 10)
#define LEVELS_MASK                                                                                   \
	(1ull << FEATURE_THREADS | 1ull << FEATURE_THREADS_RUNNING | 1ull << FEATURE_THREADS_RUNNABLE | \
	 1ull << FEATURE_THREADS_BLOCKED)
#define THREAD_MASK	((1ull << THREAD_FEATURE_COUNT) - 1)
#define LONGEST_WAIT	120000000000ll /* ns: from here on the kernel itself speaks of a hung task */
#define CHILDREN_MASK	(1ull << FEATURE_CHILDREN_SHORT | 1ull << FEATURE_CHILDREN_CPU)

#define PID_NS_INIT_INO	0xEFFFFFFCu
#define ROLL_LOOK_AHEAD 4 /* entries of the roll that may have ended since the tick before */
#define EXIT_BITS	65536

/* A process's place among those that live: all that a tick touches of one that sleeps on. */
struct place {
	struct process *process; /* NULL = it has gone */
	struct entity *entity;
	uint64_t start;
	uint64_t present; /* as last put */
	uint32_t pid;
	uint32_t tick; /* last sweep that saw it */
	bool same;     /* nothing has changed since the tick before */
	bool settled;  /* ... and whoever encodes the ticks knows it as it is */
};

/* A process between two ticks. */
struct process {
	uint32_t pid;
	uint64_t start;
	struct entity *entity;
	size_t place;	   /* its place in the roll + 1; 0 = no sweep has seen it */
	uint64_t exit_tick; /* last one in which a thread of it ended */
	bool dead;	   /* the last thread has ended */
	bool fell;	   /* a sum was lower than before at the last tick */
	uint64_t present;
	uint64_t ended_present; /* what all threads that have ended had measured */
	int64_t children, children_cpu;
	int64_t ended[THREAD_FEATURE_COUNT]; /* sums of threads that have ended */
	int64_t now[PROCESS_FEATURE_COUNT];
	int64_t before[THREAD_FEATURE_COUNT]; /* as put at the last tick */
	struct gpu_process gpu;
	/* of the last exit: all that is known of a process no sweep saw */
	uint32_t parent, uid;
	char comm[TASK_COMM_SIZE];
};

/* All short-lived processes of one name and parent, as one entity. */
struct short_lived {
	struct entity *entity;
	uint64_t tick; /* last one that had any */
	uint64_t present;
	int64_t sum[PROCESS_FEATURE_COUNT];
};

struct seen {
	uint32_t tid;
	uint64_t start, exec_id;
};

struct task_source {
	struct task_bpf *skel;
	struct bpf_link *iter;
	struct task_walk *walked; /* NULL = by the iterator only */
	struct ring_buffer *ring;
	char *buffer;
	uint32_t tick;
	uint64_t lost;
	const char *proc_root;
	bool has_gpu;	/* the machine */
	bool recording; /* a tick has been taken: whoever appears from now on was born */
	uint32_t own_pid;
	struct hmap processes;	 /* (pid, start) -> struct process */
	struct hmap by_pid;	 /* (pid, 0) -> the newest of that number */
	struct hmap short_lived; /* (hash of name, parent pid) -> struct short_lived */
	VEC(struct place) roll;
	size_t cursor, holes;	 /* the place last found; places of those that have gone */
	VEC(struct process *) unseen; /* known only by an exit */
	VEC(struct seen) seen;
	VEC(struct task_sample) exits; /* read from the ring, not yet counted */
	VEC(struct task_sample) later;
	VEC(struct seen) announced; /* their exits are counted; a sweep may see them once more */
	VEC(struct seen) lingering; /* ... and did */
	VEC(struct process *) gone;
};

static bool comes_from_exec(const struct process *p, const struct task_sample *s)
{
	return p->entity->exec_id != s->exec_id;
}

static struct entity *new_process_entity(struct task_source *src, const struct task_sample *s)
{
	struct entity *e = entity_new(ENTITY_PROCESS, s->comm);

	if (!e)
		return NULL;
	e->info.pid = s->pid;
	e->info.parent = s->parent;
	e->info.uid = s->uid;
	e->info.start = s->start;
	e->exec_id = s->exec_id;
	e->born = src->recording;
	if (s->flags & TASK_IS_KERNEL)
		e->info.flags |= ENTITY_IS_KERNEL_THREAD;
	if (!e->born)
		e->info.flags |= ENTITY_WAS_RUNNING;
	if (s->pid == src->own_pid)
		e->info.flags |= ENTITY_IS_SELF;
	return e;
}

static struct process *add_process(struct task_source *src, const struct task_sample *s)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = s->pid;
	p->start = s->start;
	p->ended_present = THREAD_MASK;
	if (hmap_put(&src->processes, s->pid, s->start, p) < 0) {
		free(p);
		return NULL;
	}
	(void)hmap_put(&src->by_pid, s->pid, 0, p);
	return p;
}

static bool stands_at(const struct place *place, const struct task_sample *s)
{
	return place->pid == s->pid && place->start == s->start && place->process;
}

/* The kernel tells of tasks in one order, and the roll has it: the next one is nearly always the next. */
static struct place *find_place(struct task_source *src, const struct task_sample *s)
{
	size_t end = src->cursor + ROLL_LOOK_AHEAD < src->roll.n ? src->cursor + ROLL_LOOK_AHEAD : src->roll.n;
	struct process *p;

	for (size_t i = src->cursor; i < end; i++)
		if (stands_at(&src->roll.v[i], s)) {
			src->cursor = i;
			return &src->roll.v[i];
		}
	p = hmap_get(&src->processes, s->pid, s->start);
	if (!p || !p->place)
		return NULL;
	src->cursor = p->place - 1;
	return &src->roll.v[src->cursor];
}

static struct place *find_or_add_place(struct task_source *src, const struct task_sample *s)
{
	struct place *place = find_place(src, s);
	struct process *p;

	if (place)
		return place;
	p = hmap_get(&src->processes, s->pid, s->start);
	if (!p)
		p = add_process(src, s);
	if (!p || VEC_PUSH(src->roll, (struct place){.process = p, .start = s->start, .pid = s->pid}) < 0)
		return NULL;
	p->place = src->roll.n;
	return &src->roll.v[src->roll.n - 1];
}

static struct place *place_of(struct task_source *src, const struct process *p)
{
	return p->place ? &src->roll.v[p->place - 1] : NULL;
}

static bool was_seen(struct task_source *src, const struct process *p)
{
	const struct place *place = place_of(src, p);

	return place && place->tick == src->tick;
}

static void look_again(struct task_source *src, struct process *p)
{
	struct place *place = place_of(src, p);

	if (place)
		place->same = place->settled = false;
}

static void process_free(struct process *p)
{
	if (p)
		entity_free(p->entity);
	free(p);
}

/* Describes a process that is new, and again after every exec. */
static void follow_identity(struct task_source *src, struct tick *tick, struct process *p,
			    const struct task_sample *s)
{
	if (!p->entity) {
		p->entity = new_process_entity(src, s);
		if (!p->entity || (s->flags & TASK_IS_KERNEL))
			return;
		(void)VEC_PUSH(tick->unnamed, p->entity);
	} else if (comes_from_exec(p, s) || strncmp(p->entity->info.name, s->comm, TASK_COMM_SIZE) != 0) {
		char *name = strndup(s->comm, TASK_COMM_SIZE);

		if (!name)
			return;
		free(p->entity->info.name);
		p->entity->info.name = name;
		p->entity->changed = true;
		if (comes_from_exec(p, s))
			(void)VEC_PUSH(tick->unnamed, p->entity);
		p->entity->exec_id = s->exec_id;
	}
	if (p->entity && p->entity->info.parent != s->parent) {
		p->entity->info.parent = s->parent; /* its parent died: init or a subreaper took it */
		p->entity->changed = true;
	}
}

static void count_thread(struct task_source *src, struct tick *tick, const struct task_sample *s)
{
	struct place *place = find_or_add_place(src, s);
	struct process *p;

	if (!place)
		return;
	p = place->process;
	if (place->tick != src->tick) {
		place->tick = src->tick;
		p->present = p->ended_present;
		memcpy(p->now, p->ended, sizeof(p->ended));
	}
	place->same = place->settled = false;
	for (int i = 0; i < THREAD_FEATURE_COUNT; i++)
		p->now[i] += (int64_t)s->v[i];
	p->present &= s->present | ~THREAD_MASK; /* a sum with a part missing is missing */
	if (!(s->flags & TASK_HAS_PROCESS))
		return;
	follow_identity(src, tick, p, s);
	place->entity = p->entity;
	memcpy(p->now + THREAD_FEATURE_COUNT, s->v + THREAD_FEATURE_COUNT,
	       (PROCESS_FEATURE_COUNT - THREAD_FEATURE_COUNT) * sizeof(p->now[0]));
	p->present |= s->present & ~THREAD_MASK;
}

/* `now` still holds what the last full record said. */
static void count_sleeper(struct task_source *src, const struct task_sample *s)
{
	struct place *place = find_place(src, s);

	if (!place)
		return;
	place->same = place->tick == src->tick - 1;
	place->tick = src->tick;
}

/* Of two threads with one number and start, the later one has called exec more often. */
static bool same_thread(const struct seen *seen, const struct task_sample *last_word)
{
	return seen->tid == last_word->tid && seen->start == last_word->thread_start &&
	       seen->exec_id <= last_word->exec_id;
}

static bool was_announced(struct task_source *src, const struct task_sample *s)
{
	for (size_t i = 0; i < src->announced.n; i++)
		if (same_thread(&src->announced.v[i], s))
			return true;
	return false;
}

static void take_sample(struct task_source *src, struct tick *tick, const struct task_sample *s)
{
	bool sleeps = s->flags & TASK_SLEEPS_ON; /* then that is all the record says */
	struct seen seen = {s->tid, s->thread_start, sleeps ? 0 : s->exec_id};

	if ((s->flags & TASK_IS_EXITING) && was_announced(src, s)) {
		(void)VEC_PUSH(src->lingering, seen);
		return;
	}
	(void)VEC_PUSH(src->seen, seen);
	if (sleeps)
		count_sleeper(src, s);
	else
		count_thread(src, tick, s);
}

/* Takes whole records; returns the bytes they had. */
static size_t take_samples(struct task_source *src, struct tick *tick, const char *records, size_t n)
{
	size_t at = 0;

	while (n - at >= TASK_SAMPLE_SHORT) {
		const struct task_sample *s = (const void *)(records + at);

		if (s->size < TASK_SAMPLE_SHORT || s->size > n - at)
			break;
		take_sample(src, tick, s);
		at += s->size;
	}
	return at;
}

static void fetch(const void *from, size_t n)
{
	for (size_t at = 0; at < n; at += 64)
		__builtin_prefetch((const char *)from + at, 1);
}

/* A second's work of others has left nothing of the processes in the caches. Those that did something are fetched all
 * at once: their misses then take the time of a few. */
static void fetch_those_that_ran(struct task_source *src, const char *records, size_t n)
{
	for (size_t at = 0; n - at >= TASK_SAMPLE_SHORT;) {
		const struct task_sample *s = (const void *)(records + at);
		const struct place *place = find_place(src, s);

		at += s->size;
		if (!place || s->flags & TASK_SLEEPS_ON)
			continue;
		fetch(place->process, sizeof(*place->process));
		if (place->entity)
			fetch(place->entity, sizeof(*place->entity) + PROCESS_FEATURE_COUNT * sizeof(int64_t));
	}
	src->cursor = 0;
}

static void iterate(struct task_source *src, struct tick *tick)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(src->iter));
	size_t have = 0;

	if (fd < 0)
		return;
	for (;;) {
		ssize_t n = read(fd, src->buffer + have, SWEEP_READ_SIZE - have);
		size_t taken;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return;
		have += (size_t)n;
		/* a read may end within a record: keep the rest for the next */
		taken = take_samples(src, tick, src->buffer, have);
		memmove(src->buffer, src->buffer + taken, have - taken);
		have -= taken;
	}
}

/* 0, or -errno when nothing was taken. */
static int walk(struct task_source *src, struct tick *tick)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int r = bpf_prog_test_run_opts(bpf_program__fd(src->skel->progs.walk), &options);

	if (r == 0 && !src->walked->incomplete) {
		fetch_those_that_ran(src, src->walked->records, src->walked->used);
		take_samples(src, tick, src->walked->records, src->walked->used);
		return 0;
	}
	__atomic_fetch_add(&src->skel->bss->retelling, 1, __ATOMIC_RELAXED); /* the records it did write are lost */
	return r < 0 ? r : -EAGAIN;
}

static void sweep(struct task_source *src, struct tick *tick)
{
	struct timespec own;

	src->cursor = 0;
	src->skel->bss->sweep_number = src->tick;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own); /* see measure_clock_offset() in task.bpf.c */
	if (!src->walked || walk(src, tick) < 0)
		iterate(src, tick);
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Of those seen only the few are kept whose number is that of one that has ended since. */
static void keep_seen_that_ended(struct task_source *src)
{
	uint64_t ended[EXIT_BITS / 64] = {};
	size_t n = 0;

	for (size_t i = 0; i < src->exits.n; i++)
		ended[src->exits.v[i].tid % EXIT_BITS / 64] |= 1ull << src->exits.v[i].tid % 64;
	for (size_t i = 0; i < src->seen.n; i++)
		if (ended[src->seen.v[i].tid % EXIT_BITS / 64] >> src->seen.v[i].tid % 64 & 1)
			src->seen.v[n++] = src->seen.v[i];
	src->seen.n = n;
	if (n)
		qsort(src->seen.v, n, sizeof(src->seen.v[0]), compare_seen);
}

static bool seen_in_sweep(const struct task_source *src, const struct task_sample *s)
{
	struct seen key = {s->tid, s->thread_start, 0};
	const struct seen *found =
		src->seen.n ? bsearch(&key, src->seen.v, src->seen.n, sizeof(key), compare_seen) : NULL;

	return found && same_thread(found, s);
}

static int on_exit_record(void *context, void *data, size_t size)
{
	struct task_source *src = context;

	if (size >= TASK_SAMPLE_FULL)
		(void)VEC_PUSH(src->exits, *(const struct task_sample *)data);
	return 0;
}

static struct short_lived *find_short_lived(struct task_source *src, const struct process *p)
{
	uint64_t name = hash_bytes(p->comm, strnlen(p->comm, TASK_COMM_SIZE));
	struct short_lived *group = hmap_get(&src->short_lived, name, p->parent);
	char text[TASK_COMM_SIZE + 1];

	if (group)
		return group;
	group = calloc(1, sizeof(*group));
	memcpy(text, p->comm, TASK_COMM_SIZE);
	text[TASK_COMM_SIZE] = '\0';
	if (group)
		group->entity = entity_new(ENTITY_SHORT_LIVED, text);
	if (!group || !group->entity || hmap_put(&src->short_lived, name, p->parent, group) < 0) {
		if (group)
			entity_free(group->entity);
		free(group);
		return NULL;
	}
	group->entity->info.parent = p->parent;
	group->entity->info.uid = p->uid;
	group->entity->born = true;
	return group;
}

/* A process that no sweep saw: it goes into its group's sum and onto its parent's account. */
static void count_short_lived(struct task_source *src, const struct process *p)
{
	struct short_lived *group = find_short_lived(src, p);
	struct process *parent;

	if (group) {
		if (group->tick != src->tick)
			group->present = THREAD_MASK & ~LEVELS_MASK;
		group->tick = src->tick;
		group->present &= p->ended_present;
		for (int i = 0; i < THREAD_FEATURE_COUNT; i++)
			group->sum[i] += p->ended[i];
		group->sum[FEATURE_CHILDREN_SHORT]++;
		group->entity->info.uid = p->uid;
	}
	parent = hmap_get(&src->by_pid, p->parent, 0);
	if (parent) {
		look_again(src, parent);
		parent->children++;
		parent->children_cpu += p->ended[FEATURE_CPU_TIME];
	}
}

static struct process *find_or_add_unseen(struct task_source *src, const struct task_sample *s)
{
	struct process *p = hmap_get(&src->processes, s->pid, s->start);

	if (p)
		return p;
	p = add_process(src, s);
	if (p)
		(void)VEC_PUSH(src->unseen, p);
	return p;
}

static void count_exit(struct task_source *src, const struct task_sample *s)
{
	struct process *p = find_or_add_unseen(src, s);

	if (!p)
		return;
	look_again(src, p);
	(void)VEC_PUSH(src->announced, (struct seen){s->tid, s->thread_start, s->exec_id});
	p->exit_tick = src->tick;
	p->ended_present &= s->present | ~THREAD_MASK;
	p->present &= s->present | ~THREAD_MASK;
	for (int i = 0; i < THREAD_FEATURE_COUNT; i++) {
		p->ended[i] += (int64_t)s->v[i];
		if (was_seen(src, p))
			p->now[i] += (int64_t)s->v[i];
	}
	p->parent = s->parent;
	p->uid = s->uid;
	memcpy(p->comm, s->comm, sizeof(p->comm));
	if (!(s->flags & TASK_GROUP_DEAD))
		return;
	p->dead = true;
	if (s->present & (1ull << FEATURE_NET_RX_BYTES))
		for (int i = FEATURE_NET_RX_BYTES; i <= FEATURE_NET_TX_CALLS; i++)
			p->now[i] = (int64_t)s->v[i];
}

static void count_exits(struct task_source *src)
{
	src->later.n = 0;
	ring_buffer__consume(src->ring);
	if (!src->exits.n)
		return;
	keep_seen_that_ended(src);
	for (size_t i = 0; i < src->exits.n; i++) {
		const struct task_sample *s = &src->exits.v[i];

		if (seen_in_sweep(src, s))
			(void)VEC_PUSH(src->later, *s);
		else
			count_exit(src, s);
	}
	src->exits.n = 0;
	for (size_t i = 0; i < src->later.n; i++)
		(void)VEC_PUSH(src->exits, src->later.v[i]);
}

/* A sum may be low for one tick, when a thread changed its number or ended at the very moment of the sweep: it is held.
 * If it stays low, a thread's last word was lost, or was spoken before all was done: what was seen stays in the sum. */
/* A wait is charged when it ends, so it may be longer than a tick, but hardly than a minute or two. The kernel charges a
 * task that began to wait before delay accounting was switched on from the machine's start. */
static void drop_impossible_waits(struct process *p)
{
	int64_t most = (p->now[FEATURE_THREADS] + 1) * LONGEST_WAIT;

	for (int i = FEATURE_DELAY_BLOCK; i <= FEATURE_WAIT_OTHER; i++) {
		int64_t growth = p->now[i] - p->before[i];

		if (i == FEATURE_DELAY_BLOCK_COUNT || growth <= most || p->entity->fresh)
			continue;
		p->ended[i] -= growth;
		p->now[i] = p->before[i];
	}
}

static void hold_sums(struct process *p)
{
	bool falls = false;

	for (int i = 0; i < FEATURE_THREADS; i++) {
		int64_t missing = p->before[i] - p->now[i];

		if (missing > 0) {
			falls = true;
			p->now[i] = p->before[i];
			if (p->fell)
				p->ended[i] += missing;
		}
		p->before[i] = p->now[i];
	}
	p->fell = falls && !p->fell;
}

/* A process's last sample: what its threads did until the end, and none of its levels. */
static void put_last(struct tick *tick, struct process *p)
{
	memcpy(p->now, p->ended, sizeof(p->ended));
	hold_sums(p);
	for (int i = THREAD_FEATURE_COUNT; i < PROCESS_FEATURE_COUNT; i++)
		if (i < FEATURE_QUOTA_THROTTLED || i > FEATURE_CHILDREN_CPU)
			p->present &= ~(1ull << i);
	tick_put(tick, p->entity, p->now, p->present);
}

static void read_gpu(struct task_source *src, struct process *p)
{
	char path[4096];
	_cleanup_close_ int dir = -1;

	if ((p->entity->info.flags & ENTITY_IS_KERNEL_THREAD) || !gpu_is_due(&p->gpu, p->pid, src->tick))
		return;
	snprintf(path, sizeof(path), "%s/%u", src->proc_root, p->pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !gpu_read(dir, p->pid, src->tick, &p->gpu))
		return;
	p->now[FEATURE_GPU_TIME] = p->gpu.time;
	p->now[FEATURE_GPU_MEMORY] = p->gpu.memory;
	p->present |= 1ull << FEATURE_GPU_TIME | 1ull << FEATURE_GPU_MEMORY;
}

/* Before anything is put: the parents' samples tell of them. */
static void count_all_short_lived(struct task_source *src)
{
	size_t n = 0;

	for (size_t i = 0; i < src->unseen.n; i++) {
		struct process *p = src->unseen.v[i];

		if (p->place)
			continue; /* a sweep has seen it since */
		if (p->dead)
			count_short_lived(src, p);
		/* one that began after the sweep and of which only a thread has ended is seen by the next */
		if (p->dead || p->exit_tick != src->tick)
			(void)VEC_PUSH(src->gone, p);
		else
			src->unseen.v[n++] = p;
	}
	src->unseen.n = n;
}

static void put_living(struct task_source *src, struct tick *tick, struct place *place)
{
	struct process *p = place->process;

	p->now[FEATURE_CHILDREN_SHORT] = p->children;
	p->now[FEATURE_CHILDREN_CPU] = p->children_cpu;
	p->present |= CHILDREN_MASK;
	drop_impossible_waits(p);
	hold_sums(p);
	if (src->has_gpu)
		read_gpu(src, p);
	place->present = p->present;
	tick_put(tick, p->entity, p->now, p->present);
}

static void put_ended(struct task_source *src, struct tick *tick, struct place *place)
{
	struct process *p = place->process;

	if (p->entity) {
		p->now[FEATURE_CHILDREN_SHORT] = p->children;
		p->now[FEATURE_CHILDREN_CPU] = p->children_cpu;
		p->present |= CHILDREN_MASK;
		if (p->dead)
			put_last(tick, p);
		(void)VEC_PUSH(tick->ended, p->entity);
	} else if (p->dead) {
		count_short_lived(src, p);
	}
	(void)VEC_PUSH(src->gone, p);
	*place = (struct place){};
	src->holes++;
}

/* One that sleeps on is not even touched, where that will do. */
static void put_sleeper(struct tick *tick, struct place *place)
{
	if (!place->settled)
		place->settled = entity_is_settled(place->entity);
	if (!tick->brief || !place->settled) {
		tick_put_same(tick, place->entity, place->process->now, place->present);
		return;
	}
	tick->asleep++;
	tick->asleep_values += (uint64_t)__builtin_popcountll(place->present);
}

static void put_processes(struct task_source *src, struct tick *tick)
{
	for (size_t i = 0; i < src->roll.n; i++) {
		struct place *place = &src->roll.v[i];

		if (!place->process)
			continue;
		/* a GPU works on while its process sleeps */
		if (place->same && place->tick == src->tick && !(place->present >> FEATURE_GPU_TIME & 1))
			put_sleeper(tick, place);
		else if (place->tick != src->tick)
			put_ended(src, tick, place);
		else if (place->entity)
			put_living(src, tick, place);
	}
}

/* The roll keeps its order; whoever moves is touched, so it is not done for every one that ends. */
static void close_ranks(struct task_source *src)
{
	size_t n = 0;

	if (src->holes <= 64 + src->roll.n / 4)
		return;
	for (size_t i = 0; i < src->roll.n; i++)
		if (src->roll.v[i].process) {
			src->roll.v[n++] = src->roll.v[i];
			src->roll.v[n - 1].process->place = n;
		}
	src->roll.n = n;
	src->holes = 0;
}

/* At every tick, idle or not: a segment of the recording begins with all that later ticks of it may speak of. */
static void put_short_lived(struct task_source *src, struct tick *tick)
{
	HMAP_FOREACH(slot, &src->short_lived) {
		struct short_lived *group = slot->value;

		if (group->tick + 60 == src->tick)
			(void)VEC_PUSH(tick->ended, group->entity);
		else
			tick_put(tick, group->entity, group->sum, group->present | (1ull << FEATURE_CHILDREN_SHORT));
	}
}

static void forget_gone(struct task_source *src)
{
	for (size_t i = 0; i < src->gone.n; i++) {
		struct process *p = src->gone.v[i];

		hmap_remove(&src->processes, p->pid, p->start);
		if (hmap_get(&src->by_pid, p->pid, 0) == p)
			hmap_remove(&src->by_pid, p->pid, 0);
		process_free(p);
	}
	src->gone.n = 0;
	for (size_t i = 0; i < src->short_lived.size; i++) {
		struct short_lived *group = src->short_lived.slots[i].value;

		if (!group || group->tick + 60 > src->tick)
			continue;
		hmap_remove(&src->short_lived, src->short_lived.slots[i].key, src->short_lived.slots[i].key2);
		entity_free(group->entity);
		free(group);
		i--; /* the removal may have moved another one here */
	}
}

static void task_sample(void *state, struct tick *tick)
{
	struct task_source *src = state;

	close_ranks(src);
	forget_gone(src); /* of the tick before: their entities have been encoded by now */
	src->tick++;
	src->seen.n = src->lingering.n = 0;
	sweep(src, tick);
	src->announced.n = 0;
	for (size_t i = 0; i < src->lingering.n; i++)
		(void)VEC_PUSH(src->announced, src->lingering.v[i]);
	count_exits(src);
	count_all_short_lived(src);
	put_processes(src, tick);
	put_short_lived(src, tick);
	if (src->skel->bss->lost_exits != src->lost) {
		tick_note(tick, NOTE_RECORDER, 0, "%llu process exits were lost: more ended at once than fit the ring",
			  (unsigned long long)(src->skel->bss->lost_exits - src->lost));
		src->lost = src->skel->bss->lost_exits;
	}
	src->recording = true;
}

static void task_close(void *state)
{
	struct task_source *src = state;

	if (!src)
		return;
	ring_buffer__free(src->ring);
	if (src->walked)
		munmap(src->walked, sizeof(*src->walked));
	bpf_link__destroy(src->iter);
	task_bpf__destroy(src->skel);
	HMAP_FOREACH(slot, &src->processes)
		process_free(slot->value);
	HMAP_FOREACH(slot, &src->short_lived) {
		struct short_lived *group = slot->value;

		entity_free(group->entity);
		free(group);
	}
	hmap_free(&src->processes);
	hmap_free(&src->by_pid);
	hmap_free(&src->short_lived);
	VEC_FREE(src->roll);
	VEC_FREE(src->unseen);
	VEC_FREE(src->seen);
	VEC_FREE(src->exits);
	VEC_FREE(src->later);
	VEC_FREE(src->announced);
	VEC_FREE(src->lingering);
	VEC_FREE(src->gone);
	free(src->buffer);
	free(src);
}

static bool knows(const struct btf *vmlinux, const char *function)
{
	return btf__find_by_name_kind(vmlinux, function, BTF_KIND_FUNC) > 0;
}

/* A walk sees the tasks of the whole machine; a recorder in a namespace of its own sees what the iterator shows there. */
static bool sees_all_tasks(void)
{
	struct stat ns;

	return stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino == PID_NS_INIT_INO;
}

static bool can_walk(const struct btf *vmlinux)
{
	return knows(vmlinux, "bpf_iter_task_new") && knows(vmlinux, "bpf_rcu_read_lock") && sees_all_tasks();
}

/* What a kernel has of what the programs would use. */
struct abilities {
	bool lengths; /* of what goes through sockets: 6.3 */
	bool walks;   /* 6.7 */
	bool reclaim; /* signs of it */
};

static bool traces(const struct btf *vmlinux, const char *tracepoint)
{
	char name[64];

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	return btf__find_by_name_kind(vmlinux, name, BTF_KIND_TYPEDEF) > 0;
}

static int look_at_kernel(const struct source_options *options, struct abilities *ret)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();

	if (!vmlinux)
		return -EOPNOTSUPP;
	ret->lengths = traces(vmlinux, "sock_send_length");
	ret->walks = !options->iterator && can_walk(vmlinux);
	ret->reclaim = traces(vmlinux, "mm_vmscan_kswapd_wake") && traces(vmlinux, "mm_vmscan_direct_reclaim_begin") &&
		       traces(vmlinux, "mm_vmscan_memcg_reclaim_begin");
	btf__free(vmlinux);
	return 0;
}

static int load_programs(struct task_source *src, const struct source_options *options, const struct abilities *can, bool walks)
{
	int r;

	src->skel = walks ? task_bpf__open() : (struct task_bpf *)task_old_bpf__open();
	if (!src->skel)
		return -errno;
	src->skel->rodata->count_sockets = options->sockets;
	src->skel->rodata->has_socket_lengths = can->lengths;
	src->skel->rodata->has_sums = options->ring && ring_share_threads(options->ring, src->skel->maps.threads, src->skel->maps.thread_slots) == 0;
	if (!src->skel->rodata->has_sums)
		bpf_map__set_max_entries(src->skel->maps.thread_slots, 1);
	src->skel->rodata->sees_reclaim = can->reclaim;
	src->skel->rodata->in_namespace = !sees_all_tasks();
	bpf_program__set_autoload(src->skel->progs.on_send, can->lengths);
	bpf_program__set_autoload(src->skel->progs.on_receive, can->lengths);
	bpf_program__set_autoload(src->skel->progs.on_kswapd, can->reclaim);
	bpf_program__set_autoload(src->skel->progs.on_direct_reclaim, can->reclaim);
	bpf_program__set_autoload(src->skel->progs.on_group_reclaim, can->reclaim);
	bpf_program__set_autoload(src->skel->progs.walk, walks);
	bpf_map__set_autocreate(src->skel->maps.walked, walks);
	r = task_bpf__load(src->skel);
	if (r < 0) {
		task_bpf__destroy(src->skel);
		src->skel = NULL;
	}
	return r;
}

static void map_walked(struct task_source *src)
{
	void *at = mmap(NULL, sizeof(*src->walked), PROT_READ, MAP_SHARED, bpf_map__fd(src->skel->maps.walked), 0);

	src->walked = at == MAP_FAILED ? NULL : at;
}

static int load(struct task_source *src, const struct source_options *options)
{
	struct abilities can;
	int r;

	libbpf_set_print(NULL); /* what it would say is no help to a user */
	r = look_at_kernel(options, &can);
	if (r < 0)
		return r;
	r = can.walks ? load_programs(src, options, &can, true) : -EOPNOTSUPP;
	if (r == 0)
		map_walked(src);
	else
		r = load_programs(src, options, &can, false);
	if (r < 0)
		return r;
	r = task_bpf__attach(src->skel);
	if (r < 0)
		return r;
	src->iter = bpf_program__attach_iter(src->skel->progs.sweep, NULL);
	if (!src->iter)
		return -errno;
	src->ring = ring_buffer__new(bpf_map__fd(src->skel->maps.exits), on_exit_record, src, NULL);
	return src->ring ? 0 : -errno;
}

static int task_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct task_source *src = calloc(1, sizeof(*src));
	int r;

	if (!src)
		return -ENOMEM;
	src->own_pid = (uint32_t)getpid();
	src->proc_root = options->proc_root;
	src->has_gpu = gpu_is_there(options->sys_root);
	src->buffer = malloc(SWEEP_READ_SIZE);
	r = src->buffer ? load(src, options) : -ENOMEM;
	if (r < 0) {
		task_close(src);
		*ret_why = r == -EPERM || r == -EACCES ?
				   "BPF needs root or CAP_BPF + CAP_PERFMON: start the recorder as root" :
				   "this kernel cannot load the BPF programs (it needs BTF, 5.17 or later)";
		return r;
	}
	*ret_state = src;
	return 0;
}

static int task_wake_fd(void *state)
{
	struct task_source *src = state;

	return ring_buffer__epoll_fd(src->ring);
}

const struct source source_task = {
	.name = "task",
	.help = "every process by a BPF task iterator, and every exit",
	.open = task_open,
	.sample = task_sample,
	.close = task_close,
	.wake_fd = task_wake_fd,
};
