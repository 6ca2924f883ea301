#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-analysis.h"
#include "fleet/analysis/fleet-peers.h"
#include "fleet/analysis/fleet-rules.h"
#include "fleet/analysis/fleet-views.h"
#include "fleet/analysis/test-fleet.h"
#include "fleet/model/intake.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)

#define assert_close(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* Values of one counter: servers x times. */
static struct fleet *small(size_t servers, size_t n, const double *values)
{
	_cleanup_free_ int64_t *times = calloc(n, sizeof(*times));

	for (size_t t = 0; t < n; t++)
		times[t] = (int64_t)t * MINUTE;
	return fleet_of(servers, n, times, values);
}

static struct fleet_findings analyse(const char *name, const struct fleet_question *q)
{
	struct fleet_findings found = {};

	assert_int_equal(fleet_analysis_find(name)->run(q, &found), 0);
	return found;
}

static const struct fleet_finding *of_server(const struct fleet_findings *f, int server)
{
	for (size_t i = 0; i < f->list.n; i++)
		if (f->list.v[i].server == server)
			return &f->list.v[i];
	return NULL;
}

/* Equation 1: all values 1 2 3 | 2 3 4 | 9 9 9: median 3, mean 42/9, sd sqrt(mean of squares - mean^2). */
static void equation_1_by_hand(void **state)
{
	struct fleet *f = small(3, 3, (const double[]){1, 2, 3, 2, 3, 4, 9, 9, 9});
	struct fleet_question q = fleet_question_default(f);
	double mean = 42 / 9.0, sd = sqrt((1 + 4 + 9 + 4 + 9 + 16 + 3 * 81) / 9.0 - mean * mean);
	struct fleet_findings found = analyse("within", &q);

	assert_int_equal(found.list.n, 3);
	assert_close(of_server(&found, 0)->score, 1 / sd, 1e-6);
	assert_close(of_server(&found, 1)->score, 0, 1e-6);
	assert_close(of_server(&found, 2)->score, 6 / sd, 1e-6);
	fleet_findings_free(&found);
	q.statistic = FLEET_AVERAGE;
	found = analyse("within", &q);
	assert_close(of_server(&found, 2)->score, (9 - mean) / sd, 1e-6);
	fleet_findings_free(&found);
	q.statistic = FLEET_MEDIAN;
	q.by_time = true; /* N = floor((tf - ts) / d) = 2 points: medians 2 and 3 */
	found = analyse("within", &q);
	assert_int_equal(found.list.n, 2);
	assert_close(found.list.v[0].score, 1 / sd, 1e-6);
	assert_int_equal(found.list.v[0].time, 0);
	fleet_findings_free(&found);
	release(f);
}

/* Equation 2: reference 1 2 3 4 (median 2.5, sd sqrt(1.25)), dataset 5 6 7 8 (median 6.5). */
static void equation_2_by_hand(void **state)
{
	struct fleet *a = small(1, 4, (const double[]){1, 2, 3, 4}), *b = small(2, 2, (const double[]){5, 6, 7, 8});
	struct fleet_question q = fleet_question_default(b);
	struct fleet_findings found;

	q.reference = a;
	found = analyse("between", &q);
	assert_int_equal(found.list.n, 1);
	assert_close(found.list.v[0].score, 4 / sqrt(1.25), 1e-6);
	fleet_findings_free(&found);
	release(a);
	release(b);
}

/* The median of two servers is the mean of both: what follows that moves with the fleet exactly. */
static void an_even_number_of_servers_has_a_median(void **state)
{
	struct intake *in = intake_new();
	int x = intake_counter(in, "x", &gauge), y = intake_counter(in, "y", &gauge), a = intake_server(in, "a"), b = intake_server(in, "b");
	struct fleet_findings found;
	struct fleet_question q;
	struct fleet *f;
	bool seen = false;

	for (int t = 0; t < 100; t++) {
		const int other = t * 37 % 50;

		assert_int_equal(intake_put(in, a, x, t * MINUTE, t), 0);
		assert_int_equal(intake_put(in, b, x, t * MINUTE, 2 * other), 0);
		assert_int_equal(intake_put(in, a, y, t * MINUTE, t / 2.0 + other), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = fleet_question_default(f);
	q.counter = fleet_find_counter(f, "x");
	found = analyse("correlation", &q);
	for (size_t i = 0; i < found.list.n; i++)
		if (found.list.v[i].counter == fleet_find_counter(f, "y")) {
			seen = true;
			assert_close(found.list.v[i].r, 1, 1e-6);
		}
	assert_true(seen);
	fleet_findings_free(&found);
	release(f);
}

/* Servers that start and end apart: [ts, tf] from the latest start to the earliest end; a late joiner is left out. */
static void time_correlation_by_index(void **state)
{
	static const int begin[] = {0, 2, 1, 0, 60}, end[] = {100, 99, 98, 100, 100};
	struct intake *in = intake_new();
	int counter = intake_counter(in, "c", &gauge);
	struct fleet_alignment a;
	struct fleet *f;

	for (int s = 0; s < 5; s++) {
		char name[16];
		int server;

		snprintf(name, sizeof(name), "s%d", s);
		server = intake_server(in, name);
		for (int t = begin[s]; t <= end[s]; t++)
			if (!(s == 3 && t == 50))
				assert_int_equal(intake_put(in, server, counter, t * MINUTE + s * NS_PER_SEC, t), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	assert_int_equal(fleet_align(f, (struct fleet_span){INT64_MIN, INT64_MAX}, FLEET_BY_INDEX, &a), 0);
	assert_int_equal(a.ts, 2 * MINUTE + NS_PER_SEC);
	assert_int_equal(a.tf, 98 * MINUTE + 2 * NS_PER_SEC);
	assert_int_equal(a.n_most, 96);
	assert_int_equal(a.n, 95); /* s3 lacks a row */
	assert_true(a.servers.v[4].late && a.servers.v[4].used); /* it shortens nothing, and has its rows where it was there */
	assert_int_equal(fleet_aligned_partly(&a), 1);
	assert_int_equal(fleet_aligned_row(&a, 4, 40), FLEET_NO_ROW);
	assert_int_equal(fleet_aligned_row(&a, 4, 60), 2);
	assert_int_equal(a.servers.v[3].missing, 1);
	fleet_alignment_free(&a);
	/* the paper knows no late joiner: all that are there count */
	assert_int_equal(fleet_align(f, (struct fleet_span){INT64_MIN, INT64_MAX}, FLEET_LITERALLY, &a), 0);
	assert_int_equal(a.ts, begin[4] * MINUTE + 4 * NS_PER_SEC);
	assert_int_equal(a.tf, 98 * MINUTE + 2 * NS_PER_SEC);
	assert_int_equal(a.n_most, 98 - begin[4] - 1);
	for (size_t s = 0; s < 5; s++)
		assert_int_equal(f->servers.v[s].time[fleet_aligned_row(&a, s, 0)] >= a.ts, 1);
	fleet_alignment_free(&a);
	assert_int_equal(fleet_align(f, (struct fleet_span){INT64_MIN, INT64_MAX}, FLEET_BY_TIME, &a), 0);
	assert_int_equal(fleet_aligned_row(&a, 3, 48), FLEET_NO_ROW);
	fleet_alignment_free(&a);
	release(f);
}

/* A clock that drifts is not a reason to pair those by index that only leave rows out. */
static void only_a_drifting_clock_is_followed_by_index(void **state)
{
	struct intake *in = intake_new();
	int counter = intake_counter(in, "c", &gauge), server[5];
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	struct fleet_alignment a;
	struct fleet *f;

	server[0] = intake_server(in, "right");
	server[1] = intake_server(in, "half the rows");
	server[2] = intake_server(in, "fast");
	server[3] = intake_server(in, "right, too");
	server[4] = intake_server(in, "fast, a third of the rows");
	for (int t = 0; t < 200; t++) {
		assert_int_equal(t % 3 ? 0 : intake_put(in, server[4], counter, t * MINUTE + t * NS_PER_SEC, t), 0);
		assert_int_equal(intake_put(in, server[0], counter, t * MINUTE, t), 0);
		assert_int_equal(intake_put(in, server[3], counter, t * MINUTE, t), 0);
		assert_int_equal(t % 2 ? 0 : intake_put(in, server[1], counter, t * MINUTE + 5 * NS_PER_SEC, t), 0);
		assert_int_equal(intake_put(in, server[2], counter, t * MINUTE + t * NS_PER_SEC, t), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	assert_int_equal(fleet_align_best(f, all, &a), 0);
	assert_true(a.n > 190);
	for (uint32_t k = 0; k < a.n; k++)
		for (size_t s = 0; s < 4; s++) {
			uint32_t row = fleet_aligned_row(&a, s, k);

			/* every value is its moment's number */
			if (s == 1 && k % 2)
				assert_int_equal(row, FLEET_NO_ROW);
			else if (row != FLEET_NO_ROW)
				assert_true(f->servers.v[s].column[counter][row] == (float)k);
		}
	assert_true(a.servers.v[1].missing >= 95 && a.servers.v[1].drift == 0);
	assert_int_equal(a.servers.v[2].missing, 0);
	assert_int_equal(a.servers.v[2].drift, 199 * NS_PER_SEC);
	assert_int_equal(a.servers.v[4].drift, 198 * NS_PER_SEC); /* rows that it leaves out do not hide it */
	fleet_alignment_free(&a);
	release(f);
}

/* Six of one course, a row each step; the first is there for the last quarter only. */
static struct fleet *six_peers(int64_t step, int64_t misdated)
{
	struct intake *in = intake_new();
	int counter = intake_counter(in, "c", &gauge);
	struct fleet *f;

	for (int s = 0; s < 6; s++) {
		char name[16];
		int server;

		snprintf(name, sizeof(name), "web-%d", s);
		server = intake_server(in, name);
		for (int t = s ? 0 : 300; t < 400; t++)
			assert_int_equal(intake_put(in, server, counter, t * step, (s + 1) * (100 + t % 50)), 0);
		if (misdated && s == 3)
			assert_int_equal(intake_put(in, server, counter, misdated, 1), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

/* The others' common course is found; *f is released. */
static void assert_common_course(struct fleet *f, int64_t step)
{
	struct fleet_question q = fleet_question_default(f);
	struct fleet_peers peers;
	struct fleet_relative relative;
	_cleanup_(select_room_free) struct select_room room = {};
	struct fleet_baseline_rows usual[6];

	q.window = (struct fleet_span){390 * step, 400 * step};
	assert_int_equal(fleet_peers_find(f, &peers), 0);
	for (size_t s = 0; s < 6; s++)
		assert_int_equal(fleet_baseline_rows(&f->servers.v[s], &q, 10, &usual[s]), 0);
	assert_int_equal(fleet_relative_find(f, &peers, usual, 0, &room, &relative), 0);
	for (size_t s = 1; s < 6; s++)
		for (uint32_t row = 0; row < 400; row++)
			assert_true(fabs((double)relative.v[s][row]) < .01);
	fleet_relative_free(&relative);
	for (size_t s = 0; s < 6; s++)
		VEC_FREE(usual[s].ranges);
	fleet_peers_free(&peers);
	release(f);
}

static void peers_are_compared_when_the_first_of_them_is_not_there(void **state)
{
	assert_common_course(six_peers(MINUTE, 0), MINUTE);
}

/* A hundred years of milliseconds have no place in memory. */
static void a_row_of_a_wrong_year_takes_no_memory(void **state)
{
	assert_common_course(six_peers(NS_PER_MS, 100LL * 365 * 24 * 60 * MINUTE), NS_PER_MS);
}

/* --- the default comparison --- */

struct made {
	size_t servers, counters, times;
	double unit;	  /* of counter 0 */
	bool reversed;	  /* servers and counters */
	bool constant;	  /* one more counter that never changes */
	bool duplicate;	  /* server 0 once more */
};

static double noise(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 6; i++) {
		*state = *state * 6364136223846793005ull + 1442695040888963407ull;
		sum += (double)(*state >> 11) / (double)(1ull << 53);
	}
	return sum - 3;
}

/* A fleet with a daily cycle in which server 2's counters 0 and 1 are 30 % higher in rows 150..160. */
static struct fleet *make(const struct made *m)
{
	struct intake *in = intake_new();
	struct fleet *f;

	for (size_t i = 0; i < m->servers + m->duplicate; i++) {
		size_t s = i == m->servers ? 0 : m->reversed ? m->servers - 1 - i : i;
		char name[32];
		int server;

		snprintf(name, sizeof(name), i == m->servers ? "copy" : "host%02zu", s);
		server = intake_server(in, name);
		for (size_t k = 0; k < m->counters; k++) {
			size_t c = m->reversed ? m->counters - 1 - k : k;
			uint64_t state = s * 1000003 + c * 7919 + 1;
			int counter;

			snprintf(name, sizeof(name), "c%02zu", c);
			counter = intake_counter(in, name, &gauge);
			for (size_t t = 0; t < m->times; t++) {
				double x = 100 + 10 * sin((double)t / 30) + noise(&state);

				if (s == 2 && c < 2 && t >= 150 && t < 160)
					x *= 1.3;
				assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE, c == 0 ? x * m->unit : x), 0);
			}
		}
		for (size_t t = 0; m->constant && t < m->times; t++)
			assert_int_equal(intake_put(in, server, intake_counter(in, "constant", &gauge), (int64_t)t * MINUTE, 7), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static struct fleet_question about_the_fault(const struct fleet *f)
{
	struct fleet_question q = fleet_question_default(f);

	q.window = (struct fleet_span){150 * MINUTE, 160 * MINUTE};
	return q;
}

static const struct made plain = {.servers = 6, .counters = 5, .times = 300, .unit = 1};

static void score_of(const struct fleet *f, const char *server, const char *counter, double *ret)
{
	struct fleet_question q = about_the_fault(f);
	struct fleet_findings found = analyse("deviation", &q);
	int s = fleet_find_server(f, server), c = fleet_find_counter(f, counter);

	*ret = NAN;
	for (size_t i = 0; i < found.list.n; i++)
		if (found.list.v[i].server == s && found.list.v[i].counter == c)
			*ret = found.list.v[i].score;
	fleet_findings_free(&found);
}

static void the_fault_is_found_first(void **state)
{
	struct fleet *f = make(&plain);
	struct fleet_question q = about_the_fault(f);
	struct fleet_findings found = analyse("deviation", &q);

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(found.list.v[i].server, 2);
		assert_true(found.list.v[i].counter < 2);
		assert_true(found.list.v[i].flags & FLEET_HIGHER);
		assert_true(found.list.v[i].flags & FLEET_PEER); /* the cycle is all servers': peers tell better */
		assert_int_equal(found.list.v[i].since, 150 * MINUTE);
	}
	assert_true(found.list.v[2].score < found.list.v[1].score / 2);
	fleet_findings_free(&found);
	found = analyse("alarm", &q);
	assert_int_equal(found.list.v[0].server, 2);
	assert_true(found.list.v[0].q <= 0.05);
	fleet_findings_free(&found);
	q.server = 2;
	q.counter = 0;
	found = analyse("explain", &q);
	assert_int_equal(found.list.v[0].server, 2);
	assert_int_equal(found.list.v[0].counter, 1);
	fleet_findings_free(&found);
	release(f);
}

/* Both counters go 10 far, a step of 1 a row; the second one goes as far to the other side. */
static void a_swing_to_both_sides_counts_more_than_one(void **state)
{
	struct intake *in = intake_new();
	int server = intake_server(in, "a"), one = intake_counter(in, "one", &gauge), both = intake_counter(in, "both", &gauge);
	uint64_t noise_state = 1;
	struct fleet_question q;
	struct fleet_findings found;
	struct fleet *f;

	for (int t = 0; t < 400; t++) {
		double x = 100 + noise(&noise_state) / 10, to_one_side = t < 200 || t >= 240 ? 0 : 10 - abs(t % 20 - 10);

		assert_int_equal(intake_put(in, server, one, t * MINUTE, x + to_one_side), 0);
		assert_int_equal(intake_put(in, server, both, t * MINUTE, x + (t < 220 ? to_one_side : -to_one_side)), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = fleet_question_default(f);
	q.window = (struct fleet_span){200 * MINUTE, 240 * MINUTE};
	found = analyse("deviation", &q);
	assert_int_equal(found.list.n, 2);
	for (size_t i = 0; i < 2; i++)
		if (found.list.v[i].counter == fleet_find_counter(f, "both"))
			assert_close(found.list.v[i].range / found.list.v[1 - i].range, 2, 0.1);
	fleet_findings_free(&found);
	release(f);
}

/* All servers of a role are four times as slow, one three times: it is slow, and not fast because the others are slower. */
static void an_ill_server_is_not_well_next_to_worse_ones(void **state)
{
	struct intake *in = intake_new();
	int counter = intake_counter(in, "latency_ms", &gauge);
	struct fleet_question q;
	struct fleet_findings found;
	struct fleet *f;

	for (int s = 0; s < 6; s++) {
		char name[16];
		int server;
		uint64_t noise_state = (uint64_t)s + 1;

		snprintf(name, sizeof(name), "web-%d", s);
		server = intake_server(in, name);
		for (int t = 0; t < 300; t++) {
			double x = 100 + 20 * sin(t / 30.0) + noise(&noise_state);

			assert_int_equal(intake_put(in, server, counter, t * MINUTE, t >= 150 && t < 160 ? x * (s == 2 ? 3 : 4) : x), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = about_the_fault(f);
	found = analyse("deviation", &q);
	assert_int_equal(of_server(&found, 2)->flags & (FLEET_HIGHER | FLEET_LOWER | FLEET_PEER), FLEET_HIGHER);
	fleet_findings_free(&found);
	release(f);
}

static void scores_do_not_depend_on_what_they_should_not(void **state)
{
	static const struct made same[] = {
		{.servers = 6, .counters = 5, .times = 300, .unit = 1048576},
		{.servers = 6, .counters = 5, .times = 300, .unit = 1, .reversed = true},
		{.servers = 6, .counters = 5, .times = 300, .unit = 1, .constant = true},
	};
	static const char *const counters[] = {"c00", "c01", "c03"};
	struct fleet *f = make(&plain);

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct fleet *other = make(&same[i]);

		for (size_t c = 0; c < 3; c++) {
			double a, b;

			score_of(f, "host02", counters[c], &a);
			score_of(other, "host02", counters[c], &b);
			assert_close(a, b, 1e-3 * a);
		}
		release(other);
	}
	release(f);
}

/* A server that is there twice moves the peers' median a little, and no rank. */
static void a_duplicated_server_changes_no_verdict(void **state)
{
	struct made twice = plain;
	struct fleet *f;
	struct fleet_question q;
	struct fleet_findings found;

	twice.duplicate = true;
	f = make(&twice);
	q = about_the_fault(f);
	found = analyse("deviation", &q);
	assert_int_equal(found.list.v[0].server, 2);
	assert_int_equal(found.list.v[1].server, 2);
	fleet_findings_free(&found);
	release(f);
}

static void a_constant_that_moves_is_flagged_not_infinite(void **state)
{
	double values[100];
	struct fleet *f;
	struct fleet_question q;
	struct fleet_findings found;

	for (int i = 0; i < 100; i++)
		values[i] = i >= 90 && i < 95 ? 1 : 0;
	f = small(1, 100, values);
	q = fleet_question_default(f);
	q.window = (struct fleet_span){90 * MINUTE, 95 * MINUTE};
	found = analyse("deviation", &q);
	assert_int_equal(found.list.n, 1);
	assert_true(found.list.v[0].flags & FLEET_LEFT_ONLY_VALUE);
	assert_true(isfinite(found.list.v[0].score));
	fleet_findings_free(&found);
	release(f);
}

/* --- threshold rules --- */

static size_t breaking(const struct fleet *f, struct fleet_threshold rule)
{
	struct fleet_thresholds rules = {};
	struct fleet_findings found = {};
	const char *missing;
	size_t n;

	rule.counter = (char *)"c";
	assert_int_equal(VEC_PUSH(rules.list, rule), 0);
	assert_int_equal(fleet_check(f, (struct fleet_span){INT64_MIN, INT64_MAX}, &rules, SIZE_MAX, &found, &missing), 0);
	n = found.list.n;
	fleet_findings_free(&found);
	VEC_FREE(rules.list);
	return n;
}

/* How often a rule of the readable grammar is broken; with the place of the first, the farthest beyond its threshold. */
static size_t breaking_text(const struct fleet *f, const char *text, struct fleet_finding *ret_first)
{
	struct fleet_thresholds thresholds = {};
	struct fleet_findings found = {};
	struct rules rules = {};
	_cleanup_free_ char *error = NULL;
	const char *missing;
	size_t n;

	assert_int_equal(rules_parse(text, "rule", &rules, &error), 0);
	assert_int_equal(fleet_thresholds_of(&rules, "rule", &thresholds, &error), 0);
	assert_int_equal(fleet_thresholds_rules(&thresholds), 1);
	assert_int_equal(fleet_check(f, (struct fleet_span){INT64_MIN, INT64_MAX}, &thresholds, SIZE_MAX, &found, &missing), 0);
	n = found.list.n;
	*ret_first = n ? found.list.v[0] : fleet_finding_empty;
	fleet_findings_free(&found);
	fleet_thresholds_free(&thresholds);
	rules_free(&rules);
	return n;
}

/* The values are 1 2 3, 2 3 4 and 9 9 90 of three servers. */
static void comparisons_hold_together(void **state)
{
	static const struct {
		const char *rule;
		size_t broken;
		int server;
	} cases[] = {
		{"when any c in detail view > 2 and any c in detail view < 9 report", 3, 1},
		{"when any c in detail view < 2 or any c in detail view > 9 report", 2, 2},
		{"when any c in detail view > 3 or any c in detail view > 2 report", 6, 2}, /* a place is reported once */
		{"when not any c in detail view <= 3 report", 4, 2},
		{"when not (any c in detail view > 2 or any c in detail view < 2) report", 2, -2},
		{"when average c in server view < 5 and any c in detail view > 3 report", 1, 1},
		{"when average c in time view > 30 and any c in detail view > 3 report", 2, 2}, /* the third moment: 3 4 90 */
		{"when average c in server view > 5 and average c in time view > 30 report", 1, 2},
		{"when not (average c in server view > 5 or average c in server view < 2.5) report", 1, 1},
		{"when (any c in detail view > 3 and any c in detail view < 9) or any c in detail view = 90 report", 2, 1},
		{"when every c in server view > 1 and not every c in server view > 2 report", 1, 1},
		{"when any c in detail view > 3 and any c in detail view < 3 report", 0, -2},
	};
	struct fleet *f = small(3, 3, (const double[]){1, 2, 3, 2, 3, 4, 9, 9, 90});

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fleet_finding first;

		assert_int_equal(breaking_text(f, cases[i].rule, &first), cases[i].broken);
		if (cases[i].server >= 0)
			assert_int_equal(first.server, cases[i].server);
	}
	release(f);
}

static void thresholds_in_all_views(void **state)
{
	struct fleet *f = small(3, 3, (const double[]){1, 2, 3, 2, 3, 4, 9, 9, 90});
	static const struct {
		struct fleet_threshold rule;
		size_t broken;
	} cases[] = {
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_GREATER, .expected = 3}, 4},
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_LESS_EQUAL, .expected = 2}, 3},
		{{.view = FLEET_SERVER_VIEW, .statistic = OF_AVERAGE, .operator = IS_GREATER, .expected = 2}, 2},
		{{.view = FLEET_SERVER_VIEW, .statistic = OF_MEDIAN, .operator = IS_EQUAL, .expected = 9}, 1},
		{{.view = FLEET_SERVER_VIEW, .statistic = OF_ANY, .operator = IS_LESS, .expected = 2}, 1},
		{{.view = FLEET_SERVER_VIEW, .statistic = OF_QUANTILE, .quantile = 1, .operator = IS_GREATER_EQUAL, .expected = 4}, 2},
		{{.view = FLEET_TIME_VIEW, .statistic = OF_AVERAGE, .operator = IS_GREATER, .expected = 30}, 1},
		{{.view = FLEET_TIME_VIEW, .statistic = OF_MEDIAN, .operator = IS_UNEQUAL, .expected = 3}, 2},
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_GREATER, .expected = 200, .percent_of = true, .of = OF_MEDIAN}, 3},
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .z_score = true, .operator = IS_GREATER, .expected = 2}, 1},
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_GREATER, .expected = 2.5, .lasting = MINUTE}, 5},
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_GREATER, .expected = 2.5, .lasting = 2 * MINUTE}, 3},
		{{.view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_GREATER, .expected = 2.5, .lasting = 3 * MINUTE}, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(breaking(f, cases[i].rule), cases[i].broken);
	release(f);
}

/* The worst value lies at the end of the last server. */
static void the_worst_of_a_rule_are_kept_not_the_first(void **state)
{
	double values[3 * 50];
	struct fleet_thresholds rules = {};
	struct fleet_threshold rule = {.counter = "c", .view = FLEET_DETAIL_VIEW, .statistic = OF_ANY, .operator = IS_GREATER, .expected = 10};
	struct fleet_findings found = {};
	const char *missing;
	struct fleet *f;

	for (int i = 0; i < 150; i++)
		values[i] = 11 + (i * 37) % 150;
	f = small(3, 50, values);
	assert_int_equal(VEC_PUSH(rules.list, rule), 0);
	assert_int_equal(fleet_check(f, (struct fleet_span){INT64_MIN, INT64_MAX}, &rules, 5, &found, &missing), 0);
	assert_int_equal(found.list.n, 5);
	assert_int_equal(found.left_out, 145);
	for (size_t i = 0; i < 5; i++)
		assert_close(found.list.v[i].observed, 160.0 - (double)i, 1e-3);
	VEC_FREE(rules.list);
	fleet_findings_free(&found);
	release(f);
}

/* A server that is there for the last third breaks a rule of the time view then. */
static void a_late_joiner_counts_where_it_has_rows(void **state)
{
	struct intake *in = intake_new();
	int counter = intake_counter(in, "c", &gauge);
	struct fleet_thresholds rules = {};
	struct fleet_threshold rule = {.counter = "c", .view = FLEET_TIME_VIEW, .statistic = OF_MAXIMUM, .operator = IS_GREATER, .expected = 50};
	struct fleet_findings found = {};
	const char *missing;
	struct fleet *f;

	for (int s = 0; s < 4; s++) {
		char name[16];
		int server;

		snprintf(name, sizeof(name), "s%d", s);
		server = intake_server(in, name);
		for (int t = s == 3 ? 60 : 0; t < 90; t++)
			assert_int_equal(intake_put(in, server, counter, t * MINUTE, s == 3 && t == 70 ? 99 : t % 7), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	assert_int_equal(VEC_PUSH(rules.list, rule), 0);
	assert_int_equal(fleet_check(f, (struct fleet_span){INT64_MIN, INT64_MAX}, &rules, 5, &found, &missing), 0);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].time, 70 * MINUTE);
	assert_non_null(found.remark);
	VEC_FREE(rules.list);
	fleet_findings_free(&found);
	release(f);
}

RUN_TESTS(cmocka_unit_test(the_worst_of_a_rule_are_kept_not_the_first), cmocka_unit_test(a_late_joiner_counts_where_it_has_rows),
	  cmocka_unit_test(equation_1_by_hand), cmocka_unit_test(equation_2_by_hand), cmocka_unit_test(an_even_number_of_servers_has_a_median), cmocka_unit_test(time_correlation_by_index), cmocka_unit_test(only_a_drifting_clock_is_followed_by_index),
	  cmocka_unit_test(peers_are_compared_when_the_first_of_them_is_not_there),
	  cmocka_unit_test(a_row_of_a_wrong_year_takes_no_memory),
	  cmocka_unit_test(a_swing_to_both_sides_counts_more_than_one), cmocka_unit_test(an_ill_server_is_not_well_next_to_worse_ones),
	  cmocka_unit_test(the_fault_is_found_first), cmocka_unit_test(scores_do_not_depend_on_what_they_should_not),
	  cmocka_unit_test(a_duplicated_server_changes_no_verdict), cmocka_unit_test(a_constant_that_moves_is_flagged_not_infinite),
	  cmocka_unit_test(thresholds_in_all_views), cmocka_unit_test(comparisons_hold_together))
