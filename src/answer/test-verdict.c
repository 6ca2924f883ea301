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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_others_wait_is_not_slow_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
