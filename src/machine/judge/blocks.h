/* The time before a trouble, cut into blocks: what a feature usually is, is the distribution of its blocks. */
#pragma once

#include "machine/judge/method.h"

#define BLOCKS_MIN 6 /* with fewer there is nothing to compare with */

struct blocks {
	const struct dataset *d;
	uint32_t n;
	uint32_t *start;   /* n + 1 ticks: block i is [start[i], start[i + 1]) */
	uint32_t *of_tick; /* the block of each tick of the dataset; n = none */
	bool *learnt;	   /* false: a tick of it is excluded */
	double *seconds;   /* recorded time in each */
};

/* Cuts [train_from, train_to] into blocks of `length` ns of recorded time. 0 or -ENOMEM. */
int blocks_cut(struct blocks *b, const struct dataset *d, const struct method_question *q, int64_t length);
/* The same in blocks of half the incident, 5 to 60 s, and shorter ones of a past that has too few of them. */
int blocks_cut_by_incident(struct blocks *b, const struct dataset *d, const struct method_question *q);
void blocks_free(struct blocks *b);
/* So much was recorded in [train_from, train_to], ns: the recorder may have been off in between. */
int64_t blocks_recorded(const struct dataset *d, const struct method_question *q);

/* Adds a subject's feature to sum[n + 1]: a counter's growth in each block, in quanta, of a wait that was read late what passed in it
 * (subject_growth()); a gauge's level at its end. */
void blocks_add(const struct blocks *b, const struct subject *s, size_t feature, double *sum);
/* The same of several that are one thing, such as the processes of a program (feature_together()). `one`: room for as many values. */
void blocks_add_member(const struct blocks *b, const struct subject *s, size_t feature, double *one, double *sum);
/* After the last subject was added: a counter's growth becomes per second in its unit; NaN where nothing may be learnt. */
void blocks_finish(const struct blocks *b, const struct feature *feature, double *sum);
/* The values of the blocks that may be learnt from, sorted: their number. `sorted` has room for n. */
size_t blocks_sort(const struct blocks *b, const double *sum, double *sorted);
/* How far a feature strays from its baseline, in words and in scores: `scale` of its values (robust_scale()), but never less than 2 % of the median, nor
 * than a user could notice. */
double blocks_spread(const struct feature *feature, double scale, double median);
