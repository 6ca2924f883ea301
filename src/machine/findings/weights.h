/* What each piece of evidence weighs in the answer model (machine/findings/evidence.h). `lab/fit BUILD --deploy` writes other numbers here.
 * The rows from "excess" on, and the confidence's "hang", have no kept cases yet and are set by reason: the factors are likelihood ratios as they
 * stand, so each weighs 1; several that wait for one do so for one reason, so breadth weighs half. "bound" and "recency" weigh what they limit does:
 * the shortage, the share.
 * The slowdown's weight for "nothing", and "always" and "added" of what is not listed, were set on 2026-11-29 so that no figure of one half of those
 * questions and of kept moments of lived-in machines falls; none falls on the other half.
 * Fitted 2026-11-28 on 473 questions with a mark and 154 calm moments; the confidence 2026-11-30 on the same, presses at calm moments included. */
#pragma once

#include "machine/findings/evidence.h"

static const double evidence_weights[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = 0.795,
	[EVIDENCE_SHARE] = 1.29,
	[EVIDENCE_SURPRISE] = 2.49,
	[EVIDENCE_FOR_OTHERS] = 2.59,
	[EVIDENCE_ON_BEHALF] = 1.35,
	[EVIDENCE_BOUND] = 0.795,
	[EVIDENCE_RECENCY] = 1.29,
	[EVIDENCE_EXCESS] = 1,
	[EVIDENCE_NOVELTY] = 1,
	[EVIDENCE_DEMAND] = 1,
	[EVIDENCE_INTENT] = 1,
	[EVIDENCE_BREADTH] = 0.5,
	[EVIDENCE_HOLD] = 1,
	[EVIDENCE_CERTAINTY] = 1,
};

static const double nothing_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -3.5,
	[MOMENT_MARKED] = -4,
	[MOMENT_ADDED] = -0.9,
	[MOMENT_SLOWDOWN] = -5.75,
	[MOMENT_LISTED] = 0,
};

static const double unlisted_weights[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = -8.81,
	[MOMENT_MARKED] = 0,
	[MOMENT_ADDED] = 1.25,
	[MOMENT_SLOWDOWN] = 3,
	[MOMENT_LISTED] = -3.74,
};

static const double confidence_weights[CONFIDENCE_COUNT] = {
	[CONFIDENCE_ALWAYS] = 2.96,
	[CONFIDENCE_ODDS] = 0.324,
	[CONFIDENCE_SHORTAGE] = 0.647,
	[CONFIDENCE_HANG] = -1.5,
};
