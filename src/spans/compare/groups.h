/* Version groups of one bucket compared: which is slower than the others, by how much, how surely.
 *
 * A group is one combination of the versions of all packages. All functions are pure and read plain arrays; durations
 * may be of any unit, and so are the answers.
 *
 * `older`  SDiag, section 3, literally: z = (mean - mean of the older groups' means) / their standard deviation, older
 *	    by first seen. Needs two older groups that differ. Outlier above 3.
 * `pooled` the same against all groups, the judged one among them. The greatest possible z of n groups is
 *	    (n - 1) / sqrt(n): below 11 groups none can exceed 3, and the answer says so (`cannot_exceed`).
 * `robust` the default, for any number from two on. n = 2: the younger against the older by Welch's t (and by
 *	    Mann-Whitney where samples or sketches are given); where both were there from the beginning, and chance decided which
 *	    was seen first, each against the other. n = 3 .. 10: each against the others' weighted mean by
 *	    Welch's t, and by its leave-one-out z. From 11 on: by the median and the MAD of the groups' means. Always: an
 *	    effect of at least `least` of the normal, and q <= .01 after Benjamini and Hochberg over all groups of all
 *	    buckets that are compared together (groups_correct()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/stat/sketch.h"
#include "spans/model/group-finding.h"

struct group_options {
	enum group_method method;
	double least; /* effect that matters, 0.05 = 5 %; 0 = that */
};

/* Takes the time of day (or any other phase that groups meet unequally) out of the groups' means: a version that ran
 * mostly at night is not fast. counts and sums (of durations) are n x phases. Fits mean = group x phase by iterative
 * proportional fitting, and scales each group's mean and variance to what all phases together would have given it.
 * 0 or -ENOMEM. Groups that share no phase with others stay as they are. Where that moves a mean, sketches are taken from the groups:
 * ranks are not of phases. */
int groups_level(struct version_group *groups, size_t n, const double *counts, const double *sums, size_t phases);

/* The fit alone: a group's mean in a phase is of_group x of_phase; n and `phases` places. */
void groups_fit(const double *counts, const double *sums, size_t n, size_t phases, double *of_group, double *of_phase);

/* Judges n groups; ret has n places, in their order. 0 or -ENOMEM. */
int groups_judge(const struct version_group *groups, size_t n, const struct group_options *o, struct group_judgement *ret);
/* Corrects p of many judgements (of all buckets) for their number and sets or clears the outlier flags of the robust
 * method. 0 or -ENOMEM. */
int groups_correct(struct group_judgement *judgements, size_t n, const struct group_options *o);

/* Requests: z of each against the mean and standard deviation of the older groups' requests (SDiag: "to identify the
 * outlier groups and requests"). */
double group_request_z(double duration, const struct version_group *older, size_t n);
