#include "machine/answer-waits/collector.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define LOOKED_BACK (20 * NS_PER_SEC)
#define RAN_LEAST   (200 * NS_PER_MS)

/* HotSpot's VM thread collects itself where it has a single collector thread, and stops all others for it. */
static bool is_collector(const char *comm)
{
	static const char *const names[] = {"GC Thread#", "GC task thread#", "VM Thread", "G1 ", "ParGC Thread", "Concurrent Mark", "CMS", "ZWorker", "ZDriver",
					    "Shenandoah", ".NET Server GC", ".NET BGC"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_starts(comm, names[i]))
			return true;
	return false;
}

double collector_share(const struct trace *t, uint32_t pid)
{
	uint64_t from = t->frozen > (uint64_t)LOOKED_BACK ? t->frozen - LOOKED_BACK : 0, ran = 0, collected = 0;
	_cleanup_free_ uint64_t *since = calloc(t->n_cpus + 1, sizeof(*since)); /* of each CPU: when the thread that runs came */
	bool any = false;

	for (size_t i = since ? FIRST_WHERE(k, t->n_events, t->events[k].time >= from) : t->n_events; i < t->n_events; i++) {
		const struct event *e = &t->events[i];
		const struct trace_thread *th;

		if (e->kind != EVENT_SWITCH || e->cpu >= t->n_cpus)
			continue;
		th = e->thread && since[e->cpu] ? trace_thread(t, e->thread, e->time) : NULL;
		if (th && th->tgid == pid) {
			ran += e->time - since[e->cpu];
			if (is_collector(th->comm)) {
				collected += e->time - since[e->cpu];
				any = true;
			}
		}
		since[e->cpu] = e->time;
	}
	return any && ran >= (uint64_t)RAN_LEAST ? (double)collected / (double)ran : NAN;
}
