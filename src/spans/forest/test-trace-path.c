#include "lib/data/test.h"

#include <stdlib.h>

#include "spans/forest/trace-path.h"

/* In the order of the source; ids are 1, 2, ... Only two cases need a kind and a service. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
struct line {
	uint64_t parent;
	int64_t start, end;
	uint8_t kind;
	uint32_t service;
};

static struct tree tree;
static struct tree_tally tally;

static void walk(const struct line *lines, uint32_t n, enum path_rule rule)
{
	struct span spans[64] = {};

	for (uint32_t i = 0; i < n; i++)
		spans[i] = (struct span){.trace_low = 1, .id = i + 1, .parent = lines[i].parent, .start = lines[i].start,
					 .end = lines[i].end, .kind = lines[i].kind, .service = lines[i].service};
	tally = (struct tree_tally){};
	assert_int_equal(trace_tree(spans, n, rule, &tree, &tally), 0);
	trace_path(&tree, rule);
}

#define WALK(rule, ...)                                                    \
	do {                                                               \
		const struct line lines_[] = {__VA_ARGS__};                \
		walk(lines_, sizeof(lines_) / sizeof(lines_[0]), rule);    \
	} while (0)

static bool on_path(uint32_t i)
{
	return tree.flags[i] & TREE_ON_PATH;
}

static void test_sequential_children_are_all_on_the_path(void **state)
{
	WALK(PATH_CRISP, {0, 0, 100}, {1, 10, 30}, {1, 30, 50}, {1, 60, 90});
	assert_true(on_path(1) && on_path(2) && on_path(3));
	assert_int_equal(tree.own[0], 30);
}

static void test_of_concurrent_children_the_last_to_return_is(void **state)
{
	WALK(PATH_TOLERANT, {0, 0, 100}, {1, 10, 50}, {1, 10, 80});
	assert_false(on_path(1));
	assert_true(on_path(2));
	assert_int_equal(tree.own[0], 30);
	assert_int_equal(tree.own[2], 70);
}

static void test_a_handoff_without_a_gap_is_strict_only_for_jaeger(void **state)
{
	for (int rule = 0; rule < PATH_RULES; rule++) {
		WALK((enum path_rule)rule, {0, 0, 100}, {1, 10, 20}, {1, 20, 50});
		assert_int_equal(on_path(1), rule != PATH_STRICT);
	}
}

static void test_an_overlap_below_one_percent_is_clocks_that_differ(void **state)
{
	WALK(PATH_CRISP, {0, 0, 1000}, {1, 10, 209}, {1, 200, 900});
	assert_true(on_path(1));
	WALK(PATH_CRISP, {0, 0, 1000}, {1, 10, 210}, {1, 200, 900});
	assert_false(on_path(1));
	WALK(PATH_STRICT, {0, 0, 1000}, {1, 10, 209}, {1, 200, 900});
	assert_false(on_path(1));
	WALK(PATH_TOLERANT, {0, 0, 1000}, {1, 10, 209}, {1, 200, 900});
	assert_true(on_path(1));
	assert_int_equal(tree.own[1], 190); /* the overlap is the later one's */
	assert_int_equal(tree.own[0] + tree.own[1] + tree.own[2], 1000);
}

static void test_a_third_event_within_the_overlap_means_concurrency_for_crisp(void **state)
{
	WALK(PATH_CRISP, {0, 0, 1000}, {1, 10, 205}, {1, 200, 900}, {1, 50, 203});
	assert_false(on_path(1));
}

static void test_of_equal_ends_the_one_told_later_is_taken(void **state)
{
	WALK(PATH_CRISP, {0, 0, 100}, {1, 10, 50}, {1, 20, 50});
	assert_false(on_path(1));
	assert_true(on_path(2));
}

static void test_children_are_cut_to_their_parent_and_counted(void **state)
{
	WALK(PATH_CRISP, {0, 10, 100}, {1, 0, 50}, {1, 60, 140});
	assert_int_equal(tree.own[1], 40);
	assert_int_equal(tree.own[2], 40);
	assert_int_equal(tally.clamped, 2);
	assert_int_equal(tally.clamped_ns, 50);
}

static void test_a_child_that_covers_its_parent_is_cut_but_crisp_drops_it(void **state)
{
	WALK(PATH_TOLERANT, {0, 10, 100}, {1, 0, 140});
	assert_int_equal(tree.own[1], 90);
	WALK(PATH_CRISP, {0, 10, 100}, {1, 0, 140});
	assert_false(on_path(1));
	assert_int_equal(tree.own[0], 90);
}

static void test_what_starts_after_its_parent_is_asynchronous_with_all_below(void **state)
{
	WALK(PATH_TOLERANT, {0, 0, 100}, {1, 110, 160}, {2, 120, 150}, {1, 60, 90});
	assert_true(tree.flags[1] & TREE_ASYNCHRONOUS);
	assert_true(tree.flags[2] & TREE_ASYNCHRONOUS);
	assert_false(on_path(1) || on_path(2));
	assert_int_equal(tree.own[0], 70);
	assert_int_equal(tally.outside, 1);
}

/* Clocks of two hosts put it anywhere: within the sending, or before it. */
static void test_what_handles_a_message_is_asynchronous(void **state)
{
	for (int rule = 0; rule < PATH_RULES; rule++) {
		WALK((enum path_rule)rule, {0, 0, 100}, {1, 10, 50, SPAN_PRODUCER, 1}, {2, 20, 90, SPAN_CONSUMER, 2}, {3, 25, 45, SPAN_INTERNAL, 2});
		assert_int_equal(tree.flags[2] & TREE_ASYNCHRONOUS, rule == PATH_CRISP ? 0 : TREE_ASYNCHRONOUS);
		assert_int_equal(tree.flags[3] & TREE_ASYNCHRONOUS, rule == PATH_CRISP ? 0 : TREE_ASYNCHRONOUS);
		assert_int_equal(on_path(2), rule == PATH_CRISP);
	}
	/* a loop that receives and handles: it waits */
	WALK(PATH_TOLERANT, {0, 0, 100, SPAN_CONSUMER, 2}, {1, 20, 90, SPAN_CONSUMER, 2});
	assert_true(on_path(1));
}

static void test_a_server_of_another_clock_is_moved_into_its_client(void **state)
{
	WALK(PATH_TOLERANT, {0, 0, 100, SPAN_CLIENT, 1}, {1, 5000000, 5000060, SPAN_SERVER, 2}, {2, 5000010, 5000020, SPAN_INTERNAL, 2});
	assert_int_equal(tree.start[1], 20);
	assert_int_equal(tree.start[2], 30);
	assert_int_equal(tally.skewed, 1);
	assert_true(on_path(2));
	assert_int_equal(tree.own[0], 40);
	/* a microsecond is how times are rounded, and no other clock: moved, and not reported */
	WALK(PATH_TOLERANT, {0, 1000, 9000, SPAN_CLIENT, 1}, {1, 0, 6000, SPAN_SERVER, 2});
	assert_int_equal(tree.start[1], 2000);
	assert_int_equal(tally.skewed, 0);
}

static void test_crisp_cuts_only_the_length_of_a_clients_server(void **state)
{
	WALK(PATH_CRISP, {0, 0, 1000, SPAN_CLIENT, 1}, {1, 5, 1012, SPAN_SERVER, 2});
	assert_true(on_path(1));
	assert_int_equal(tree.own[1], 1000);
	assert_int_equal(tree.own[0], 0);
}

/* CRISP tells a call between hosts by the processes' tags, whatever kinds the spans have. */
static void test_crisp_takes_an_only_child_on_another_host_for_a_call(void **state)
{
	struct names *names = names_new();
	struct attribute here = {names_text(names, "hostname", 8), names_text(names, "h1", 2)}, there = {here.key, names_text(names, "h2", 2)};
	struct span spans[] = {{.trace_low = 1, .id = 1, .end = 1000, .resource = names_set(names, 0, &here, 1)},
			       {.trace_low = 1, .id = 2, .parent = 1, .start = 5, .end = 1012, .resource = names_set(names, 0, &there, 1)}};

	tree.names = names;
	assert_int_equal(trace_tree(spans, 2, PATH_CRISP, &tree, &tally), 0);
	trace_path(&tree, PATH_CRISP);
	assert_int_equal(tree.own[1], 1000);
	spans[1].resource = spans[0].resource;
	assert_int_equal(trace_tree(spans, 2, PATH_CRISP, &tree, &tally), 0);
	trace_path(&tree, PATH_CRISP);
	assert_int_equal(tree.own[1], 995);
	tree.names = NULL;
	names_free(names);
}

static void test_an_orphan_is_never_a_request(void **state)
{
	WALK(PATH_TOLERANT, {77, 0, 100}, {1, 10, 50});
	assert_int_equal(tree.root, NO_SPAN);
	assert_int_equal(tree.reached, 0);
	WALK(PATH_TOLERANT, {0, 0, 100}, {77, 10, 50});
	assert_int_equal(tree.reached, 1);
}

static void test_spans_that_call_each_other_are_not_reached(void **state)
{
	WALK(PATH_TOLERANT, {0, 0, 100}, {3, 10, 50}, {2, 10, 50});
	assert_int_equal(tree.reached, 1);
}

static void test_client_and_server_may_share_an_id(void **state)
{
	struct span spans[] = {
		{.id = 1, .start = 0, .end = 100},
		{.id = 2, .parent = 1, .start = 10, .end = 90, .kind = SPAN_CLIENT},
		{.id = 2, .parent = 1, .start = 20, .end = 80, .kind = SPAN_SERVER},
		{.id = 3, .parent = 2, .start = 30, .end = 40},
		{.id = 3, .parent = 2, .start = 30, .end = 40},
	};

	tally = (struct tree_tally){};
	assert_int_equal(trace_tree(spans, 5, PATH_TOLERANT, &tree, &tally), 0);
	assert_int_equal(tree.parent[2], 1);
	assert_int_equal(tree.parent[3], 2);
	assert_int_equal(tally.duplicates, 1);
	assert_int_equal(tree.reached, 4);
}

static void test_the_list_has_the_last_to_return_first_with_what_is_below_it(void **state)
{
	uint32_t list[8];

	WALK(PATH_CRISP, {0, 0, 100}, {1, 10, 40}, {1, 50, 90}, {3, 60, 70}, {2, 20, 30});
	assert_int_equal(tree_path(&tree, list), 5);
	assert_int_equal(list[1], 2);
	assert_int_equal(list[2], 3);
	assert_int_equal(list[3], 1);
	assert_int_equal(list[4], 4);
}

static void test_drag_ends_where_the_next_sibling_would_be_last(void **state)
{
	WALK(PATH_CRISP, {0, 0, 100}, {1, 10, 60}, {1, 45, 55}, {1, 5, 15});
	assert_int_equal(tree_drag(&tree, 1, false), 5);
	assert_int_equal(tree_drag(&tree, 2, false), 0);
	assert_int_equal(tree_drag(&tree, 0, false), 100);
}

/* Whatever the tree, the path's own times are the request's. */
static void test_own_times_add_up_to_the_request(void **state)
{
	struct line lines[40];

	srand(7);
	for (int round = 0; round < 3000; round++) {
		enum path_rule rule = round % 2 ? PATH_TOLERANT : PATH_STRICT;
		uint32_t n = 2 + (uint32_t)rand() % 38;
		int64_t sum = 0;

		lines[0] = (struct line){0, 1000, 3000, 0, 0};
		for (uint32_t i = 1; i < n; i++) {
			int64_t start = rand() % 4000;

			lines[i] = (struct line){1 + (uint64_t)rand() % (n + 1), start, start + rand() % 1500, (uint8_t)(rand() % 6),
						 (uint32_t)rand() % 3};
		}
		walk(lines, n, rule);
		for (uint32_t i = 0; i < n; i++) {
			if (!on_path(i))
				continue;
			assert_true(tree.own[i] >= 0);
			sum += tree.own[i];
		}
		assert_int_equal(sum, 2000);
	}
	tree_free(&tree);
}

RUN_TESTS(cmocka_unit_test(test_sequential_children_are_all_on_the_path),
	  cmocka_unit_test(test_of_concurrent_children_the_last_to_return_is),
	  cmocka_unit_test(test_a_handoff_without_a_gap_is_strict_only_for_jaeger),
	  cmocka_unit_test(test_an_overlap_below_one_percent_is_clocks_that_differ),
	  cmocka_unit_test(test_a_third_event_within_the_overlap_means_concurrency_for_crisp),
	  cmocka_unit_test(test_of_equal_ends_the_one_told_later_is_taken),
	  cmocka_unit_test(test_children_are_cut_to_their_parent_and_counted),
	  cmocka_unit_test(test_a_child_that_covers_its_parent_is_cut_but_crisp_drops_it),
	  cmocka_unit_test(test_what_starts_after_its_parent_is_asynchronous_with_all_below),
	  cmocka_unit_test(test_what_handles_a_message_is_asynchronous),
	  cmocka_unit_test(test_a_server_of_another_clock_is_moved_into_its_client),
	  cmocka_unit_test(test_crisp_cuts_only_the_length_of_a_clients_server),
		cmocka_unit_test(test_crisp_takes_an_only_child_on_another_host_for_a_call),
	  cmocka_unit_test(test_an_orphan_is_never_a_request), cmocka_unit_test(test_spans_that_call_each_other_are_not_reached),
	  cmocka_unit_test(test_client_and_server_may_share_an_id),
	  cmocka_unit_test(test_the_list_has_the_last_to_return_first_with_what_is_below_it),
	  cmocka_unit_test(test_drag_ends_where_the_next_sibling_would_be_last),
	  cmocka_unit_test(test_own_times_add_up_to_the_request))
