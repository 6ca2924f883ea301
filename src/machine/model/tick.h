/* One moment's samples: what sources fill and recordings encode. The narrow place between the two.
 *
 * A source puts an entity with a vector of values (one int64 per feature of its kind, in the table's order, in the
 * table's unit; counters as running sums) and a mask of those that were measured. A value that could not be measured
 * is absent from the mask, never 0. Vectors stay valid until the tick's end; entities belong to their source.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/model/entity.h"

/* Things that happened, for the time axis. Persisted: never renumber. */
enum note_kind {
	NOTE_BOOT = 1,	   /* the machine started */
	NOTE_RECORDER = 2, /* recording began, ended, lost something */
	NOTE_KERNEL = 3,   /* a kernel message that matters: OOM kill, I/O error, hung task */
	NOTE_PACKAGE = 4,  /* software was installed, upgraded, removed */
	NOTE_CLOCK = 5,	   /* the wall clock stepped, the machine slept */
	NOTE_ENDED = 6,	   /* the recorder before this one ended without being asked to */
};

struct note {
	enum note_kind kind;
	int64_t wall; /* ns; 0 = the tick's */
	char *text;
};

struct sample {
	struct entity *entity;
	const int64_t *values;
	feature_set present;
	bool same; /* values and mask are those of the entity's sample before: nothing needs to look */
};

struct tick {
	int64_t boot, wall; /* ns */
	int64_t previous_boot; /* of the tick before, 0 = first */
	bool brief; /* set by who encodes it: processes that sleep on may be left out, if they are known as they are */
	uint32_t asleep;	/* processes left out */
	uint32_t asleep_threads;
	uint64_t asleep_values; /* what was measured of them */
	bool hears_exits;	/* the one that counts processes is reported as one ends, ... */
	int64_t lost_exits;	/* ... but of so many, since it began, it was not */
	int64_t folded_names;	/* entities recorded under another name since recording began (machine/model/name-limit.h) */
	VEC(struct sample) samples;
	VEC(struct entity *) ended;    /* after their last sample of this tick, if any */
	VEC(struct entity *) unnamed;  /* processes that began or exec'd: to be described */
	VEC(struct note) notes;
};

void tick_begin(struct tick *t, int64_t boot, int64_t wall);
/* 0 or -ENOMEM. Sources ignore the result: a tick without memory for a sample misses that sample. */
int tick_put(struct tick *t, struct entity *e, const int64_t *values, feature_set present);
/* As tick_put(), for a sample of which the source knows that it is the same as the entity's last. */
int tick_put_same(struct tick *t, struct entity *e, const int64_t *values, feature_set present);
int tick_note(struct tick *t, enum note_kind kind, int64_t wall, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void tick_free(struct tick *t);
