#include "lib/data/test.h"

#include "lib/data/tree.h"

static void add(struct path_tree *t, uint64_t weight, const char *a, const char *b, const char *c)
{
	const char *names[] = {a, b, c};

	assert_int_equal(path_tree_add(t, names, c ? 3 : b ? 2 : 1, weight), 0);
}

static void weights_add_up_along_a_path(void **state)
{
	struct path_tree t = {};
	const struct tree_node *first, *second;

	add(&t, 1, "main", "read", NULL);
	add(&t, 2, "main", "work", "spin");
	add(&t, 3, "main", "work", NULL);
	add(&t, 1, "other", NULL, NULL);
	path_tree_sort(&t);
	assert_int_equal(t.nodes.v[0].total, 7);
	first = &t.nodes.v[t.nodes.v[0].child];
	assert_string_equal(first->name, "main");
	assert_int_equal(first->total, 6);
	assert_int_equal(first->self, 0);
	second = &t.nodes.v[first->child];
	assert_string_equal(second->name, "work"); /* the heaviest first */
	assert_int_equal(second->total, 5);
	assert_int_equal(second->self, 3);
	assert_int_equal(t.nodes.v[first->next].total, 1);
	path_tree_free(&t);
}

static void folded_paths_have_their_own_weight(void **state)
{
	struct path_tree t = {};
	struct str out = {};

	add(&t, 2, "main", "a;b", "spin");
	add(&t, 3, "main", "a;b", NULL);
	path_tree_write_folded(&t, &out);
	assert_string_equal(out.data, "main;a:b 3\nmain;a:b;spin 2\n");
	str_free(&out);
	path_tree_free(&t);
}

static void a_path_too_deep_is_cut(void **state)
{
	const char *names[TREE_DEPTH_MAX + 10];
	struct path_tree t = {};

	for (size_t i = 0; i < TREE_DEPTH_MAX + 10; i++)
		names[i] = "recursion";
	assert_int_equal(path_tree_add(&t, names, TREE_DEPTH_MAX + 10, 1), 0);
	assert_int_equal(t.nodes.n, TREE_DEPTH_MAX + 1);
	assert_int_equal(t.nodes.v[TREE_DEPTH_MAX].self, 1);
	path_tree_free(&t);
}

RUN_TESTS(cmocka_unit_test(weights_add_up_along_a_path), cmocka_unit_test(folded_paths_have_their_own_weight),
	  cmocka_unit_test(a_path_too_deep_is_cut))
