/* Holds a flight recorder for a measurement: ring-load [SECONDS [KIB]]; 0 s = until a line comes. Says what was written and what
 * a freeze took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "machine/events/test-event-names.h"
#include "machine/flight/ring.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct ring_options options = {.stacks = true, .profile = true};
	struct trace t;
	struct ring *r;
	const char *why = "";
	size_t kinds[EVENT_KIND_END] = {};
	uint64_t torn = 0, lost = 0, switches = 0, wakeups = 0;
	uint32_t n_cpus;
	double began;

	if (argc > 2)
		options.bytes = (uint64_t)atoll(argv[2]) << 10;
	if (ring_open(&options, &r, &why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	ring_profile(r, true);
	puts("ready");
	fflush(stdout);
	if (argc > 1 && atof(argv[1]) > 0)
		usleep((useconds_t)(atof(argv[1]) * 1e6));
	else
		getchar();
	began = now();
	if (ring_freeze_since(r, 0, 0, &t) < 0)
		return 1;
	for (size_t i = 0; i < t.n_events; i++)
		kinds[t.events[i].kind]++;
	for (uint32_t i = 0; i < t.n_cpus; i++) {
		torn += t.cpus[i].torn;
		lost += t.cpus[i].written;
	}
	printf("freeze %.3f s: %zu events of %lu, %lu torn, %zu threads, %zu stacks (%lu lost), %.3f s covered\n", now() - began,
	       t.n_events, lost, torn, t.threads.n, t.stacks.n, t.stacks_lost, (double)(t.to - t.from) / 1e9);
	for (int k = 0; k < EVENT_KIND_END; k++)
		if (kinds[k])
			printf("  %-14s %zu\n", trace_event_name(k), kinds[k]);
	for (uint32_t i = 0; i < t.n_cpus; i++) {
		switches += ring_cpus(r, &n_cpus)[i].switches;
		wakeups += ring_cpus(r, &n_cpus)[i].wakeups;
	}
	printf("  in all %lu switches, %lu wakeups\n", switches, wakeups);
	printf("  no storage %lu, no waker %lu\n", ring_counts(r)->no_storage, ring_counts(r)->no_waker);
	trace_clear(&t);
	ring_close(r);
	return 0;
}
