#include "model/answer/evidence.h"

const struct evidence_row evidence_rows[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = {"shortage", "how short the machine is of what it takes, beyond the baseline"},
	[EVIDENCE_SHARE] = {"share", "its share of what is new there: by use, and by whom others wait for"},
	[EVIDENCE_SURPRISE] = {"surprise", "1 = it never did that before, towards 0 = it does it all the time"},
	[EVIDENCE_MACHINE_IS_FREE] = {"machine-is-free", "no pressure is measured for it, and the machine is short of nothing else: it may be a leak"},
	[EVIDENCE_AGE] = {"age", "without a past: it is older than the incident"},
	[EVIDENCE_SEVERAL] = {"several", "it takes other things, too, that are short"},
	[EVIDENCE_FOR_OTHERS] = {"for-others", "it is the work of the kernel or of whyslow, on behalf of programs"},
	[EVIDENCE_OF_JOB] = {"of-job", "a part of what it does is a job's, which is listed"},
	[EVIDENCE_ON_BEHALF] = {"on-behalf", "what others do on its behalf, or it on behalf of others"},
	[EVIDENCE_GOES_ON] = {"goes-on", "it still does so at the end"},
};

const struct evidence_row moment_rows[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = {"always", "what holds before anything is known of the moment"},
	[MOMENT_MARKED] = {"marked", "a user says that it is slow"},
	[MOMENT_FELT] = {"felt", "programs wait noticeably more than normally for CPU, disk or memory"},
	[MOMENT_SWING] = {"swing", "how rarely the past swings so far by itself: 1 = once in a hundred moments"},
	[MOMENT_ADDED] = {"added", "how much longer than normally programs wait, all together"},
	[MOMENT_LISTED] = {"listed", "how much of what is new the first suspect takes: little is left for others"},
};
