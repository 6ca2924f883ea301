/* Holding a culprit back and giving it back, whatever happens.
 *
 * A hold is a list of steps, each with what undoes it. It is written down (RUN/held/ID, hold-file.h) before
 * the first step is done and taken away after the last one was undone, so that the one that comes later - the
 * hold watchdog (guarded-hold.h), the recorder, the next start - can undo it from the file alone. Undoing is
 * idempotent: any part of it may already be done.
 *
 * Nothing that is done here outlives a restart of the machine: control groups, scheduling classes and
 * systemd's runtime properties all end with it. A file of another boot is only taken away.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "machine/act/target.h"

enum hold_short { SHORT_CPU, SHORT_DISK, SHORT_MEMORY, SHORT_COUNT }; /* what the culprit makes short */
extern const char *const hold_short_names[SHORT_COUNT];

enum hold_way {
	WAY_UNIT,   /* its whole systemd unit, by runtime properties */
	WAY_LIMIT,  /* a control group below its own one, with a limit */
	WAY_FREEZE, /* the same, stopped altogether */
	WAY_CLASS,  /* the idle scheduling and I/O classes for all its threads */
	WAY_COUNT
};
extern const char *const hold_way_names[WAY_COUNT];

enum step_kind {
	STEP_WRITE,	  /* `value` into the file `path`; undone with `before` */
	STEP_MOVE,	  /* the members into the group `path`, made for it; undone into `before` */
	STEP_PROPERTY,	  /* of the unit `path`: "NAME VALUE"; undone with `before` */
	STEP_FREEZE_UNIT, /* `path` */
	STEP_CLASS,	  /* the threads */
};

struct hold_step {
	enum step_kind kind;
	char *path, *value, *before; /* NULL where the kind has none */
};

/* A thread's scheduling as it was: struct sched_attr of the kernel without what only one policy knows. */
struct hold_thread {
	uint32_t tid, process;
	uint64_t start; /* clock ticks since boot */
	uint32_t policy, priority;
	int32_t nice;
	uint64_t flags, runtime, deadline, period;
	int32_t io; /* ioprio_get() */
};

struct hold {
	char id[48]; /* hold_name() */
	char boot[CLOCK_BOOT_ID];
	struct processes heads; /* of the target; group and session: children whose parent ended are known by them */
	char unit[256];		/* the systemd unit that is held whole; "" = none */
	enum hold_short of;
	enum hold_way way;
	bool quoted;		  /* as read: texts of the file are quoted (hold-file.c) */
	bool kept;		  /* by `calm`: nothing need live for it */
	uint32_t by;		  /* uid */
	int64_t since;		  /* wall ns */
	uint32_t owner, guardian; /* pids; while one of them lives it is theirs to undo */
	uint64_t owner_start, hold_watchdog_start;
	VEC(struct hold_step) steps;
	VEC(struct hold_thread) threads;
};
void hold_free(struct hold *h);
/* "PID-START", for others than root with "-uUID" behind it: what root holds and what a user does never share a file or a control group. */
void hold_name(struct hold *h, const struct process *head, uint32_t uid);

struct hold_request {
	const char *proc_root, *run_dir;
	enum hold_short of;
	bool writes; /* it writes more than it reads: through the page cache, where limits bind late or never
		      */
	bool gentle; /* for good: a tenth of a CPU instead of a hundredth, and only as a last resort stopped
			altogether */
	int way;     /* enum hold_way, or -1 = the first that can be used */
	unsigned without; /* ways (1 << enum hold_way) that were tried in vain */
	struct refusal_options rights;
};

/* Finds a way (which one, and what it cannot do: *ret_words, the caller frees), without doing anything yet.
 * The caller frees *ret. 0; -EPERM, -ESRCH, -EOPNOTSUPP: *ret_words says why. */
int hold_plan(const struct hold_request *q, const struct target *t, struct hold *ret, char **ret_words);
/* Does all steps; the file must have been written. 0, or -errno of the step that could not be done: undo
 * then. */
int hold_do(const char *proc_root, struct hold *h);
/* Undoes all steps, in reverse. 0, or -errno of what could not be undone (everything else was): try again. */
int hold_undo(const char *proc_root, struct hold *h);

/* --- steps (hold-group.c, hold-class.c, unit.c) --- */

int hold_group_write(const char *path, const char *text);
int hold_group_move_in(const char *proc_root, const struct hold *h, const struct hold_step *s);
int hold_group_move_back(const struct hold_step *s);
/* 0, or -EAGAIN: a head lives and is in none of the groups that it was to be moved to, because it moves about itself. */
int hold_group_check(const char *proc_root, const struct hold *h);
int hold_class_save(const char *proc_root, const struct target *t, struct hold *h);
int hold_class_lower(const char *proc_root, struct hold *h);
int hold_class_restore(const char *proc_root, const struct hold *h);
