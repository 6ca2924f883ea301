#include "timeline/blame.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "timeline/blame-charge.h"

/* Cells by what makes them different, in an open-addressing table of indexes. Victims come one after the other, so the
 * table has only the present one's cells and stays in the processor's cache. */
struct cells {
	struct blame_matrix *matrix;
	uint32_t *slots; /* index + 1; up to known.first: free */
	size_t size;	 /* a power of two */
	struct queue_cells known; /* `first`: cells before belong to victims that are done */
	uint64_t cycles, deep;
	int error;
};

static uint64_t cell_hash(const struct blame_cell *c)
{
	uint64_t a = (uint64_t)c->victim << 32 | c->id;
	uint64_t b = (uint64_t)c->via << 32 | (uint32_t)(c->culprit << 24 | c->wait << 16 | c->root << 8 | c->flags);
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;

	return h ^ h >> 32;
}

static bool same_cell(const struct blame_cell *a, const struct blame_cell *b)
{
	return a->victim == b->victim && a->id == b->id && a->via == b->via && a->culprit == b->culprit && a->wait == b->wait &&
	       a->root == b->root && a->flags == b->flags;
}

static int cells_grow(struct cells *c)
{
	size_t size = c->size ? 2 * c->size : 256;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = c->known.first; i < c->matrix->cells.n; i++) {
		size_t at = cell_hash(&c->matrix->cells.v[i]) & (size - 1);

		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(c->slots);
	c->slots = slots;
	c->size = size;
	return 0;
}

static void cells_merge(struct blame_cell *into, const struct blame_cell *part)
{
	into->ns += part->ns;
	into->parts += part->parts;
	if (part->longest > into->longest)
		into->longest = part->longest;
}

static void cells_add(struct cells *c, const struct blame_cell *part)
{
	size_t at;

	if (2 * (c->matrix->cells.n - c->known.first + 1) > c->size && cells_grow(c) < 0) {
		c->error = -ENOMEM;
		return;
	}
	for (at = cell_hash(part) & (c->size - 1); c->slots[at] > c->known.first; at = (at + 1) & (c->size - 1)) {
		struct blame_cell *there = &c->matrix->cells.v[c->slots[at] - 1];

		if (same_cell(there, part)) {
			cells_merge(there, part);
			return;
		}
	}
	if (VEC_PUSH(c->matrix->cells, *part) < 0)
		c->error = -ENOMEM;
	else
		c->slots[at] = (uint32_t)c->matrix->cells.n;
}

static void add_charge(void *user, const struct step *step, enum blamed by, uint32_t id, int64_t ns, uint8_t flags)
{
	struct cells *c = user;
	enum wait_for wait = state_table[step->top->state].wait;
	enum wait_for root = step->interval ? state_table[step->interval->state].wait : FOR_NONE;
	struct blame_cell cell = {
		.victim = step->victim,
		.id = id,
		.via = step->via != NOBODY && !(by == BY_TASK && id == step->via) ? step->via : NOBODY,
		.culprit = (uint8_t)by,
		.wait = (uint8_t)wait,
		.root = (uint8_t)(step->depth ? root : wait),
		.flags = flags,
		.parts = 1,
		.ns = ns,
		.longest = ns,
	};

	c->matrix->charged[wait] += ns;
	if (by == BY_UNKNOWN)
		c->matrix->unknown[wait] += ns;
	cells_add(c, &cell);
}

static bool is_queueing(const struct step *step, enum blamed by, uint8_t flags)
{
	return !step->depth && by == BY_TASK && !flags && state_table[step->top->state].wait == FOR_CPU;
}

static void on_charge(void *user, const struct step *step, enum blamed by, uint32_t id, int64_t ns, uint8_t flags)
{
	struct cells *c = user;
	size_t before = c->matrix->cells.n;

	add_charge(user, step, by, id, ns, flags);
	if (c->matrix->cells.n > before && is_queueing(step, by, flags))
		c->known.by_thread[id] = (uint32_t)c->matrix->cells.n;
}

struct blame_walk {
	struct walker walker;
	struct charger charger;
	struct cells cells;
};

static void on_step(void *user, const struct step *step)
{
	struct blame_walk *w = user;
	enum wait_for wait = step->top ? state_table[step->top->state].wait : FOR_NONE;

	if (wait == FOR_NONE)
		return;
	w->cells.cycles += step->flags & STEP_CYCLE ? 1 : 0;
	w->cells.deep += step->flags & STEP_DEEP ? 1 : 0;
	charge_step(&w->charger, step);
}

static void sum_waits(const struct thread_line *line, int64_t from, int64_t to, int64_t *waits)
{
	for (size_t i = interval_find(line, from); i < line->intervals.n && line->intervals.v[i].start < to; i++) {
		const struct interval *x = &line->intervals.v[i];
		int64_t start = x->start > from ? x->start : from, end = x->end < to ? x->end : to;

		if (state_table[x->state].wait != FOR_NONE)
			waits[state_table[x->state].wait] += end - start;
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct blame_cell *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->victim != y->victim)
		return x->victim < y->victim ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void blame_sort(struct blame_matrix *m)
{
	if (m->cells.n)
		qsort(m->cells.v, m->cells.n, sizeof(*m->cells.v), longest_first);
}

/* What goes in must come out, to the nanosecond. */
static int check_sums(const struct blame_matrix *m)
{
	for (int w = 0; w < FOR_COUNT; w++)
		if (m->waits[w] != m->charged[w])
			return -EBADE;
	return 0;
}

int blame_build(const struct timeline *t, int64_t from, int64_t to, const uint32_t *victims, size_t n, struct blame_matrix *ret)
{
	struct blame_matrix matrix = {.level = LEVEL_THREAD, .from = from, .to = to};
	struct blame_walk w = {.cells = {.matrix = &matrix}};
	int r = from < to ? 0 : -ERANGE;

	if (charger_open(&w.charger, t, on_charge, &w.cells) < 0)
		r = -ENOMEM;
	w.charger.known = &w.cells.known;
	w.cells.known = (struct queue_cells){&matrix, calloc(t->threads.n + 1, sizeof(uint32_t)), 0};
	w.walker = (struct walker){t, on_step, &w, calloc(t->threads.n + 1, sizeof(uint32_t))};
	if (r == 0 && (!w.cells.known.by_thread || !w.walker.near))
		r = -ENOMEM;

	for (size_t i = 0; r == 0 && i < (victims ? n : t->threads.n); i++) {
		uint32_t victim = victims ? victims[i] : (uint32_t)i;

		sum_waits(&t->threads.v[victim], from, to, matrix.waits);
		walk_thread(&w.walker, victim, from, to);
		r = w.cells.error;
		w.cells.known.first = matrix.cells.n;
	}
	charger_close(&w.charger);
	free(w.cells.known.by_thread);
	free(w.walker.near);
	free(w.cells.slots);
	if (r == 0)
		r = check_sums(&matrix);
	if (r < 0) {
		blame_matrix_free(&matrix);
		return r;
	}
	matrix.cycles = w.cells.cycles;
	matrix.deep = w.cells.deep;
	*ret = matrix;
	return 0;
}

/* ---- other levels ---- */

struct raising {
	const struct timeline *timeline;
	enum blame_level level;
	struct blame_matrix *matrix;
	uint32_t *member_of; /* by thread: index + 1 */
	struct hmap by_key;
};

static uint64_t key_of(const struct thread_line *line, enum blame_level level)
{
	switch (level) {
	case LEVEL_PROCESS:
		return line->tgid;
	case LEVEL_PROGRAM:
		return line->program;
	case LEVEL_CGROUP:
		return line->unit;
	default:
		return 0;
	}
}

static struct blame_member new_member(const struct thread_line *line, uint32_t thread, enum blame_level level)
{
	return (struct blame_member){
		.name = level == LEVEL_CGROUP ? line->unit : line->program,
		.pid = level == LEVEL_PROCESS ? line->tgid : 0,
		.thread = thread,
	};
}

/* Index of the member a thread belongs to, or NOBODY without memory. */
static uint32_t member_of(struct raising *r, uint32_t thread)
{
	const struct thread_line *line = &r->timeline->threads.v[thread];
	uint64_t key = key_of(line, r->level);
	uintptr_t known;

	if (r->member_of[thread])
		return r->member_of[thread] - 1;
	known = (uintptr_t)hmap_get(&r->by_key, key, 1);
	if (!known) {
		if (VEC_PUSH(r->matrix->members, new_member(line, thread, r->level)) < 0)
			return NOBODY;
		known = r->matrix->members.n;
		if (hmap_put(&r->by_key, key, 1, (void *)known) < 0)
			return NOBODY;
	}
	r->matrix->members.v[known - 1].threads++;
	r->member_of[thread] = (uint32_t)known;
	return (uint32_t)known - 1;
}

static int raise_cell(struct raising *r, struct blame_cell *cell)
{
	cell->victim = member_of(r, cell->victim);
	if (cell->victim == NOBODY)
		return -ENOMEM;
	if (cell->via != NOBODY && (cell->via = member_of(r, cell->via)) == NOBODY)
		return -ENOMEM;
	if (cell->culprit != BY_TASK && cell->culprit != BY_SELF)
		return 0;
	cell->id = member_of(r, cell->id);
	if (cell->id == NOBODY)
		return -ENOMEM;
	if (cell->id == cell->victim)
		cell->culprit = BY_SELF;
	if (cell->via == cell->id || cell->via == cell->victim)
		cell->via = NOBODY;
	return 0;
}

int blame_raise(const struct timeline *t, const struct blame_matrix *threads, enum blame_level level, struct blame_matrix *ret)
{
	struct blame_matrix matrix = *threads;
	struct cells cells = {.matrix = &matrix};
	_cleanup_free_ uint32_t *members = calloc(t->threads.n + 1, sizeof(*members));
	struct raising raising = {t, level, &matrix, members, {}};
	int r = members ? 0 : -ENOMEM;

	matrix.level = level;
	matrix.cells.v = NULL;
	matrix.cells.n = matrix.cells.allocated = 0;
	for (size_t i = 0; r == 0 && i < threads->cells.n; i++) {
		struct blame_cell cell = threads->cells.v[i];

		r = level == LEVEL_THREAD ? 0 : raise_cell(&raising, &cell);
		if (r == 0)
			cells_add(&cells, &cell);
		r = r ?: cells.error;
	}
	hmap_free(&raising.by_key);
	free(cells.slots);
	if (r < 0) {
		blame_matrix_free(&matrix);
		return r;
	}
	blame_sort(&matrix);
	*ret = matrix;
	return 0;
}
