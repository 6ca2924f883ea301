/* What is short, and who is named, from what a look has found: the ranking is put together by hand. */
#include "lib/data/test.h"

#include <math.h>

#include "machine/answer-why/verdict.h"
#include "machine/judge/method.h"

static struct subject *known(struct subject *s, char *program, uint32_t pid, uint32_t parent)
{
	*s = (struct subject){.program = program, .info = {.kind = ENTITY_PROCESS, .pid = pid, .parent = parent}};
	return s;
}

static struct answer answer_with(const struct suspect *suspects, size_t n)
{
	struct answer a = {.slow = true, .has_history = true, .culprit_is_named = n > 0, .ranking.method = "blame"};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(VEC_PUSH(a.ranking.suspects, suspects[i]), 0);
	return a;
}

/* A program that computes, while others waited so much on its account. */
static enum bottleneck short_of(double imposed, bool pressed, const struct pressure *pressure)
{
	struct subject who;
	struct suspect top = {.subject = known(&who, (char *)"/bin/hog|", 7, 1), .of = BOTTLENECK_CPU, .score = 0.06, .imposed = imposed};
	struct shortages there = {.any = pressed, .of[BOTTLENECK_DISK] = pressed};
	struct answer a = answer_with(&top, 1);
	enum bottleneck found;

	a.pressure = *pressure;
	verdict_choose_bottleneck(&a, pressed, &there);
	found = a.bottleneck;
	answer_free(&a);
	return found;
}

static void who_has_others_wait_is_not_slow_by_itself(void **state)
{
	const struct pressure calm = {}, of_disk = {.now[BOTTLENECK_DISK] = 0.5};

	assert_int_equal(short_of(0, false, &calm), BOTTLENECK_SELF);
	assert_int_equal(short_of(0.02, false, &calm), BOTTLENECK_SELF);
	assert_int_equal(short_of(0.3, false, &calm), BOTTLENECK_CPU);
	/* the disk is short as well, and it is not the disk that the first one takes */
	assert_int_equal(short_of(0, true, &of_disk), BOTTLENECK_DISK);
	assert_int_equal(short_of(0.3, true, &of_disk), BOTTLENECK_CPU);
}

static struct deviation risen(size_t feature, double observed)
{
	size_t n;

	return (struct deviation){.feature = &features_of(ENTITY_PROCESS, &n)[feature], .observed = observed, .usual = 0, .deviation = 10};
}

/* A program reads and computes, and others wait so much for a CPU and for the disk (s/s). */
static enum bottleneck others_wait(double cpu, double disk)
{
	struct subject reader, editor;
	struct suspect top = {.subject = known(&reader, (char *)"/bin/reader|", 7, 1), .of = BOTTLENECK_CPU, .score = 0.3, .imposed = 0.3};
	struct suspect victim = {.subject = known(&editor, (char *)"/bin/editor|", 8, 1)};
	struct shortages there = {.any = true, .of[BOTTLENECK_CPU] = true};
	struct answer a;
	enum bottleneck found;

	assert_int_equal(VEC_PUSH(top.features, risen(FEATURE_CPU_TIME, 4e8)) + VEC_PUSH(top.features, risen(FEATURE_IO_READ_BYTES, 1e8)), 0);
	assert_int_equal(VEC_PUSH(victim.features, risen(FEATURE_CPU_RUN_DELAY, 1e9 * cpu)) + VEC_PUSH(victim.features, risen(FEATURE_DELAY_BLOCK, 1e9 * disk)), 0);
	a = answer_with(&top, 1);
	assert_int_equal(VEC_PUSH(a.ranking.victims, victim), 0);
	verdict_choose_bottleneck(&a, true, &there);
	found = a.bottleneck;
	answer_free(&a);
	return found;
}

static void the_others_waits_say_what_is_short(void **state)
{
	assert_int_equal(others_wait(0.5, 0.02), BOTTLENECK_CPU);
	assert_int_equal(others_wait(0.05, 0.8), BOTTLENECK_DISK);
}

/* A verdict about suspects with these scores. */
static struct answer verdict_on(const double *scores, size_t n, double slowdown, bool marked)
{
	static struct subject who;
	struct suspect suspects[4] = {};
	struct method_question q = {};
	const struct shortages there = {.felt = slowdown > 1};
	struct answer a, judged;

	for (size_t i = 0; i < n; i++)
		suspects[i] = (struct suspect){.subject = known(&who, (char *)"/bin/hog|", 7, 1), .of = BOTTLENECK_CPU, .score = scores[i], .explains.high = NAN};
	a = answer_with(suspects, n);
	a.ranking.slowdown = slowdown;
	verdict_judge(&a, &q, &there, &method_blame, marked);
	judged = (struct answer){.slow = a.slow, .culprit_is_named = a.culprit_is_named, .confidence = a.confidence};
	answer_free(&a);
	return judged;
}

static const double calm = 1, slow = 3; /* times as long as normally */

static void all_outcomes_together_are_certain(void **state)
{
	struct subject who;
	struct suspect two[] = {{.subject = known(&who, (char *)"/bin/hog|", 7, 1), .score = 0.3}, {.subject = &who, .score = 0.1}};
	struct answer a = answer_with(two, 2);
	struct method_question q = {};

	verdict_judge(&a, &q, &(const struct shortages){.felt = true}, &method_blame, false);
	assert_true(fabs(a.odds.nothing + a.odds.unlisted + a.ranking.suspects.v[0].probability + a.ranking.suspects.v[1].probability - 1) < 1e-9);
	assert_true(fabs(a.ranking.suspects.v[0].probability - 3 * a.ranking.suspects.v[1].probability) < 1e-9);
	answer_free(&a);
}

static void what_takes_longer_is_slow_although_no_program_stands_out(void **state)
{
	assert_true(verdict_on(NULL, 0, slow, false).slow);
	assert_false(verdict_on(NULL, 0, slow, false).culprit_is_named);
	assert_false(verdict_on(NULL, 0, calm, false).slow);
}

static void in_a_calm_moment_more_is_needed_to_accuse(void **state)
{
	const double little = 0.03;

	assert_false(verdict_on(&little, 1, calm, false).culprit_is_named);
	assert_true(verdict_on(&little, 1, calm, true).culprit_is_named);
	assert_true(verdict_on(&little, 1, slow, false).culprit_is_named);
}

static void one_of_two_is_less_sure_and_of_three_none_is_named(void **state)
{
	const double scores[] = {0.1, 0.1, 0.1};

	assert_true(verdict_on(scores, 1, slow, true).confidence > verdict_on(scores, 2, slow, true).confidence);
	assert_true(verdict_on(scores, 2, slow, true).culprit_is_named);
	assert_false(verdict_on(scores, 3, slow, true).culprit_is_named);
}

/* How sure an answer is of a program that has this part of what it takes. */
static double confidence_by(double shortage, double explains)
{
	struct subject who;
	struct suspect one = {.subject = known(&who, (char *)"/bin/hog|", 7, 1), .of = BOTTLENECK_CPU, .score = 0.1, .explains.high = explains};
	struct method_question q = {};
	double confidence;
	struct answer a;

	one.factors[EVIDENCE_SHORTAGE] = shortage;
	a = answer_with(&one, 1);
	verdict_judge(&a, &q, &(const struct shortages){}, &method_blame, true);
	confidence = a.confidence;
	answer_free(&a);
	return confidence;
}

static void who_takes_what_is_hardly_short_is_less_sure(void **state)
{
	assert_true(confidence_by(0.5, NAN) > 0.9);
	assert_true(confidence_by(0.05, NAN) < 1 - 2 * (1 - confidence_by(0.5, NAN)));
	assert_true(confidence_by(0.5, 0.3) <= 0.3);
}

static void what_is_slow_is_short_of_something(void **state)
{
	struct shortages there = {.any = true, .of[BOTTLENECK_CPU] = true};
	struct answer a = answer_with(NULL, 0);

	/* by the threads that queue, although less than usual of the time is told to be waited in */
	a.pressure = (struct pressure){.now[BOTTLENECK_CPU] = 0.2, .usual[BOTTLENECK_CPU] = 0.6};
	verdict_choose_bottleneck(&a, true, &there);
	assert_int_equal(a.bottleneck, BOTTLENECK_CPU);
	answer_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_others_wait_is_not_slow_by_itself),
		cmocka_unit_test(the_others_waits_say_what_is_short),
		cmocka_unit_test(all_outcomes_together_are_certain),
		cmocka_unit_test(what_takes_longer_is_slow_although_no_program_stands_out),
		cmocka_unit_test(in_a_calm_moment_more_is_needed_to_accuse),
		cmocka_unit_test(one_of_two_is_less_sure_and_of_three_none_is_named),
		cmocka_unit_test(who_takes_what_is_hardly_short_is_less_sure),
		cmocka_unit_test(what_is_slow_is_short_of_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
