#include "machine/events/interval.h"

const struct state_row state_table[INTERVAL_STATES] = {
	[STATE_UNKNOWN] = {"unknown", "not known", GROUP_UNKNOWN, FOR_NONE},
	[STATE_RUNNING] = {"running", "running", GROUP_RUNNING, FOR_NONE},
	[STATE_KERNEL] = {"running_kernel", "running in the kernel", GROUP_RUNNING, FOR_NONE},
	[STATE_RECLAIMING] = {"running_reclaim", "freeing memory to have some", GROUP_RUNNING, FOR_MEMORY},
	[STATE_IRQ] = {"irq", "interrupted", GROUP_RUNNING, FOR_INTERRUPT},
	[STATE_SOFTIRQ] = {"softirq", "interrupted by softirq work", GROUP_RUNNING, FOR_INTERRUPT},
	[STATE_RUNNABLE] = {"runnable", "ready since its wakeup", GROUP_RUNNABLE, FOR_CPU},
	[STATE_PREEMPTED_SLICE] = {"preempted_slice", "slice used up", GROUP_RUNNABLE, FOR_CPU},
	[STATE_PREEMPTED_ARRIVAL] = {"preempted_arrival", "preempted by a woken or moved thread", GROUP_RUNNABLE, FOR_CPU},
	[STATE_PREEMPTED_CLASS] = {"preempted_class", "preempted by a higher class", GROUP_RUNNABLE, FOR_CPU},
	[STATE_PREEMPTED_OTHER] = {"preempted", "preempted", GROUP_RUNNABLE, FOR_CPU},
	[STATE_YIELDED] = {"yielded", "yielded the CPU", GROUP_RUNNABLE, FOR_CPU},
	[STATE_QUOTA] = {"quota", "quota used up", GROUP_RUNNABLE, FOR_QUOTA},
	[STATE_LOCK] = {"lock", "waiting for a lock", GROUP_BLOCKED, FOR_LOCK},
	[STATE_KERNEL_LOCK] = {"kernel_lock", "waiting for a lock of the kernel", GROUP_BLOCKED, FOR_LOCK},
	[STATE_DISK] = {"disk", "waiting for a disk", GROUP_BLOCKED, FOR_DISK},
	[STATE_FAULT] = {"fault", "waiting for a page", GROUP_BLOCKED, FOR_FAULT},
	[STATE_RECLAIM] = {"reclaim", "waiting for free memory", GROUP_BLOCKED, FOR_MEMORY},
	[STATE_NETWORK] = {"network", "waiting for the network", GROUP_BLOCKED, FOR_NETWORK},
	[STATE_PEER] = {"peer", "waiting for a pipe or local socket", GROUP_BLOCKED, FOR_PEER},
	[STATE_CONDITION] = {"condition", "waiting for a signal of another thread", GROUP_BLOCKED, FOR_CONDITION},
	[STATE_CHILD] = {"child", "waiting for a child", GROUP_BLOCKED, FOR_CHILD},
	[STATE_UNINTERRUPTIBLE] = {"uninterruptible", "waiting in the kernel", GROUP_BLOCKED, FOR_OTHER},
	[STATE_FULL] = {"full", "waiting until what it writes is read", GROUP_BLOCKED, FOR_READER},
	[STATE_OTHER] = {"other", "waiting, for an unknown reason", GROUP_BLOCKED, FOR_UNCLEAR},
	[STATE_TIMER] = {"timer", "asleep by its own timer", GROUP_RESTING, FOR_NONE},
	[STATE_IDLE] = {"idle", "idle", GROUP_RESTING, FOR_NONE},
	[STATE_IDLE_KERNEL] = {"idle_kernel", "without work", GROUP_RESTING, FOR_NONE},
	[STATE_ENDED] = {"ended", "ended", GROUP_RESTING, FOR_NONE},
	[STATE_STOPPED] = {"stopped", "stopped", GROUP_RESTING, FOR_NONE},
};

static const struct {
	const char *name, *text;
} waits[FOR_COUNT] = {
	[FOR_NONE] = {"none", "nothing"},
	[FOR_CPU] = {"cpu", "for a CPU"},
	[FOR_QUOTA] = {"quota", "because its group's CPU quota was used up"},
	[FOR_LOCK] = {"lock", "for a lock"},
	[FOR_DISK] = {"disk", "for a disk"},
	[FOR_FAULT] = {"fault", "for pages to be brought in"},
	[FOR_MEMORY] = {"memory", "for free memory"},
	[FOR_INTERRUPT] = {"interrupt", "while interrupts used its CPU"},
	[FOR_OTHER] = {"other", "in the kernel without being interruptible"},
	[FOR_READER] = {"reader", "until what it writes is read at the other end"},
	[FOR_PEER] = {"peer", "for the other end of a pipe or local socket"},
	[FOR_NETWORK] = {"network", "for the network"},
	[FOR_CONDITION] = {"condition", "for a signal of another thread"},
	[FOR_CHILD] = {"child", "for a child process"},
	[FOR_UNCLEAR] = {"unclear", "for an unknown reason"},
};

const char *wait_for_name(enum wait_for w)
{
	return waits[w].name;
}

const char *wait_for_text(enum wait_for w)
{
	return waits[w].text;
}

void timeline_free(struct timeline *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		VEC_FREE(t->threads.v[i].intervals);
		VEC_FREE(t->threads.v[i].requests);
		VEC_FREE(t->threads.v[i].samples);
	}
	VEC_FREE(t->threads);
	VEC_FREE_EACH(t->cpus, VEC_FREE(each->segments));
	VEC_FREE_EACH(t->disks, VEC_FREE(each->issued));
	VEC_FREE_EACH(t->locks, VEC_FREE(each->sightings));
	VEC_FREE(t->requests);
	VEC_FREE(t->dirtyings);
	VEC_FREE(t->freeings);
	VEC_FREE_EACH(t->names, free(*each));
}

/* The first of n that is not `before` the moment: looked for from `guess` on, in steps that double, then between two of them. */
#define SEARCH_NEAR(n, guess, before)                                              \
	({                                                                         \
		size_t low = 0, high = (n), at_ = (guess) < high ? (guess) : high; \
                                                                                   \
		if (at_ < high && before(at_)) {                                   \
			low = at_ + 1;                                             \
			for (size_t step = 1; low + step - 1 < high; step *= 2) {  \
				if (!before(low + step - 1)) {                     \
					high = low + step - 1;                     \
					break;                                     \
				}                                                  \
				low += step;                                       \
			}                                                          \
		} else {                                                           \
			high = at_;                                                \
			for (size_t step = 1; step <= high; step *= 2) {           \
				if (before(high - step)) {                         \
					low = high - step + 1;                     \
					break;                                     \
				}                                                  \
				high -= step;                                      \
			}                                                          \
		}                                                                  \
		low + FIRST_WHERE(i_, high - low, !before(low + i_));              \
	})

size_t interval_near(const struct thread_line *line, int64_t at, size_t guess)
{
#define ENDED(i) (line->intervals.v[i].end <= at)
	return SEARCH_NEAR(line->intervals.n, guess, ENDED);
#undef ENDED
}

size_t interval_find(const struct thread_line *line, int64_t at)
{
	return interval_near(line, at, line->intervals.n / 2);
}

size_t segment_near(const struct cpu_line *cpu, int64_t at, size_t guess)
{
#define BEGUN(i) (cpu->segments.v[i].start <= at)
	size_t n = SEARCH_NEAR(cpu->segments.n, guess, BEGUN);
#undef BEGUN

	return n ? n - 1 : 0;
}

size_t sightings_near(const struct lock_line *lock, int64_t at, size_t guess)
{
#define SEEN(i) (lock->sightings.v[i].at <= at)
	return SEARCH_NEAR(lock->sightings.n, guess, SEEN);
#undef SEEN
}

size_t segment_find(const struct cpu_line *cpu, int64_t at)
{
	return segment_near(cpu, at, cpu->segments.n / 2);
}
