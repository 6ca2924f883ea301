/* Within the source of processes by BPF: what its files share.
 *
 * task.c        the tick: sweep, exits, and what is put; opening and closing
 * task-load.c   the programs, as this kernel can have them
 * task-sweep.c  records of the living, summed by process
 * task-exits.c  last words, and processes that no sweep saw
 */
#pragma once

#include <bpf/libbpf.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "lib/system/fair-share.h"
#include "machine/model/name-limit.h"
#include "machine/model/task-sample.h"
#include "machine/sample/gpu.h"
#include "machine/sample/source.h"
#include "task.skel.h"

#define LEVELS_MASK                                                                                   \
	(FEATURE_BIT(FEATURE_THREADS) | FEATURE_BIT(FEATURE_THREADS_RUNNING) | FEATURE_BIT(FEATURE_THREADS_RUNNABLE) | \
	 FEATURE_BIT(FEATURE_THREADS_BLOCKED))
#define TRAFFIC_COUNT	(FEATURE_NET_TX_CALLS - FEATURE_NET_RX_BYTES + 1)
#define THREAD_MASK	FEATURES_BELOW(THREAD_FEATURE_COUNT)
#define SLEEPERS_EVERY	8 /* ticks: no more often are all sleepers read for those who ask */
#define EXITS_AT_MOST	8192 /* kept from one tick to the next */
#define GROUPS_AT_MOST	4096 /* of short-lived processes, each for a minute after its last: every tick goes through all */
#define SWEEP_READ_SIZE (64 << 10) /* of the buffer */

/* A process's place among those that live: all that a tick touches of one that sleeps on. */
struct process_slot {
	struct task_process *process; /* NULL = it has gone */
	struct entity *entity;
	uint64_t start;
	feature_set present; /* as last put */
	uint32_t pid;
	uint32_t tick; /* last sweep that saw it, or could take it to sleep on */
	uint32_t threads;
	bool slept;   /* that sweep said only that it sleeps on, or nothing */
	bool same;    /* nothing has changed since the tick before */
	bool settled; /* ... and the one that encodes the ticks knows it as it is */
	bool look_again; /* something has, since the sweep */
	bool dead;	 /* its process's last thread has ended */
};

/* A process between two ticks. */
struct task_process {
	uint32_t pid;
	uint64_t start;
	struct entity *entity;
	size_t place;	   /* its place in the roll + 1; 0 = no sweep has seen it */
	uint64_t exit_tick; /* last one in which a thread of it ended */
	bool dead;	   /* the last thread has ended */
	bool fell;	   /* a sum was lower than before at the last tick */
	feature_set present;
	feature_set ended_present; /* what all threads that have ended had measured */
	int64_t children, children_cpu;
	int64_t ended[THREAD_FEATURE_COUNT]; /* sums of threads that have ended */
	int64_t now[PROCESS_FEATURE_COUNT];
	int64_t before[THREAD_FEATURE_COUNT]; /* as put at the last tick */
	int64_t blocked_before;		      /* threads */
	int64_t traffic[TRAFFIC_COUNT];	      /* FEATURE_NET_RX_BYTES to _TX_CALLS, the most that was seen */
	struct gpu_process gpu;
	/* of the last exit: all that is known of a process no sweep saw */
	uint32_t parent, uid;
	char comm[TASK_COMM_SIZE];
};

/* All short-lived processes of one name and parent, as one entity. */
struct short_lived {
	uint64_t key, key2; /* in short_lived */
	uint32_t owner;	    /* on whose share */
	struct entity *entity;
	uint64_t tick; /* last one that had any */
	bool changed;  /* since it was last put */
	feature_set present;
	int64_t sum[PROCESS_FEATURE_COUNT];
};

struct seen {
	uint32_t tid;
	bool was_last; /* of its process to end */
	uint64_t start, exec_id;
};

/* A record of a thread that ran, and where in the roll its process was looked for. */
struct ran {
	const struct task_sample *sample;
	size_t cursor;
};

struct task_source {
	struct task_bpf *skel;
	struct bpf_link *iter;
	struct task_walk *walked; /* NULL = by the iterator only */
	const struct ring *flight; /* it notes who is woken, once it is attached; NULL = nothing does */
	const struct ring *sums;   /* it adds up the time of threads; NULL = nothing does */
	uint32_t freezes; /* of `sums`, at the last reading of sleepers */
	uint32_t sleepers_read; /* the tick of that */
	bool told_of_all; /* by the last sweep: whom it did not tell of has gone */
	struct ring_buffer *ring;
	int wake_fd; /* readable: half of the ring is full */
	char *buffer;
	uint32_t tick;
	uint64_t lost;
	const char *proc_root;
	bool has_gpu;	/* the machine */
	bool recording; /* a tick has been taken: the one that appears from now on was born */
	uint32_t own_pid;
	struct hmap processes;	 /* (pid, start) -> struct task_process */
	struct hmap by_pid;	 /* (pid, 0) -> the newest of that number */
	struct hmap short_lived; /* (hash of name, parent pid) -> struct short_lived */
	struct fair_share group_share;
	unsigned users_with_others; /* that have a group for what finds no room */
	VEC(struct short_lived *) groups, past_groups; /* those of this tick; those that ended with the one before */
	VEC(struct process_slot) roll;
	size_t cursor, holes;	 /* the place last found; places of those that have gone */
	VEC(struct task_process *) unseen; /* known only by an exit */
	VEC(struct ran) ran;	       /* of the records in hand */
	VEC(struct seen) seen;	       /* threads of which the sweep reported */
	VEC(struct task_sample) exits; /* read from the ring, not yet counted */
	VEC(struct task_sample) later;
	VEC(struct task_rest) rests, due; /* what was used after last words: read since the last tick; before, and to be counted */
	VEC(struct seen) announced; /* their exits are counted; a sweep may see them once more */
	VEC(struct seen) lingering; /* ... and did */
	VEC(struct task_process *) gone;
};

static inline struct process_slot *task_slot(struct task_source *src, const struct task_process *p)
{
	return p->place ? &src->roll.v[p->place - 1] : NULL;
}

static inline bool task_was_seen(struct task_source *src, const struct task_process *p)
{
	const struct process_slot *place = task_slot(src, p);

	return place && place->tick == src->tick;
}

static inline void task_look_again(struct task_source *src, struct task_process *p)
{
	struct process_slot *place = task_slot(src, p);

	if (place) {
		place->same = place->settled = false;
		place->look_again = true;
	}
}

/* Of two threads with one number and start, the later one has called exec more often. */
static inline bool task_same_thread(const struct seen *seen, const struct task_sample *last_word)
{
	return seen->tid == last_word->tid && seen->start == last_word->thread_start &&
	       seen->exec_id <= last_word->exec_id;
}

/* Loads and attaches everything. 0, and *ret_dearer in words where the kernel's iterator has to do what a walk would have done for
 * less; or -errno. task_close() releases what was made. */
int task_load(struct task_source *src, const struct source_options *options, const char **ret_dearer);

/* Reads every living process into its `now`. */
void task_sweep(struct task_source *src, struct tick *tick);
/* Takes over how much went through its sockets. The place where that is summed is given back while it ends: a record that is made then may say less, or nothing. */
void task_take_traffic(struct task_process *p, const struct task_sample *s);
/* One that nothing knew, without an entity; NULL without memory. */
struct task_process *task_add_process(struct task_source *src, const struct task_sample *s);

/* Empties the ring of last words. */
void task_count_exits(struct task_source *src);
/* Adds the time that threads used after their exit records to their processes, or to groups of short-lived ones. */
void task_count_rests(struct task_source *src);
/* A process that no sweep saw goes into its group's sum and onto its parent's account. */
void task_count_short_lived(struct task_source *src, const struct task_process *p);
/* Of all that no sweep saw; before anything is put: the parents' samples tell of them. */
void task_count_all_short_lived(struct task_source *src);
void task_put_short_lived(struct task_source *src, struct tick *tick);
void task_forget_short_lived(struct task_source *src);
