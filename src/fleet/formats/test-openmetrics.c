#include "fleet/formats/test-intake.h"

extern const struct fleet_source fleet_source_openmetrics;

#define T 1795183200ll /* 2026-11-20T14:00:00Z */

static void types_and_help_come_from_the_text(void **state)
{
	struct loaded l = load_fixture(&fleet_source_openmetrics, "scrapes.prom");
	const struct fleet_counter *load = counter_named(&l, "node_load1");

	assert_int_equal(load->kind, FLEET_GAUGE);
	assert_string_equal(load->help, "1m load average.");
	assert_int_equal(counter_named(&l, "node_network_receive_bytes_total{device=\"eth\"0\"}")->kind, FLEET_COUNTER);
	assert_int_equal(counter_named(&l, "gc_seconds{quantile=\"0.5\"}")->kind, FLEET_GAUGE);
	assert_int_equal(counter_named(&l, "request_seconds_sum")->kind, FLEET_COUNTER);
	loaded_free(&l);
}

static void values_belong_to_their_instance_and_time(void **state)
{
	struct loaded l = load_fixture(&fleet_source_openmetrics, "scrapes.prom");

	check_at(&l, "web-1", "node_load1", T, 0.5);
	check_at(&l, "web-1", "node_load1", T + 15, 0.75);
	check_at(&l, "web-2", "node_load1", T, 4);
	check_at(&l, "web-1", "node_network_receive_bytes_total{device=\"eth\"0\"}", T + 15, 200);
	check_at(&l, "web-1", "request_seconds_sum", T + 15, 0.2);
	assert_string_equal(l.fleet->servers.v[fleet_find_server(l.fleet, "web-1")].role, "node");
	assert_true(fleet_find_counter(l.fleet, "request_seconds_bucket{le=\"0.1\"}") < 0);
	loaded_free(&l);
}

static void bad_samples_are_located(void **state)
{
	struct loaded l = load_fixture(&fleet_source_openmetrics, "scrapes.prom");

	check_bad(&l, "scrapes.prom:19: no number or timestamp behind this");
	check_bad(&l, "scrapes.prom:20: no number or timestamp behind no_value");
	check_bad(&l, "scrapes.prom:21: no sample");
	check_bad(&l, "scrapes.prom:22: no number or timestamp behind bad_number");
	assert_int_equal(intake_count(l.intake).bad, 4);
	assert_int_equal(l.fleet->remarks.n > 0, 1);
	loaded_free(&l);
}

static void openmetrics_counts_in_seconds(void **state)
{
	struct loaded l = load_fixture(&fleet_source_openmetrics, "scrape.om");
	const struct fleet_counter *requests = counter_named(&l, "requests_total{code=\"200\"}");

	assert_int_equal(requests->kind, FLEET_COUNTER);
	assert_string_equal(requests->unit, "requests");
	assert_true(fabs(value_at(&l, "scrape", "requests_total{code=\"200\"}", T * NS_PER_SEC + 10500000000) - 3) < 1e-6);
	assert_true(value_at(&l, "scrape", "queue_length", T * NS_PER_SEC + 500000000) == 7);
	assert_int_equal(l.fleet->counters.n, 2);
	assert_int_equal(intake_count(l.intake).bad, 0);
	loaded_free(&l);
}

static void damaged_files_do_no_harm(void **state)
{
	load_mutated(&fleet_source_openmetrics, "scrapes.prom", 1000);
	load_mutated(&fleet_source_openmetrics, "scrape.om", 500);
}

RUN_TESTS(cmocka_unit_test(types_and_help_come_from_the_text), cmocka_unit_test(values_belong_to_their_instance_and_time),
	  cmocka_unit_test(bad_samples_are_located), cmocka_unit_test(openmetrics_counts_in_seconds),
	  cmocka_unit_test(damaged_files_do_no_harm))
