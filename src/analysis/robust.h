/* What the files of the default model share: robust.c judges, robust-behalf.c moves guilt to those for whom others worked. */
#pragma once

#include "analysis/blocks.h"
#include "analysis/method.h"
#include "analysis/startup.h"

#define USES 13

/* What uses up a thing that can be short. One feature may stand for two of them. */
struct use {
	enum bottleneck resource;
	int feature;
	bool of_memory; /* its share is of the machine's memory, not of what all use */
	double scale;	/* if set: the share is value / (value + scale), where there is no total */
	double weight;	/* how bad it is when nothing is measured to be short */
	bool joined;	/* only the joined model: it is a wait, not a use */
};

extern const struct use uses[USES];

/* All processes of one program. */
struct program {
	const char *key;
	VEC(const struct subject *) members;
	bool there; /* some member was there during the trouble */
	bool wide;  /* of the dataset that has all features, but not all programs */
	bool starts_known;	 /* startup was looked for */
	struct startup *startup; /* NULL = it has not just begun, or has too few earlier starts */
};

/* A program that may be guilty, before its features are described. */
struct verdict {
	struct program *program;
	struct suspect suspect;
	double guilt[USES];
	double lock; /* the guilt of holding locks */
};

struct robust {
	const struct method *method;
	bool joined; /* with what victims waited for (method_blame) */
	const struct dataset *d;
	const struct question *q;
	struct blocks blocks;
	double *sum, *one, *sorted; /* scratch, by block: one feature of one program, of one of its processes */
	const struct stretch *older; /* the same feature of the same program, before the dataset */
	size_t n_older;
	double focus_seconds;
	VEC(struct program *) programs;
	VEC(struct verdict) verdicts;
	struct hmap by_key, by_name;
	double shortage[BOTTLENECK_COUNT]; /* 0..1 */
	const char *short_group; /* the control group that is short of memory where the machine is not; NULL = none */
	double read_part, write_part;	   /* of the disk's time */
	double total[FEATURES_MAX]; /* of all programs during the trouble */
	double growth[FEATURES_MAX]; /* of memory: what all programs have beyond their usual */
};

struct usual {
	double median, spread, highest;
	double often; /* of a counter: what it reaches a tenth of the time; of a level: the median */
	uint32_t n, episodes, as_high; /* blocks; runs of blocks with >= 70 % of the value; blocks at or above it */
	double fraction;	       /* of blocks with >= 70 % */
	bool only_value;	       /* it never was anything but the median */
};

/* What a program uses in the trouble: growth per second of all of it, or the level at its end. NaN where not measured. */
double program_now(const struct robust *r, const struct program *p, size_t feature);
/* What is usual for it, and how often it did what it does now. */
struct usual usual_of(struct robust *r, struct program *p, size_t feature, double now);
double excess_of(const struct usual *u, double now);
/* After what is learnt from. */
bool began_lately(const struct robust *r, const struct subject *s);
/* Kernel threads and soft interrupts. */
bool works_for_others(const struct program *p);

/* After all verdicts: what the kernel did goes to whoever has it do that, a server's work to whoever asked. 0 or -ENOMEM. */
int move_guilt(struct robust *r);
