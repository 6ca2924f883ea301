/* What a score of the robust models is made of: factors whose product it is. The logarithm of a factor is its weight in the sum
 * that is the score's logarithm: 0 says nothing, what is negative speaks against the suspect. */
#pragma once

enum evidence {
	EVIDENCE_SHORTAGE,
	EVIDENCE_SHARE,
	EVIDENCE_SURPRISE,
	EVIDENCE_MACHINE_IS_FREE,
	EVIDENCE_AGE,
	EVIDENCE_STARTER,
	EVIDENCE_SEVERAL,
	EVIDENCE_FOR_OTHERS,
	EVIDENCE_RECORDER,
	EVIDENCE_OF_JOB,
	EVIDENCE_ON_BEHALF,
	EVIDENCE_GOES_ON,
	EVIDENCE_COUNT
};

struct evidence_row {
	const char *name, *help;
};

extern const struct evidence_row evidence_rows[EVIDENCE_COUNT];
