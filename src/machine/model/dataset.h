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

#include "lib/data/hmap.h"
#include "lib/rights/memory-budget.h"
#include "lib/data/vec.h"
#include "machine/model/entity.h"
#include "machine/model/tick.h"

struct moment {
	int64_t boot, wall; /* ns */
	int64_t span;	    /* ns since the tick before; 0 = unknown (recording began here) */
	int64_t elapsed;    /* the sum of spans up to here */
};

struct series {
	uint32_t *tick;
	int64_t *value;
	size_t n, allocated;
	size_t reserved; /* entries asked for by series_reserve(), until dataset_allocate() */
	bool lent;	 /* the arrays are part of one of the dataset's blocks */
};

struct subject {
	struct entity_info info;
	char *program;		  /* entity_program() */
	uint32_t first, last;	  /* ticks it was there, inclusive */
	bool ended;		  /* it is gone after `last` */
	uint32_t segment;	  /* the newest segment that defined it: index into the dataset's segments */
	uint64_t definition;	  /* hash of the stored definition, 0 = unknown */
	feature_set wanted;	  /* features a filtered load puts; the others' series stay empty */
	const struct feature *features;
	size_t n_features;
	struct series *series; /* n_features of them */
};

struct dataset {
	VEC(struct moment) ticks;
	VEC(struct subject *) subjects;
	VEC(struct note) notes;
	VEC(uint32_t) segments; /* the first tick of each segment of the recording */
	VEC(void *) blocks;	/* memory that series of many values share */
	struct hmap by_id;	/* (id, 0) -> struct subject */
	struct hmap by_identity; /* (pid, start) -> struct subject: a process outlives recorders and their ids */
	struct memory_budget *budget;	/* what it takes while a recording is read into it is taken from there; NULL = no bound */
};

void dataset_free(struct dataset *d);
/* Appends a moment; later ones only. Returns its index, or -ENOMEM, or -EINVAL for one out of order. */
int dataset_add_tick(struct dataset *d, int64_t boot, int64_t wall, int64_t span);
/* Defines or redefines a subject from the current tick on; copies `info`. NULL without memory. */
struct subject *dataset_define(struct dataset *d, const struct entity_info *info);
/* The next tick begins a segment: the one that is there will be defined again in it. 0 or -ENOMEM. */
int dataset_begin_segment(struct dataset *d);
/* After the last tick: the one that did not end was there until the end of the last segment that knew it. */
void dataset_finish(struct dataset *d);
/* Takes out the processes that the viewer must not know of, and of the others what is not to be seen (machine/model/visibility.h).
 * 0 or -ENOMEM: then it must not be shown. */
int dataset_hide(struct dataset *d, const struct viewer *v);
struct subject *dataset_subject(const struct dataset *d, uint32_t id);
/* The process of this number, of several the one that started last; NULL = none was seen. */
const struct subject *dataset_process(const struct dataset *d, unsigned pid);
/* Appends to a series; ticks ascend. 0 or -ENOMEM. */
int series_push(struct series *s, uint32_t tick, int64_t value);
/* The same while a recording is read into `d`. */
int dataset_push(struct dataset *d, struct series *s, uint32_t tick, int64_t value);
/* Appends a note; its text becomes the dataset's. 0, or -ENOMEM: then the text is freed. */
int dataset_add_note(struct dataset *d, struct note note);
/* Asks for room for n more entries and returns where they will begin; dataset_allocate() then makes room for all that
 * was asked for, at once, and the series' `n` counts them: the caller fills every one. */
static inline size_t series_reserve(struct series *s, size_t n)
{
	size_t at = s->n + s->reserved;

	s->reserved += n;
	return at;
}
int dataset_allocate(struct dataset *d);
/* Takes back n entries that begin at `at`. */
void series_remove(struct series *s, size_t at, size_t n);
/* Appends what another dataset has in [from, to] (wall ns); of gauges also the level before. 0; -ENOMEM; -EBADMSG: there a
 * subject is of another kind. */
int dataset_append(struct dataset *d, const struct dataset *part, int64_t from, int64_t to);

/* The value of a feature at a tick: a counter's rate per second (growth over the tick's span), a gauge's level.
 * NaN where it is missing. Linear in nothing: a binary search. */
double subject_value(const struct dataset *d, const struct subject *s, size_t feature, uint32_t tick);
/* Mean over ticks [from, to]: growth over time for counters, time-weighted level for gauges. NaN where missing. */
double subject_mean(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to);
/* The activity of a subject in ticks [from, to], of which it need not be there all the time: a counter's growth per second of all of them, a
 * program's level at their end, of a machine's level and of what is sampled (they swing) the mean. NaN where it was not there. */
double subject_during(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to);
/* The time in which entry i of a counter's series grew, in the dataset's elapsed ns: its tick. A wait that is read late (feature.h) has
 * grown for as long as it waited, at one ns a ns, but not before the entry before it: more threads have waited for a shorter time. */
struct growth_time {
	int64_t begin, end;
};
struct growth_time subject_growth_time(const struct dataset *d, const struct subject *s, size_t feature, size_t i);
/* The part of that entry's growth, in quanta, that lies in [begin, end] of that time. */
double subject_growth_within(const struct dataset *d, const struct subject *s, size_t feature, size_t i, int64_t begin, int64_t end);
/* Growth of a counter over ticks [from, to] in the feature's unit; of an entry that grew outside of them, too, its share. */
double subject_growth(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to);
/* The last tick of which a counter's growth is known: of a wait that is read late, the last at which any counter of its subject grew. A thread
 * that sleeps on is not read, and how long it has waited since, an entry to come will show. */
uint32_t subject_known_until(const struct subject *s, size_t feature);

/* The last tick at or before a wall time, or -1. */
int dataset_find_wall(const struct dataset *d, int64_t wall);
static inline bool subject_has(const struct subject *s, size_t feature)
{
	return s->info.present >> feature & 1;
}
