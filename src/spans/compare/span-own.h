/* What a version of a service did by itself, whatever the versions it calls did.
 *
 * A service's own time is what its calls take while nothing that they call runs, and the way to them (an edge is its callee's). It
 * is compared call by call, so that neither a slow callee nor a caller that calls more often moves it, at the times at which
 * both sides ran (span-strata.h). What a service does with its calls is its own, too: it makes more of them a call, or one after
 * another what ran side by side; that is counted with what each of them takes now, so that it is not its callees'. Calls that no caller
 * waits for, as messages, count with all of their own time.
 */
#pragma once

#include "spans/compare/suspect.h"

struct own_time {
	double mean, others; /* ns a request on the critical path, and of asynchronous calls, at the calls of the suspect's version */
	double p;	     /* Welch, of the calls' own time; 1 where it is not longer */
	double structure;    /* ns a request, for more calls or calls one after another */
};

/* Its own failures: calls of a service that failed without a failure of what they call; for any other package, requests. */
struct own_failures {
	double share, others; /* a request, at the calls of the suspect's version; its others as far as they ran at its times */
	double p;	      /* that it is not greater, by chance; 1 where it is not, or where fewer than OWN_FAILURES were seen */
};

#define OWN_FAILURES 5

void own_failures_find(const struct forest *f, const struct suspect_version *s, struct own_failures *ret);

/* The own time of a service by that version against its others. */
void own_time_find(const struct forest *f, const struct suspect_version *s, struct own_time *ret);
