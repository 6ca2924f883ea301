#include "spans/compare/span-sides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define LEAF_ATTRIBUTES 256

const char *span_side_name(enum span_side side)
{
	return side == SIDE_BASELINE ? "baseline" : "candidate";
}

uint32_t span_side_set(struct names *names, enum span_side side)
{
	const char *value = span_side_name(side);
	struct attribute one = {names_text(names, "side", 4), names_text(names, value, strlen(value))};

	return names_set(names, 0, &one, 1);
}

/* "agent version": so that it is not an attribute's name. */
static uint32_t version_key(struct names *names, uint32_t package)
{
	char text[NAME_TEXT_MAX];

	snprintf(text, sizeof(text), "%s" SPAN_VERSION_KEY, names_get(names, package));
	return names_text(names, text, strlen(text));
}

/* Versions that a group ran, to be put among the attributes of its requests. */
struct versions_of_group {
	struct names *names;
	struct attribute v[LEAF_ATTRIBUTES / 2];
	size_t n;
};

static uint32_t with_versions(const struct versions_of_group *g, uint32_t set)
{
	const struct attribute_set *own = names_get_set(g->names, set);
	struct attribute v[LEAF_ATTRIBUTES];
	size_t n = g->n;

	memcpy(v, g->v, n * sizeof(*v));
	for (uint32_t k = 0; k < own->n && n < LEAF_ATTRIBUTES; k++)
		v[n++] = own->v[k];
	return set ? names_set(g->names, own->service, v, n) : 0;
}

/* The group's leaves and requests, what they ran as among their attributes: sides put versions together. */
static int label_requests(struct names *names, const struct forest_group *from, struct forest_group *to)
{
	struct versions_of_group g = {.names = names};
	const struct attribute_set *set;

	to->leaves.v = calloc(from->leaves.n + 1, sizeof(*to->leaves.v));
	to->requests.v = calloc(from->requests.n + 1, sizeof(*to->requests.v));
	if (!to->leaves.v || !to->requests.v)
		return -ENOMEM;
	for (uint32_t i = 0; i < names_get_set(names, from->versions)->n && g.n < LEAF_ATTRIBUTES / 2; i++) {
		set = names_get_set(names, from->versions);
		g.v[g.n++] = (struct attribute){version_key(names, set->v[i].key), set->v[i].value};
	}
	for (size_t i = 0; i < from->leaves.n; i++) {
		to->leaves.v[i] = from->leaves.v[i];
		to->leaves.v[i].set = with_versions(&g, from->leaves.v[i].set);
	}
	for (size_t i = 0; i < from->requests.n; i++) {
		to->requests.v[i] = from->requests.v[i];
		to->requests.v[i].set = with_versions(&g, from->requests.v[i].set);
	}
	return 0;
}

/* A copy of the forest's frame whose groups are labelled by their side; all but the leaves is shared. */
int span_sides_of(const struct forest *f, enum span_side (*side)(void *, const struct bucket *, const struct forest_group *), void *state,
		  struct forest *ret)
{
	_cleanup_free_ struct bucket *buckets = calloc(f->buckets.n + 1, sizeof(*buckets));
	struct forest copy = *f;
	int r = buckets ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < f->buckets.n; i++) {
		const struct bucket *b = &f->buckets.v[i];
		struct forest_group *groups = calloc(b->groups.n + 1, sizeof(*groups));

		buckets[i] = *b;
		buckets[i].groups.v = groups;
		buckets[i].groups.n = 0;
		for (size_t j = 0; groups && j < b->groups.n; j++) {
			enum span_side which = side(state, b, &b->groups.v[j]);
			struct forest_group *g = &groups[buckets[i].groups.n];

			if (which == SIDE_NONE || r < 0)
				continue;
			*g = b->groups.v[j];
			r = label_requests(f->names, &b->groups.v[j], g);
			g->versions = span_side_set(f->names, which);
			buckets[i].groups.n++;
		}
		r = groups ? r : -ENOMEM;
	}
	copy.buckets.v = buckets;
	r = r ?: forest_merge(ret, &copy);
	for (size_t i = 0; buckets && i < f->buckets.n; i++) {
		if (!buckets[i].groups.v || buckets[i].groups.v == f->buckets.v[i].groups.v)
			continue;
		for (size_t j = 0; j < buckets[i].groups.n; j++) {
			FREE_ALL(buckets[i].groups.v[j].leaves.v, buckets[i].groups.v[j].requests.v);
		}
		free(buckets[i].groups.v);
	}
	return r;
}

struct whole {
	const struct forest *f;
	enum span_side side;
	const struct bucket_choice *choice;
};

static enum span_side whole_side(void *state, const struct bucket *b, const struct forest_group *g)
{
	const struct whole *w = state;

	(void)g;
	return bucket_is_chosen(w->choice, w->f, b) ? w->side : SIDE_NONE;
}

int span_sides_add(struct forest *ret, const struct forest *part, enum span_side side,
		   const struct bucket_choice *choice)
{
	struct whole w = {part, side, choice};
	struct forest copy = *part;

	if (side == SIDE_BASELINE)
		copy.places.n = 0; /* hosts are distinguished in the candidate */
	return span_sides_of(&copy, whole_side, &w, ret);
}
