#include "machine/findings/evidence.h"

const struct evidence_row evidence_rows[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = {"shortage", "how short the machine is of what it takes, beyond the baseline; or, of what no pressure is measured for, how free it is of all else"},
	[EVIDENCE_SHARE] = {"share", "its share of what is new there: by use, and by whom others wait for; less what a listed job has, and what it has stopped with"},
	[EVIDENCE_SURPRISE] = {"surprise", "1 = it never did that before, towards 0 = it does it all the time, or is older than the incident, which is all that is known"},
	[EVIDENCE_FOR_OTHERS] = {"for-others", "it is the work of the kernel or of whyslow, on behalf of programs"},
	[EVIDENCE_ON_BEHALF] = {"on-behalf", "what others do on its behalf, or it on behalf of others"},
};

const struct evidence_row moment_rows[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = {"always", "what holds before anything is known of the moment"},
	[MOMENT_MARKED] = {"marked", "a user says that it is slow"},
	[MOMENT_ADDED] = {"added", "how much longer than normally programs wait, all together"},
	[MOMENT_SLOWDOWN] = {"slowdown", "how many times as long as normally programs take for the same work"},
	[MOMENT_LISTED] = {"listed", "how much of what is new the first suspect takes: little is left for others"},
};
