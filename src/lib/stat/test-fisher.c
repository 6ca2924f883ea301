#include "lib/stat/fisher.h"

#include <math.h>

#include "lib/data/test.h"

/* The lady tasting tea (Fisher 1935): all four of four right is 1 of 70; three or more 17 of 70. */
static void the_lady_tasting_tea(void **state)
{
	assert_true(fabs(fisher_p(4, 4, 4, 8) - 1 / 70.0) < 1e-12);
	assert_true(fabs(fisher_p(3, 4, 4, 8) - 17 / 70.0) < 1e-12);
}

static void margins_that_leave_no_choice_say_nothing(void **state)
{
	assert_true(fabs(fisher_p(0, 3, 5, 20) - 1) < 1e-12);
	assert_true(fabs(fisher_p(5, 5, 20, 20) - 1) < 1e-12);
	assert_true(fabs(fisher_p(6, 5, 20, 20) - 1) < 1e-12);
}

RUN_TESTS(cmocka_unit_test(the_lady_tasting_tea), cmocka_unit_test(margins_that_leave_no_choice_say_nothing))
