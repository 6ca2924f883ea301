/* Entities x features x time, as analyses read it.
 *
 * Time is a list of ticks. A series keeps only what happened: for a counter, the ticks in which it grew and by how
 * much (in multiples of the feature's quantum); for a gauge, the ticks at which it changed and to what. A tick in
 * which the subject lived and nothing is listed means +0, or the level from before. Before a gauge's first entry, and
 * for features outside `present`, the value is missing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hmap.h"
#include "base/vec.h"
#include "model/entity.h"
#include "model/tick.h"

struct moment {
	int64_t boot, wall; /* ns */
	int64_t span;	    /* ns since the tick before; 0 = unknown (recording began here) */
};

struct series {
	uint32_t *tick;
	int64_t *value;
	size_t n, allocated;
};

struct subject {
	struct entity_info info;
	char *program;		  /* entity_program() */
	uint32_t first, last;	  /* ticks it was there, inclusive */
	bool ended;		  /* it is gone after `last` */
	const struct feature *features;
	size_t n_features;
	struct series *series; /* n_features of them */
};

struct dataset {
	VEC(struct moment) ticks;
	VEC(struct subject *) subjects;
	VEC(struct note) notes;
	struct hmap by_id; /* (id, 0) -> struct subject */
};

void dataset_free(struct dataset *d);
/* Appends a moment; later ones only. Returns its index, or -ENOMEM, or -EINVAL for one out of order. */
int dataset_add_tick(struct dataset *d, int64_t boot, int64_t wall, int64_t span);
/* Defines or redefines a subject from the current tick on; copies `info`. NULL without memory. */
struct subject *dataset_define(struct dataset *d, const struct entity_info *info);
/* The recorder stopped after tick `last`: nobody is followed beyond it, and whoever lives on comes back under another
 * id. `recorded`: false when that was before the dataset's first tick. */
void dataset_interrupt(struct dataset *d, uint32_t last, bool recorded);
/* After the last tick: whoever did not end was there until the end. */
void dataset_finish(struct dataset *d);
struct subject *dataset_subject(const struct dataset *d, uint32_t id);
/* Appends to a series; ticks ascend. 0 or -ENOMEM. */
int series_push(struct series *s, uint32_t tick, int64_t value);

/* The value of a feature at a tick: a counter's rate per second (growth over the tick's span), a gauge's level.
 * NaN where it is missing. Linear in nothing: a binary search. */
double subject_value(const struct dataset *d, const struct subject *s, size_t feature, uint32_t tick);
/* Mean over ticks [from, to]: growth over time for counters, time-weighted level for gauges. NaN where missing. */
double subject_mean(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to);
/* Growth of a counter over ticks [from, to] in the feature's unit. */
double subject_growth(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to);

/* The last tick at or before a wall time, or -1. */
int dataset_find_wall(const struct dataset *d, int64_t wall);
static inline bool subject_has(const struct subject *s, size_t feature)
{
	return s->info.present >> feature & 1;
}
