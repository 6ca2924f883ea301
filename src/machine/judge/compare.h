/* Two times of one machine's history side by side: what changed, for which program. */
#pragma once

#include "lib/data/vec.h"
#include "machine/model/dataset.h"

struct compared_change {
	const struct subject *subject; /* a member, of B if it is there, else of A */
	const struct feature *feature;
	double a, b;	    /* medians of one-minute means; counters as rates */
	double spread;	    /* of A, never below what a person could notice */
	double effect;	    /* (b - a) / spread */
	double superiority; /* P(a minute of B is higher than one of A) */
	double p, q;	    /* Mann-Whitney; Benjamini-Hochberg over all that were compared */
	unsigned n_a, n_b;  /* minutes */
};

struct changes {
	VEC(struct compared_change) list; /* largest effect first; q <= 0.05 and |effect| >= 1 only */
	unsigned compared;
};

/* 0 or -ENOMEM. Both datasets must outlive *ret. */
int compare_times(const struct dataset *a, const struct dataset *b, struct changes *ret);
