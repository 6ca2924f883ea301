/* What is short, and who is named, from what a look has found: the ranking is put together by hand. */
#include "base/test.h"

#include "analysis/method.h"
#include "answer/verdict.h"

static struct subject *known(struct subject *s, char *program, uint32_t pid, uint32_t parent)
{
	*s = (struct subject){.program = program, .info = {.kind = ENTITY_PROCESS, .pid = pid, .parent = parent}};
	return s;
}

static struct answer answer_with(const struct suspect *suspects, size_t n)
{
	struct answer a = {.slow = true, .has_history = true};

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
	verdict_choose_bottleneck(&a, pressed, &there, true);
	found = a.bottleneck;
	answer_free(&a);
	return found;
}

static void who_has_others_wait_is_not_slow_by_itself(void **state)
{
	const struct pressure calm = {}, of_disk = {.now[BOTTLENECK_DISK] = 0.5};

	(void)state;
	assert_int_equal(short_of(0, false, &calm), BOTTLENECK_SELF);
	assert_int_equal(short_of(0.02, false, &calm), BOTTLENECK_SELF);
	assert_int_equal(short_of(0.3, false, &calm), BOTTLENECK_CPU);
	/* the disk is short as well, and it is not the disk that the first one takes */
	assert_int_equal(short_of(0, true, &of_disk), BOTTLENECK_DISK);
	assert_int_equal(short_of(0.3, true, &of_disk), BOTTLENECK_CPU);
}

/* Whether the first of two is named, whose score is near enough to nobody's. */
static bool names_first(const struct suspect *first, const struct suspect *second)
{
	struct answer a = answer_with((struct suspect[]){*first, *second}, 2);
	bool named;

	a.slow_since = 1;
	named = verdict_names_culprit(&a, &method_blame, true);
	answer_free(&a);
	return named;
}

static void who_starts_a_program_is_no_other_suspect(void **state)
{
	struct subject finder, reader, other;
	struct suspect reads = {.subject = known(&reader, (char *)"/bin/reader|", 12, 10), .of = BOTTLENECK_DISK, .score = 0.03};
	struct suspect finds = {.subject = known(&finder, (char *)"/bin/finder|", 10, 1), .of = BOTTLENECK_DISK, .score = 0.02};
	struct suspect any = {.subject = known(&other, (char *)"/bin/other|", 11, 1), .of = BOTTLENECK_DISK, .score = 0.02};

	(void)state;
	assert_true(names_first(&reads, &finds));
	assert_false(names_first(&reads, &any));
	/* those that do not live for a sample have no number */
	reader.info.kind = ENTITY_SHORT_LIVED;
	reader.info.pid = reader.info.parent = 0;
	assert_false(names_first(&reads, &finds));
	reads.starter = &finder;
	assert_true(names_first(&reads, &finds));
	finds.score = 0.04;
	assert_true(names_first(&finds, &reads));
}

static void what_is_slow_is_short_of_something(void **state)
{
	struct shortages there = {.any = true, .of[BOTTLENECK_CPU] = true};
	struct answer a = answer_with(NULL, 0);

	(void)state;
	/* by the threads that queue, although less than usual of the time is told to be waited in */
	a.pressure = (struct pressure){.now[BOTTLENECK_CPU] = 0.2, .usual[BOTTLENECK_CPU] = 0.6};
	verdict_choose_bottleneck(&a, true, &there, true);
	assert_int_equal(a.bottleneck, BOTTLENECK_CPU);
	answer_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_others_wait_is_not_slow_by_itself),
		cmocka_unit_test(who_starts_a_program_is_no_other_suspect),
		cmocka_unit_test(what_is_slow_is_short_of_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
