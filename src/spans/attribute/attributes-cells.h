/* The combinations of attribute values that leaves share, with those leaves: what a search for causes chooses from.
 *
 * A set of attributes divides the leaves into cells. Cells of one more attribute are parts of those, so each set is made of the one without
 * its last attribute, and a leaf that is alone stays alone: it is not looked at again. That is most of the work where attributes are many.
 * Layer by layer, as deep as was asked for and as VISITS_MOST allows.
 */
#pragma once

#include <math.h>

#include "spans/attribute/attributes.h"

/* A leaf, or the sum over those of a cell: is it worth more than a glance? */
struct leaf_gist {
	float weight;  /* 1 / variance of the change */
	float pull;    /* change times weight */
	float telling; /* weight, of those that one effect would have moved to about there */
	float moved;   /* the same of those that moved */
};

static inline void leaf_gist_add(struct leaf_gist *sum, const struct leaf_gist *g)
{
	sum->weight += g->weight;
	sum->pull += g->pull;
	sum->telling += g->telling;
	sum->moved += g->moved;
}

/* Has it moved as a whole, by three of its own deviations, and could half of its leaves have? */
static inline bool leaf_gist_is_hopeful(const struct leaf_gist *g)
{
	return g->weight > 0 && g->pull > 3.0F * sqrtf(g->weight) && g->moved > 0.3F * g->telling;
}

/* All leaves of one combination, next to each other in `members`. */
struct attribute_cell {
	uint32_t first, n;
	uint32_t attributes; /* bits */
	float cost;	     /* nats: how many there were to choose from */
	double score;	     /* as last computed; -INFINITY = screened out */
	double purity;	     /* share of its leaves that moved, as last computed */
};

struct cells {
	VEC(uint32_t) members; /* leaves: indices into the table */
	VEC(struct attribute_cell) cells; /* the hopeful ones; of a leaf alone the cheapest */
	size_t tried;		/* all that there were */
};

/* Makes the cells of the leaves that `leaves` lists; gists: one a leaf of the table. depth: attributes of one cell at most, 0 = no bound.
 * 0 or -ENOMEM; to be freed in both cases. */
int cells_make(struct cells *c, const struct leaf_table *t, const uint32_t *leaves, size_t n, const struct leaf_gist *gists, unsigned depth);
void cells_free(struct cells *c);
