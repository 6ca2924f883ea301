#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/ask/fleet-lead.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)

static const char *const names[] = {"front", "service", "database", "other"};

static struct fleet make(void)
{
	struct fleet f = {.interval = MINUTE};

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(fleet_add_server(&f, names[i]), i);
	assert_int_equal(fleet_add_counter(&f, "latency_ms"), 0);
	assert_int_equal(fleet_add_counter(&f, "requests"), 1);
	return f;
}

static void put(struct fleet_findings *e, int server, double score, int64_t since, uint32_t n)
{
	struct fleet_finding x = fleet_finding_empty;

	x.server = server;
	x.counter = 0;
	x.score = score;
	x.since = since;
	x.n = n;
	assert_int_equal(VEC_PUSH(e->list, x), 0);
}

static void add_call(struct fleet_calls *c, struct fleet_call call)
{
	assert_int_equal(VEC_PUSH(c->list, call), 0);
}

/* The first server calls the second one, which calls the third. */
static struct fleet_calls a_chain(void)
{
	struct fleet_calls calls = {};

	add_call(&calls, (struct fleet_call){0, 1});
	add_call(&calls, (struct fleet_call){1, 2});
	return calls;
}

/* The calls to "service" are late: "front", which calls it, explains it best because it waits for it. */
static void a_caller_is_no_lead_of_a_late_call(void **state)
{
	struct fleet f = make();
	struct fleet_findings e = {};
	struct fleet_calls calls = a_chain();

	(void)state;
	put(&e, 0, 1.00, 5 * MINUTE, 5);
	assert_int_equal(fleet_find_lead(&f, &calls, 0, 1, &e), 0);
	put(&e, 1, 0.98, 5 * MINUTE, 5); /* the server itself */
	assert_int_equal(fleet_find_lead(&f, &calls, 0, 1, &e), 1);
	assert_int_equal(e.list.v[0].server, 1);
	put(&e, 2, 0.97, 5 * MINUTE, 5); /* what that one calls */
	assert_int_equal(fleet_find_lead(&f, &calls, 0, 1, &e), 1);
	assert_int_equal(e.list.v[0].server, 2);
	fleet_findings_free(&e);
	VEC_FREE(calls.list);
	fleet_free(&f);
}

static void among_equals_the_one_without_a_candidate_below_leads(void **state)
{
	struct fleet f = make();
	struct fleet_findings e = {};
	struct fleet_calls calls = a_chain();

	(void)state;
	put(&e, 0, 1.00, 5 * MINUTE, 5);
	put(&e, 1, 0.98, 5 * MINUTE, 5);
	put(&e, 2, 0.97, 5 * MINUTE, 5);
	put(&e, 3, 0.60, 1 * MINUTE, 5); /* explains less: no candidate */
	assert_int_equal(fleet_find_lead(&f, &calls, 0, -1, &e), 1);
	assert_int_equal(e.list.v[0].server, 2);
	assert_int_equal(e.list.v[1].server, 0); /* the rest keeps its order */
	assert_int_equal(e.list.v[2].server, 1);
	add_call(&calls, (struct fleet_call){2, 0}); /* they call each other: nothing is told apart */
	assert_int_equal(fleet_find_lead(&f, &calls, 0, -1, &e), 1);
	assert_int_equal(e.list.v[0].server, 2);
	VEC_FREE(calls.list);
	fleet_findings_free(&e);
	fleet_free(&f);
}

static void few_rows_accuse_a_callee_by_the_symptoms_quantity_alone(void **state)
{
	struct fleet f = make();
	struct fleet_calls calls = {};

	(void)state;
	add_call(&calls, (struct fleet_call){0, 1});
	for (uint32_t rows = 5; rows <= 80; rows += 75) {
		struct fleet_findings e = {};

		put(&e, 0, 1.00, 5 * MINUTE, rows);
		put(&e, 1, 0.98, 5 * MINUTE, rows);
		e.list.v[1].counter = 1; /* its requests: what the caller asks of it */
		assert_int_equal(fleet_find_lead(&f, &calls, 0, -1, &e), 1);
		assert_int_equal(e.list.v[0].server, rows > 5 ? 1 : 0);
		fleet_findings_free(&e);
	}
	VEC_FREE(calls.list);
	fleet_free(&f);
}

static void what_moved_first_leads_where_rows_can_tell(void **state)
{
	struct fleet f = make();

	(void)state;
	for (uint32_t rows = 5; rows <= 80; rows += 75) {
		struct fleet_findings e = {};

		put(&e, 0, 1.00, 5 * MINUTE, rows);
		put(&e, 1, 0.90, 3 * MINUTE, rows);
		assert_int_equal(fleet_find_lead(&f, NULL, 0, -1, &e), 1);
		assert_int_equal(e.list.v[0].server, rows > 5 ? 1 : 0);
		fleet_findings_free(&e);
	}
	fleet_free(&f);
}

/* A disk's own noise makes it explain a little less than who calls it. */
static void a_callee_that_moved_first_leads_its_caller(void **state)
{
	struct fleet f = make();
	struct fleet_calls calls = a_chain();

	(void)state;
	for (int64_t began = 3; began <= 5; began += 2)
		for (uint32_t rows = 5; rows <= 80; rows += 75) {
			struct fleet_findings e = {};

			put(&e, 1, 1.00, 5 * MINUTE, rows);
			put(&e, 2, 0.85, began * MINUTE, rows);
			assert_int_equal(fleet_find_lead(&f, &calls, 0, -1, &e), 1);
			assert_int_equal(e.list.v[0].server, rows > 5 && began < 5 ? 2 : 1);
			fleet_findings_free(&e);
		}
	VEC_FREE(calls.list);
	fleet_free(&f);
}

/* A database's disk is busy a minute before its queries take longer. */
static void the_first_counter_of_the_server_leads(void **state)
{
	struct fleet f = make();
	struct fleet_findings e = {};

	(void)state;
	put(&e, 0, 0.98, 5 * MINUTE, 80);
	put(&e, 2, 0.90, 4 * MINUTE, 80);
	put(&e, 2, 0.89, 3 * MINUTE, 80);
	put(&e, 2, 0.55, 1 * MINUTE, 80); /* explains less */
	e.list.v[2].counter = 1;
	assert_int_equal(fleet_find_lead(&f, NULL, 0, -1, &e), 1);
	assert_int_equal(e.list.v[0].server, 2);
	assert_int_equal(e.list.v[0].counter, 1);
	fleet_findings_free(&e);
	fleet_free(&f);
}

static void what_explains_little_leads_nothing(void **state)
{
	struct fleet f = make();
	struct fleet_findings e = {};

	(void)state;
	assert_int_equal(fleet_find_lead(&f, NULL, 0, -1, &e), 0);
	put(&e, 0, 0.4, MINUTE, 80);
	assert_int_equal(fleet_find_lead(&f, NULL, 0, -1, &e), 0);
	fleet_findings_free(&e);
	fleet_free(&f);
}

RUN_TESTS(cmocka_unit_test(a_caller_is_no_lead_of_a_late_call), cmocka_unit_test(among_equals_the_one_without_a_candidate_below_leads),
	  cmocka_unit_test(few_rows_accuse_a_callee_by_the_symptoms_quantity_alone), cmocka_unit_test(what_moved_first_leads_where_rows_can_tell), cmocka_unit_test(a_callee_that_moved_first_leads_its_caller), cmocka_unit_test(the_first_counter_of_the_server_leads), cmocka_unit_test(what_explains_little_leads_nothing))
