/* Which counters measure a call, by their names and those of the servers. */
#include "lib/data/test.h"

#include <stdlib.h>

#include "fleet/model/counter-call.h"
#include "fleet/model/intake.h"
#include "lib/data/cleanup.h"

struct named {
	const char *counter, *caller, *callee; /* NULL: no call */
};

/* A fleet in which a server of its own measures all these counters. */
static struct fleet *fleet_of(const char *const *servers, size_t n_servers, const struct named *counters, size_t n_counters)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	struct intake *in = intake_new();
	int mesh = intake_server(in, "mesh");
	struct fleet *f;

	for (size_t i = 0; i < n_servers; i++)
		assert_int_equal(intake_put(in, intake_server(in, servers[i]), intake_counter(in, "cpu", &gauge), 1, 1), 0);
	for (size_t i = 0; i < n_counters; i++)
		assert_int_equal(intake_put(in, mesh, intake_counter(in, counters[i].counter, &gauge), 1, 1), 0);
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static const char *const servers[] = {"frontend-579b9bff58-t2dbm", "cart-7d9f8b6c5-x2x9z", "pay", "web-1", "web-2", "order-service"};

static void names_tell_who_calls_whom(void **state)
{
	const struct named cases[] = {
		{"frontend_cart", servers[0], servers[1]},
		{"cart.frontend.p99", servers[1], servers[0]},
		{"latency_frontend-579b9bff58-t2dbm_to_pay", servers[0], "pay"},
		{"requests_ms{destination=\"cart\",source=\"frontend\"}", servers[0], servers[1]},
		{"bytes_to_pay_from_cart", servers[1], "pay"},
		{"frontend_order-service_ms", servers[0], "order-service"},
		{"web-1_pay", "web-1", "pay"},
		{"web_pay", NULL, NULL}, /* which of them? */
		{"cart_hits", NULL, NULL},
		{"cart_cart", NULL, NULL},
		{"frontend_cart_pay", NULL, NULL},
		{"frontends_carts", NULL, NULL},
	};
	struct fleet *f = fleet_of(servers, ARRAY_SIZE(servers), cases, ARRAY_SIZE(cases));
	struct counter_calls calls;

	assert_int_equal(counter_calls_find(f, &calls), 0);
	assert_int_equal(calls.n, 7);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fleet_call call = calls.of[fleet_find_counter(f, cases[i].counter)];

		assert_int_equal(call.caller, cases[i].caller ? fleet_find_server(f, cases[i].caller) : -1);
		assert_int_equal(call.callee, cases[i].callee ? fleet_find_server(f, cases[i].callee) : -1);
	}
	assert_false(calls.observer[fleet_find_server(f, "mesh")]); /* some of its counters measure something else */
	counter_calls_free(&calls);
	fleet_free(f);
	free(f);
}

static void who_measures_nothing_but_calls_of_others_does_no_work(void **state)
{
	static const struct named cases[] = {{"frontend_cart", NULL, NULL}, {"frontend_pay", NULL, NULL}};
	struct fleet *f = fleet_of(servers, ARRAY_SIZE(servers), cases, ARRAY_SIZE(cases));
	struct counter_calls calls;

	assert_int_equal(counter_calls_find(f, &calls), 0);
	assert_true(calls.observer[fleet_find_server(f, "mesh")]);
	assert_false(calls.observer[fleet_find_server(f, "pay")]);
	counter_calls_free(&calls);
	fleet_free(f);
	free(f);
}

RUN_TESTS(cmocka_unit_test(names_tell_who_calls_whom), cmocka_unit_test(who_measures_nothing_but_calls_of_others_does_no_work))
