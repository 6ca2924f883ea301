/* What a drawing leaves out, and what it does not. */
#include "machine/threads/draw.h"
#include "machine/threads/test-story.h"

#define STORY(s) _cleanup_(story_end) struct story s; story_begin(&s, 2); (void)state

/* Stories count in whole us. */
static void assert_near(int64_t ns, int64_t expected)
{
	assert_true(ns - expected >= 0 && ns - expected < 2 * US);
}

static struct thread_rows all_rows(const struct story *s, const char *filter, enum row_order order)
{
	struct row_question q = {.from = s->line.start, .to = s->line.end, .filter = filter, .order = order};
	struct thread_rows rows;

	assert_int_equal(rows_build(&s->line, &q, &rows), 0);
	return rows;
}

static struct drawing drawn(const struct story *s, const struct thread_rows *rows, uint32_t points)
{
	struct draw_question q = {.from = s->line.start, .to = s->line.end, .points = points, .count = 100, .path = NOBODY};
	struct drawing d;

	assert_int_equal(draw_timeline(&s->line, rows, &q, &d), 0);
	return d;
}

static const struct drawn_line *line_of(const struct story *s, const struct drawing *d, uint32_t tid)
{
	for (size_t i = 0; i < d->lines.n; i++)
		if (d->lines.v[i].row.thread != NOBODY && s->line.threads.v[d->lines.v[i].row.thread].tid == tid)
			return &d->lines.v[i];
	fail_msg("thread %u is not drawn", tid);
	return NULL;
}

/* A and B take turns of 10 us each on CPU 0, from 100 us to 900 us. */
static void play_turns(struct story *s)
{
	cast_process(s, A, "a");
	cast_process(s, B, "b");
	for (int64_t us = 100; us < 900; us += 20) {
		leave(s, us, 0, A, B, 0, WAIT_SLICE, CALL_NONE);
		leave(s, us + 10, 0, B, A, 0, WAIT_SLICE, CALL_NONE);
	}
	leave_for(s, 900, 0, A, B, CALL_PIPE, 7);
	tell(s, 1000);
}

/* How many rows a question has, and which thread is the first. */
static void expect_rows(const struct story *s, struct row_question q, size_t n, uint32_t first)
{
	struct thread_rows rows;

	q.from = s->line.start;
	q.to = s->line.end;
	q.order = ORDER_PID;
	assert_int_equal(rows_build(&s->line, &q, &rows), 0);
	assert_int_equal(rows.threads.n, n);
	if (n)
		assert_int_equal(s->line.threads.v[rows.threads.v[0]].tid, first);
	rows_free(&rows);
}

static void rows_are_hidden_and_chosen(void **state)
{
	STORY(s);
	play_turns(&s);
	expect_rows(&s, (struct row_question){}, 2, A);
	expect_rows(&s, (struct row_question){.hidden = "101"}, 1, B);
	expect_rows(&s, (struct row_question){.hidden = "nothing,,b"}, 1, A);
	expect_rows(&s, (struct row_question){.hidden = "a,102"}, 0, 0);
	expect_rows(&s, (struct row_question){.only = B}, 1, B);
	expect_rows(&s, (struct row_question){.only = B, .filter = "a"}, 0, 0);
}

static void long_intervals_keep_their_boundaries(void **state)
{
	STORY(s);
	play_turns(&s);
	struct thread_rows rows = all_rows(&s, NULL, ORDER_PID);
	struct drawing d = drawn(&s, &rows, 20);
	const struct drawn_line *a = line_of(&s, &d, A);
	const struct run *last = &a->runs.v[a->runs.n - 1];

	assert_int_equal(last->what, STATE_PEER);
	assert_int_equal(last->from, 900 * US);
	assert_int_equal(last->to, s.line.end);
	drawing_free(&d);
	rows_free(&rows);
}

static void short_intervals_become_their_shares(void **state)
{
	STORY(s);
	play_turns(&s);
	struct thread_rows rows = all_rows(&s, NULL, ORDER_PID);
	struct drawing d = drawn(&s, &rows, 20); /* a point is 50 us, a turn 10 us */
	const struct drawn_line *a = line_of(&s, &d, A);
	int64_t at = s.line.start;
	bool mixed = false;

	for (size_t i = 0; i < a->runs.n; i++) {
		const struct run *run = &a->runs.v[i];

		assert_int_equal(run->from, at); /* no gap, no overlap */
		at = run->to;
		if (run->what < DRAWN_KINDS)
			continue;
		const struct mix *m = &d.mixes.v.v[run->what - DRAWN_KINDS];

		mixed = true;
		assert_int_equal(m->kind[0], STATE_RUNNING);
		assert_int_equal(m->kind[1], STATE_PREEMPTED_SLICE);
		assert_int_equal(m->share[0] + m->share[1], MIX_SHARES);
		assert_true(m->share[0] >= 6 && m->share[0] <= 10);
	}
	assert_int_equal(at, s.line.end);
	assert_true(mixed);
	assert_true(a->runs.n <= 2 * 20 + 2);
	drawing_free(&d);
	rows_free(&rows);
}

static void sums_do_not_depend_on_the_detail(void **state)
{
	STORY(s);
	play_turns(&s);
	struct thread_rows rows = all_rows(&s, NULL, ORDER_PID);
	struct drawing coarse = drawn(&s, &rows, 3), fine = drawn(&s, &rows, 5000);

	for (size_t i = 0; i < coarse.lines.n; i++)
		assert_memory_equal(coarse.lines.v[i].sums, fine.lines.v[i].sums, sizeof(fine.lines.v[i].sums));
	assert_near(line_of(&s, &fine, A)->sums[STATE_RUNNING], in_state(&s, A, STATE_RUNNING) * US);
	drawing_free(&coarse);
	drawing_free(&fine);
	rows_free(&rows);
}

static void a_cpu_is_seen_from_the_chosen_process(void **state)
{
	STORY(s);
	play_turns(&s);
	struct thread_rows rows = all_rows(&s, NULL, ORDER_PID);
	struct draw_question q = {.from = s.line.start, .to = s.line.end, .points = 5000, .count = 100, .chosen = A, .path = NOBODY};
	struct drawing d;

	assert_int_equal(draw_timeline(&s.line, &rows, &q, &d), 0);
	assert_near(d.cpus.v[0].sums[USE_CHOSEN], in_state(&s, A, STATE_RUNNING) * US);
	assert_near(d.cpus.v[0].sums[USE_OTHER], in_state(&s, B, STATE_RUNNING) * US);
	drawing_free(&d);
	rows_free(&rows);
}

static void who_waited_most_comes_first(void **state)
{
	/* it waits for a lock all the time, and nothing says whose: no one looks for that */
	const struct trace_thread always = {.tid = E, .tgid = E, .comm = "always", .state = STATE_LOCK};

	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	cast_thread(&s, C, B, "c", 0);
	leave(&s, 100, 0, A, B, 0, WAIT_SLICE, CALL_NONE); /* A waits for 800 us */
	leave_for(&s, 900, 0, B, A, CALL_SLEEP, 0);
	leave_for(&s, 950, 1, C, 0, CALL_SLEEP, 0);
	assert_int_equal(trace_add_thread(&s.trace, &always), 0);
	tell(&s, 1000);
	struct thread_rows rows = all_rows(&s, NULL, ORDER_WAITED);

	assert_int_equal(s.line.threads.v[rows.rows.v[rows.rows.n - 1].thread].tid, E);
	assert_int_equal(s.line.threads.v[rows.rows.v[0].thread].tid, A);
	/* B's process has two threads: a row of its own above them */
	assert_int_equal(rows.rows.v[1].thread, NOBODY);
	assert_int_equal(rows.rows.v[1].process, B);
	assert_int_equal(rows.rows.v[1].members, 2);
	rows_free(&rows);
	rows = all_rows(&s, "101", ORDER_WAITED);
	assert_int_equal(rows.rows.n, 1);
	rows_free(&rows);
}

static void a_folded_process_is_one_line(void **state)
{
	STORY(s);
	cast_process(&s, B, "b");
	cast_thread(&s, C, B, "c", 0);
	leave_for(&s, 500, 0, B, 0, CALL_SLEEP, 0);
	leave_for(&s, 500, 1, C, 0, CALL_SLEEP, 0);
	tell(&s, 1000);
	const uint32_t folded[] = {B};
	struct row_question q = {.from = s.line.start, .to = s.line.end, .folded = folded, .n_folded = 1};
	struct thread_rows rows;

	assert_int_equal(rows_build(&s.line, &q, &rows), 0);
	assert_int_equal(rows.rows.n, 1);
	struct drawing d = drawn(&s, &rows, 10);

	assert_near(d.lines.v[0].sums[STATE_RUNNING], (in_state(&s, B, STATE_RUNNING) + in_state(&s, C, STATE_RUNNING)) * US);
	assert_true(d.lines.v[0].runs.n >= 2);
	drawing_free(&d);
	rows_free(&rows);
}

static void an_instant_has_its_chain(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	leave_for(&s, 100, 0, A, B, CALL_PIPE, 7);
	wake(&s, 600, 0, B, A, 0);
	leave_for(&s, 650, 0, B, A, CALL_SLEEP, 0);
	tell(&s, 1000);
	uint32_t *thread;
	struct instant i;

	assert_int_equal(timeline_find(&s.line, A, &thread), 1);
	assert_int_equal(draw_instant(&s.line, thread[0], 300 * US, &i), 0);
	assert_int_equal(i.interval->state, STATE_PEER);
	assert_int_equal(i.interval->start, 100 * US);
	assert_int_equal(i.interval->end, 600 * US);
	assert_int_equal(s.line.threads.v[i.chain.pieces.v[0].thread].tid, B); /* it ran in the meantime */
	assert_int_equal(draw_instant(&s.line, thread[0], 5000 * US, &(struct instant){}), -ENODATA);
	instant_free(&i);
	free(thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_intervals_keep_their_boundaries),
		cmocka_unit_test(short_intervals_become_their_shares),
		cmocka_unit_test(sums_do_not_depend_on_the_detail),
		cmocka_unit_test(a_cpu_is_seen_from_the_chosen_process),
		cmocka_unit_test(who_waited_most_comes_first),
		cmocka_unit_test(a_folded_process_is_one_line),
		cmocka_unit_test(rows_are_hidden_and_chosen), cmocka_unit_test(an_instant_has_its_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
