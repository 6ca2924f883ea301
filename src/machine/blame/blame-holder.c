#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "machine/blame/blame.h"

/* A cell, and what its place in the order depends on. */
struct placed {
	struct blame_cell cell;
	int64_t held; /* ns: its own, or of all cells of its holder */
	uint32_t holder;
};

static int by_holder(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->holder < y->holder ? -1 : x->holder > y->holder;
}

static bool is_own(const struct placed *p)
{
	return p->holder != NOBODY && p->cell.culprit == BY_TASK && p->cell.id == p->holder;
}

static int by_held(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->held != y->held)
		return x->held > y->held ? -1 : 1;
	if (x->holder != y->holder)
		return x->holder < y->holder ? -1 : 1;
	if (is_own(x) != is_own(y))
		return is_own(x) ? -1 : 1;
	if (x->cell.ns != y->cell.ns)
		return x->cell.ns > y->cell.ns ? -1 : 1;
	return x->cell.id < y->cell.id ? -1 : x->cell.id > y->cell.id;
}

/* They are ordered by holder: a sum over each run. */
static void sum_held(struct placed *p, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		int64_t sum = 0;

		for (end = first; end < n && p[end].holder == p[first].holder; end++)
			sum += p[end].cell.ns;
		for (size_t i = first; i < end; i++)
			p[i].held = p[i].holder == NOBODY ? p[i].cell.ns : sum;
	}
}

/* Cells that differ by nothing but the victim, one after the other. */
static int by_cause(const void *a, const void *b)
{
	const struct blame_cell *x = a, *y = b;
	const uint32_t p[] = {x->wait, x->culprit, x->id, x->via, x->root, x->flags}, q[] = {y->wait, y->culprit, y->id, y->via, y->root, y->flags};

	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

void blame_join_victims(struct blame_matrix *m)
{
	size_t kept = 0;

	if (m->cells.n)
		qsort(m->cells.v, m->cells.n, sizeof(*m->cells.v), by_cause);
	for (size_t i = 0; i < m->cells.n; i++) {
		if (kept && by_cause(&m->cells.v[kept - 1], &m->cells.v[i]) == 0)
			blame_cell_join(&m->cells.v[kept - 1], &m->cells.v[i]);
		else
			m->cells.v[kept++] = m->cells.v[i];
	}
	m->cells.n = kept;
}

int blame_sort_by_holder(struct blame_matrix *m)
{
	size_t n = m->cells.n;
	_cleanup_free_ struct placed *placed = calloc(n + 1, sizeof(*placed));

	if (!placed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		placed[i] = (struct placed){.cell = m->cells.v[i], .holder = blame_holder(&m->cells.v[i])};
	qsort(placed, n, sizeof(*placed), by_holder);
	sum_held(placed, n);
	qsort(placed, n, sizeof(*placed), by_held);
	for (size_t i = 0; i < n; i++)
		m->cells.v[i] = placed[i].cell;
	return 0;
}
