/* What the files of the default model share. robust.c has the model; robust-attribution.c moves guilt to those for whom others worked. */
#pragma once

#include "lib/data/str.h"
#include "machine/judge/blocks.h"
#include "machine/judge/method.h"
#include "machine/judge/startup.h"

#define USES 14
#define MEMORY_STALL	0.10 /* from this pressure on memory outranks CPU and disk */
#define NEW_LEAST	0.25 /* of what all use: less that is new is not all of it */
#define CHARGED_LEAST	0.02 /* s/s: fewer waits are no evidence */
#define SUSPECTS_MAX	32

/* What uses up a thing that can be short. One feature may stand for two of them. */
struct use {
	enum bottleneck resource;
	int feature;
	bool of_memory; /* its share is of the machine's memory, not of what all use */
	double scale;	/* if set: the share is value / (value + scale), where there is no total */
	double weight;	/* how bad it is when nothing is measured to be short, and all of it is in use */
	bool is_wait;	/* it is a wait, not a use */
};

extern const struct use uses[USES];

struct program;

/* The processes that a job has of one program, as far as they were there during the trouble. */
struct job_part {
	struct program *whole;
	VEC(const struct subject *) members;
	unsigned started; /* by the job's root, and not by each other */
};

/* What of a program's waits for the network is not for another machine (robust-short.c); not known until it is asked for. */
struct elsewhere {
	bool known;
	double moves; /* the line is full of what it moves itself: of the machine's traffic, 0..1 */
	double idle;  /* ns/s: it computes so much less than usual */
	double here;  /* this machine is short of something, 0..1 */
};

/* All processes of one program; or of a job (robust-jobs.c). */
struct program {
	const char *key;
	const struct subject *root; /* of a job: a process of the program that started it all; NULL = it is no job */
	int64_t begun; /* of a job without its root, which is older: boot ns at which that started all of it; 0 = it is not one */
	VEC(struct job_part) parts; /* of a job */
	VEC(const struct subject *) members;
	bool there; /* some member was there during the trouble */
	bool wide;  /* of the dataset that has all features, but not all programs */
	bool starts_known;	 /* startup was looked for */
	struct elsewhere elsewhere;
	double added[BOTTLENECK_COUNT]; /* s/s that it waits beyond its usual (robust_find_victims()) */
	double longer[BOTTLENECK_COUNT]; /* of that, by processes that were there before and wait longer than they did */
	struct startup *startup; /* NULL = it has not just begun, or has too few earlier starts */
};

/* A program that may be guilty, before its features are described. */
struct verdict {
	struct program *program;
	struct suspect suspect;
	double guilt[USES]; /* by use, weighed by the part that it continues with at the end */
	struct program *server; /* most of its score is what this one does for it; NULL = what it does itself */
	double of_server[USES]; /* the same of that one */
	double used[BOTTLENECK_COUNT];	  /* its share of what is new, by use, 0..1 */
	double charged[BOTTLENECK_COUNT]; /* what others wait on its account, by events, s/s; NaN = none tell */
	double lock, peer; /* the guilt of holding locks, of letting another program wait */
};

struct robust {
	const struct dataset *d;
	const struct method_question *q;
	struct blocks blocks;
	double *sum, *one, *sorted; /* scratch, by block: one feature of one program, of one of its processes */
	const struct older_stretch *older; /* the same feature of the same program, before the dataset */
	size_t n_older;
	double focus_seconds;
	VEC(struct program *) programs;
	VEC(struct program *) jobs;
	VEC(struct verdict) verdicts;
	struct hmap by_key, by_name;
	double shortage[BOTTLENECK_COUNT]; /* 0..1 */
	double in_use[BOTTLENECK_COUNT]; /* of CPUs, disks, memory and the line what all programs take, 0..1; 1 = not known */
	double *news, new_of[BOTTLENECK_COUNT]; /* by charge, for locks and other programs: s/s beyond the usual (robust-peer.c); NULL = none */
	const char *short_group; /* the control group that is short of memory where the machine is not; NULL = none */
	bool group_rereads;	 /* it reads again what it has evicted */
	bool short_of_memory;	 /* it is, or the machine */
	double memory;		 /* bytes: what it has, or the machine */
	double shared_anonymous; /* bytes at most that are not of the largest process of a program; NaN = not recorded */
	double read_part, write_part;	   /* of the disk's time */
	double blocked;			   /* ns/s that programs wait for their own requests to it */
	double added[BOTTLENECK_COUNT], longer[BOTTLENECK_COUNT]; /* of all programs */
	double queued; /* s/s that all programs wait for CPUs, the usual included */
	double slowdown; /* how many times as long as normally programs take for the same work; NaN = not known */
	double stolen, slowed; /* by the hypervisor, by heat: of what is new on the CPUs, 0..1 */
	double total[FEATURES_MAX]; /* of all programs during the trouble */
	double growth[FEATURES_MAX]; /* what all programs have of it beyond their usual */
};

struct robust_baseline {
	double median, spread, highest;
	double always; /* what it hardly ever is below */
	double often; /* of a counter: what it reaches a tenth of the time; of a level, or of too few blocks: the median */
	uint32_t n, episodes, as_high; /* blocks; runs of blocks that did the same; blocks at or above the value */
	double fraction;	       /* of blocks that did the same */
	bool only_value;	       /* it never was anything but the median */
	bool noticed;		       /* of usual_of_kind(): there is enough of it now, ... */
	size_t members;		       /* ... in so many */
};

/* Whose process it is; made where it is not yet there. NULL without memory. */
struct program *robust_program(struct robust *r, const struct subject *s);
/* What a program uses in the trouble: growth per second of all of it, or the level at its end. NaN where not measured. */
double robust_program_now(const struct robust *r, const struct program *p, size_t feature);
/* The same of its process that has most; 0 = of other things than processes. */
double robust_largest_member(const struct robust *r, const struct program *p, size_t feature);
/* What is usual for it, and how often it did what it does now. */
struct robust_baseline robust_baseline(struct robust *r, struct program *p, size_t feature, double now);
double robust_excess(const struct robust_baseline *u, double now);
/* After what is learnt from. */
bool robust_began_lately(const struct robust *r, const struct subject *s);
/* Kernel threads and soft interrupts. */
bool robust_works_for_others(const struct program *p);
/* Is it whyslow, that works because somebody asks? */
bool robust_answers_requests(const struct program *p);

/* After all verdicts: what the kernel did goes to whoever has it do that, a server's work to whoever asked. 0 or -ENOMEM. */
int robust_attribute_scores(struct robust *r);

/* How a program's waits for the disk are counted: by the kernel, or by events where delay accounting is off. */
size_t robust_disk_wait(const struct robust *r, const struct program *p);
/* How many times as long as normally programs take for the same work; NaN = not known (robust-slowdown.c). */
double robust_slowdown(struct robust *r);

/* robust-jobs.c */

/* After the programs. 0 or -ENOMEM. */
int robust_jobs_gather(struct robust *r);
void robust_jobs_free(struct robust *r);
/* The script that has started all processes of a program that were there during the incident; NULL = none has. */
const struct subject *robust_starter(const struct robust *r, const struct program *p);
/* After the programs' verdicts: adds those of jobs. 0 or -ENOMEM. */
int robust_jobs_score(struct robust *r);
double robust_part_now(const struct robust *r, const struct job_part *part, size_t feature);
/* What of a program's use is its part's, 0..1. */
double robust_part_of_program(const struct robust *r, const struct job_part *part, size_t feature);

/* robust-baseline.c: what a program uses now, and what is usual for it. */

/* Cuts the time before the trouble, and the scratch for its blocks. 0 or -ENOMEM. */
int robust_blocks_make(struct robust *r);
/* What one member adds to robust_program_now(); 0 where it was not there. */
double robust_member_now(const struct robust *r, const struct subject *s, size_t f);
/* Leaves the program's block values in r->sum; robust_baseline_learn() makes them what is usual, and counts how often `value` was there. */
void robust_blocks_fill(struct robust *r, const struct program *p, size_t f);
struct robust_baseline robust_baseline_learn(struct robust *r, const struct feature *feature, double value);
/* The start of a program that has just begun, with those to compare it with; NULL = it is about none. */
const struct startup *robust_program_startup(struct robust *r, struct program *p);
/* 1 for what never happened before, towards 0 for what happens all the time. */
double robust_surprise(const struct robust_baseline *u);

/* robust-short.c: what the machine was short of, and what all used of it. Fill the fields of struct robust. */

double robust_shortage(struct robust *r, enum bottleneck b);
/* CPUs, disks: what all of them have of a counter beyond their usual, per second. 0 where it is not measured. */
double robust_part_beyond_baseline(struct robust *r, enum entity_kind kind, size_t f);
/* Where cores are slowed down for heat: what they compute less than at the highest clock that they had, ns/s. */
double robust_lost_to_heat(struct robust *r);
/* Whether one of its processes was there for half of what is learned from, so that its baseline is one of its own and not one of its absence. */
bool robust_was_there(const struct robust *r, const struct program *p);
/* What a program waits beyond its usual, ns/s. */
double robust_more_waited(struct robust *r, struct program *p, size_t f);
/* After robust_sum_totals(): what others wait for answers over the network beyond their usual, a whole thread = 1. */
/* After robust_find_victims(): of CPUs and disks, how many wait as well. */
void robust_weigh_shortage(struct robust *r);
double robust_shortage_of_network(struct robust *r);
/* After the shortages of all else: of the ns/s that a program waits for the network, those in which it is not this machine that
 * it waits for. */
double robust_waits_elsewhere(struct robust *r, struct program *p, double waited);
/* After robust_sum_totals(): fills in `in_use`. */
void robust_find_use(struct robust *r);
/* How bad it is to use it: the shortage, or what it is without one. */
double robust_shortage_for(const struct robust *r, const struct use *use);
void robust_weigh_disk(struct robust *r);
/* ns/s that it waits for its own requests to the disk. */
double robust_blocked_now(const struct robust *r, const struct program *p);
/* Of a nice program, what the scheduler gives it beside a normal one; 1 for others. */
double robust_cpu_weight(const struct robust *r, const struct program *p);
/* Of a control group's memory only who is in it, or in one below, has any. */
bool robust_may_use_memory(const struct robust *r, const struct program *p);
/* The control group that has run into its memory limit while the machine has enough, if somebody is known to be in it. */
void robust_find_short_memory(struct robust *r);
void robust_sum_totals(struct robust *r);
void robust_sum_growth(struct robust *r);

/* robust-peer.c */

/* Before the shortages: fills in `news` and `new_of`. 0 or -ENOMEM. */
int robust_weigh_news(struct robust *r);
/* Of what is new of waits for locks or other programs, what is for this program, 0..1; NaN = there are none. */
double robust_share_of_news(const struct robust *r, const struct program *p, enum bottleneck of);

/* robust-score.c: who took how much of what was short. */

/* One more piece of evidence: the score is multiplied by it. */
void robust_weigh(struct verdict *v, enum evidence what, double factor);

/* The member that uses most beyond its usual, and its part of what all of them do. */
const struct subject *robust_most_responsible(struct robust *r, struct program *p, size_t f,
					      double *ret_part);
/* How many processes these are that were there during the incident, each of those that lived for less than a sample counted. */
uint32_t robust_count(const struct robust *r, const struct subject *const *members, size_t n_members);
bool robust_program_is_new(const struct robust *r, const struct program *p);
/* What others waited on its account, s/s; 0 where no events tell. */
double robust_charged(const struct robust *r, const struct program *p, enum bottleneck of);
/* 1 = *ret is worth a look, 0 = not. */
int robust_program_score(struct robust *r, struct program *p, struct verdict *ret);

/* robust-explain.c: how much of the waiting a suspect explains. After robust_find_victims(). */

/* After robust_sum_growth(): fills in `stolen` and `slowed`. */
void robust_find_lost(struct robust *r);
/* s/s that others, not the program itself nor those of its job, wait longer for a resource than they did. After robust_find_victims(). */
double robust_waited_by_others(const struct robust *r, const struct program *p, enum bottleneck b);
/* Fills in `explains`, NaN where hardly anything waits more than usual, and `others`. */
void robust_explain_verdict(const struct robust *r, struct verdict *v);
/* After all suspects are described: what is left. */
void robust_explain_waiting(const struct robust *r, struct ranking *ret);

/* robust-tell.c: verdicts and victims with their features. 0 or -ENOMEM. */

/* What people call a program, by its key. */
void robust_program_put(const struct robust *r, struct str *s, const char *key);

int robust_find_victims(struct robust *r, struct ranking *ret);
/* Who uses most of what is waited for most. 0 or -ENOMEM. */
int robust_find_busiest(const struct robust *r, struct suspect *ret);
void robust_finish_suspect(struct robust *r, struct suspect *s);
int robust_describe_verdicts(struct robust *r, struct ranking *ret);
