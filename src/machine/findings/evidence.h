/* What an answer of the default model is made of: a conditional logit (McFadden 1974) over the suspects, "nothing is slow" and "what is not
 * listed". A suspect is a program that takes what is short, or one that has another program wait for it (struct hang). The utility of each outcome is a sum of evidence by weights (machine/findings/weights.h), its probability exp(utility) over the sum
 * of all. The evidence for a suspect are logarithms of factors: 0 says nothing, what is negative speaks against it; its score is
 * exp(utility). The evidence for the other two are facts of the moment. */
#pragma once

enum evidence {
	EVIDENCE_SHORTAGE,
	EVIDENCE_SHARE,
	EVIDENCE_SURPRISE,
	EVIDENCE_FOR_OTHERS,
	EVIDENCE_ON_BEHALF,
	EVIDENCE_BOUND,
	EVIDENCE_RECENCY,
	/* of who has another program wait (machine/answer-waits/hang-evidence.h) */
	EVIDENCE_EXCESS,
	EVIDENCE_NOVELTY,
	EVIDENCE_DEMAND,
	EVIDENCE_INTENT,
	EVIDENCE_BREADTH,
	EVIDENCE_HOLD,
	EVIDENCE_CERTAINTY,
	EVIDENCE_COUNT
};

struct evidence_row {
	const char *name, *help;
};

extern const struct evidence_row evidence_rows[EVIDENCE_COUNT];

/* A suspect's score, from its factors by their weights; 0 and NaN do not apply. */
double evidence_score(const double factors[EVIDENCE_COUNT]);

/* Facts of the moment asked about. */
enum moment_fact {
	MOMENT_ALWAYS, /* 1 */
	MOMENT_MARKED, /* 0 .. 1: a user says so, and how surely a person saw it */
	MOMENT_ADDED,  /* ln(1 + s/s that programs wait beyond their normal, but for the first suspect's own) */
	MOMENT_SLOWDOWN, /* 0 .. 3: ln of how many times as long as normally programs take for the same work */
	MOMENT_LISTED, /* 0 .. 4: -ln(1 - EVIDENCE_SHARE of the first suspect): little is left for others */
	MOMENT_COUNT
};

extern const struct evidence_row moment_rows[MOMENT_COUNT];

/* By what the confidence in a named program is found: a logistic regression of "the first suspect is right" (Platt 1999). */
enum confidence_fact {
	CONFIDENCE_ALWAYS,   /* 1 */
	CONFIDENCE_ODDS,     /* ln of the odds of the first suspect's probability */
	CONFIDENCE_SHORTAGE, /* ln of its factor EVIDENCE_SHORTAGE: what nothing measures to be short is taken by many */
	CONFIDENCE_HANG,     /* 1 if it is named for a program that waits for it */
	CONFIDENCE_COUNT
};

/* What is not a suspect: the facts of the moment, and how probable it is. */
struct odds {
	double facts[MOMENT_COUNT];
	double nothing;	 /* nothing is slow, 0..1; NaN = of a model that has no probabilities */
	double unlisted; /* it is slow, and by none of those that are listed */
	double unlisted_score; /* of that, as a suspect has one */
};
