/* Making, merging and storing the call forest (spans/model/forest.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "lib/stat/sketch.h"
#include "spans/model/forest.h"

int forest_init(struct forest *f, struct names *names, int64_t slot_width);
void forest_free(struct forest *f);
/* Finds or makes. NULL without memory. What is beyond a bound goes to the one named "(other)". */
struct bucket *forest_bucket(struct forest *f, const uint32_t values[FOREST_DIMENSIONS], uint32_t entry);
struct forest_group *forest_group(struct forest *f, struct bucket *b, uint32_t versions);
uint32_t forest_vertex(struct forest *f, uint32_t parent, enum vertex_kind kind, uint32_t caller, uint32_t service,
		       uint32_t operation);
struct cell *forest_make_cell(struct forest_group *g, uint32_t vertex);
static inline struct cell *forest_cell(struct forest_group *g, uint32_t vertex)
{
	return vertex < g->cell_at.n && g->cell_at.v[vertex] ? &g->cells.v[g->cell_at.v[vertex] - 1] : forest_make_cell(g, vertex);
}
/* The index of the slot a moment lies in, or -ENOMEM; may double the slots' width. */
int64_t forest_slot(struct forest_group *g, int64_t wall);
int forest_coarsen(struct forest_group *g, int64_t width);
/* Finds or makes; `hint` is where it probably is. NULL without memory. */
struct slot_cell *forest_slot_cell(struct slot *s, uint32_t vertex, size_t hint);
/* Adds a part's cell under `vertex`. 0 or -ENOMEM. */
int forest_slot_add(struct slot *s, const struct slot_cell *part, uint32_t vertex, size_t hint);
struct leaf *forest_leaf(struct forest *f, struct forest_group *g, uint32_t set);
void forest_prefetch_place(const struct forest *f, uint32_t bucket, uint32_t vertex, uint32_t host);
struct forest_place *forest_place(struct forest *f, uint32_t bucket, uint32_t vertex, uint32_t host);
/* Would this request be kept? Then the caller fills and keeps the exemplar. */
bool forest_samples(const struct forest_group *g, uint64_t high, uint64_t low);
bool forest_is_slowest(const struct forest_group *g, int64_t duration, uint64_t high, uint64_t low);
/* Both take the exemplar's spans over, or free them. */
int forest_keep_sample(struct forest_group *g, struct exemplar *e);
int forest_keep_slowest(struct forest_group *g, struct exemplar *e);
/* Is this request in the sample? Then the caller keeps it; its marks are taken over, or freed. 0 or -ENOMEM. */
bool forest_takes_request(uint32_t thinned, uint64_t high, uint64_t low);
int forest_keep_request(struct forest *f, struct forest_group *g, struct sampled_request *r);
/* Leaves out what a thinner sample does not have. */
void forest_thin(struct forest *f, uint32_t thinned);
/* How many requests one of the sample stands for. */
double forest_request_weight(const struct forest *f, const struct sampled_request *r);
/* Adds what `part` has; both may use different names. 0 or -ENOMEM. */
int forest_merge(struct forest *f, const struct forest *part);
/* All groups of a bucket as the one group of the one bucket of *ret, finished: where versions do not matter. *ret has only the vertices
 * that they refer to, and those above. To be freed in both cases. 0 or -ENOMEM. */
int forest_merge_groups(const struct forest *f, const struct bucket *b, struct forest *ret);
/* Brings all lists into the order of their texts: after the last request, before anything is read; nothing can be added
 * any more (merge it into a fresh one). */
int forest_finish(struct forest *f);
/* The canonical bytes of a finished forest. */
int forest_write(const struct forest *f, struct str *out);
/* Adds bytes of forest_write(). -EBADMSG on damage, then `f` is as before. */
int forest_read(struct forest *f, const void *bytes, size_t n);
