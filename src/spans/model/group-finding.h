/* Version groups of a bucket as spans/compare/groups.h judges them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spans/model/span-finding.h"

enum group_method { GROUPS_ROBUST, GROUPS_SDIAG_OLDER, GROUPS_SDIAG_POOLED };

#define SDIAG_THRESHOLD	   3.0
#define SDIAG_POOLED_LEAST 11 /* groups */

struct version_group {
	int64_t first_seen;
	double count;	  /* requests it stands for (adjusted) */
	double effective; /* independent samples: Kish's (sum w)^2 / sum w^2 */
	double mean, variance; /* of the population, by adjusted count */
	const struct sketch *sketch; /* of the durations; may be NULL */
	int64_t last_seen;	     /* 0 = not known */
};

enum group_flags {
	GROUP_OUTLIER = 1,
	GROUP_CANNOT_EXCEED = 2, /* pooled: too few groups for the threshold */
	GROUP_NO_REFERENCE = 4,	 /* nothing older, or nothing else; z and p are NaN */
	GROUP_TOO_FEW = 8,	 /* fewer than two samples in it or in what it is compared with */
	GROUP_FASTER = 16,	 /* an outlier to the good side */
};

struct group_judgement {
	double normal;	    /* what it is compared with */
	double effect;	    /* (mean - normal) / normal */
	double z;	    /* of the method; NaN where there is none */
	double p, q;	    /* two-sided; NaN for the literal methods; q as p until groups_correct() */
	double superiority; /* P(a request of it is slower than one of the others); NaN without sketches */
	double share;	    /* of the bucket's requests */
	double excess;	    /* what all requests together took more for it: count x (mean - normal) / all requests */
	unsigned flags;	    /* enum group_flags */
};

const char *group_method_name(enum group_method method);

#define GROUP_OUTLIERS 3 /* requests of one group */

/* Requests far off what the older versions' requests are; of the oldest version, off its own. */
struct group_outliers {
	struct {
		const struct exemplar *request;
		double z;
	} v[GROUP_OUTLIERS];
	size_t n;
};

/* The groups of all chosen buckets, bucket by bucket; n of each. */
/* A version of a package over time, all requests of a bucket that ran it. */
#define VERSION_TIMES 128 /* at most */
struct version_times {
	const struct bucket *bucket; /* lent */
	uint32_t package, version; /* texts */
	int64_t first, width; /* wall ns */
	size_t n;
	struct moments *v; /* owned: from `first` on, one each `width` */
};

struct span_groups {
	enum group_method method;
	size_t n;
	const struct bucket **bucket;	     /* lent, as the next */
	const struct forest_group **group;
	struct version_group *groups;	     /* as compared: levelled by the times they ran at */
	struct group_judgement *judgements;  /* q is over all of them */
	struct group_outliers *outliers;
	struct span_since *since;	     /* of the bucket, all versions together, at its first group; since 0 = no change */
	bool levelled;			     /* in at least one bucket */
	VEC(struct version_times) times;     /* of packages of which a bucket has several versions */
	struct deployments deployments;	     /* that are known, of the time of these requests and of shortly before, by time */
};

void span_groups_free(struct span_groups *j);
/* Is this group slower than normal? */
bool span_groups_is_slower(const struct span_groups *j, size_t i);
