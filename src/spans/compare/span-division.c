#include "spans/compare/span-division.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

static const char *const outcomes[] = {"status", "error", "response", "exception", "retry"};

void division_free(struct division *d)
{
	VEC_FREE(d->rows);
	VEC_FREE(d->keys);
	hmap_free(&d->known);
}

static bool is_outcome(const char *key)
{
	return ANY_WHERE(i, ARRAY_SIZE(outcomes), strcasestr(key, outcomes[i]));
}

int division_add(struct division *d, uint32_t set, int side, size_t pair)
{
	const struct attribute_set *of = names_get_set(d->names, set);

	for (uint32_t k = 0; k < of->n; k++) {
		uint32_t key = of->v[k].key;

		if (hmap_get(&d->known, key, 0) || is_outcome(names_get(d->names, key)))
			continue;
		if (hmap_put(&d->known, key, 0, d) < 0 || VEC_PUSH(d->keys, key) < 0)
			return -ENOMEM;
	}
	return VEC_PUSH(d->rows, (struct division_row){set, side, (uint32_t)pair});
}

int64_t division_by(const struct division *d, uint32_t key, uint32_t *strata)
{
	_cleanup_(hmap_free) struct hmap seen = {};
	uintptr_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->rows.n; i++) {
		const struct division_row *row = &d->rows.v[i];
		uint32_t value = attribute_set_value(names_get_set(d->names, row->set), key);
		uintptr_t at = (uintptr_t)hmap_get(&seen, row->stratum, value);

		if (!at) {
			at = ++n;
			r = hmap_put(&seen, row->stratum, value, (void *)at);
		}
		strata[i] = (uint32_t)at - 1;
	}
	return r < 0 ? r : (int64_t)n;
}

int64_t division_take(struct division *d, uint32_t key)
{
	_cleanup_free_ uint32_t *strata = calloc(d->rows.n + 1, sizeof(*strata));
	int64_t n = strata ? division_by(d, key, strata) : -ENOMEM;

	for (size_t i = 0; n >= 0 && i < d->rows.n; i++)
		d->rows.v[i].stratum = strata[i];
	return n;
}

size_t division_taken(const struct division *d, uint32_t *strata)
{
	size_t n = 0;

	for (size_t i = 0; i < d->rows.n; i++) {
		strata[i] = d->rows.v[i].stratum;
		n = strata[i] >= n ? strata[i] + 1 : n;
	}
	return n;
}
