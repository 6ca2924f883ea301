/* Processes by BPF: one pass over all tasks a tick, and the last word of every task that exits.
 *
 * The pass is a walk of our own where the kernel has what it takes (6.7), else, and for more tasks than the walk's memory
 * holds, the kernel's iterator. Most processes sleep on: of those nothing is touched but their place in the roll, which
 * stands in the order in which the kernel tells of them, and mostly the walk says nothing of them at all (bpf/task-visits.h).
 *
 * Sums never fall: a thread's counters continue counting in `ended` after it ends. A thread may be in the sweep *and*
 * announce its exit before the ring is emptied; then its last word is kept for the next tick, so that no tick counts
 * it twice (seen_in_sweep). The exit is announced before the kernel takes the thread's memory and files down, so a
 * later sweep may see a thread again whose last word was counted (announced), or have seen it do more than its last word
 * says (hold_sums).
 *
 * A thread that calls exec takes over the leader's number and start time when the leader has ended: of two with the
 * same number and start the one with the higher exec_id is another thread (task_same_thread).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/system/lockdown.h"
#include "lib/system/own-limits.h"
#include "machine/sample/source.h"
#include "machine/sample/task-inside.h"

#define LONGEST_WAIT	120000000000ll /* ns: from here on the kernel itself speaks of a hung task */
#define CHILDREN_MASK	(FEATURE_BIT(FEATURE_CHILDREN_SHORT) | FEATURE_BIT(FEATURE_CHILDREN_CPU))

static void process_free(struct task_process *p)
{
	if (p)
		entity_free(p->entity);
	free(p);
}

/* A wait is charged when it ends, so it may be longer than a tick, but hardly than a minute or two. The kernel charges a
 * task that began to wait before delay accounting was switched on from the machine's start. From Linux 6.12 on, it charges
 * a wait for a disk whose task was left in its queue for a while (DELAY_DEQUEUE; the start is then noted of the one that runs)
 * from the start of an earlier one, or from the machine's start where none was noted: of those, only threads that were blocked
 * at the last sweep can have waited longer than since then, and none longer than its process lives. What threads took with
 * them when they ended is theirs since who knows when. */
static int64_t longest_wait(const struct task_source *src, const struct task_process *p, int feature, int64_t elapsed)
{
	int64_t threads = p->now[FEATURE_THREADS] + 1;

	if (feature != FEATURE_DELAY_BLOCK || p->exit_tick == src->tick)
		return threads * LONGEST_WAIT;
	return threads * elapsed + p->blocked_before * LONGEST_WAIT;
}

static void drop_impossible_waits(const struct task_source *src, struct task_process *p, const struct tick *tick)
{
	bool fresh = p->entity->fresh;
	int64_t elapsed = tick->boot - (fresh ? (int64_t)p->entity->info.start : tick->previous_boot);

	for (int i = FEATURE_DELAY_BLOCK; i <= FEATURE_WAIT_OTHER; i++) {
		int64_t growth = p->now[i] - p->before[i];

		if (i == FEATURE_DELAY_BLOCK_COUNT || growth <= 0 || (fresh && i != FEATURE_DELAY_BLOCK) ||
		    growth <= longest_wait(src, p, i, elapsed))
			continue;
		p->ended[i] -= growth;
		p->now[i] = p->before[i];
	}
	p->blocked_before = p->now[FEATURE_THREADS_BLOCKED];
}

/* A sum may be low for one tick, when a thread changed its number or ended at the very moment of the sweep: it is held.
 * If it stays low, a thread's last word was lost, or was spoken before all was done: what was seen stays in the sum. */
static void hold_sums(struct task_process *p)
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
static void put_last(struct tick *tick, struct task_process *p)
{
	memcpy(p->now, p->ended, sizeof(p->ended));
	hold_sums(p);
	for (int i = THREAD_FEATURE_COUNT; i < PROCESS_FEATURE_COUNT; i++)
		if (i < FEATURE_QUOTA_THROTTLED || i > FEATURE_CHILDREN_CPU)
			p->present &= ~(FEATURE_BIT(i));
	tick_put(tick, p->entity, p->now, p->present);
}

static void read_gpu(struct task_source *src, struct task_process *p)
{
	_cleanup_close_ int dir = -1;

	if ((p->entity->info.flags & ENTITY_IS_KERNEL_THREAD) || !gpu_is_due(&p->gpu, p->pid, src->tick))
		return;
	dir = open(STR_TEXT(4096, "%s/%u", src->proc_root, p->pid), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !gpu_read(dir, p->pid, src->tick, &p->gpu))
		return;
	p->now[FEATURE_GPU_TIME] = p->gpu.time;
	p->now[FEATURE_GPU_MEMORY] = p->gpu.memory;
	p->present |= FEATURE_BIT(FEATURE_GPU_TIME) | FEATURE_BIT(FEATURE_GPU_MEMORY);
}

static void put_living(struct task_source *src, struct tick *tick, struct process_slot *place)
{
	struct task_process *p = place->process;

	p->now[FEATURE_CHILDREN_SHORT] = p->children;
	p->now[FEATURE_CHILDREN_CPU] = p->children_cpu;
	p->present |= CHILDREN_MASK;
	drop_impossible_waits(src, p, tick);
	hold_sums(p);
	if (src->has_gpu)
		read_gpu(src, p);
	place->present = p->present;
	place->threads = (uint32_t)p->now[FEATURE_THREADS];
	tick_put(tick, p->entity, p->now, p->present);
}

static void put_ended(struct task_source *src, struct tick *tick, struct process_slot *place)
{
	struct task_process *p = place->process;

	if (p->entity) {
		p->now[FEATURE_CHILDREN_SHORT] = p->children;
		p->now[FEATURE_CHILDREN_CPU] = p->children_cpu;
		p->present |= CHILDREN_MASK;
		if (p->dead)
			put_last(tick, p);
		(void)VEC_PUSH(tick->ended, p->entity);
	} else if (p->dead) {
		task_count_short_lived(src, p);
	}
	(void)VEC_PUSH(src->gone, p);
	*place = (struct process_slot){};
	src->holes++;
}

/* One that sleeps on is not even touched, where that will do. */
static void put_sleeper(struct tick *tick, struct process_slot *place)
{
	if (!place->settled)
		place->settled = entity_is_settled(place->entity);
	if (!tick->brief || !place->settled) {
		tick_put_same(tick, place->entity, place->process->now, place->present);
		return;
	}
	tick->asleep++;
	tick->asleep_threads += place->threads;
	tick->asleep_values += feature_set_count(place->present);
}

/* Of whom nothing is reported by a walk that did not go through all, and who has not spoken its last word, sleeps on. */
static bool lives(const struct task_source *src, struct process_slot *place)
{
	bool as_before = place->tick == src->tick - 1 && !place->look_again;

	place->look_again = false;
	if (place->tick == src->tick)
		return true;
	if (src->told_of_all || place->dead)
		return false;
	place->slept = true;
	place->same = as_before;
	place->tick = src->tick;
	return true;
}

static void put_processes(struct task_source *src, struct tick *tick)
{
	VEC_EACH(place, src->roll) {
		if (!place->process)
			continue;
		/* a GPU works on while its process sleeps */
		if (!lives(src, place))
			put_ended(src, tick, place);
		else if (place->same && !(place->present >> FEATURE_GPU_TIME & 1))
			put_sleeper(tick, place);
		else if (place->entity)
			put_living(src, tick, place);
	}
}

/* The roll keeps its order; the one that moves is touched, so it is not done for every one that ends. */
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

static void forget_gone(struct task_source *src)
{
	for (size_t i = 0; i < src->gone.n; i++) {
		struct task_process *p = src->gone.v[i];

		hmap_remove(&src->processes, p->pid, p->start);
		if (hmap_get(&src->by_pid, p->pid, 0) == p)
			hmap_remove(&src->by_pid, p->pid, 0);
		process_free(p);
	}
	src->gone.n = 0;
	task_forget_short_lived(src);
}

/* Whom this sweep met on its way out may be met again; so may a process of which it said nothing. */
static void keep_announced(struct task_source *src)
{
	size_t n = 0;

	for (size_t i = 0; i < src->announced.n && !src->told_of_all; i++)
		if (src->announced.v[i].was_last)
			src->announced.v[n++] = src->announced.v[i];
	src->announced.n = n;
	for (size_t i = 0; i < src->lingering.n; i++)
		(void)VEC_PUSH(src->announced, src->lingering.v[i]);
}

static void task_sample(void *state, struct tick *tick)
{
	struct task_source *src = state;

	close_ranks(src);
	forget_gone(src); /* of the tick before: their entities have been encoded by now */
	src->tick++;
	src->seen.n = src->lingering.n = 0;
	task_sweep(src, tick);
	keep_announced(src);
	task_count_exits(src);
	task_count_rests(src);
	task_count_all_short_lived(src);
	put_processes(src, tick);
	task_put_short_lived(src, tick);
	if (src->skel->bss->lost_exits != src->lost) {
		tick_note(tick, NOTE_RECORDER, 0, "%llu process exits were lost: more ended at once than fit the ring",
			  (unsigned long long)(src->skel->bss->lost_exits - src->lost));
		src->lost = src->skel->bss->lost_exits;
	}
	tick->hears_exits = true;
	tick->lost_exits = (int64_t)src->lost;
	src->recording = true;
}

static void task_close(void *state)
{
	struct task_source *src = state;

	if (!src)
		return;
	cleanup_fd(&src->wake_fd);
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
	fair_share_reset(&src->group_share);
	VEC_FREE(src->groups);
	VEC_FREE(src->past_groups);
	VEC_FREE(src->roll);
	VEC_FREE(src->unseen);
	VEC_FREE(src->ran);
	VEC_FREE(src->seen);
	VEC_FREE(src->exits);
	VEC_FREE(src->later);
	VEC_FREE(src->rests);
	VEC_FREE(src->due);
	VEC_FREE(src->announced);
	VEC_FREE(src->lingering);
	VEC_FREE(src->gone);
	FREE_ALL(src->buffer, src);
}

static int task_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct task_source *src = calloc(1, sizeof(*src));
	int r;

	if (!src)
		return -ENOMEM;
	src->wake_fd = -1;
	src->group_share.total = GROUPS_AT_MOST;
	src->own_pid = (uint32_t)getpid();
	src->proc_root = options->proc_root;
	src->has_gpu = gpu_is_there(options->sys_root);
	src->buffer = malloc(SWEEP_READ_SIZE);
	r = src->buffer ? task_load(src, options, ret_why) : -ENOMEM;
	if (r < 0) {
		task_close(src);
		*ret_why = lockdown_is_confidential(options->sys_root) ?
				   "the kernel is locked down (lockdown=confidentiality): BPF programs may not read its memory" :
			   r == -EPERM ?
				   "BPF needs root or CAP_BPF + CAP_PERFMON: start the recorder as root" :
			   own_limits_reason(r) ?:
				   "this kernel cannot load the BPF programs (it needs BTF, 5.17 or later)";
		return r;
	}
	*ret_state = src;
	return 0;
}

static int task_wake_fd(void *state)
{
	struct task_source *src = state;

	return src->wake_fd;
}

static bool task_drain(void *state)
{
	struct task_source *src = state;
	struct epoll_event told;

	(void)epoll_wait(src->wake_fd, &told, 1, 0); /* an edge is reported until it is asked for */
	ring_buffer__consume(src->ring);
	return src->exits.n < EXITS_AT_MOST;
}

const struct source source_task = {
	.name = "task",
	.help = "every process by a BPF task iterator, and every exit",
	.open = task_open,
	.sample = task_sample,
	.close = task_close,
	.wake_fd = task_wake_fd,
	.drain = task_drain,
};
