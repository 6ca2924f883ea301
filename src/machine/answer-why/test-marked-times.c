#include "lib/data/test.h"

#include "machine/answer-why/marked-times.h"

static void marks_become_intervals(void **state)
{
	struct mark marks[] = {{.wall = 500, .last = 520, .presses = 2}, {.wall = 100, .last = 100, .presses = 1},
			       {.wall = 510, .last = 515, .presses = 1}, {.wall = 900, .last = 950}, {.wall = 131, .last = 131, .presses = 1}};
	struct marked_times m;

	assert_int_equal(marked_times_collect(marks, 5, 10, 20, false, INT64_MAX, &m), 0);
	assert_int_equal(m.list.n, 3);
	assert_false(marked_times_touch(&m, 0, 89));
	assert_true(marked_times_touch(&m, 0, 90));
	assert_true(marked_times_touch(&m, 120, 120));
	assert_true(marked_times_touch(&m, 121, 121)); /* of the mark at 131 */
	assert_false(marked_times_touch(&m, 152, 489));
	assert_true(marked_times_touch(&m, 540, 600));
	assert_false(marked_times_touch(&m, 541, 2000)); /* a rule caught it */
	marked_times_free(&m);
	assert_int_equal(marked_times_collect(marks, 5, 0, 0, true, INT64_MAX, &m), 0);
	assert_true(marked_times_touch(&m, 541, 2000));
	marked_times_free(&m);
	assert_int_equal(marked_times_collect(NULL, 0, 0, 0, true, INT64_MAX, &m), 0);
	assert_false(marked_times_touch(&m, INT64_MIN, INT64_MAX));
	marked_times_free(&m);
}

RUN_TESTS(cmocka_unit_test(marks_become_intervals))
