#include "lib/data/test.h"

#include <stdlib.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/model/intake.h"
#include "fleet/watch/lasting-faults.h"
#include "lib/data/clock.h"

#define BEGIN  (1795183200 * NS_PER_SEC)
#define EVERY  (10 * NS_PER_SEC)
#define LOOK   (60 * NS_PER_SEC)
#define WINDOW (1800 * NS_PER_SEC)

/* A value of a noise that is the same at each call. */
static double noise(int server, int64_t row)
{
	return 100 + (double)(((uint64_t)row * 2654435761u + (uint64_t)server * 40503u) >> 7 & 15);
}

static struct fleet *make(int64_t from, int64_t to, int64_t ill_from, int64_t ill_to)
{
	struct intake *in = intake_new();
	struct fleet *f;

	for (int server = 0; server < 3; server++) {
		static const char *const names[] = {"a", "b", "c"};
		int s = intake_server(in, names[server]), c = intake_counter(in, "latency", NULL);

		for (int64_t t = (from - BEGIN) / EVERY; BEGIN + t * EVERY < to; t++) {
			int64_t time = BEGIN + t * EVERY;
			bool ill = server == 1 && time >= ill_from && time < ill_to;

			assert_int_equal(intake_put(in, s, c, time, noise(server, t) * (ill ? 2 : 1)), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

struct play {
	struct lasting_faults faults;
	int64_t longest; /* that was kept */
};

/* One round at a moment: the score of server b. */
static double play_round(struct play *p, int64_t now, int64_t ill_from, int64_t ill_to)
{
	int64_t keep = lasting_faults_keep(&p->faults, now, WINDOW);
	struct fleet *f = make(keep > BEGIN ? keep : BEGIN, now, ill_from, ill_to);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};
	double score = 0;

	p->longest = now - keep > p->longest ? now - keep : p->longest;
	q.window = (struct fleet_span){now - LOOK, now};
	q.usual = (struct fleet_span){keep, now - LOOK};
	q.left_out = p->faults.spans.v;
	q.n_left_out = p->faults.spans.n;
	if (fleet_analysis_find("deviation")->run(&q, &found) == 0)
		assert_int_equal(lasting_faults_round(&p->faults, f, &found, q.window), 0);
	for (size_t i = 0; i < found.list.n; i++)
		if (found.list.v[i].server == 1)
			score = found.list.v[i].score;
	fleet_findings_free(&found);
	fleet_free(f);
	free(f);
	return score;
}

/* Two hours of a fault, with a baseline of half an hour. */
static void a_fault_is_far_from_normal_as_long_as_it_lasts(void **state)
{
	struct play p = {};
	const int64_t ill = BEGIN + 2 * WINDOW, over = ill + 4 * WINDOW;

	for (int64_t now = BEGIN + WINDOW; now < over + 2 * WINDOW; now += EVERY) {
		double score = play_round(&p, now, ill, over);

		if (now >= ill + LOOK && now <= over)
			assert_true(score > 6);
		if (now < ill || now > over + LOOK + EVERY)
			assert_true(score < 6);
	}
	assert_false(p.faults.lasts);
	assert_int_equal(p.faults.spans.n, 0); /* its end is long ago */
	assert_true(p.longest < 6 * WINDOW);
	lasting_faults_free(&p.faults);
}

/* A level that has lasted for twelve times the baseline is normal: memory has a bound. */
static void a_new_level_becomes_normal_in_the_end(void **state)
{
	struct play p = {};
	const int64_t ill = BEGIN + 2 * WINDOW;
	double score = 0;

	for (int64_t now = BEGIN + WINDOW; now < ill + 16 * WINDOW; now += LOOK)
		score = play_round(&p, now, ill, INT64_MAX);
	assert_true(score < 6);
	assert_true(p.longest <= (LASTING_WINDOWS + 1) * WINDOW);
	lasting_faults_free(&p.faults);
}

RUN_TESTS(cmocka_unit_test(a_fault_is_far_from_normal_as_long_as_it_lasts), cmocka_unit_test(a_new_level_becomes_normal_in_the_end))
