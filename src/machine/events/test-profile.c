/* Rows with the same stack are one, and what another user gets of a profile holds nothing of strangers' stacks. */
#include "machine/events/profile.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static const struct viewer root = {}, user = {.uid = 1000}, hidden = {.uid = 1000, .hides_others = true};

static uint32_t stack_of(struct profile *p, const char *const *names, size_t n)
{
	uint32_t frames[8], stack;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(profile_named_frame(p, names[i], &frames[i]), 0);
	assert_int_equal(profile_stack(p, frames, n, &stack), 0);
	return stack;
}

static void add(struct profile *p, const char *program, uint32_t uid, uint32_t waker_uid, uint32_t stack, int64_t minute)
{
	struct profile_row row = {.minute = minute, .stack = stack, .uid = uid, .waker_uid = waker_uid, .cpu = 5, .waited = 7};

	assert_int_equal(profile_text(p, program, &row.program), 0);
	assert_int_equal(profile_add(p, &row), 0);
}

/* A program of the user that another user's woke, and that one itself. */
static void make(struct profile *p)
{
	static const char *const own[] = {"secret_caller", "secret_waker", "[woken by backup]", "[waiting for a lock]", "lock", "main"};
	static const char *const theirs[] = {"their_function", "their_main"};

	assert_int_equal(profile_begin(p), 0);
	add(p, "mine", 1000, 0, stack_of(p, own, 6), 10);
	add(p, "backup", 0, 0, stack_of(p, theirs, 2), 11);
}

static bool has_text(const struct profile *p, const char *text)
{
	for (size_t i = 0; i < p->texts.n; i++)
		if (strstr(p->texts.v[i], text))
			return true;
	return false;
}

static void rows_of_one_stack_are_one(void **state)
{
	static const char *const names[] = {"f", "main"};
	_cleanup_(profile_free) struct profile p = {};
	uint32_t stack;

	assert_int_equal(profile_begin(&p), 0);
	stack = stack_of(&p, names, 2);
	assert_int_equal(stack_of(&p, names, 2), stack);
	add(&p, "a", 0, 0, stack, 1);
	add(&p, "a", 0, 0, stack, 1);
	add(&p, "a", 0, 0, stack, 2);
	add(&p, "b", 0, 0, stack, 1);
	add(&p, "a", 1, 1, stack, 1);
	assert_int_equal(p.rows.n, 4);
	assert_int_equal(p.rows.v[0].cpu, 10);
	assert_int_equal(p.rows.v[0].waited, 14);
	profile_close_rows(&p);
	add(&p, "a", 0, 0, stack, 1);
	assert_int_equal(p.rows.n, 5);
}

static void root_gets_all_of_the_wanted_minutes(void **state)
{
	_cleanup_(profile_free) struct profile p = {}, copy = {};

	make(&p);
	assert_int_equal(profile_begin(&copy), 0);
	assert_int_equal(profile_copy(&copy, &p, &(struct profile_wish){.from = 10, .to = 11, .viewer = root}), 0);
	assert_int_equal(copy.rows.n, 1);
	assert_int_equal(profile_waker_frames(&copy, copy.rows.v[0].stack), 3);
	assert_true(has_text(&copy, "secret_caller"));
	assert_false(has_text(&copy, "their_function"));
}

static void strangers_have_sums_and_no_stacks(void **state)
{
	_cleanup_(profile_free) struct profile p = {}, copy = {};

	make(&p);
	assert_int_equal(profile_begin(&copy), 0);
	assert_int_equal(profile_copy(&copy, &p, &(struct profile_wish){.viewer = user}), 0);
	assert_int_equal(copy.rows.n, 2);
	assert_false(has_text(&copy, "secret_"));
	assert_false(has_text(&copy, "woken by"));
	assert_false(has_text(&copy, "their_"));
	assert_true(has_text(&copy, "backup")); /* as ps and top show it */
	assert_int_equal(copy.stacks.v[copy.rows.v[0].stack].n, 3);
	assert_int_equal(copy.stacks.v[copy.rows.v[1].stack].n, 0);
	assert_int_equal(copy.rows.v[1].cpu, 5);
}

static void where_proc_hides_them_strangers_have_no_names(void **state)
{
	_cleanup_(profile_free) struct profile p = {}, copy = {};

	make(&p);
	assert_int_equal(profile_begin(&copy), 0);
	assert_int_equal(profile_copy(&copy, &p, &(struct profile_wish){.viewer = hidden}), 0);
	assert_false(has_text(&copy, "backup"));
	assert_true(has_text(&copy, "main"));
}

RUN_TESTS(cmocka_unit_test(rows_of_one_stack_are_one), cmocka_unit_test(root_gets_all_of_the_wanted_minutes),
	  cmocka_unit_test(strangers_have_sums_and_no_stacks), cmocka_unit_test(where_proc_hides_them_strangers_have_no_names))
