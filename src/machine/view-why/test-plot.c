/* A curve as braille. */
#include "lib/data/test.h"

#include <math.h>
#include <string.h>

#include "machine/view-why/plot.h"

static struct curve curve_of(double *values, size_t n)
{
	return (struct curve){.n = n, .low = values, .mean = values, .high = values};
}

static void a_rising_line_goes_from_the_lower_left_to_the_upper_right(void **state)
{
	double values[] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct curve c = curve_of(values, 8);
	struct plot p = plot_of(&c, 4, 2);

	assert_true(p.top == 7 && p.bottom == 0);
	assert_string_equal(plot_cell(&p, 0, 1, (char[PLOT_CELL]){}), "⡠");
	assert_string_equal(plot_cell(&p, 3, 0, (char[PLOT_CELL]){}), "⠊");
	assert_string_equal(plot_cell(&p, 0, 0, (char[PLOT_CELL]){}), " ");
	plot_free(&p);
}

static void what_is_missing_is_left_empty(void **state)
{
	double values[] = {1, NAN, NAN, NAN, NAN, NAN, NAN, 1};
	struct curve c = curve_of(values, 8);
	struct plot p = plot_of(&c, 4, 1);

	assert_string_not_equal(plot_cell(&p, 0, 0, (char[PLOT_CELL]){}), " ");
	assert_string_equal(plot_cell(&p, 1, 0, (char[PLOT_CELL]){}), " ");
	assert_string_equal(plot_cell(&p, 2, 0, (char[PLOT_CELL]){}), " ");
	plot_free(&p);
}

static void a_level_far_above_zero_has_an_axis_of_its_own(void **state)
{
	double values[] = {1000, 1001, 1002};
	struct curve c = curve_of(values, 3);
	struct plot p = plot_of(&c, 4, 1);

	assert_true(p.bottom == 1000 && p.top == 1002);
	plot_free(&p);
}

static void a_small_curve_is_a_bar_a_value(void **state)
{
	float values[SPARK_POINTS];
	char text[SPARKLINE_SIZE];

	for (size_t i = 0; i < SPARK_POINTS; i++)
		values[i] = i == 0 ? NAN : i < 20 ? 1 : 7;
	assert_ptr_equal(plot_sparkline(values, text), text);
	assert_int_equal(strncmp(text, " ▂▂", 1 + 2 * 3), 0);
	assert_string_equal(text + strlen(text) - 3, "█");
}

RUN_TESTS(cmocka_unit_test(a_rising_line_goes_from_the_lower_left_to_the_upper_right),
	  cmocka_unit_test(what_is_missing_is_left_empty), cmocka_unit_test(a_level_far_above_zero_has_an_axis_of_its_own),
	  cmocka_unit_test(a_small_curve_is_a_bar_a_value))
