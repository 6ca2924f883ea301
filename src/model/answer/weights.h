/* What each piece of evidence weighs in the answer model (model/answer/evidence.h). `lab/fit BUILD --deploy` writes other numbers here.
 * Fitted 2026-11-27 on 306 cases and 158 calm moments. */
#pragma once

#include "model/answer/evidence.h"

static const double evidence_weights[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = 0.795,
	[EVIDENCE_SHARE] = 1.29,
	[EVIDENCE_SURPRISE] = 2.49,
	[EVIDENCE_FOR_OTHERS] = 2.59,
	[EVIDENCE_ON_BEHALF] = 1.35,
};

static const double nothing_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -3.86,
	[MOMENT_MARKED] = -3.6,
	[MOMENT_FELT] = -0.774,
	[MOMENT_SWING] = -1.91,
	[MOMENT_ADDED] = -1.83,
	[MOMENT_LISTED] = -0.215,
};

static const double unlisted_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -8.31,
	[MOMENT_MARKED] = 0,
	[MOMENT_FELT] = 0.358,
	[MOMENT_SWING] = 1.5,
	[MOMENT_ADDED] = 0,
	[MOMENT_LISTED] = -3.74,
};

static const double confidence_weights[CONFIDENCE_COUNT] = {
	[CONFIDENCE_ALWAYS] = 2.9,
	[CONFIDENCE_ODDS] = 0.603,
	[CONFIDENCE_SHORTAGE] = 0.64,
};
