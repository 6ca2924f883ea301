#include "spans/model/forest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

const struct cell *forest_group_cell(const struct forest_group *g, uint32_t vertex)
{
	size_t at = FIRST_WHERE(i, g->cells.n, g->cells.v[i].vertex >= vertex);

	return at < g->cells.n && g->cells.v[at].vertex == vertex ? &g->cells.v[at] : NULL;
}

double forest_group_each(const struct forest_group *g, wide sum)
{
	return g->total.count ? (double)((long double)sum / (long double)g->total.count) : NAN;
}

/* "key=value, key=value" in the order of the keys' texts; "" of the empty set. */
char *forest_set_text(const struct names *names, uint32_t set)
{
	const struct attribute_set *s = names_get_set(names, set);
	_cleanup_str_ struct str out = {};
	const struct attribute *next = NULL;

	str_puts(&out, "");
	for (uint32_t done = 0; done < s->n; done++) {
		const struct attribute *least = NULL;

		for (uint32_t i = 0; i < s->n; i++) {
			const char *key = names_get(names, s->v[i].key);

			if (next && strcmp(key, names_get(names, next->key)) <= 0)
				continue;
			if (!least || strcmp(key, names_get(names, least->key)) < 0)
				least = &s->v[i];
		}
		if (!least)
			break;
		str_printf(&out, "%s%s=%s", out.len ? ", " : "", names_get(names, least->key), names_get(names, least->value));
		next = least;
	}
	return out.error ? NULL : TAKE(out.data);
}

char *vertex_label(const struct forest *f, uint32_t vertex)
{
	const struct vertex *v = &f->vertices.v[vertex];
	char call[2 * NAME_TEXT_MAX + 2], *text;

	span_call_text(f->names, v->service, v->operation, call);
	if (v->kind != VERTEX_EDGE)
		return strdup(call);
	return asprintf(&text, "%s -> %s (network, queue)", names_get(f->names, v->caller), call) < 0 ? NULL : text;
}

/* Labels of a vertex and of those above it, up to the request: caller frees each. Returns how many. */
static size_t labels_of(const struct forest *f, uint32_t vertex, char **labels)
{
	size_t n = 0;

	for (; vertex != NO_VERTEX; vertex = f->vertices.v[vertex].parent)
		if ((labels[n] = vertex_label(f, vertex)))
			n++;
	return n;
}

/* How many of the last labels fit, with the first one and what stands for those between. */
static size_t labels_that_fit(char *const *labels, size_t n, size_t width)
{
	size_t whole = 0, used = strlen(labels[n - 1]) + strlen(" > ...") + strlen(labels[0]), kept = 1;

	for (size_t i = 0; i < n; i++)
		whole += strlen(labels[i]) + strlen(" > ");
	if (whole - strlen(" > ") <= width)
		return n;
	while (kept < n - 1 && used + strlen(" > ") + strlen(labels[kept]) <= width)
		used += strlen(" > ") + strlen(labels[kept++]);
	return kept;
}

char *vertex_short_path(const struct forest *f, uint32_t vertex, size_t width)
{
	_cleanup_str_ struct str s = {};
	char *labels[FOREST_DEPTH_MAX + 2];
	size_t n = labels_of(f, vertex, labels), kept = n ? labels_that_fit(labels, n, width) : 0;

	for (size_t i = n; i-- > 0;) {
		if (i == n - 1 || i < kept)
			str_printf(&s, "%s%s", s.len ? " > " : "", labels[i]);
		if (i == n - 1 && kept < n - 1)
			str_puts(&s, " > ...");
		free(labels[i]);
	}
	return s.error ? NULL : TAKE(s.data);
}

char *vertex_path(const struct forest *f, uint32_t vertex)
{
	return vertex_short_path(f, vertex, SIZE_MAX);
}

int64_t exemplar_path(const struct exemplar *e, uint32_t vertex, unsigned *ret_calls)
{
	int64_t path = 0;
	unsigned calls = 0;

	for (size_t i = 0; i < e->spans.n; i++) {
		if (e->spans.v[i].vertex != vertex)
			continue;
		path += e->spans.v[i].path;
		calls++;
	}
	if (ret_calls)
		*ret_calls = calls;
	return path;
}

uint64_t forest_cut_names(const struct forest *f)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->vertices.n; i++)
		n += strlen(names_get(f->names, f->vertices.v[i].operation)) >= NAME_TEXT_MAX;
	return n;
}

int forest_owners(const struct forest *f, uint32_t **ret)
{
	uint32_t *owners = calloc(f->vertices.n + 1, sizeof(*owners));
	struct hmap traced = {};
	int r = owners ? 0 : -ENOMEM;

	for (size_t v = 0; r == 0 && v < f->vertices.n; v++)
		if (f->vertices.v[v].kind == VERTEX_CALL)
			r = hmap_put(&traced, f->vertices.v[v].service, 0, (void *)1);
	for (size_t v = 0; r == 0 && v < f->vertices.n; v++) {
		const struct vertex *x = &f->vertices.v[v];

		owners[v] = x->kind == VERTEX_EDGE && !hmap_get(&traced, x->service, 0) ? x->caller : x->service;
	}
	hmap_free(&traced);
	if (r < 0) {
		free(owners);
		return r;
	}
	*ret = owners;
	return 0;
}
