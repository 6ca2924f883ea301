#include "lib/data/test.h"

#include <stdlib.h>
#include <string.h>

#include "fleet/ask/fleet-deployed.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)
#define BEGIN  (100 * MINUTE)

enum { FRONT, CART_1, CART_2, DATABASE, MAIL };

static struct fleet make(void)
{
	static const char *const names[] = {"front", "cart-1", "cart-2", "database", "mail"};
	struct fleet f = {.interval = MINUTE};

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(fleet_add_server(&f, names[i]), i);
	assert_int_equal(fleet_add_counter(&f, "latency_ms"), 0);
	return f;
}

static void add_unusual(struct fleet_answer *a, int server, double score, int64_t since)
{
	struct fleet_finding x = fleet_finding_empty;

	x.server = server;
	x.counter = 0;
	x.score = score;
	x.since = since;
	assert_int_equal(VEC_PUSH(a->unusual.list, x), 0);
	if (a->named)
		return;
	a->named = true;
	a->culprit = x;
}

/* The cart is slow from minute 100 on, the database at the same time, the front two minutes later. */
static struct fleet_answer slow_cart(void)
{
	struct fleet_answer a = {.called = -1, .summary = strdup("The cart is slow.")};

	add_unusual(&a, CART_1, 20, BEGIN);
	add_unusual(&a, DATABASE, 15, BEGIN);
	add_unusual(&a, FRONT, 12, BEGIN + 2 * MINUTE);
	return a;
}

static void add(struct deployments *d, const char *service, const char *version, int64_t minute)
{
	assert_int_equal(deployments_add(d, &(struct deployment){.package = (char *)service, .version = (char *)version, .time = minute * MINUTE}), 0);
}

/* Checks the order, and which is the first that cannot be the cause. */
static void check(struct deployments *d, const struct fleet_calls *calls, const char *const *versions, size_t may_be, const char *words)
{
	static const struct fleet_calls none = {};
	struct fleet f = make();
	struct fleet_answer a = slow_cart();
	struct fleet_deployed *list = NULL;

	assert_int_equal(fleet_deployed_rank(&f, calls ? calls : &none, &a, d, &list), 0);
	for (size_t i = 0; i < d->list.n; i++) {
		assert_string_equal(list[i].what.version, versions[i]);
		assert_int_equal(i < may_be, list[i].verdict == DEPLOYMENT_MAY_BE);
	}
	assert_non_null(strstr(a.summary, words));
	free(list);
	deployments_free(d);
	VEC_FREE(a.unusual.list);
	free(a.summary);
	fleet_free(&f);
}

static void a_later_one_and_one_long_ago_are_not_the_cause(void **state)
{
	struct deployments d = {};

	add(&d, "cart", "long ago", 10);
	add(&d, "cart", "repair", 105);
	add(&d, "mail", "elsewhere", 98);
	add(&d, "front", "followed", 99);
	add(&d, "cart", "it", 92);
	check(&d, NULL, (const char *const[]){"it", "repair", "followed", "elsewhere", "long ago"}, 1, "came with the deployment of cart it at 1970-01-01T01:32:00.000Z, 480 s before.");
}

static void the_first_of_a_burst_counts(void **state)
{
	struct deployments d = {};

	add(&d, "cart", "metrics only", 98);
	add(&d, "cart", "it", 93);
	check(&d, NULL, (const char *const[]){"it", "metrics only"}, 2, "cart it");
	add(&d, "cart", "replaced", 98);
	add(&d, "cart", "it", 98);
	check(&d, NULL, (const char *const[]){"it", "replaced"}, 2, "cart it");
}

static void a_connected_server_may_have_led(void **state)
{
	struct fleet_call calls[] = {{FRONT, CART_1}, {CART_1, DATABASE}};
	struct fleet_calls graph = {.list = {.v = calls, .n = 2}}, without = {.list = {.v = calls, .n = 1}};
	struct deployments d = {};

	add(&d, "database", "it", 97);
	check(&d, &graph, (const char *const[]){"it"}, 1, "database it");
	add(&d, "database", "not called", 97);
	check(&d, &without, (const char *const[]){"not called"}, 0, "None of the 1 deployments explains it.");
}

static void nothing_is_explained_where_nothing_is_unusual(void **state)
{
	static const struct fleet_calls none = {};
	struct fleet f = make();
	struct fleet_answer a = slow_cart();
	struct fleet_deployed *list = NULL;
	struct deployments d = {};

	a.calm = true;
	add(&d, "cart", "it", 97);
	assert_int_equal(fleet_deployed_rank(&f, &none, &a, &d, &list), 0);
	assert_string_equal(a.summary, "The cart is slow.");
	free(list);
	deployments_free(&d);
	VEC_FREE(a.unusual.list);
	free(a.summary);
	fleet_free(&f);
}

RUN_TESTS(cmocka_unit_test(a_later_one_and_one_long_ago_are_not_the_cause), cmocka_unit_test(the_first_of_a_burst_counts),
	  cmocka_unit_test(a_connected_server_may_have_led), cmocka_unit_test(nothing_is_explained_where_nothing_is_unusual))
