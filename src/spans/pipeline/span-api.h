/* Traces that a query service has: Tempo's or Jaeger's HTTP interface.
 *
 * A service answers with a number of traces at most. So that those are of all of the time and not of its end, the time is read in slices, with
 * as many traces of each.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SPAN_API_SLICES 50
#define SPAN_API_TRACES 100 /* of each, at most (of Jaeger's services each) */

struct span_api_tally {
	uint64_t traces, slices, full; /* full: slices that have more traces than were read */
};

/* "http://tempo:3200", "https://jaeger:16686/prefix" */
bool span_api_is(const char *location);
/* Writes the traces of [from, to), wall ns, as JSON that the readers of spans know. 0 or -errno, then *ret_error (caller frees) says why. */
int span_api_fetch(const char *url, int64_t from, int64_t to, FILE *out, struct span_api_tally *ret, char **ret_error);
