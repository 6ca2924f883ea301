#include "lib/data/test.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/rights/sandbox-enter.h"
#include "machine/client/ask.h"

/* The program that answers is this one. */
__attribute__((constructor)) static void answer(int argc, char **argv)
{
	const struct timespec moment = {0, 300 * NS_PER_MS}; /* its bounds come after its start */

	if (argc < 2)
		return;
	if (strcmp(argv[1], "endless") == 0)
		pause();
	(void)nanosleep(&moment, NULL);
	printf("%s\n", malloc((size_t)3 << 30) ? "much" : "little");
	fflush(NULL);
	_exit(1);
}

static const struct asker asker = {};

static bool always(const void *state)
{
	return state;
}

static int ask(const char *verb, const struct ask_bounds *bounds, struct str *text)
{
	struct str errors = {};
	const int r = ask_all_within(&asker, 1, &verb, bounds, text, &errors);

	str_free(&errors);
	return r;
}

static void an_answer_without_an_end_is_ended(void **state)
{
	const int64_t begin = clock_boot();
	struct str text = {};

	assert_int_equal(ask("endless", &(struct ask_bounds){NS_PER_SEC / 2, UINT64_MAX, NULL, NULL}, &text), -ETIMEDOUT);
	assert_true(clock_boot() - begin < 30 * NS_PER_SEC);
	assert_non_null(strstr(ask_failure(&asker, -ETIMEDOUT), "took too long"));
	str_free(&text);
}

static void an_answer_that_no_one_waits_for_is_ended(void **state)
{
	struct str text = {};

	assert_int_equal(ask("endless", &(struct ask_bounds){3600 * NS_PER_SEC, UINT64_MAX, always, &text}, &text), -ECANCELED);
	str_free(&text);
}

static void check_memory(const struct ask_bounds *bounds, const char *said)
{
	struct str text = {};

	mallopt(M_PERTURB, 171); /* else memory that is new has zeroes */
	assert_int_equal(ask("memory", bounds, &text), 1);
	assert_int_equal(text.len, strlen(said));
	assert_string_equal(text.data, said); /* a text that ends: views print it as one */
	str_free(&text);
}

static void the_memory_of_an_answer_is_bounded(void **state)
{
	if (SANDBOX_SANITIZED)
		skip();
	check_memory(&(struct ask_bounds){60 * NS_PER_SEC, (uint64_t)2 << 30, NULL, NULL}, "little\n");
	check_memory(NULL, "much\n");
}

RUN_TESTS(cmocka_unit_test(an_answer_without_an_end_is_ended), cmocka_unit_test(an_answer_that_no_one_waits_for_is_ended),
	  cmocka_unit_test(the_memory_of_an_answer_is_bounded))
