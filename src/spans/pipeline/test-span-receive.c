/* The parts that a receiver leaves: those of an hour become one, and say the same. */
#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "spans/pipeline/span-receive.h"

#define HOUR_BEGIN (497222 * 3600 * NS_PER_SEC)

static char file[64];

struct gathered {
	struct forest forest;
	unsigned parts;
};

static int gather(void *state, const struct span_part *part)
{
	struct gathered *g = state;

	g->parts++;
	return forest_read(&g->forest, part->bytes, part->n);
}

/* All that the store has, as bytes. */
static void read_store(struct span_store *store, struct str *out, unsigned *ret_parts)
{
	struct names *names = names_new();
	struct gathered g = {};

	assert_int_equal(forest_init(&g.forest, names, 60 * NS_PER_SEC), 0);
	assert_int_equal(span_store_each(store, INT64_MIN, INT64_MAX, &g, gather), 0);
	assert_int_equal(forest_finish(&g.forest), 0);
	assert_int_equal(forest_write(&g.forest, out), 0);
	*ret_parts = g.parts;
	forest_free(&g.forest);
	names_free(names);
}

static struct span make_span(struct names *names, uint64_t trace, int64_t start)
{
	return (struct span){.trace_low = trace, .id = trace, .start = start, .end = start + 1000 * (int64_t)(trace % 7 + 1), .weight = SPAN_WEIGHT_ONE,
			     .service = names_text(names, "shop", 4), .operation = names_text(names, "GET", 3), .kind = SPAN_SERVER};
}

/* One request as a part. */
static void put(struct span_store *store, const char *source, uint64_t trace, int64_t start)
{
	const struct pipeline_options o = {.late = INT64_MAX, .slot_width = 60 * NS_PER_SEC};
	_cleanup_free_ char *error = NULL;
	_cleanup_str_ struct str bytes = {.max = 1 << 20};
	char key[32];
	struct span_part part;
	struct pipeline p;
	struct span span;

	assert_int_equal(pipeline_open(&p, &o, &error), 0);
	span = make_span(p.names, trace, start);
	assert_int_equal(assembler_put(p.assembler, &span), 0);
	assert_int_equal(pipeline_end(&p), 0);
	assert_int_equal(forest_finish(&p.forest), 0);
	assert_int_equal(pipeline_part(&p.forest, &bytes, &part), 0);
	snprintf(key, sizeof(key), "%s %u", source, (unsigned)trace);
	part.key = key;
	part.source = source;
	part.id = 0;
	assert_int_equal(span_store_put(store, &part), 0);
	pipeline_close(&p);
}

static void test_an_hour_becomes_one_part_and_says_the_same(void **state)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_str_ struct str before = {.max = 1 << 20}, after = {.max = 1 << 20};
	struct span_store *store;
	unsigned parts;

	assert_int_equal(span_store_open(file, DATABASE_CREATE, &store, &error), 0);
	for (uint64_t i = 1; i <= 5; i++)
		put(store, "receive", i, HOUR_BEGIN + (int64_t)i * 600 * NS_PER_SEC);
	put(store, "receive", 6, HOUR_BEGIN + 3600 * NS_PER_SEC); /* the next hour's */
	put(store, "a file", 7, HOUR_BEGIN + 1800 * NS_PER_SEC);
	read_store(store, &before, &parts);
	assert_int_equal(parts, 7);
	assert_int_equal(receiver_merge_hour(store, HOUR_BEGIN), 0);
	assert_int_equal(receiver_merge_hour(store, HOUR_BEGIN), 0); /* nothing more to do */
	read_store(store, &after, &parts);
	assert_int_equal(parts, 3);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
	span_store_close(store);
}

static int make_file(void **state)
{
	strcpy(file, "/tmp/whyslow-span-receive-XXXXXX");
	close(mkstemp(file));
	return 0;
}

static int remove_file(void **state)
{
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_hour_becomes_one_part_and_says_the_same),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
