#include "fleet/analysis/test-fleet.h"

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/ask/fleet-silence.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)
#define ROWS   100

/* Three servers with two counters; rows of s1 in [from, to) are missing, or only its second counter is. */
static struct fleet *make(int from, int to, bool counter_alone)
{
	struct intake *in = intake_new();
	int first = intake_counter(in, "requests", &gauge), second = intake_counter(in, "latency_ms", &gauge);
	struct fleet *f;

	for (int s = 0; s < 3; s++) {
		char name[8];
		int server;

		snprintf(name, sizeof(name), "s%d", s);
		server = intake_server(in, name);
		for (int t = 0; t < ROWS; t++) {
			bool missing = s == 1 && t >= from && t < to;

			if (!missing || counter_alone)
				assert_int_equal(intake_put(in, server, first, t * MINUTE, t), 0);
			if (!missing)
				assert_int_equal(intake_put(in, server, second, t * MINUTE, t), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static struct fleet_silences find(const struct fleet *f, int from, int to)
{
	struct fleet_question q = fleet_question_default(f);
	struct fleet_silences s;

	if (to)
		q.window = (struct fleet_span){from * MINUTE, to * MINUTE};
	assert_int_equal(fleet_silence_find(&q, to > 0, &s), 0);
	return s;
}

static void a_server_without_rows_is_silent(void **state)
{
	struct fleet *f = make(60, 80, false);
	struct fleet_silences s = find(f, 60, 70), none = find(f, 20, 30), any = find(f, 0, 0);

	assert_int_equal(s.list.n, 1);
	assert_int_equal(s.list.v[0].server, 1);
	assert_int_equal(s.list.v[0].counter, -1);
	assert_int_equal(s.list.v[0].since, 60 * MINUTE);
	assert_int_equal(s.list.v[0].until, 80 * MINUTE);
	assert_int_equal(none.list.n, 0);
	assert_int_equal(any.list.n, 1);
	VEC_FREE(s.list);
	VEC_FREE(any.list);
	release(f);
}

static void a_server_that_ended_is_silent_to_the_end(void **state)
{
	struct fleet *f = make(60, ROWS, false);
	struct fleet_silences s = find(f, 90, 100);

	assert_int_equal(s.list.n, 1);
	assert_int_equal(s.list.v[0].until, 0);
	VEC_FREE(s.list);
	release(f);
}

static void a_counter_that_is_missing_is_silent(void **state)
{
	struct fleet *f = make(60, 80, true);
	struct fleet_silences s = find(f, 60, 70);

	assert_int_equal(s.list.n, 1);
	assert_int_equal(s.list.v[0].server, 1);
	assert_int_equal(s.list.v[0].counter, fleet_find_counter(f, "latency_ms"));
	VEC_FREE(s.list);
	release(f);
}

/* The recording has a gap: no server is silent. */
static void what_is_missing_of_all_is_no_silence(void **state)
{
	int64_t times[60];
	double values[120] = {};
	struct fleet *f;
	struct fleet_silences s;

	for (int t = 0; t < 60; t++)
		times[t] = (t < 30 ? t : t + 40) * MINUTE;
	f = fleet_of(2, 60, times, values);
	s = find(f, 0, 0);
	assert_int_equal(s.list.n, 0);
	release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_without_rows_is_silent),
		cmocka_unit_test(a_server_that_ended_is_silent_to_the_end),
		cmocka_unit_test(a_counter_that_is_missing_is_silent),
		cmocka_unit_test(what_is_missing_of_all_is_no_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
