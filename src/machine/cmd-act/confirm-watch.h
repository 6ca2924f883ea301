/* The measurements of a trial: what the victims wait, what the culprit uses, how late a normal program comes to
 * run. */
#pragma once

#include "lib/data/hmap.h"
#include "machine/act/target.h"
#include "machine/findings/trial.h"
#include "machine/flight/pulse.h"
#include "machine/flight/wait-sums.h"

#define VICTIMS_MAX 16

struct confirm_watch {
	const struct target *target;
	struct ring *ring;
	struct wait_sums *sums;
	struct pulse *pulse;
	struct process_waits_list look;
	struct hmap culprits; /* (pid, 0): the process and what descends from it, as far as it was met */
	struct hmap waited;   /* (pid, 0) -> struct victim: before the victims are chosen everybody else */
	uint32_t wanted[VICTIMS_MAX]; /* the victims that were asked for; 0 = nothing was */
	bool by_disk;		      /* the culprit's use is reported in bytes of disks */
	bool chosen;
	/* of the culprit */
	uint64_t read_bytes, written_bytes; /* as last read */
	double cpu;			    /* ns ran before the first phase */
	double read, written;		    /* bytes before the first phase */
	int64_t span;			    /* ns */
	/* in the phases: ns looked at, let go and held back */
	int64_t spans[2];
};

struct victim {
	uint32_t pid;
	char name[33];
	double before, phases[2]; /* ns waited: before, let go, held back */
};

/* Ring and target stay the caller's; the target may get more heads in the meantime. 0 or -errno. */
int confirm_watch_open(struct ring *ring, const struct target *t, struct confirm_watch *ret);
void confirm_watch_close(struct confirm_watch *w);
int confirm_watch_sample(struct confirm_watch *w, struct trial_sample *ret);
/* From now on the others are not counted: the victims are those that were asked for, or who waited most until now; of those that `o`
 * hides from the one who asks, none. */
int confirm_watch_choose(struct confirm_watch *w, const char *proc_root, const struct refusal_options *o);
/* The victims, the longest wait first, for the answer. 0 or -ENOMEM. */
int confirm_watch_victims(const struct confirm_watch *w, struct trial *t);
