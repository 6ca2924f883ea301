#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/cleanup.h"

/* One server with these values, drawn. The caller frees it. */
static char *drawn(void (*draw)(const struct fleet_view *v, FILE *out), uint32_t n, float *values)
{
	struct fleet f = {};
	struct fleet_view v = {.kind = FLEET_DETAIL_VIEW, .fleet = &f, .n = n, .values = values, .each = 1};
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	assert_int_equal(fleet_add_server(&f, "a"), 0);
	assert_int_equal(fleet_add_counter(&f, "c"), 0);
	f.servers.v[0].column[0] = values;
	draw(&v, out);
	fclose(out);
	fleet_free(&f);
	return text;
}

/* Their distance is more than float32 holds. */
static void values_far_apart_have_a_level(void **state)
{
	_cleanup_free_ char *text = drawn(fleet_view_text, 4, (float[]){-3e38F, 0, NAN, 3e38F});

	assert_non_null(strstr(text, "▁▄ █"));
}

static void infinite_values_are_the_lowest_or_highest(void **state)
{
	_cleanup_free_ char *text = drawn(fleet_view_text, 3, (float[]){1, INFINITY, 2}), *both = drawn(fleet_view_text, 2, (float[]){-INFINITY, INFINITY});
	_cleanup_free_ char *svg = drawn(fleet_view_svg, 3, (float[]){1, INFINITY, 2});

	assert_non_null(strstr(text, "▁▁▁"));
	assert_non_null(strstr(both, "▁▁"));
	assert_null(strstr(svg, "-2147483648"));
}

/* A rule compares with its own limit, which says nothing of what is normal. */
static void a_rules_limit_is_not_called_normal(void **state)
{
	struct fleet_finding broken = fleet_finding_empty;
	struct fleet_findings found = {};
	_cleanup_free_ char *text = NULL;
	struct fleet f = {};
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_int_equal(fleet_add_server(&f, "a"), 0);
	assert_int_equal(fleet_add_counter(&f, "c"), 0);
	broken.observed = 12;
	broken.usual = 10;
	broken.words = "when any c in detail view > 10 report";
	assert_int_equal(VEC_PUSH(found.list, broken), 0);
	fleet_findings_text(&f, &found, 0, out);
	found.list.v[0].words = NULL;
	fleet_findings_text(&f, &found, 0, out);
	fclose(out);
	assert_non_null(strstr(text, " 12 (limit 10)"));
	assert_non_null(strstr(text, " 12 (normally 10)"));
	VEC_FREE(found.list);
	fleet_free(&f);
}

RUN_TESTS(cmocka_unit_test(a_rules_limit_is_not_called_normal), cmocka_unit_test(values_far_apart_have_a_level), cmocka_unit_test(infinite_values_are_the_lowest_or_highest))
