/* Names without what tells single requests apart. */
#include "lib/data/test.h"

#include <stdlib.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "spans/formats/span-name.h"

static void check(const char *name, const char *wanted)
{
	char out[NAME_TEXT_MAX + 1];
	size_t n = span_name_plain(name, strlen(name), out);

	out[n] = '\0';
	assert_string_equal(out, wanted);
}

static void test_ids_of_paths(void **state)
{
	check("GET /orders/1234", "GET /orders/{}");
	check("GET /api/orders/4f2a91c0-7be3-d518-11aa-0242ac120002/items", "GET /api/orders/{}/items");
	check("GET /blob/9c1f02b7aa?w=100&h=7 HTTP", "GET /blob/{} HTTP");
	check("/profiles/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/profiles/{}");
	check("GET 10.0.0.1:8080/v1/x", "GET {}:{}/v1/x");
	check("search.Shard/Query-7", "search.Shard/Query-{}");
}

static void test_statements(void **state)
{
	check("SELECT * FROM orders WHERE id = 4711 AND state = 'it''s' LIMIT 10", "SELECT * FROM orders WHERE id = {} AND state = {} LIMIT {}");
	check("SELECT a FROM t WHERE id IN (1, 2,3 , 4)", "SELECT a FROM t WHERE id IN ({})");
	check("SELECT a FROM t WHERE id IN (?, ?, ?) AND b = $1", "SELECT a FROM t WHERE id IN ({}) AND b = {}");
	check("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')", "INSERT INTO t VALUES ({})");
	check("SELECT \"id\" FROM \"orders2\" WHERE x = \"y\"", "SELECT \"id\" FROM \"orders2\" WHERE x = {}");
	check("MGET user:17:name user:4b9c1f02:name", "MGET user:{}:name user:{}:name");
	check("x > 2.5", "x > {}");
}

static void test_words_stay(void **state)
{
	static const char *const words[] = {"POST /v1/transfers", "s3 GetObject", "http2 frame", "the user's cart", "decade", "GET /{id}/x",
					    "shop.Cart/Add", "OrderService2Handler", "create vm", "what?", ""};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		check(words[i], words[i]);
	check("order20017", "order{}");
	check("job_12_done", "job_{}_done");
}

/* However long a list is, it is read in time and room that do not grow with it. */
static void test_long_names_are_bounded(void **state)
{
	char out[NAME_TEXT_MAX], *text = malloc(1 << 20);
	size_t n;

	assert_non_null(text);
	memset(text, 'a', 1 << 20);
	assert_int_equal(span_name_plain(text, 1 << 20, out), NAME_TEXT_MAX);
	for (size_t i = 0; i + 3 <= 1 << 20; i += 3)
		memcpy(text + i, "1, ", 3);
	n = span_name_plain(text, 1 << 20, out);
	assert_in_range(n, 2, 4); /* with what stands behind the last */
	assert_memory_equal(out, "{}", 2);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_of_paths),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_words_stay),
		cmocka_unit_test(test_long_names_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
