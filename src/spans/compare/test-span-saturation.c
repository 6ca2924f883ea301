/* Is a rise that of load? Requests before one server that works on one after another, distinguished by how many come and how fast it is. */
#include "spans/compare/span-saturation.h"

#include <math.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "lib/stat/sketch.h"
#include "spans/compare/span-change.h"
#include "spans/compare/span-sides.h"
#include "spans/forest/forest.h"

#define MINUTES 30

static uint32_t text(struct names *names, const char *word)
{
	return names_text(names, word, strlen(word));
}

/* 0 < x < 1, the same in each run. */
static double draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*state >> 33) + .5) / 0x1p31;
}

/* Requests of one side: `calm` to `busy` begin in a second, which swings, and each is work for `ms` on average. */
struct side {
	double minute; /* when it begins */
	double calm, busy, ms;
};

static void add_side(struct forest *f, enum span_side which, const struct side *s)
{
	const uint32_t none[FOREST_DIMENSIONS] = {};
	struct forest_group *g = forest_group(f, forest_bucket(f, none, text(f->names, "api GET")), span_side_set(f->names, which));
	uint64_t state = (uint64_t)which + 7;
	double at = 0, idle = 0;

	while (at < 60 * MINUTES) {
		double rate = s->calm + (s->busy - s->calm) * pow(sin(at * M_PI / 300), 4), end;
		struct sampled_request r = {.high = which, .low = (uint64_t)(at * 1e6) * 0x9e3779b97f4a7c15ull, .weight = SPAN_WEIGHT_ONE};

		end = fmax(at, idle) - log(draw(&state)) * s->ms / 1e3;
		r.start = (int64_t)((at + 60 * s->minute) * NS_PER_SEC);
		r.duration = (int64_t)((end - at) * NS_PER_SEC);
		idle = end;
		at -= log(draw(&state)) / rate;
		moments_add(&g->total, (uint64_t)r.duration, SPAN_WEIGHT_ONE);
		assert_int_equal(sketch_add(g->sketch, (uint64_t)r.duration, SPAN_WEIGHT_ONE), 0);
		assert_int_equal(forest_keep_request(f, g, &r), 0);
	}
}

static struct span_saturation saturation_of(struct side before, struct side after)
{
	struct names *names = names_new();
	const double seconds[2] = {60 * MINUTES, 60 * MINUTES};
	struct span_saturation ret;
	struct span_change c;
	struct forest f;

	assert_int_equal(forest_init(&f, names, NS_PER_SEC), 0);
	add_side(&f, SIDE_BASELINE, &before);
	add_side(&f, SIDE_CANDIDATE, &after);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(span_change(&f, 0, 0, &c), 0);
	assert_int_equal(span_saturation_find(&f, &c, seconds, &ret), 0);
	span_change_free(&c);
	forest_free(&f);
	names_free(names);
	return ret;
}

static void as_many_that_take_as_long_are_normal(void **state)
{
	assert_int_equal(saturation_of((struct side){0, 10, 10, 20}, (struct side){40, 10, 10, 20}).verdict, SATURATION_NORMAL);
}

static void more_that_take_as_long_as_so_many_did_before_are_load(void **state)
{
	struct span_saturation s = saturation_of((struct side){0, 5, 44, 20}, (struct side){40, 40, 40, 20});

	assert_int_equal(s.verdict, SATURATION_LOAD);
	assert_true(s.by_load > .5 && s.normal > .5);
	assert_true(s.rate[1] > 1.3 * s.rate[0] && s.rate[1] < s.most_before);
}

static void as_many_that_take_longer_are_not_load(void **state)
{
	struct span_saturation s = saturation_of((struct side){0, 5, 20, 20}, (struct side){40, 5, 20, 30});

	assert_int_equal(s.verdict, SATURATION_SLOWER);
	assert_true(s.by_load < .3 && s.normal < .8);
}

static void more_than_ever_before_can_be_compared_with_nothing(void **state)
{
	assert_int_equal(saturation_of((struct side){0, 20, 20, 20}, (struct side){40, 40, 40, 20}).verdict, SATURATION_BEYOND);
}

static void more_that_begin_than_end_are_a_queue_that_grows(void **state)
{
	struct span_saturation s = saturation_of((struct side){0, 10, 10, 20}, (struct side){40, 10, 10, 140});

	assert_int_equal(s.verdict, SATURATION_GROWING);
	assert_true(s.last > 2 * s.first);
}

static void sides_that_run_at_the_same_time_share_their_load(void **state)
{
	assert_int_equal(saturation_of((struct side){0, 10, 10, 20}, (struct side){2, 10, 10, 30}).verdict, SATURATION_UNCLEAR);
}

static void few_requests_say_nothing(void **state)
{
	assert_int_equal(saturation_of((struct side){0, .06, .06, 20}, (struct side){40, .06, .06, 60}).verdict, SATURATION_UNCLEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_that_take_as_long_are_normal),
		cmocka_unit_test(more_that_take_as_long_as_so_many_did_before_are_load),
		cmocka_unit_test(as_many_that_take_longer_are_not_load),
		cmocka_unit_test(more_than_ever_before_can_be_compared_with_nothing),
		cmocka_unit_test(more_that_begin_than_end_are_a_queue_that_grows),
		cmocka_unit_test(sides_that_run_at_the_same_time_share_their_load),
		cmocka_unit_test(few_requests_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
