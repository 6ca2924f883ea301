#include "fleet/model/fleet.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->servers.n; i++) {
		FREE_ALL(f->servers.v[i].name, f->servers.v[i].role, f->servers.v[i].time, f->servers.v[i].column);
	}
	for (size_t i = 0; i < f->counters.n; i++) {
		FREE_ALL(f->counters.v[i].name, f->counters.v[i].unit, f->counters.v[i].help);
	}
	VEC_FREE(f->servers);
	VEC_FREE(f->counters);
	VEC_FREE_EACH(f->remarks, free(*each));
	VEC_FREE_EACH(f->blocks, free(*each));
	hmap_free(&f->server_index);
	hmap_free(&f->counter_index);
}

static int find(const struct hmap *index, const char *name)
{
	uintptr_t found = (uintptr_t)hmap_get(index, hmap_hash_text(name), 0);

	return found ? (int)(found - 1) : -ENOENT;
}

int fleet_find_server(const struct fleet *f, const char *name)
{
	return find(&f->server_index, name);
}

int fleet_find_counter(const struct fleet *f, const char *name)
{
	return find(&f->counter_index, name);
}

char *fleet_text(const char *text)
{
	char *copy = strdup(text);

	str_make_printable(copy);
	return copy;
}

/* Under the name that was given, and under the one that is shown. */
static int put_name(struct hmap *index, const char *given, const char *shown, size_t i)
{
	int r = hmap_put(index, hmap_hash_text(given), 0, (void *)(uintptr_t)(i + 1));

	if (r >= 0 && strcmp(given, shown) != 0)
		r = hmap_put(index, hmap_hash_text(shown), 0, (void *)(uintptr_t)(i + 1));
	return r < 0 ? r : (int)i;
}

int fleet_add_server(struct fleet *f, const char *name)
{
	_cleanup_free_ char *shown = NULL;
	struct fleet_server s = {};
	int r = fleet_find_server(f, name);

	if (r >= 0)
		return r;
	shown = fleet_text(name);
	if (!shown)
		return -ENOMEM;
	r = fleet_find_server(f, shown);
	if (r >= 0)
		return put_name(&f->server_index, name, shown, (size_t)r);
	s.name = shown;
	s.column = calloc(f->counters.allocated + 1, sizeof(*s.column));
	if (VEC_PUSH_OWNER(f->servers, s.column, s) < 0)
		return -ENOMEM;
	shown = NULL;
	return put_name(&f->server_index, name, s.name, f->servers.n - 1);
}

/* Every server has room for as many columns as `counters` has. */
static int widen(struct fleet *f)
{
	size_t before = f->counters.allocated;

	if (VEC_GROW(f->counters) < 0)
		return -ENOMEM;
	for (size_t i = 0; f->counters.allocated > before && i < f->servers.n; i++) {
		float **grown = reallocarray(f->servers.v[i].column, f->counters.allocated + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + before, 0, (f->counters.allocated + 1 - before) * sizeof(*grown));
		f->servers.v[i].column = grown;
	}
	return 0;
}

int fleet_add_counter(struct fleet *f, const char *name)
{
	_cleanup_free_ char *shown = NULL;
	int r = fleet_find_counter(f, name);

	if (r >= 0)
		return r;
	shown = fleet_text(name);
	if (!shown)
		return -ENOMEM;
	r = fleet_find_counter(f, shown);
	if (r >= 0)
		return put_name(&f->counter_index, name, shown, (size_t)r);
	if (widen(f) < 0)
		return -ENOMEM;
	f->counters.v[f->counters.n++] = (struct fleet_counter){.name = shown};
	shown = NULL;
	return put_name(&f->counter_index, name, f->counters.v[f->counters.n - 1].name, f->counters.n - 1);
}

int fleet_remark(struct fleet *f, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	str_make_printable(text); /* it may quote what was read */
	return VEC_PUSH_OWNER(f->remarks, text, text);
}

char *fleet_value_text(const struct fleet *f, int counter, double value, char *buf, size_t n)
{
	static const char *const sizes[] = {"", "k", "M", "G", "T", "P"};
	const struct fleet_counter *c = counter >= 0 ? &f->counters.v[counter] : NULL;
	const char *unit = c && c->unit ? c->unit : "";
	size_t size = 0;

	if (isnan(value)) {
		snprintf(buf, n, "-");
		return buf;
	}
	while (fabs(value) >= 10000 && size + 1 < ARRAY_SIZE(sizes)) {
		value /= 1000;
		size++;
	}
	snprintf(buf, n, "%.4g%s%s%s%s", value, size || (*unit && *unit != '/') ? " " : "", sizes[size], unit, c && c->kind == FLEET_COUNTER ? "/s" : "");
	return buf;
}

ORDER(compare_gaps, int64_t, CMP(*a, *b))

#define GAPS_LOOKED_AT 65536

/* The median gap: jitter of milliseconds around a minute must not matter. */
void fleet_find_interval(struct fleet *f)
{
	_cleanup_free_ int64_t *gaps = malloc(GAPS_LOOKED_AT * sizeof(*gaps));
	uint64_t total = 0, seen = 0;
	size_t n = 0;

	for (size_t i = 0; i < f->servers.n; i++)
		total += f->servers.v[i].n;
	for (size_t i = 0; gaps && i < f->servers.n; i++)
		for (uint32_t k = 1; k < f->servers.v[i].n && n < GAPS_LOOKED_AT; k++)
			if (seen++ % (total / GAPS_LOOKED_AT + 1) == 0)
				gaps[n++] = f->servers.v[i].time[k] - f->servers.v[i].time[k - 1];
	f->interval = 0;
	if (!n)
		return;
	qsort(gaps, n, sizeof(*gaps), compare_gaps);
	f->interval = gaps[n / 2] < FLEET_INTERVAL_MOST ? gaps[n / 2] : FLEET_INTERVAL_MOST;
}

static uint32_t first_at_or_after(const struct fleet_server *s, int64_t time)
{
	return (uint32_t)FIRST_WHERE(i, s->n, s->time[i] >= time);
}

uint32_t fleet_rows(const struct fleet_server *s, int64_t from, int64_t to, uint32_t *ret_first)
{
	uint32_t first = first_at_or_after(s, from), end = to == INT64_MAX ? s->n : first_at_or_after(s, to);

	*ret_first = first;
	return end > first ? end - first : 0;
}

void fleet_extent(const struct fleet *f, int64_t *ret_first, int64_t *ret_last)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	VEC_EACH(s, f->servers) {
		if (!s->n)
			continue;
		if (s->time[0] < first)
			first = s->time[0];
		if (s->time[s->n - 1] > last)
			last = s->time[s->n - 1];
	}
	*ret_first = first <= last ? first : 0;
	*ret_last = first <= last ? last : 0;
}

uint64_t fleet_values(const struct fleet *f, uint64_t *ret_places)
{
	uint64_t values = 0, places = 0;

	for (size_t i = 0; i < f->servers.n; i++)
		for (size_t c = 0; c < f->counters.n; c++) {
			const float *column = f->servers.v[i].column[c];

			for (uint32_t k = 0; column && k < f->servers.v[i].n; k++)
				values += !isnan(column[k]);
			places += column ? f->servers.v[i].n : 0;
		}
	if (ret_places)
		*ret_places = places;
	return values;
}
