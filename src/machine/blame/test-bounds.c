/* Crowds: an answer becomes coarser, and is never refused, loses no time, and has no more cells than are set aside. */

#include "lib/data/cleanup.h"
#include "lib/data/test.h"
#include "machine/blame/blame.h"
#include "machine/blame/path.h"
#include "machine/blame/test-crowd.h"
#include "machine/threads/state.h"

#define EVENTS	300000
#define THREADS 3000

struct crowded {
	struct trace trace;
	struct timeline line;
};

static void gather(struct crowded *c, enum crowd_kind kind)
{
	*c = (struct crowded){};
	assert_int_equal(crowd_play(&c->trace, kind, THREADS, EVENTS), 0);
	assert_int_equal(timeline_build(&c->trace, &c->line), 0);
}

static void disperse(struct crowded *c)
{
	timeline_free(&c->line);
	trace_clear(&c->trace);
}

static int64_t total(const int64_t *by_wait)
{
	int64_t sum = 0;

	for (int wait = 0; wait < FOR_COUNT; wait++)
		sum += by_wait[wait];
	return sum;
}

static void no_crowd_is_refused(void **state)
{
	for (int kind = 0; kind < CROWD_KINDS; kind++) {
		_cleanup_(disperse) struct crowded c;

		gather(&c, (enum crowd_kind)kind);
		for (int level = 0; level < LEVEL_COUNT; level++) {
			_cleanup_(blame_matrix_free) struct blame_matrix m = {};
			int64_t sum = 0;

			assert_int_equal(blame_build(&c.line, c.line.start, c.line.end, NULL, 0, (enum blame_level)level, &m), 0);
			assert_true(m.cells.n > 0);
			assert_true(m.cells.n <= BLAME_CELLS_MAX);
			for (size_t i = 0; i < m.cells.n; i++)
				sum += m.cells.v[i].ns;
			assert_int_equal(sum, total(m.waits));
		}
	}
}

/* As many pairs as there can be: each victim keeps its largest cells, one of each kind stands for the others, and culprits stand for
 * their programs. */
static void what_is_small_is_merged(void **state)
{
	_cleanup_(disperse) struct crowded c;
	_cleanup_(blame_matrix_free) struct blame_matrix m = {};
	size_t merged = 0, coarse = 0, others[FOR_COUNT] = {};
	uint32_t victim = NOBODY;

	gather(&c, CROWD_MESH);
	assert_int_equal(blame_build(&c.line, c.line.start, c.line.end, NULL, 0, LEVEL_THREAD, &m), 0);
	for (size_t i = 0; i < m.cells.n; i++) {
		const struct blame_cell *cell = &m.cells.v[i];

		if (cell->victim != victim)
			memset(others, 0, sizeof(others));
		victim = cell->victim;
		merged += cell->culprit == BY_OTHERS;
		if (cell->culprit == BY_OTHERS)
			assert_int_equal(++others[cell->wait], 1);
		if (cell->culprit != BY_TASK)
			continue;
		assert_true(cell->flags & BLAME_COARSE);
		assert_int_equal((c.line.threads.v[cell->id].tid - CROWD_FIRST) % CROWD_FAMILY, 0);
		assert_int_not_equal(cell->id, cell->via);
		coarse++;
	}
	assert_true(merged >= THREADS / 2);
	assert_true(coarse > merged);
}

/* For what is saved: fewer cells, of the same time. */
static void a_matrix_keeps_its_largest_cells(void **state)
{
	_cleanup_(disperse) struct crowded c;
	_cleanup_(blame_matrix_free) struct blame_matrix m = {};
	int64_t sum = 0, kept = 0;
	uint32_t victim = NOBODY;
	size_t n = 0, before;

	gather(&c, CROWD_MESH);
	assert_int_equal(blame_build(&c.line, c.line.start, c.line.end, NULL, 0, LEVEL_PROCESS, &m), 0);
	for (size_t i = 0; i < m.cells.n; i++)
		sum += m.cells.v[i].ns;
	before = m.cells.n;
	blame_keep_largest(&m, 3);
	for (size_t i = 0; i < m.cells.n; i++) {
		if (m.cells.v[i].victim != victim)
			n = 0;
		victim = m.cells.v[i].victim;
		kept += m.cells.v[i].ns;
		n += m.cells.v[i].culprit == BY_TASK;
		assert_true(n <= 3);
	}
	assert_int_equal(kept, sum);
	assert_true(m.cells.n < before / 2);
}

struct taken {
	int64_t ns;
	size_t n;
};

static int take(void *user, const struct blame_cell *cell)
{
	struct taken *t = user;

	t->ns += cell->ns;
	t->n++;
	return 0;
}

static int take_and_fail(void *user, const struct blame_cell *cell)
{
	(void)cell;
	return ++((struct taken *)user)->n == 3 ? -EPIPE : 0;
}

static void cells_that_are_handed_over_are_all_there_are(void **state)
{
	_cleanup_(disperse) struct crowded c;
	_cleanup_(blame_matrix_free) struct blame_matrix m = {};
	struct taken all = {}, some = {};

	gather(&c, CROWD_POOL);
	assert_int_equal(blame_build(&c.line, c.line.start, c.line.end, NULL, 0, LEVEL_PROGRAM, &m), 0);
	assert_int_equal(blame_each(&c.line, c.line.start, c.line.end, take, &all), 0);
	assert_int_equal(all.ns, total(m.waits));
	assert_true(all.n > BLAME_BATCH);
	assert_int_equal(blame_each(&c.line, c.line.start, c.line.end, take_and_fail, &some), -EPIPE);
	assert_int_equal(some.n, 3);
}

/* One thread among thousands: bounded by work, and without a gap. */
static void a_path_through_a_crowd_ends(void **state)
{
	_cleanup_(disperse) struct crowded c;
	_cleanup_(path_free) struct critical_path path = {};
	int64_t at;

	gather(&c, CROWD_LINE);
	at = c.line.start;
	assert_int_equal(path_build(&c.line, 5, c.line.start, c.line.end, &path), 0);
	for (size_t i = 0; i < path.pieces.n; i++) {
		assert_int_equal(path.pieces.v[i].from, at);
		at = path.pieces.v[i].to;
	}
	assert_int_equal(at, c.line.end);
}

RUN_TESTS(cmocka_unit_test(no_crowd_is_refused), cmocka_unit_test(what_is_small_is_merged), cmocka_unit_test(a_matrix_keeps_its_largest_cells),
	  cmocka_unit_test(cells_that_are_handed_over_are_all_there_are), cmocka_unit_test(a_path_through_a_crowd_ends))
