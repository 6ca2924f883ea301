#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "machine/blame/blame.h"

/* A cell, and what its place in the order depends on. */
struct placed {
	struct blame_cell cell;
	int64_t held; /* ns: its own, or of all cells of its holder */
	uint32_t holder;
};

ORDER(by_holder, struct placed, ASCENDING(holder))

static bool is_own(const struct placed *p)
{
	return p->holder != NOBODY && p->cell.culprit == BY_TASK && p->cell.id == p->holder;
}

ORDER(by_held, struct placed, DESCENDING(held) ?: ASCENDING(holder) ?: CMP(is_own(b), is_own(a)) ?: DESCENDING(cell.ns) ?: ASCENDING(cell.id))

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
ORDER(by_cause, struct blame_cell, ASCENDING(wait) ?: ASCENDING(culprit) ?: ASCENDING(id) ?: ASCENDING(via) ?: ASCENDING(root) ?: ASCENDING(flags))

void blame_join_victims(struct blame_matrix *m)
{
	size_t kept = 0;

	VEC_SORT(m->cells, by_cause);
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
