/* A way of ranking who is conspicuous: one const table in one file. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "machine/findings/finding.h"
#include "machine/judge/charges.h"
#include "machine/judge/older.h"

/* Ticks are indices into the dataset's moments; all ranges are inclusive. */
struct method_question {
	uint32_t at;		     /* the moment asked about */
	uint32_t focus;		     /* the trouble is [focus, at] */
	uint32_t train_from;	     /* what is usual is learnt from [train_from, train_to] */
	int64_t train_to;	     /* < train_from: there is nothing to learn from */
	const bool *excluded;	     /* one per tick: not to be learnt from (marked incidents); may be NULL */
	int64_t tolerance;	     /* ns: how far from `at` a subject's sample may lie */
	struct pressure pressure;    /* during the trouble, and usually */
	const double *waited;	     /* by tick: s/s that programs which do not give way waited for a CPU; NULL = not known */
	unsigned cpus;
	uint64_t memory; /* bytes in the machine; 0 = not known */
	const struct charges *charges; /* what the flight recorder's events say of the trouble; NULL = nothing */
	/* Where the dataset holds of processes only method.features: the other features of these subjects, over the same
	 * ticks. NULL = the dataset has everything. *ret lives as long as the answer. 0 or -errno. */
	int (*widen)(void *context, const struct subject *const *subjects, size_t n, const struct dataset **ret);
	/* Of the time before the dataset: what is known of a feature of a program, oldest first, *ret_n of them; lives as
	 * long as the answer. NULL = nothing. */
	const struct older_stretch *(*older)(void *context, enum entity_kind kind, const char *program, size_t feature, size_t *ret_n);
	void *context; /* of both */
};

/* A share of time in which programs wait is worth a word next to the normal one (NaN: nothing is known): a person notices it, and it is so much more. */
#define PRESSURE_LEAST 0.10
#define PRESSURE_NEW   0.05
static inline bool method_is_felt(double now, double normal)
{
	return now >= PRESSURE_LEAST && now - (isnan(normal) ? 0 : normal) >= PRESSURE_NEW;
}

/* The share of the waiting that goes away without a part of what is used, 0..1 (robust-explain.c): waits for what is nearly always in use grow much faster
 * than use does (of a queue as 1 / (1 - use)). METHOD_STEEP is in the middle of the lab's ablations. */
#define METHOD_STEEP 5
static inline double method_gone_without(double part, double steep)
{
	return 1 - pow(1 - fmin(1, part), steep);
}

/* A question makes programs wait, and is not the incident: of what is waited to run, the part that is left without the processes that ask and
 * answer, 0..1. CPU time: theirs, and of all. */
static inline double method_without_asking(double asking, double used)
{
	return asking > 0 ? 1 - method_gone_without(asking / used, METHOD_STEEP) : 1;
}

struct method {
	const char *name;
	const char *help;
	feature_set features; /* of processes: what it must see of everybody; 0 = all */
	/* Fills *ret with every suspect the method sees, sorted. 0 or -ENOMEM. */
	int (*rank)(const struct dataset *d, const struct method_question *q, struct ranking *ret);
};

extern const struct method method_blame, method_gaussian, method_unusual;
extern const struct method *const methods[]; /* NULL-terminated; the first is the default */
/* NULL if there is none of that name. */
const struct method *method_find(const char *name);

/* The least difference a person could notice in a feature, in its unit (per second for counters): spreads below it are
 * noise. */
double method_noticeable(const struct feature *f);

/* Shape of the window for a deviation: SPARK_POINTS means. */
void method_spark(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to,
		     float spark[SPARK_POINTS]);
