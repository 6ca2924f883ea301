#include "machine/findings/evidence.h"

#include <math.h>

#include "machine/findings/weights.h"

const struct evidence_row evidence_rows[EVIDENCE_COUNT] = {
	[EVIDENCE_SHORTAGE] = {"shortage", "how short the machine is of what it takes, beyond the baseline; or, of what no pressure is measured for, how free it is of all else"},
	[EVIDENCE_SHARE] = {"share", "its share of what is new there: by use, and by whom others wait for; less what a listed job has, and what it has stopped with"},
	[EVIDENCE_SURPRISE] = {"surprise", "1 = it never did that before, towards 0 = it does it all the time, or is older than the incident, which is all that is known"},
	[EVIDENCE_FOR_OTHERS] = {"for-others", "it is the work of the kernel or of whyslow, on behalf of programs"},
	[EVIDENCE_ON_BEHALF] = {"on-behalf", "what others do on its behalf, or it on behalf of others"},
	[EVIDENCE_BOUND] = {"bound", "how much of the wait for what it takes it can cause: no longer than others wait, and for a CPU no longer than it runs"},
	[EVIDENCE_RECENCY] = {"recency", "1 = it continues at the end; towards 0 = it stopped, while another suspect that comes near continues"},
	[EVIDENCE_EXCESS] = {"excess", "how much longer than its own program ever did the other program waits for that"},
	[EVIDENCE_NOVELTY] = {"novelty", "1 = that began with the incident, or just now; towards 0 = long ago"},
	[EVIDENCE_DEMAND] = {"demand", "whether anyone wants what the other program waits for: it has asked, or a person waits for it at a terminal"},
	[EVIDENCE_INTENT] = {"intent", "1 = the end of the chain of waits cannot continue; towards 0 = it means to wait, or it works"},
	[EVIDENCE_BREADTH] = {"breadth", "how many programs wait for it"},
	[EVIDENCE_HOLD] = {"hold", "whether it has done nothing else for as long as the other program waits"},
	[EVIDENCE_CERTAINTY] = {"certainty", "how surely the chain of waits is known"},
};

const struct evidence_row moment_rows[MOMENT_COUNT] = {
	[MOMENT_ALWAYS] = {"always", "what holds before anything is known of the moment"},
	[MOMENT_MARKED] = {"marked", "a user says that it is slow, as far as a person or a request is seen to wait"},
	[MOMENT_ADDED] = {"added", "how much longer than normally programs wait, but for the first suspect's own"},
	[MOMENT_SLOWDOWN] = {"slowdown", "how many times as long as normally programs take for the same work"},
	[MOMENT_LISTED] = {"listed", "how much of what is new the first suspect takes: little is left for others"},
};

double evidence_score(const double factors[EVIDENCE_COUNT])
{
	double utility = 0;

	for (enum evidence e = 0; e < EVIDENCE_COUNT; e++)
		utility += factors[e] > 0 ? evidence_weights[e] * log(factors[e]) : 0;
	return exp(utility);
}
