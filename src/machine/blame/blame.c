#include "machine/blame/blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "machine/blame/blame-charge.h"

/* Cells by what makes them different, in an open-addressing table of indexes. Victims come one after the other, so the
 * table has only the present one's cells and stays in the CPU's cache. */
struct cells {
	struct blame_matrix *matrix;
	const struct timeline *timeline;
	uint32_t *member_of; /* by thread: what it counts as at the matrix's level */
	uint32_t *stands_for; /* by member: who is named in its place as a culprit; NULL = itself */
	enum detail { DETAIL_ALL, DETAIL_PROCESSES, DETAIL_PROGRAMS, DETAIL_LARGEST } detail; /* how far culprits are distinguished */
	uint32_t *slots; /* index + 1; up to known.first: free */
	size_t size;	 /* a power of two */
	struct queue_cells known; /* `first`: cells before belong to victims that are done */
	uint64_t cycles, deep;
	int error;
};

/* What makes a cell different from others, as two numbers: compared and hashed for each part of each wait. */
struct cell_key {
	uint64_t who, how;
};

static struct cell_key cell_key(const struct blame_cell *c)
{
	return (struct cell_key){c->victim | (uint64_t)c->id << 32, c->via | (uint64_t)c->culprit << 32 | (uint64_t)c->wait << 40 |
									    (uint64_t)c->root << 48 | (uint64_t)c->flags << 56};
}

static size_t first_slot(struct cell_key k, size_t size)
{
	return (size_t)((hmap_hash(k.who, k.how) >> 32) * size >> 32);
}

static int cells_grow(struct cells *c)
{
	size_t size = c->size ? 2 * c->size : 256;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = c->known.first; i < c->matrix->cells.n; i++) {
		size_t at = first_slot(cell_key(&c->matrix->cells.v[i]), size);

		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(c->slots);
	c->slots = slots;
	c->size = size;
	return 0;
}

void blame_cell_join(struct blame_cell *cell, const struct blame_cell *part)
{
	cell->ns += part->ns;
	cell->parts += part->parts;
	if (part->longest > cell->longest)
		cell->longest = part->longest;
}

/* Its index + 1; 0 without memory. */
static uint32_t cells_add(struct cells *c, const struct blame_cell *part)
{
	struct cell_key key = cell_key(part);
	size_t at;

	if (2 * (c->matrix->cells.n - c->known.first + 1) > c->size && cells_grow(c) < 0) {
		c->error = -ENOMEM;
		return 0;
	}
	for (at = first_slot(key, c->size); c->slots[at] > c->known.first; at = (at + 1) & (c->size - 1)) {
		struct blame_cell *there = &c->matrix->cells.v[c->slots[at] - 1];
		struct cell_key its = cell_key(there);

		if (its.who == key.who && its.how == key.how) {
			blame_cell_join(there, part);
			return c->slots[at];
		}
	}
	if (VEC_PUSH(c->matrix->cells, *part) < 0) {
		c->error = -ENOMEM;
		return 0;
	}
	return c->slots[at] = (uint32_t)c->matrix->cells.n;
}

/* A cell as the present detail has it. */
static struct blame_cell cell_coarsened(const struct cells *c, const struct blame_cell *cell)
{
	struct blame_cell coarse = *cell;

	if (c->detail == DETAIL_ALL || cell->culprit != BY_TASK)
		return coarse;
	coarse.flags |= BLAME_COARSE;
	coarse.id = c->stands_for[cell->id];
	coarse.via = cell->via != NOBODY ? c->stands_for[cell->via] : NOBODY;
	if (coarse.via == coarse.id)
		coarse.via = NOBODY;
	return coarse;
}

/* At the matrix's level: what threads of one member do to each other is its own doing. */
static struct blame_cell cell_of(const struct cells *c, const struct step *step, enum blamed by, uint32_t id, int64_t ns, uint8_t flags)
{
	enum wait_for wait = state_table[step->top->state].wait;
	enum wait_for root = step->interval ? state_table[step->interval->state].wait : FOR_NONE;
	struct blame_cell cell = {
		.victim = c->member_of[step->victim],
		.id = id,
		.via = step->via != NOBODY ? c->member_of[step->via] : NOBODY,
		.culprit = (uint8_t)by,
		.wait = (uint8_t)wait,
		.root = (uint8_t)(step->depth ? root : wait),
		.flags = flags,
		.parts = 1,
		.ns = ns,
		.longest = ns,
	};

	if (by != BY_TASK && by != BY_SELF)
		return cell;
	cell.id = c->member_of[id];
	if (cell.id == cell.victim)
		cell.culprit = BY_SELF;
	if (cell.via == cell.id || cell.via == cell.victim)
		cell.via = NOBODY;
	if (step->flags & STEP_CUT)
		cell.root = FOR_NONE;
	return cell_coarsened(c, &cell);
}

/* ---- fewer cells ---- */

ORDER(longest_first, struct blame_cell, DESCENDING(ns) ?: ASCENDING(victim) ?: ASCENDING(id))

static uint64_t process_or_program(const struct cells *c, const struct thread_line *line)
{
	return c->detail == DETAIL_PROCESSES ? (uint64_t)line->tgid << 1 : (uint64_t)line->program << 1 | 1;
}

/* By member, the first one of the same process or program. */
static int find_stand_ins(struct cells *c)
{
	const struct blame_matrix *m = c->matrix;
	size_t n = m->level == LEVEL_THREAD ? c->timeline->threads.n : m->members.n;
	struct hmap first = {};
	int r = 0;

	if (!c->stands_for)
		c->stands_for = calloc(n + 1, sizeof(*c->stands_for));
	for (uint32_t i = 0; c->stands_for && r == 0 && i < n; i++) {
		uint32_t thread = m->level == LEVEL_THREAD ? i : m->members.v[i].thread;
		uint64_t key = process_or_program(c, &c->timeline->threads.v[thread]);
		uintptr_t there = (uintptr_t)hmap_get(&first, key, 1);

		if (!there)
			r = hmap_put(&first, key, 1, (void *)(uintptr_t)(i + 1ul));
		c->stands_for[i] = there ? (uint32_t)there - 1 : i;
	}
	hmap_free(&first);
	return c->stands_for ? r : -ENOMEM;
}

/* Cells were renumbered: what points to them is forgotten. */
static void forget_places(struct cells *c)
{
	if (c->slots)
		memset(c->slots, 0, c->size * sizeof(*c->slots));
	memset(c->known.cells, 0, c->known.places * sizeof(*c->known.cells));
}

/* One cell for each kind of wait, from `first` on, and of what is not a task for each that was in contention, over whatever it reached the victim. */
static void join_others(struct blame_matrix *m, size_t first, const struct blame_cell *cell)
{
	struct blame_cell others = *cell;

	others.via = NOBODY;
	others.flags |= BLAME_COARSE;
	if (cell->culprit == BY_TASK)
		others.culprit = BY_OTHERS, others.id = 0, others.root = FOR_NONE, others.flags = BLAME_COARSE;
	for (size_t i = first; i < m->cells.n; i++) {
		const struct blame_cell *there = &m->cells.v[i];

		if (there->culprit == others.culprit && there->id == others.id && there->wait == others.wait && there->root == others.root &&
		    there->via == NOBODY && there->flags == others.flags) {
			blame_cell_join(&m->cells.v[i], &others);
			return;
		}
	}
	m->cells.v[m->cells.n++] = others;
}

/* Moves one victim's cells from `from` on behind those that are there, where there are more than `most` only its largest. */
static void keep_largest(struct blame_matrix *m, size_t from, size_t n, size_t most)
{
	size_t first = m->cells.n;

	if (n > most)
		qsort(m->cells.v + from, n, sizeof(*m->cells.v), longest_first);
	for (size_t i = 0; i < n; i++) {
		struct blame_cell cell = m->cells.v[from + i]; /* its place is written to */

		if (i < most)
			m->cells.v[m->cells.n++] = cell;
		else
			join_others(m, first, &cell);
	}
}

void blame_keep_largest(struct blame_matrix *m, size_t most)
{
	size_t all = m->cells.n, n;

	m->cells.n = 0;
	for (size_t from = 0; from < all; from += n) {
		for (n = 1; from + n < all && m->cells.v[from + n].victim == m->cells.v[from].victim;)
			n++;
		keep_largest(m, from, n, most);
	}
}

static void victim_is_done(struct cells *c)
{
	size_t first = c->known.first, n = c->matrix->cells.n - first;

	if (c->detail == DETAIL_LARGEST && n > BLAME_LARGEST) {
		c->matrix->cells.n = first;
		keep_largest(c->matrix, first, n, BLAME_LARGEST);
		forget_places(c);
	}
	c->known.first = c->matrix->cells.n;
}

/* The cells there are as the next detail has them, in their places: there can only be fewer. */
static int cells_coarsen(struct cells *c)
{
	struct blame_matrix *m = c->matrix;
	size_t n = m->cells.n;
	int r;

	c->detail++;
	r = c->detail < DETAIL_LARGEST ? find_stand_ins(c) : 0;
	if (r < 0)
		return r;
	forget_places(c);
	m->cells.n = c->known.first = 0;
	for (size_t i = 0; c->error == 0 && i < n; i++) {
		struct blame_cell cell = cell_coarsened(c, &m->cells.v[i]);

		if (m->cells.n && m->cells.v[m->cells.n - 1].victim != cell.victim)
			victim_is_done(c);
		cells_add(c, &cell);
	}
	return c->error;
}

static void on_charge(void *user, const struct step *step, enum blamed by, uint32_t id, int64_t ns, uint8_t flags)
{
	struct cells *c = user;
	size_t place = queue_cells_place(&c->known, by, id);
	struct blame_cell cell;
	uint32_t there;

	if (c->matrix->cells.n >= BLAME_CELLS_MAX && c->detail < DETAIL_LARGEST && c->error == 0)
		c->error = cells_coarsen(c);
	cell = cell_of(c, step, by, id, ns, flags);
	there = cells_add(c, &cell);

	c->matrix->charged[cell.wait] += ns;
	if (by == BY_UNKNOWN)
		c->matrix->unknown[cell.wait] += ns;
	if (!step->depth && !flags && cell.wait == FOR_CPU &&
	    place < queue_cells_place(&c->known, BY_UNKNOWN, 0))
		c->known.cells[place] = there;
}

struct blame_walk {
	blame_take take; /* NULL = cells are kept */
	void *user;
	struct walker walker;
	struct walk_work work;
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
	charger_step(&w->charger, step);
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

void blame_sort(struct blame_matrix *m)
{
	VEC_SORT(m->cells, longest_first);
}

/* What goes in must come out, to the nanosecond. */
static int check_sums(const struct blame_matrix *m)
{
	for (int w = 0; w < FOR_COUNT; w++)
		if (m->waits[w] != m->charged[w])
			return -EBADE;
	return 0;
}

/* ---- levels ---- */

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
static uint32_t find_member(struct blame_matrix *m, struct hmap *by_key, const struct thread_line *line, uint32_t thread)
{
	uint64_t key = key_of(line, m->level);
	uintptr_t known = (uintptr_t)hmap_get(by_key, key, 1);

	if (!known) {
		if (VEC_PUSH(m->members, new_member(line, thread, m->level)) < 0)
			return NOBODY;
		known = m->members.n;
		if (hmap_put(by_key, key, 1, (void *)known) < 0)
			return NOBODY;
	}
	m->members.v[known - 1].threads++;
	return (uint32_t)known - 1;
}

static int find_members(const struct timeline *t, struct cells *c)
{
	struct hmap by_key = {};
	int r = 0;

	c->member_of = calloc(t->threads.n + 1, sizeof(*c->member_of));
	for (uint32_t i = 0; c->member_of && r == 0 && i < t->threads.n; i++) {
		c->member_of[i] = c->matrix->level == LEVEL_THREAD ? i : find_member(c->matrix, &by_key, &t->threads.v[i], i);
		r = c->member_of[i] == NOBODY ? -ENOMEM : 0;
	}
	hmap_free(&by_key);
	return c->member_of ? r : -ENOMEM;
}

ORDER_IN(by_member, uint32_t, uint32_t, CMP(context[*a], context[*b]))

/* Of one member one after the other. The caller frees; NULL without memory. */
static uint32_t *order_victims(const struct cells *c, const uint32_t *victims, size_t n)
{
	uint32_t *ordered = calloc(n + 1, sizeof(*ordered));

	for (size_t i = 0; ordered && i < n; i++)
		ordered[i] = victims ? victims[i] : (uint32_t)i;
	if (ordered && c->matrix->level != LEVEL_THREAD)
		qsort_r(ordered, n, sizeof(*ordered), by_member, c->member_of);
	return ordered;
}

/* Hands over what is there; all of it belongs to victims that are done. */
static int hand_over(struct blame_walk *w)
{
	struct cells *c = &w->cells;
	struct blame_matrix *m = c->matrix;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->cells.n; i++)
		r = w->take(w->user, &m->cells.v[i]);
	m->cells.n = c->known.first = 0;
	forget_places(c);
	return r;
}

static int charge_victims(struct blame_walk *w, const uint32_t *victims, size_t n)
{
	struct blame_matrix *m = w->cells.matrix;
	int64_t waits = 0;

	for (size_t i = 0; i < n; i++)
		sum_waits(&w->walker.timeline->threads.v[victims[i]], m->from, m->to, m->waits);
	for (int wait = 0; wait < FOR_COUNT; wait++)
		waits += m->waits[wait];
	w->work = walk_work_for(waits);
	for (size_t i = 0; w->cells.error == 0 && i < n; i++) {
		if (i && w->cells.member_of[victims[i]] != w->cells.member_of[victims[i - 1]])
			victim_is_done(&w->cells);
		if (w->take && m->cells.n >= BLAME_BATCH)
			w->cells.error = hand_over(w);
		walker_thread(&w->walker, victims[i], m->from, m->to);
	}
	victim_is_done(&w->cells);
	if (w->take && w->cells.error == 0)
		w->cells.error = hand_over(w);
	m->cycles = w->cells.cycles;
	m->deep = w->cells.deep;
	m->cut = w->work.cut;
	m->sampled = w->charger.sampled;
	return w->cells.error ?: check_sums(m);
}

/* w: who takes the cells, and whose matrix they are. */
static int build(struct blame_walk *w, const struct timeline *t, const uint32_t *victims, size_t n)
{
	size_t places = t->threads.n + 2 * INTERRUPTS + 1;
	struct blame_matrix *m = w->cells.matrix;
	_cleanup_free_ uint32_t *ordered = NULL;
	int r;

	w->cells.timeline = t;
	r = m->from < m->to ? find_members(t, &w->cells) : -ERANGE;
	n = victims ? n : t->threads.n;
	ordered = r == 0 ? order_victims(&w->cells, victims, n) : NULL;
	w->cells.known = (struct queue_cells){m, calloc(places, sizeof(uint32_t)), 0, t->threads.n, places};
	w->walker = (struct walker){t, on_step, w, true, calloc(t->threads.n + 1, sizeof(uint32_t)), &w->work};
	if (charger_open(&w->charger, t, on_charge, &w->cells) < 0 || !w->cells.known.cells || !w->walker.near || !ordered)
		r = r ?: -ENOMEM;
	w->charger.known = &w->cells.known;
	w->charger.work = &w->work;
	r = r ?: charge_victims(w, ordered, n);
	charger_close(&w->charger);
	FREE_ALL(w->cells.member_of, w->cells.stands_for, w->cells.known.cells, w->walker.near, w->cells.slots);
	return r;
}

int blame_build(const struct timeline *t, int64_t from, int64_t to, const uint32_t *victims, size_t n, enum blame_level level,
		struct blame_matrix *ret)
{
	struct blame_matrix matrix = {.level = level, .from = from, .to = to};
	int r = build(&(struct blame_walk){.cells = {.matrix = &matrix}}, t, victims, n);

	if (r < 0)
		blame_matrix_free(&matrix);
	else
		*ret = matrix;
	return r;
}

int blame_each(const struct timeline *t, int64_t from, int64_t to, blame_take take, void *user)
{
	_cleanup_(blame_matrix_free) struct blame_matrix matrix = {.level = LEVEL_THREAD, .from = from, .to = to};

	return build(&(struct blame_walk){.take = take, .user = user, .cells = {.matrix = &matrix}}, t, NULL, 0);
}
