/* What a version of a service did by itself, whatever the versions it calls did.
 *
 * A service's own time is what its calls take while nothing that they call runs, and the way to them (an edge is its callee's). It
 * is compared call by call, so that neither a slow callee nor a caller that calls more often moves it, at the times at which
 * both sides ran (span-strata.h). What a service does with its calls is its own, too: it makes more of them a call, or one after
 * another what ran side by side; that is counted with what each of them takes now, so that it is not its callees'.
 */
#pragma once

#include "analysis/span/suspect.h"

struct own_time {
	double mean, others; /* ns a request on the critical path, at the calls of the suspect's version */
	double p;	     /* Welch, of the calls' own time; 1 where it is not longer */
	double structure;    /* ns a request, for more calls or calls one after another */
};

/* Is the package a service of the bucket? Then *ret is its own time by that version against its others; else false. */
bool own_time_find(const struct forest *f, const struct suspect_version *s, struct own_time *ret);
