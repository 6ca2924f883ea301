/* What each piece of evidence weighs in the answer model (model/answer/evidence.h). `lab/fit BUILD --deploy` writes other numbers here.
 * Fitted by hand on 96 cases, each asked with and without its mark, and 32 moments without strangers: what is repeated, and kernel workers,
 * count less than their factors say; how much more programs wait than normally distinguishes a slow moment from a calm one; the more of what
 * is new the first suspect takes, the less is left for what is not listed. */
#pragma once

#include "model/answer/evidence.h"

static const double evidence_weights[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = 1,
	[EVIDENCE_SHARE] = 1,
	[EVIDENCE_SURPRISE] = 2,
	[EVIDENCE_MACHINE_IS_FREE] = 1,
	[EVIDENCE_AGE] = 1,
	[EVIDENCE_SEVERAL] = 1,
	[EVIDENCE_FOR_OTHERS] = 2,
	[EVIDENCE_OF_JOB] = 1,
	[EVIDENCE_ON_BEHALF] = 1,
	[EVIDENCE_GOES_ON] = 1,
};

static const double nothing_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -3.6,
	[MOMENT_MARKED] = -3.6,
	[MOMENT_FELT] = -1,
	[MOMENT_SWING] = -1.9,
	[MOMENT_ADDED] = -1.6,
	[MOMENT_LISTED] = 0,
};

static const double unlisted_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -8.8,
	[MOMENT_MARKED] = 0,
	[MOMENT_FELT] = 0,
	[MOMENT_SWING] = 1.9,
	[MOMENT_ADDED] = 0,
	[MOMENT_LISTED] = -4,
};

static const double confidence_weights[CONFIDENCE_COUNT] = {
	[CONFIDENCE_ALWAYS] = 3.26,
	[CONFIDENCE_ODDS] = 0.549,
	[CONFIDENCE_SHORTAGE] = 0.692,
};
