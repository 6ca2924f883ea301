#include "spans/attribute/attributes-cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"

#define VISITS_MOST (12u << 20) /* leaves looked at, which bounds the depth of many attributes: half a second to a second of CPU */
#define ALONE	    UINT32_MAX

/* A cell of two leaves or more, in `members`. */
struct part {
	uint32_t first, n;
};

/* All cells of one set of attributes. */
struct cuboid {
	uint32_t first, n; /* parts */
	uint32_t alone, n_alone; /* leaves that are alone first here: a range of `alone` */
	uint32_t all_alone; /* with those that are alone without its last attribute */
	uint32_t members; /* of its parts */
	uint32_t cheapest; /* this cuboid, or one with further attributes behind its own, where a leaf that is alone costs least */
	float cost; /* of each of its cells; INFINITY = it was not made */
};

/* One value while a part is divided. */
struct share {
	uint32_t n, at;
	struct leaf_gist gist;
};

struct division {
	struct cells *c;
	const struct leaf_gist *gists;
	size_t n_leaves; /* of the table */
	unsigned attributes;
	uint32_t *codes; /* attribute by attribute: values counted from 0 */
	uint32_t most_codes;
	struct share *shares; /* by code */
	uint32_t *seen;	      /* codes of the part at hand */
	struct cuboid *cuboids; /* by their bits */
	VEC(struct part) parts;
	VEC(uint32_t) alone;
	size_t visits;
};

static void division_free(struct division *d)
{
	FREE_ALL(d->codes, d->shares, d->seen, d->cuboids);
	VEC_FREE(d->parts);
	VEC_FREE(d->alone);
}

static double log_choose(unsigned n, unsigned k)
{
	return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

/* --- values counted from 0 -------------------------------------------------------------------------------------------- */

struct coded {
	uint32_t code, leaf;
};

ORDER(by_code, struct coded, ASCENDING(code))

static void count_codes(struct division *d, const struct leaf_table *t, unsigned attribute, struct coded *room)
{
	uint32_t *codes = d->codes + attribute * t->n, next = 0;

	for (size_t i = 0; i < t->n; i++)
		room[i] = (struct coded){t->codes[i * t->attributes + attribute], (uint32_t)i};
	qsort(room, t->n, sizeof(*room), by_code);
	for (size_t i = 0; i < t->n; i++) {
		next += i && room[i].code != room[i - 1].code;
		codes[room[i].leaf] = next;
	}
	d->most_codes = next >= d->most_codes ? next + 1 : d->most_codes;
}

static int prepare(struct division *d, const struct leaf_table *t)
{
	_cleanup_free_ struct coded *room = calloc(t->n, sizeof(*room));

	d->codes = calloc(t->n * t->attributes, sizeof(*d->codes));
	d->cuboids = calloc((size_t)1 << t->attributes, sizeof(*d->cuboids));
	if (!room || !d->codes || !d->cuboids)
		return -ENOMEM;
	for (unsigned a = 0; a < t->attributes; a++)
		count_codes(d, t, a, room);
	for (size_t mask = 0; mask < (size_t)1 << t->attributes; mask++)
		d->cuboids[mask] = (struct cuboid){.cost = INFINITY, .cheapest = (uint32_t)mask};
	d->shares = calloc(d->most_codes, sizeof(*d->shares));
	d->seen = calloc(d->most_codes, sizeof(*d->seen));
	return d->shares && d->seen ? 0 : -ENOMEM;
}

/* --- one more attribute ----------------------------------------------------------------------------------------------- */

/* How often each value is there. How many values there are. */
static size_t count_shares(struct division *d, const struct part *part, const uint32_t *codes)
{
	const uint32_t *members = d->c->members.v + part->first;
	size_t n = 0;

	for (uint32_t k = 0; k < part->n; k++)
		if (d->shares[codes[members[k]]].n++ == 0)
			d->seen[n++] = codes[members[k]];
	return n;
}

/* Room behind the members for values that are there twice or more. */
static uint32_t place_shares(struct division *d, size_t values)
{
	uint32_t at = (uint32_t)d->c->members.n;

	for (size_t v = 0; v < values; v++) {
		struct share *share = &d->shares[d->seen[v]];

		share->at = share->n > 1 ? at : ALONE;
		at += share->n > 1 ? share->n : 0;
	}
	return at;
}

static int distribute(struct division *d, const struct part *part, const uint32_t *codes)
{
	for (uint32_t k = 0; k < part->n; k++) {
		uint32_t leaf = d->c->members.v[part->first + k];
		struct share *share = &d->shares[codes[leaf]];

		if (share->at == ALONE) {
			if (VEC_PUSH(d->alone, leaf) < 0)
				return -ENOMEM;
			continue;
		}
		d->c->members.v[share->at++] = leaf;
		leaf_gist_add(&share->gist, &d->gists[leaf]);
	}
	return 0;
}

static int keep_shares(struct division *d, uint32_t mask, size_t values)
{
	int r = 0;

	for (size_t v = 0; v < values; v++) {
		struct share share = d->shares[d->seen[v]];

		d->shares[d->seen[v]] = (struct share){};
		if (r < 0 || share.at == ALONE)
			continue;
		share.at -= share.n;
		r = VEC_PUSH(d->parts, (struct part){share.at, share.n});
		if (r == 0 && leaf_gist_is_hopeful(&share.gist))
			r = VEC_PUSH(d->c->cells, (struct attribute_cell){.first = share.at, .n = share.n, .attributes = mask});
	}
	return r;
}

static int reserve_members(struct cells *c, size_t more)
{
	size_t want = c->members.allocated ? c->members.allocated : 1024;
	uint32_t *grown;

	while (want < c->members.n + more)
		want *= 2;
	if (want == c->members.allocated)
		return 0;
	grown = reallocarray(c->members.v, want, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->members.v = grown;
	c->members.allocated = want;
	return 0;
}

static int divide(struct division *d, struct part part, uint32_t mask, unsigned attribute)
{
	const uint32_t *codes = d->codes + attribute * d->n_leaves;
	size_t values;
	uint32_t end;
	int r = reserve_members(d->c, part.n);

	if (r < 0)
		return r;
	values = count_shares(d, &part, codes);
	end = place_shares(d, values);
	r = distribute(d, &part, codes);
	d->c->members.n = end;
	return r < 0 ? r : keep_shares(d, mask, values);
}

/* The cells of `without` divided by an attribute behind its own. */
static int make_cuboid(struct division *d, uint32_t without, unsigned attribute)
{
	uint32_t mask = without | 1u << attribute, before = (uint32_t)d->c->members.n;
	const struct cuboid *from = &d->cuboids[without];
	struct cuboid *to = &d->cuboids[mask];
	unsigned layer = (unsigned)__builtin_popcount(mask);
	int r = 0;

	to->first = (uint32_t)d->parts.n;
	to->alone = (uint32_t)d->alone.n;
	for (uint32_t i = 0; r == 0 && i < from->n; i++)
		r = divide(d, d->parts.v[from->first + i], mask, attribute);
	to->n = (uint32_t)d->parts.n - to->first;
	to->n_alone = (uint32_t)d->alone.n - to->alone;
	to->all_alone = from->all_alone + to->n_alone;
	to->members = (uint32_t)d->c->members.n - before;
	to->cost = (float)(log((double)to->n + to->all_alone) + log_choose(d->attributes, layer));
	d->c->tried += to->n + to->all_alone;
	return r;
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

static unsigned behind(uint32_t mask)
{
	return mask ? 32 - (unsigned)__builtin_clz(mask) : 0;
}

/* The cost of the next layer. */
static size_t visits_of(const struct division *d, unsigned layer)
{
	size_t visits = 0;

	for (uint32_t mask = 0; mask < 1u << d->attributes; mask++)
		if ((unsigned)__builtin_popcount(mask) + 1 == layer)
			visits += (size_t)d->cuboids[mask].members * (d->attributes - behind(mask));
	return visits;
}

static int make_layer(struct division *d, unsigned layer)
{
	for (uint32_t mask = 0; mask < 1u << d->attributes; mask++)
		for (unsigned a = behind(mask); a < d->attributes && (unsigned)__builtin_popcount(mask) + 1 == layer; a++)
			if (make_cuboid(d, mask, a) < 0)
				return -ENOMEM;
	return 0;
}

static int make_layers(struct division *d, unsigned depth)
{
	int r = 0;

	for (unsigned layer = 1; r == 0 && layer <= d->attributes && (!depth || layer <= depth); layer++) {
		d->visits += visits_of(d, layer);
		if (d->visits > VISITS_MOST && layer > 1)
			break;
		r = make_layer(d, layer);
	}
	return r;
}

static void find_cheapest(struct division *d)
{
	for (uint32_t mask = (1u << d->attributes) - 1; mask > 0; mask--)
		for (unsigned a = behind(mask); a < d->attributes; a++) {
			uint32_t other = d->cuboids[mask | 1u << a].cheapest;

			if (d->cuboids[other].cost < d->cuboids[d->cuboids[mask].cheapest].cost)
				d->cuboids[mask].cheapest = other;
		}
}

/* A leaf that is alone in many sets of attributes is one cell: the cheapest. */
static int add_alone(struct division *d, const uint32_t *leaves, size_t n)
{
	_cleanup_free_ uint32_t *best = calloc(d->n_leaves, sizeof(*best)); /* 0 = in none */
	int r = 0;

	if (!best)
		return -ENOMEM;
	for (uint32_t mask = 1; mask < 1u << d->attributes; mask++) {
		const struct cuboid *q = &d->cuboids[mask];

		for (uint32_t k = 0; k < q->n_alone; k++) {
			uint32_t *own = &best[d->alone.v[q->alone + k]];

			if (!*own || d->cuboids[q->cheapest].cost < d->cuboids[*own].cost)
				*own = q->cheapest;
		}
	}
	for (uint32_t k = 0; r == 0 && k < n; k++)
		if (best[leaves[k]] && leaf_gist_is_hopeful(&d->gists[leaves[k]]))
			r = VEC_PUSH(d->c->cells, (struct attribute_cell){.first = k, .n = 1, .attributes = best[leaves[k]]});
	return r;
}

int cells_make(struct cells *c, const struct leaf_table *t, const uint32_t *leaves, size_t n, const struct leaf_gist *gists, unsigned depth)
{
	_cleanup_(division_free) struct division d = {.c = c, .gists = gists, .n_leaves = t->n, .attributes = t->attributes};
	int r = prepare(&d, t);

	*c = (struct cells){};
	r = r ?: reserve_members(c, n);
	if (r < 0)
		return r;
	memcpy(c->members.v, leaves, n * sizeof(*leaves)); /* the whole, and what is alone */
	c->members.n = n;
	if (VEC_PUSH(d.parts, (struct part){0, (uint32_t)n}) < 0)
		return -ENOMEM;
	d.cuboids[0] = (struct cuboid){.n = 1, .members = (uint32_t)n, .cost = INFINITY};
	r = make_layers(&d, depth);
	if (r < 0)
		return r;
	find_cheapest(&d);
	r = add_alone(&d, leaves, n);
	for (size_t i = 0; i < c->cells.n; i++)
		c->cells.v[i].cost = d.cuboids[c->cells.v[i].attributes].cost;
	return r;
}

void cells_free(struct cells *c)
{
	VEC_FREE(c->members);
	VEC_FREE(c->cells);
}
