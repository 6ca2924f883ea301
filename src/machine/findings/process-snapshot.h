/* The machine at one moment, as views show it: the three panes of the paper's investigative tool (section 4). */
#pragma once

#include "machine/findings/finding.h"

struct process_snapshot {
	struct dataset data;	 /* everything recorded in the window; what the list points into */
	struct dataset verdict_data, verdict_more; /* what the verdict points into */
	int64_t recorded_from, recorded_to; /* wall ns of the whole recording */
	struct answer verdict;	 /* why it is slow then, by the default model */
	struct answer everybody; /* every process, the most unusual first, with all its features */
	unsigned damaged;	 /* parts of the recording that could not be read */
};

/* The length of a process's bar, 0..1, and of one of its features. A score of the paper's model has no bounds: there the bars reach from the
 * likeliest to the least likely of those that are shown. */
double process_snapshot_bar(const struct process_snapshot *b, const struct suspect *s);
double process_snapshot_feature_bar(const struct process_snapshot *b, const struct suspect *s, const struct deviation *f);
/* A feature of it at the moment; NaN = not known. */
double process_snapshot_value(const struct process_snapshot *b, const struct suspect *s, int feature);
/* The average log-likelihood of the paper's model; NaN = another model ranks. */
double process_snapshot_log_likelihood(const struct process_snapshot *b, double score);

/* One feature over time in n equal parts: least, mean and most of each; NaN where it is missing. */
struct curve {
	int64_t from, step; /* wall ns */
	size_t n;
	double *low, *mean, *high;
};
void curve_free(struct curve *c);

/* Who lived when: a process, from its first to its last tick (wall ns). */
struct life {
	struct entity_info info;
	int64_t from, to;
	bool began, ended; /* within the window; otherwise it was there before, or after */
};

struct lives {
	int64_t from, to; /* what of the window is recorded */
	VEC(struct life) v;
	size_t throughout; /* how many were there from its beginning to its end */
};
void lives_free(struct lives *l);
