#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/flight/ring.h"
#include "machine/sample/task-inside.h"

#define ROLL_LOOK_AHEAD 4 /* entries of the roll that may have ended since the tick before */
#define ALL_EVERY	4096 /* sweeps: the walk goes through all tasks, should it have lost sight of one */

static bool comes_from_exec(const struct task_process *p, const struct task_sample *s)
{
	return p->entity->exec_id != s->exec_id;
}

static struct entity *new_process_entity(struct task_source *src, const struct task_sample *s)
{
	const struct task_process *parent = hmap_get(&src->by_pid, s->parent, 0);
	struct entity *e = entity_new_process(&(struct process_birth){.name = s->comm, .pid = s->pid, .parent = s->parent, .start = s->start,
					      .is_kernel_thread = s->flags & TASK_IS_KERNEL, .was_seen_to_start = src->recording,
					      .parent_entity = parent ? parent->entity : NULL, .recorder = src->own_pid});

	if (!e)
		return NULL;
	e->info.uid = s->uid;
	e->exec_id = s->exec_id;
	return e;
}

struct task_process *task_add_process(struct task_source *src, const struct task_sample *s)
{
	struct task_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = s->pid;
	p->start = s->start;
	p->ended_present = THREAD_MASK;
	if (!hmap_keep(&src->processes, s->pid, s->start, p))
		return NULL;
	(void)hmap_put(&src->by_pid, s->pid, 0, p);
	return p;
}

static bool stands_at(const struct process_slot *place, const struct task_sample *s)
{
	return place->pid == s->pid && place->start == s->start && place->process;
}

/* The kernel tells of tasks in one order, and the roll has it: the next one is nearly always the next. */
static struct process_slot *find_place(struct task_source *src, const struct task_sample *s)
{
	size_t end = src->cursor + ROLL_LOOK_AHEAD < src->roll.n ? src->cursor + ROLL_LOOK_AHEAD : src->roll.n;
	struct task_process *p;

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

static struct process_slot *find_or_add_place(struct task_source *src, const struct task_sample *s)
{
	struct process_slot *place = find_place(src, s);
	struct task_process *p;

	if (place)
		return place;
	p = hmap_get(&src->processes, s->pid, s->start);
	if (!p)
		p = task_add_process(src, s);
	if (!p || VEC_PUSH(src->roll, (struct process_slot){.process = p, .start = s->start, .pid = s->pid}) < 0)
		return NULL;
	p->place = src->roll.n;
	return &src->roll.v[src->roll.n - 1];
}

/* Describes a process that is new, and again after every exec. */
static void follow_identity(struct task_source *src, struct tick *tick, struct task_process *p,
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

void task_take_traffic(struct task_process *p, const struct task_sample *s)
{
	for (int i = 0; i < TRAFFIC_COUNT; i++) {
		int64_t sum = (int64_t)s->v[FEATURE_NET_RX_BYTES + i];

		if (sum > p->traffic[i])
			p->traffic[i] = sum;
		p->now[FEATURE_NET_RX_BYTES + i] = p->traffic[i];
	}
}

static void count_thread(struct task_source *src, struct tick *tick, const struct task_sample *s)
{
	struct process_slot *place = find_or_add_place(src, s);
	struct task_process *p;

	if (!place)
		return;
	p = place->process;
	if (place->tick != src->tick) {
		place->tick = src->tick;
		p->present = p->ended_present;
		memcpy(p->now, p->ended, sizeof(p->ended));
	}
	place->slept = place->same = place->settled = false;
	for (int i = 0; i < THREAD_FEATURE_COUNT; i++)
		p->now[i] += (int64_t)s->v[i];
	p->present &= s->present | ~THREAD_MASK; /* a sum with a part missing is missing */
	if (!(s->flags & TASK_HAS_PROCESS))
		return;
	follow_identity(src, tick, p, s);
	place->entity = p->entity;
	memcpy(p->now + THREAD_FEATURE_COUNT, s->v + THREAD_FEATURE_COUNT,
	       (PROCESS_FEATURE_COUNT - THREAD_FEATURE_COUNT) * sizeof(p->now[0]));
	task_take_traffic(p, s);
	p->present |= s->present & ~THREAD_MASK;
}

/* `now` still holds what the last full record said. */
static void count_sleeper(struct task_source *src, const struct task_sample *s)
{
	struct process_slot *place = find_place(src, s);

	if (!place)
		return;
	place->slept = true;
	place->same = place->tick == src->tick - 1;
	place->tick = src->tick;
}

static bool was_announced(struct task_source *src, const struct task_sample *s)
{
	return ANY_WHERE(i, src->announced.n, task_same_thread(&src->announced.v[i], s));
}

static void take_sample(struct task_source *src, struct tick *tick, const struct task_sample *s)
{
	struct seen seen = {.tid = s->tid, .start = s->thread_start, .exec_id = s->exec_id};

	if ((s->flags & TASK_IS_EXITING) && was_announced(src, s)) {
		(void)VEC_PUSH(src->lingering, seen);
		return;
	}
	(void)VEC_PUSH(src->seen, seen);
	count_thread(src, tick, s);
}

static void fetch(const void *from, size_t n)
{
	for (size_t at = 0; at < n; at += 64)
		__builtin_prefetch((const char *)from + at, 1);
}

/* A second's work of others has left nothing of the processes in the caches. Those that did something are fetched all
 * at once: their misses then take the time of a few. */
static void fetch_one_that_ran(struct task_source *src, struct tick *tick, const struct task_sample *s)
{
	const struct process_slot *place = find_place(src, s);

	if (place)
		fetch(place->process, sizeof(*place->process));
	if (place && place->entity)
		fetch(place->entity, sizeof(*place->entity) + PROCESS_FEATURE_COUNT * sizeof(int64_t));
	if (VEC_PUSH(src->ran, (struct ran){s, src->cursor}) < 0)
		take_sample(src, tick, s);
}

/* Takes whole records, those of sleepers first; returns the bytes they had. */
static size_t take_samples(struct task_source *src, struct tick *tick, const char *records, size_t n)
{
	size_t at = 0, cursor;

	src->ran.n = 0;
	while (n - at >= TASK_SAMPLE_SHORT) {
		const struct task_sample *s = (const void *)(records + at);

		if (s->size < TASK_SAMPLE_SHORT || s->size > n - at)
			break;
		if (s->flags & TASK_SLEEPS_ON) /* then that is all the record says */
			count_sleeper(src, s);
		else
			fetch_one_that_ran(src, tick, s);
		at += s->size;
	}
	cursor = src->cursor;
	for (size_t i = 0; i < src->ran.n; i++) {
		src->cursor = src->ran.v[i].cursor;
		take_sample(src, tick, src->ran.v[i].sample);
	}
	src->cursor = cursor;
	return at;
}

static void iterate(struct task_source *src, struct tick *tick)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(src->iter));
	size_t have = 0;

	src->told_of_all = fd >= 0;
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

	if (r < 0)
		return r;
	take_samples(src, tick, src->walked->records, src->walked->used);
	while (r == 0 && src->walked->more) {
		r = bpf_prog_test_run_opts(bpf_program__fd(src->skel->progs.walk), &options);
		if (r == 0)
			take_samples(src, tick, src->walked->records, src->walked->used);
	}
	src->told_of_all = r == 0 && src->walked->all;
	return 0;
}

/* A question is about who waits, and waits of sleepers are not known since they were last read. */
static void read_sleepers_if_asked(struct task_source *src)
{
	uint32_t freezes = src->sums ? ring_freezes(src->sums) : 0;

	if (freezes == src->freezes || src->tick - src->sleepers_read < SLEEPERS_EVERY)
		return;
	src->freezes = freezes;
	src->sleepers_read = src->tick;
	__sync_fetch_and_add(&src->skel->bss->report_generation, 1);
}

void task_sweep(struct task_source *src, struct tick *tick)
{
	bool heard = src->flight && ring_is_attached(src->flight); /* the one that is woken after this sweep */
	struct timespec own;

	src->cursor = 0;
	src->skel->bss->sweep_number = src->tick;
	read_sleepers_if_asked(src);
	src->skel->bss->wants_all = src->tick % ALL_EVERY == 1;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own); /* see measure_clock_offset() in machine/bpf/task-thread.h */
	if (!src->walked || walk(src, tick) < 0)
		iterate(src, tick);
	src->skel->bss->hears_wakeups = heard;
}
