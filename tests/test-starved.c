/* Answers while memory is short: one allocation fails, or all from one on. There is the whole answer or -ENOMEM, and nothing stays
 * allocated. */
#include "machine/answer-why/test-recording.h"

#include <errno.h>

#include "lib/input/json-tape.h"
#include "tests/starve.h"

#define POINTS 150 /* of the allocations of an answer, evenly */

/* A hog, a process with a history, a job that comes again and again, and many small ones: each of the steps has something to do. */
static void tell_story(struct story *st)
{
	struct subject *s;

	begin(st);
	s = add(st, "/bin/innocent", 0, TICKS - 1, 0);
	use(s, FEATURE_CPU_TIME, 0, TICKS - 1, 120 * PERCENT);
	for (uint32_t t = 60; t + 20 < FROM; t += 120)
		use(add(st, "/bin/backup", t, t + 20, 0), FEATURE_CPU_TIME, t, t + 20, 100 * PERCENT);
	s = add(st, "/bin/hog", FROM, TICKS - 1, 0);
	use(s, FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
	use(s, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 40 * MB);
	for (uint32_t i = 0; i < 6; i++)
		use(add(st, "/usr/bin/cc1", FROM + i % 3, TICKS - 1, 0), FEATURE_CPU_TIME, FROM + i % 3, TICKS - 1, 10 * PERCENT);
	press(st, FEATURE_PSI_CPU_SOME, 2, 60);
	press(st, FEATURE_PSI_IO_SOME, 1, 40);
}

/* Asks while allocation `at` fails; says how many there were, and how many suspects are named. */
static int ask_starved(const struct method *method, unsigned at, bool lasts, unsigned *ret_all, size_t *ret_suspects)
{
	const struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .method = method};
	struct story st;
	int r;

	tell_story(&st);
	starve_at(at, lasts);
	r = why_answer(&st.d, &request, &st.answer);
	*ret_all = starve_count();
	starve_at(0, false);
	*ret_suspects = r == 0 ? st.answer.ranking.suspects.n : 0;
	if (r == 0)
		answer_free(&st.answer);
	dataset_free(&st.d);
	return r;
}

static void answers_or_says_that_memory_is_short(const struct method *method)
{
	unsigned all, ignored, refused = 0;
	size_t usual, suspects, named;

	assert_int_equal(ask_starved(method, 0, false, &all, &suspects), 0);
	usual = starve_live();
	for (unsigned at = 1; at <= all; at += all / POINTS + 1) {
		int r = ask_starved(method, at, at % 2, &ignored, &named);

		if (r != 0)
			assert_int_equal(r, -ENOMEM);
		else if (named != suspects)
			fail_msg("%zu of %zu suspects are named when allocation %u of %u fails%s", named, suspects, at, all, at % 2 ? " and all that follow" : "");
		if (starve_live() != usual)
			fail_msg("%zu blocks stay allocated when allocation %u of %u fails%s", starve_live() - usual, at, all, at % 2 ? " and all that follow" : "");
		refused += r < 0;
	}
	assert_true(refused > 0);
}

static void the_default_model(void **state)
{
	answers_or_says_that_memory_is_short(NULL);
}

static void the_model_of_the_paper(void **state)
{
	answers_or_says_that_memory_is_short(&method_gaussian);
}

/* The library that parses takes for granted that it gets memory: it must be left when it does not. */
static void json_with_escapes(void **state)
{
	static const char text[] = "{\"a\\n\": [[[1, \"K\\u00f6ln\"]]], \"b\": {\"c\": null, \"d\": true, \"e\": 2.5, \"f\": []}}";
	unsigned at = 0;
	int r = -ENOMEM;

	while (r == -ENOMEM) {
		struct tape t = {};

		at++;
		starve_at(at, at % 2);
		r = tape_read(&t, text, strlen(text));
		starve_at(0, false);
		tape_free(&t);
		assert_int_equal(starve_live(), 0);
	}
	assert_int_equal(r, 0);
	assert_in_range(at, 5, 100);
}

RUN_TESTS(cmocka_unit_test(json_with_escapes), cmocka_unit_test(the_default_model), cmocka_unit_test(the_model_of_the_paper))
