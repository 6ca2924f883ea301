/* Whom to inspect while a rule's event lasts: the processes that use most of what the machine lacks, one after another.
 *
 * A rule about the machine names no process, and the largest one of a single tick is often a bystander. So each phase of an event
 * adds up, per process, what it uses of the resource, and its turns go to the process with the greatest
 *
 *   min(mean of the phase, mean of the last seconds) / (turns it had + 1)
 *
 * which gives turns in proportion to use (D'Hondt's method) and none to a process that has stopped. A rule about processes names
 * its process: it has all turns.
 *
 * An event's first phase is added up from the moment at which the rule holds, long before the event begins (a rule's `for`): who made
 * it begin may use little afterwards. The first turn of a machine's phase comes when TURN_FIRST of it has passed, so that it stands on some
 * ticks; the next three come every TURN_EVERY, then each gap is twice as long: a phase of a day has 16 turns. Used by the sampler's thread: allocates nothing.
 */
#pragma once

#include <stdint.h>

#include "machine/model/tick.h"

#define TURN_EVENTS_MAX	    8  /* with inspections at the same time; later ones have none */
#define TURN_CANDIDATES_MAX 64 /* processes that are added up: 63 others cannot all be larger than the one that matters */
#define TURN_FIRST	    (3 * NS_PER_SEC)
#define TURN_EVERY	    (10 * NS_PER_SEC) /* an inspection takes 5 s */

struct turn_candidate {
	uint32_t id, pid; /* of the entity; 0 = free */
	double sum;	  /* growth in the phase, in the feature's unit */
	double recent;	  /* growth per second, mean of the last seconds */
	unsigned turns;
};

struct turn_event {
	uint64_t number; /* as watch_event.number; 0 = free */
	unsigned phase, turns; /* phase 0: the first one, of which it is not known whether it lasts */
	enum resource resource;
	uint32_t pid;	  /* of a rule about processes; 0 = the machine */
	int64_t span;	  /* ns of the phase so far */
	int64_t due;	  /* ns of the phase at which the next turn comes */
	double recent;	  /* of all processes, per second */
	struct turn_candidate candidates[TURN_CANDIDATES_MAX];
};

struct turns {
	uint32_t recorder; /* pid of the recorder: its processes have no turns; 0 = none */
	struct turn_event events[TURN_EVENTS_MAX];
};

/* A phase begins. `pid`: 0 = of the machine. Phase 0 may become the first one: it is added up, but has no turns. */
void turns_begin(struct turns *t, uint64_t number, unsigned phase, uint32_t pid, enum resource resource);
/* The phase, or the event, is over. Where it was so short that no turn came: who would have had the first one (a pid); else 0. */
uint32_t turns_end(struct turns *t, uint64_t number);
/* Adds up a tick, and calls `inspect` for each turn that is due. The entities' `previous` values must still be those of the tick
 * before. */
void turns_tick(struct turns *t, const struct tick *tick,
		void (*inspect)(uint64_t number, unsigned phase, uint32_t pid, void *data), void *data);
