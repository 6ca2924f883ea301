#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spans/forest/span-edges.h"

#define TRACES 100

static struct names *names;
static struct span_edges edges;
static struct tree tree;

static uint32_t text(const char *s)
{
	return names_text(names, s, strlen(s));
}

static struct span span(uint64_t id, uint64_t parent, const char *service, const char *operation, int64_t start, int64_t end)
{
	return (struct span){.trace_low = 1, .id = id, .parent = parent, .service = text(service), .operation = text(operation),
			     .resource = text(service), .start = start, .end = end};
}

/* A checkout that reads a cart and sends a mail; nothing waits for the mail. */
static void checkout(struct span spans[3], int64_t mail_end)
{
	spans[0] = span(1, 0, "shop", "checkout", 0, 1000);
	spans[1] = span(2, 1, "shop", "read cart", 100, 700);
	spans[2] = span(3, 1, "shop", "send mail", 750, mail_end);
}

static void count(const struct span *spans, uint32_t n)
{
	struct tree_tally tally = {};

	assert_int_equal(trace_tree(spans, n, PATH_TOLERANT, &tree, &tally), 0);
	assert_int_equal(span_edges_count(&edges, &tree, spans), 0);
}

static int set_up(void **state)
{
	names = names_new();
	span_edges_init(&edges, names);
	return names ? 0 : -1;
}

static int tear_down(void **state)
{
	span_edges_free(&edges);
	tree_free(&tree);
	tree = (struct tree){};
	names_free(names);
	return 0;
}

static void learn_mails(unsigned late)
{
	struct span spans[3];

	for (unsigned i = 0; i < TRACES; i++) {
		checkout(spans, i < late ? 1500 : 990);
		count(spans, 3);
	}
	span_edges_settle(&edges);
}

static void what_outlives_its_caller_often_enough_is_asynchronous_everywhere(void **state)
{
	struct tree_tally tally = {};
	struct span spans[3];

	learn_mails(5);
	assert_int_equal(edges.list.n, 1);
	assert_string_equal(names_get(names, edges.list.v[0].callee[1]), "send mail");
	assert_int_equal(edges.list.v[0].outlived, 5);
	checkout(spans, 990);
	assert_int_equal(trace_tree(spans, 3, PATH_TOLERANT, &tree, &tally), 0);
	trace_path(&tree, PATH_TOLERANT);
	assert_true(tree.flags[2] & TREE_ON_PATH); /* it ended in time, and last */
	tree.asynchronous = &edges;
	assert_int_equal(trace_tree(spans, 3, PATH_TOLERANT, &tree, &tally), 0);
	trace_path(&tree, PATH_TOLERANT);
	assert_false(tree.flags[2] & TREE_ON_PATH);
	assert_true(tree.flags[2] & TREE_ASYNCHRONOUS);
	assert_int_equal(tree.own[0], 400);
}

static void a_few_late_ends_are_chance(void **state)
{
	learn_mails(4);
	assert_int_equal(edges.list.n, 0);
}

static void clocks_that_differ_are_no_evidence(void **state)
{
	for (int i = 0; i < TRACES; i++) {
		const struct span spans[] = {span(1, 0, "shop", "call", 0, 1000), span(2, 1, "bank", "pay", 5000, 5900)};

		count(spans, 2);
	}
	span_edges_settle(&edges);
	assert_int_equal(edges.list.n, 0);
}

static void a_server_that_works_longer_than_its_client_waited_is_asynchronous(void **state)
{
	for (int i = 0; i < TRACES; i++) {
		const struct span spans[] = {span(1, 0, "shop", "order", 0, 1000), span(2, 1, "ship", "pack", -500, i % 2 ? 900 : 300)};

		count(spans, 2);
	}
	span_edges_settle(&edges);
	assert_int_equal(edges.list.n, 1);
	assert_int_equal(edges.list.v[0].outlived, TRACES / 2);
}

static void what_was_learnt_is_a_file(void **state)
{
	char path[] = "/tmp/whyslow-edges-XXXXXX", *error = NULL;
	struct span_edges again;
	struct span spans[3];
	int fd = mkstemp(path);

	close(fd);
	learn_mails(TRACES);
	assert_int_equal(span_edges_write(&edges, path, &error), 0);
	span_edges_init(&again, names);
	assert_int_equal(span_edges_read(&again, path, &error), 0);
	checkout(spans, 990);
	assert_true(span_edges_have(&again, &spans[0], &spans[2]));
	assert_false(span_edges_have(&again, &spans[0], &spans[1]));
	assert_int_equal(again.list.n, 1);
	span_edges_free(&again);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "shop\tcheckout\tmail\n", 19), 19);
	close(fd);
	span_edges_init(&again, names);
	assert_int_equal(span_edges_read(&again, path, &error), -EINVAL);
	assert_non_null(strstr(error, ":4: "));
	free(error);
	span_edges_free(&again);
	unlink(path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(CASE(what_outlives_its_caller_often_enough_is_asynchronous_everywhere), CASE(a_few_late_ends_are_chance),
	  CASE(clocks_that_differ_are_no_evidence), CASE(a_server_that_works_longer_than_its_client_waited_is_asynchronous),
	  CASE(what_was_learnt_is_a_file))
