/* What each piece of evidence weighs in the answer model (model/answer/evidence.h). `lab/fit BUILD --deploy` writes other numbers here.
 * Fitted 2026-11-27 on 219 cases and 118 calm moments. */
#pragma once

#include "model/answer/evidence.h"

static const double evidence_weights[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = 0.945,
	[EVIDENCE_SHARE] = 1.09,
	[EVIDENCE_SURPRISE] = 2.32,
	[EVIDENCE_MACHINE_IS_FREE] = 0.886,
	[EVIDENCE_AGE] = 1,
	[EVIDENCE_SEVERAL] = 1.07,
	[EVIDENCE_FOR_OTHERS] = 2.41,
	[EVIDENCE_OF_JOB] = 1,
	[EVIDENCE_ON_BEHALF] = 1.29,
	[EVIDENCE_GOES_ON] = 0.891,
};

static const double nothing_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -3.82,
	[MOMENT_MARKED] = -3.6,
	[MOMENT_FELT] = -0.924,
	[MOMENT_SWING] = -1.92,
	[MOMENT_ADDED] = -1.79,
	[MOMENT_LISTED] = -0.152,
};

static const double unlisted_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -8.47,
	[MOMENT_MARKED] = 0,
	[MOMENT_FELT] = 0.214,
	[MOMENT_SWING] = 1.63,
	[MOMENT_ADDED] = 0,
	[MOMENT_LISTED] = -3.8,
};

static const double confidence_weights[CONFIDENCE_COUNT] = {
	[CONFIDENCE_ALWAYS] = 3.5,
	[CONFIDENCE_ODDS] = 0.655,
	[CONFIDENCE_SHORTAGE] = 0.894,
};
