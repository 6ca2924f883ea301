#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "machine/answer-inspect/judge-trial.h"

/* A trial of four phases let go and four held back, each of two samples and one that settles and must not
 * count. */
static void tell(struct trial *t, const double *free, const double *held, double use_free, double use_held)
{
	*t = (struct trial){.of = "cpu"};
	for (int i = 0; i < TRIAL_PHASES; i++) {
		bool is_held = i % 2;
		double waits = is_held ? held[i / 2] : free[i / 2];
		struct trial_sample s = {
			.phase = i, .held = is_held, .late = NAN, .use = is_held ? use_held : use_free};

		t->phases[i].held = is_held;
		for (int k = 0; k < 3; k++) {
			s.settling = k == 0;
			s.waits = k == 0 ? 99 : k == 1 ? waits - 0.01 : waits + 0.01;
			assert_int_equal(VEC_PUSH(t->samples, s), 0);
		}
	}
}

static enum trial_verdict judge(const double *free, const double *held, double use_free, double use_held,
				struct trial *ret)
{
	tell(ret, free, held, use_free, use_held);
	assert_int_equal(judge_trial(ret), 0);
	return ret->verdict;
}

static void who_makes_others_wait_is_confirmed(void **state)
{
	struct trial t;

	assert_int_equal(judge((double[]){.6, .5, .55, .7}, (double[]){.1, .05, .1, .2}, 1, 0.01, &t),
			 TRIAL_YES);
	assert_true(fabs(t.p - 1.0 / 70) < 1e-12);
	assert_true(fabs(t.waits_free - 0.5875) < 1e-9 && fabs(t.waits_held - 0.1125) < 1e-9);
	/* the 16 differences, sorted: .3 .35 .4 .4 .4 .45 .45 .45 .5 .5 .5 .5 .55 .6 .6 .65: the median is
	 * .475 */
	assert_true(fabs(t.effect - 0.475) < 1e-9 && fabs(t.low - 0.35) < 1e-9 && fabs(t.high - 0.6) < 1e-9);
	assert_true(t.bound && isnan(t.late_free));
	assert_null(t.reason);
	trial_free(&t);
}

static void who_makes_no_difference_is_not_it(void **state)
{
	struct trial t;

	assert_int_equal(judge((double[]){.6, .62, .61, .59}, (double[]){.61, .6, .59, .62}, 1, 0.01, &t),
			 TRIAL_NO);
	trial_free(&t);
	/* a difference that is always there, and small: not the cause either */
	assert_int_equal(judge((double[]){.6, .62, .61, .63}, (double[]){.58, .57, .56, .58}, 1, 0.01, &t),
			 TRIAL_NO);
	assert_true(fabs(t.p - 1.0 / 70) < 1e-12);
	trial_free(&t);
	/* holding it back makes it worse: others waited for its work */
	assert_int_equal(judge((double[]){.2, .2, .21, .2}, (double[]){.6, .7, .6, .5}, 1, 0.01, &t),
			 TRIAL_NO);
	trial_free(&t);
}

static void what_cannot_be_told_is_not_told(void **state)
{
	struct trial t;

	assert_int_equal(judge((double[]){.6, .1, .9, .3}, (double[]){.5, .2, .1, .3}, 1, 0.01, &t),
			 TRIAL_UNCLEAR); /* noise */
	assert_non_null(strstr(t.reason, "varies"));
	trial_free(&t);
	assert_int_equal(judge((double[]){.6, .6, .6, .6}, (double[]){.6, .6, .6, .6}, 1, 0.9, &t),
			 TRIAL_UNCLEAR);
	assert_non_null(strstr(t.reason, "does not bind"));
	trial_free(&t);
	assert_int_equal(judge((double[]){.01, .01, .012, .01}, (double[]){.001, .001, .001, .001}, 1, 0, &t),
			 TRIAL_UNCLEAR);
	assert_non_null(strstr(t.reason, "no program waits"));
	trial_free(&t);
}

/* Who uses next to nothing cannot use less, and is as good as bound. */
static void who_does_nothing_is_not_it(void **state)
{
	struct trial t;

	assert_int_equal(judge((double[]){.6, .6, .6, .6}, (double[]){.6, .6, .6, .6}, 0.002, 0.003, &t),
			 TRIAL_NO);
	trial_free(&t);
}

static void a_phase_without_a_sample_is_no_trial(void **state)
{
	struct trial t;

	tell(&t, (double[]){.6, .6, .6, .6}, (double[]){.6, .6, .6, .6}, 1, 0);
	t.samples.n -= 3;
	assert_int_equal(judge_trial(&t), -ENODATA);
	trial_free(&t);
}

RUN_TESTS(cmocka_unit_test(who_makes_others_wait_is_confirmed),
	  cmocka_unit_test(who_makes_no_difference_is_not_it),
	  cmocka_unit_test(what_cannot_be_told_is_not_told), cmocka_unit_test(who_does_nothing_is_not_it),
	  cmocka_unit_test(a_phase_without_a_sample_is_no_trial))
