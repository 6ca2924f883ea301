#include "lib/data/test.h"

#include "fleet/ask/fleet-culprit.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)

enum { FRONT, SERVICE, DATABASE, OTHER };

static struct fleet make(void)
{
	static const char *const names[] = {"front", "service", "database", "other"};
	struct fleet f = {.interval = MINUTE};

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(fleet_add_server(&f, names[i]), i);
	assert_int_equal(fleet_add_counter(&f, "latency_ms"), 0);
	assert_int_equal(fleet_add_counter(&f, "disk_await_ms"), 1);
	return f;
}

static struct fleet_finding finding(int server, int counter, double score, int64_t since)
{
	struct fleet_finding x = fleet_finding_empty;

	x.server = server;
	x.counter = counter;
	x.score = score;
	x.since = since;
	x.n = 60;
	return x;
}

/* Adds what moved with the symptom: how much of it it explains, and how far from normal it is. */
static void add(struct fleet_answer *a, int server, int counter, double explains, double far, int64_t since)
{
	assert_int_equal(VEC_PUSH(a->explain.list, finding(server, counter, explains, since)), 0);
	assert_int_equal(VEC_PUSH(a->unusual.list, finding(server, counter, far, since)), 0);
}

/* The service's latency is the symptom, six times as far from normal as it is in other windows, since minute 10. */
static struct fleet_answer symptom_of_service(bool given)
{
	struct fleet_answer a = {.called = -1, .found_symptom = !given, .unusual_symptom = true};

	a.symptom = finding(SERVICE, 0, 6, 10 * MINUTE);
	assert_int_equal(VEC_PUSH(a.unusual.list, a.symptom), 0);
	return a;
}

static int decide(struct fleet_answer *a, const struct fleet_calls *calls)
{
	static const struct fleet_calls none = {};
	struct fleet f = make();

	assert_int_equal(fleet_culprit_find(&f, calls ? calls : &none, a), 0);
	fleet_free(&f);
	VEC_FREE(a->explain.list);
	VEC_FREE(a->unusual.list);
	return a->named ? a->culprit.server : -1;
}

static void what_is_found_first_is_the_culprit(void **state)
{
	struct fleet_answer a = symptom_of_service(false);

	add(&a, DATABASE, 0, 1.0, 20, 10 * MINUTE);
	assert_int_equal(decide(&a, NULL), SERVICE);
}

static void a_server_that_is_much_farther_from_normal_made_the_symptom(void **state)
{
	struct fleet_answer a = symptom_of_service(true);

	add(&a, DATABASE, 1, 0.9, 12, 10 * MINUTE);
	assert_int_equal(decide(&a, NULL), DATABASE);
	assert_true(a.led);
}

static void what_is_carried_along_did_not_make_the_symptom(void **state)
{
	struct fleet_answer a = symptom_of_service(true);

	add(&a, OTHER, 0, 1.0, 5, 10 * MINUTE);
	assert_int_equal(decide(&a, NULL), SERVICE);
	assert_false(a.led);
}

static void what_began_later_did_not_make_the_symptom(void **state)
{
	struct fleet_answer a = symptom_of_service(true);

	add(&a, OTHER, 0, 1.0, 20, 11 * MINUTE);
	assert_int_equal(decide(&a, NULL), SERVICE);
}

static void what_began_rows_before_made_the_symptom(void **state)
{
	struct fleet_answer a = symptom_of_service(true);

	add(&a, DATABASE, 1, 0.9, 5, 8 * MINUTE);
	assert_int_equal(decide(&a, NULL), DATABASE);
}

/* The front calls the service by way of the other one: its latency is the service's. */
static void a_caller_is_not_the_cause_of_what_it_calls(void **state)
{
	struct fleet_call chain[] = {{FRONT, OTHER}, {OTHER, SERVICE}};
	struct fleet_calls calls = {};
	struct fleet_answer a = symptom_of_service(true);

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(VEC_PUSH(calls.list, chain[i]), 0);
	add(&a, FRONT, 0, 1.0, 20, 8 * MINUTE);
	assert_int_equal(decide(&a, &calls), SERVICE);
	VEC_FREE(calls.list);
}

/* The front's latency is an alert; it calls the service, which calls the database. */
static int below_front(double service, double database, int database_counter, int64_t began)
{
	struct fleet_call chain[] = {{FRONT, SERVICE}, {SERVICE, DATABASE}};
	struct fleet_calls calls = {};
	struct fleet_answer a = {.called = -1, .unusual_symptom = true};
	int named;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(VEC_PUSH(calls.list, chain[i]), 0);
	a.symptom = finding(FRONT, 0, 20, 10 * MINUTE);
	assert_int_equal(VEC_PUSH(a.unusual.list, a.symptom), 0);
	add(&a, SERVICE, 0, 0.9, service, 10 * MINUTE);
	add(&a, DATABASE, database_counter, 0.8, database, began);
	named = decide(&a, &calls);
	VEC_FREE(calls.list);
	return named;
}

static void what_is_called_is_named_by_evidence_of_its_own(void **state)
{
	assert_int_equal(below_front(10, 9, 0, 10 * MINUTE), DATABASE);
	assert_int_equal(below_front(10, 2, 0, 10 * MINUTE), SERVICE);  /* not unusual */
	assert_int_equal(below_front(10, 9, 0, 12 * MINUTE), SERVICE);  /* later */
	assert_int_equal(below_front(10, 12, 1, 10 * MINUTE), DATABASE); /* by what it alone measures, and farther from normal */
	assert_int_equal(below_front(10, 9, 1, 10 * MINUTE), SERVICE);
	assert_int_equal(below_front(4, 4, 0, 10 * MINUTE), FRONT); /* echoes */
}

/* The shares of failures: of a caller it is what it calls, or more. Durations add up. */
static void a_share_of_failures_that_is_less_than_the_callers_is_an_echo(void **state)
{
	static const struct fleet_call call = {FRONT, SERVICE};
	struct fleet f = make();
	struct fleet_calls calls = {};
	struct fleet_findings alarms = {}, unusual = {};
	struct fleet_finding front, service;

	assert_int_equal(VEC_PUSH(calls.list, call), 0);
	assert_int_equal(fleet_add_counter(&f, "error_ratio"), 2);
	for (int counter = 0; counter < 3; counter += 2)
		for (int share = 1; share <= 3; share += 2) {
			front = finding(FRONT, counter, 18, 10 * MINUTE);
			service = finding(SERVICE, counter, 12, 10 * MINUTE);
			front.usual = service.usual = 0;
			front.observed = .4;
			service.observed = .2 * share;
			assert_int_equal(VEC_PUSH(alarms.list, front), 0);
			assert_int_equal(VEC_PUSH(alarms.list, service), 0);
			assert_int_equal(VEC_PUSH(unusual.list, front), 0);
			assert_int_equal(VEC_PUSH(unusual.list, service), 0);
			assert_int_equal(fleet_culprit_first(&f, &calls, &alarms, &unusual, -1), counter == 0 || share == 3);
			fleet_findings_free(&alarms);
			fleet_findings_free(&unusual);
			alarms = unusual = (struct fleet_findings){};
		}
	VEC_FREE(calls.list);
	fleet_free(&f);
}

static void of_its_own_counters_the_one_that_began_first_is_named(void **state)
{
	struct fleet_answer a = symptom_of_service(true);

	add(&a, SERVICE, 1, 0.8, 5, 7 * MINUTE);
	assert_int_equal(decide(&a, NULL), SERVICE);
	assert_int_equal(a.culprit.counter, 1);
}

/* The database's queries, by which it is farthest from normal, rose only after its waits had made the service slow. */
static void a_server_fell_ill_with_the_first_of_its_counters(void **state)
{
	struct fleet f = make();
	struct fleet_findings alarms = {}, unusual = {};

	assert_int_equal(VEC_PUSH(alarms.list, finding(DATABASE, 0, 18, 12 * MINUTE)), 0);
	assert_int_equal(VEC_PUSH(alarms.list, finding(SERVICE, 0, 17, 8 * MINUTE)), 0);
	assert_int_equal(VEC_PUSH(unusual.list, finding(DATABASE, 0, 18, 12 * MINUTE)), 0);
	assert_int_equal(VEC_PUSH(unusual.list, finding(SERVICE, 0, 17, 8 * MINUTE)), 0);
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, -1), 1);
	assert_int_equal(VEC_PUSH(unusual.list, finding(DATABASE, 1, 4, 2 * MINUTE)), 0); /* so near to normal by chance */
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, -1), 1);
	assert_int_equal(VEC_PUSH(unusual.list, finding(DATABASE, 1, 16, 7 * MINUTE)), 0);
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, -1), 0);
	fleet_findings_free(&alarms);
	fleet_findings_free(&unusual);
	fleet_free(&f);
}

/* The first of a list may be there by its level; one that is as far from normal and began before it is where it began. What was asked about, or found by its times, stays. */
static void of_a_list_the_one_that_is_farther_and_began_before_is_named(void **state)
{
	struct fleet f = make();
	struct fleet_findings alarms = {}, unusual = {};

	assert_int_equal(VEC_PUSH(alarms.list, finding(FRONT, 0, 13, 10 * MINUTE)), 0);
	assert_int_equal(VEC_PUSH(alarms.list, finding(SERVICE, 0, 17, 9 * MINUTE)), 0);
	VEC_EACH(x, alarms.list)
		assert_int_equal(VEC_PUSH(unusual.list, *x), 0);
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, -1), 1);
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, FRONT), 0);
	alarms.list.v[1].score = 12;
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, -1), 0);
	fleet_findings_free(&alarms);
	fleet_findings_free(&unusual);
	fleet_free(&f);
}

/* Both have a counter that rose long before, half as far from normal as their farthest: of one a little more than half, of the other a little less. */
static void how_far_counts_as_ill_is_the_same_for_both(void **state)
{
	struct fleet f = make();
	struct fleet_findings alarms = {}, unusual = {};

	assert_int_equal(VEC_PUSH(alarms.list, finding(DATABASE, 0, 17.4, 10 * MINUTE)), 0);
	assert_int_equal(VEC_PUSH(alarms.list, finding(SERVICE, 0, 16.3, 10 * MINUTE)), 0);
	VEC_EACH(x, alarms.list)
		assert_int_equal(VEC_PUSH(unusual.list, *x), 0);
	assert_int_equal(VEC_PUSH(unusual.list, finding(SERVICE, 1, 8.4, 2 * MINUTE)), 0);
	assert_int_equal(VEC_PUSH(unusual.list, finding(DATABASE, 1, 8.3, 2 * MINUTE)), 0);
	assert_int_equal(fleet_culprit_first(&f, NULL, &alarms, &unusual, -1), 0);
	fleet_findings_free(&alarms);
	fleet_findings_free(&unusual);
	fleet_free(&f);
}

static void nobody_is_named_for_a_symptom_as_always(void **state)
{
	struct fleet_answer a = symptom_of_service(true);

	a.unusual_symptom = false;
	add(&a, OTHER, 0, 0.3, 5, 10 * MINUTE);
	assert_int_equal(decide(&a, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_first_is_the_culprit),
		cmocka_unit_test(a_server_that_is_much_farther_from_normal_made_the_symptom),
		cmocka_unit_test(what_is_carried_along_did_not_make_the_symptom),
		cmocka_unit_test(what_began_later_did_not_make_the_symptom),
		cmocka_unit_test(what_began_rows_before_made_the_symptom),
		cmocka_unit_test(a_caller_is_not_the_cause_of_what_it_calls),
		cmocka_unit_test(what_is_called_is_named_by_evidence_of_its_own),
		cmocka_unit_test(a_share_of_failures_that_is_less_than_the_callers_is_an_echo),
		cmocka_unit_test(of_its_own_counters_the_one_that_began_first_is_named),
		cmocka_unit_test(a_server_fell_ill_with_the_first_of_its_counters),
		cmocka_unit_test(of_a_list_the_one_that_is_farther_and_began_before_is_named),
		cmocka_unit_test(how_far_counts_as_ill_is_the_same_for_both),
		cmocka_unit_test(nobody_is_named_for_a_symptom_as_always),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
