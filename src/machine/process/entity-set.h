/* The entities of one kind that come and go by name: CPUs, disks, mounts, interfaces, control groups, sensors.
 *
 * A sample goes: entity_set_begin(), entity_set_see() for each name that is there, entity_set_put(). Who was not seen has ended.
 * Nothing counts as born: a name may appear long after its counters began (an interface renamed, a CPU switched on
 * again, a group found late), and a first sample counted from 0 would be a spike that never was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/model/tick.h"

struct entity_slot {
	struct entity *entity;
	uint64_t sample;  /* the roster's number of the sample that saw it last */
	feature_set present; /* kept from sample to sample, as the values are */
	bool ignored;	  /* known, but not to be recorded */
	bool same;	  /* values and mask are those that were put last: nothing needs to look */
	void *own;	  /* the source's */
	int64_t values[];
};

struct entity_set {
	enum entity_kind kind;
	size_t max;
	void (*release)(void *own); /* may be NULL */
	VEC(struct entity_slot *) members;
	VEC(struct entity_slot *) gone; /* ended at the last sample: the tick still names them */
	uint64_t sample;
	size_t next; /* who is likely to be seen next: the kernel lists in the same order every time */
};

void entity_set_begin(struct entity_set *r);
/* Finds or adds; name need not end after n bytes. NULL without memory or room. *ret_new may be NULL. */
struct entity_slot *entity_set_see(struct entity_set *r, const char *name, size_t n, bool *ret_new);
static inline bool entity_set_saw(const struct entity_set *r, const struct entity_slot *m)
{
	return m->sample == r->sample;
}
void entity_set_put(struct entity_set *r, struct tick *tick);
/* Of members that come soon after the i-th: they lie anywhere in memory, and who goes through them all once a second would wait for each.
 * Always inline: gcc leaves out calls of what only prefetches. */
static inline __attribute__((always_inline)) void entity_set_fetch(const struct entity_set *r, size_t i)
{
	if (i + 8 < r->members.n)
		__builtin_prefetch(r->members.v[i + 8]);
	if (i + 4 < r->members.n) {
		const struct entity_slot *soon = r->members.v[i + 4];

		__builtin_prefetch(soon->own);
		__builtin_prefetch((const char *)soon->own + 64);
		__builtin_prefetch(&soon->entity->measured);
	}
}
void entity_set_free(struct entity_set *r);

static inline void entity_slot_set(struct entity_slot *m, int feature, uint64_t value)
{
	m->values[feature] = (int64_t)value;
	m->present |= FEATURE_BIT(feature);
}
