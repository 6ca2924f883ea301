#include "spans/forest/span-edges.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/rights/write-path.h"

void span_edges_init(struct span_edges *e, struct names *names)
{
	*e = (struct span_edges){.names = names};
}

void span_edges_free(struct span_edges *e)
{
	VEC_FREE(e->list);
	hmap_free(&e->known);
}

static uint64_t function_of(const uint32_t texts[2])
{
	return (uint64_t)texts[0] << 32 | texts[1];
}

static uint64_t function_of_span(const struct span *s)
{
	return function_of((const uint32_t[]){s->service, s->operation});
}

bool span_edges_have(const struct span_edges *e, const struct span *caller, const struct span *callee)
{
	return e->known.n && hmap_get(&e->known, function_of_span(caller), function_of_span(callee));
}

/* Finds or makes; NULL without memory, or beyond EDGES_MAX. */
static struct span_edge *edge_of(struct span_edges *e, const uint32_t caller[2], const uint32_t callee[2])
{
	uint64_t from = function_of(caller), to = function_of(callee);
	uintptr_t at = (uintptr_t)hmap_get(&e->known, from, to);
	struct span_edge fresh = {.caller = {caller[0], caller[1]}, .callee = {callee[0], callee[1]}};

	if (at)
		return &e->list.v[at - 1];
	if (e->list.n == EDGES_MAX || VEC_PUSH(e->list, fresh) < 0)
		return NULL;
	if (hmap_put(&e->known, from, to, (void *)e->list.n) < 0) {
		e->list.n--;
		return NULL;
	}
	return &e->list.v[e->list.n - 1];
}

static bool outlived(const struct span *caller, const struct span *callee)
{
	int64_t length = span_duration(caller);

	if (callee->flags & SPAN_NO_START)
		return false;
	if (caller->resource == callee->resource)
		return callee->end > caller->end && callee->end - caller->end > length / 100;
	return span_duration(callee) - length > length / 10;
}

int span_edges_count(struct span_edges *e, const struct tree *tree, const struct span *spans)
{
	for (uint32_t i = 0; i < tree->n; i++) {
		const struct span *caller, *callee = &spans[i];
		struct span_edge *edge;

		if (tree->parent[i] == NO_SPAN)
			continue;
		caller = &spans[tree->parent[i]];
		edge = edge_of(e, (const uint32_t[]){caller->service, caller->operation}, (const uint32_t[]){callee->service, callee->operation});
		if (!edge && e->list.n < EDGES_MAX)
			return -ENOMEM;
		if (!edge)
			continue;
		edge->calls++;
		edge->outlived += outlived(caller, callee);
	}
	return 0;
}

static int by_texts(const void *a, const void *b, void *names)
{
	const struct span_edge *x = a, *y = b;
	int r = 0;

	for (int i = 0; i < 4 && !r; i++)
		r = strcmp(names_get(names, i < 2 ? x->caller[i] : x->callee[i - 2]), names_get(names, i < 2 ? y->caller[i] : y->callee[i - 2]));
	return r;
}

void span_edges_settle(struct span_edges *e)
{
	size_t kept = 0;

	VEC_EACH(x, e->list)
		if (x->outlived >= EDGE_LEAST && (double)x->outlived >= EDGE_SHARE * (double)x->calls)
			e->list.v[kept++] = *x;
	e->list.n = kept;
	if (kept)
		qsort_r(e->list.v, kept, sizeof(*e->list.v), by_texts, e->names);
	hmap_free(&e->known);
	e->known = (struct hmap){};
	for (size_t i = 0; i < kept; i++)
		if (hmap_put(&e->known, function_of(e->list.v[i].caller), function_of(e->list.v[i].callee), (void *)(i + 1)) < 0)
			return;
}

static int read_line(struct span_edges *e, char *line)
{
	uint32_t texts[4];
	char *rest = line;

	for (int i = 0; i < 4; i++) {
		char *word = strsep(&rest, "\t");

		if (!word || !*word)
			return -EINVAL;
		texts[i] = names_text(e->names, word, strlen(word));
	}
	if (rest)
		return -EINVAL;
	return edge_of(e, texts, texts + 2) ? 0 : -ENOMEM;
}

int span_edges_read(struct span_edges *e, const char *path, char **ret_error)
{
	FILE *f = fopen(path, "re");
	int r = 0;

	if (!f)
		return str_fail(ret_error, -errno, "%s: %s", path, strerror(errno));
	LINES_EACH(line, f) {
		if (r < 0 || !*line.text || *line.text == '#')
			continue;
		r = read_line(e, line.text);
		if (r == -EINVAL)
			str_fail(ret_error, r, "%s:%u: a line is service, operation of the caller, service, operation of the callee, with tabs between",
				  path, line.number);
	}
	return r;
}

int span_edges_write(const struct span_edges *e, const char *path, char **ret_error)
{
	FILE *f = write_path_stream(path, 'w', ret_error);
	bool failed;

	if (!f)
		return -errno;
	fputs("# asynchronous calls: service, operation of the caller, service, operation of the callee\n", f);
	VEC_EACH(x, e->list)
		fprintf(f, "# outlived its caller in %" PRIu64 " of %" PRIu64 " calls\n%s\t%s\t%s\t%s\n", x->outlived, x->calls,
			names_get(e->names, x->caller[0]), names_get(e->names, x->caller[1]), names_get(e->names, x->callee[0]),
			names_get(e->names, x->callee[1]));
	failed = ferror(f);
	return fclose(f) || failed ? str_fail(ret_error, -EIO, "cannot write %s", path) : 0;
}
