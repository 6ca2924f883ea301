#include "lib/data/test.h"

#include "fleet/model/counter-name.h"

static void a_statistic_of_a_quantity_is_no_other_quantity(void **state)
{
	assert_true(counter_same_quantity("latency.Average", "latency.p99"));
	assert_true(counter_same_quantity("request_p50_ms", "request_max_ms"));
	assert_true(counter_same_quantity("Queue Length", "queue_length"));
	assert_false(counter_same_quantity("latency.Average", "availability.Average"));
	assert_false(counter_same_quantity("disk_read", "disk_read_wait"));
	assert_false(counter_same_quantity("pages", "p")); /* a word that only begins like a quantile */
}

static void units_stand_at_the_end_of_a_name(void **state)
{
	assert_string_equal(counter_unit_of_name("request_latency_ms"), "ms");
	assert_string_equal(counter_unit_of_name("node_network_receive_bytes_total"), "B");
	assert_string_equal(counter_unit_of_name("gc_pause_seconds_sum"), "s");
	assert_string_equal(counter_unit_of_name("cpu_percent"), "%");
	assert_string_equal(counter_unit_of_name("bytes_total"), "B");
	assert_string_equal(counter_unit_of_name("seconds_sum"), "s");
	assert_string_equal(counter_unit_of_name("requests_per_sec"), "requests/s");
	assert_string_equal(counter_unit_of_name("disk_bytes_per_second"), "B/s");
	assert_string_equal(counter_unit_of_name("logins_per_second.Average"), "/s");
	assert_null(counter_unit_of_name("queries_per_request"));
	assert_null(counter_unit_of_name("requests"));
	assert_null(counter_unit_of_name("status"));
	assert_null(counter_unit_of_name(""));
}

RUN_TESTS(cmocka_unit_test(a_statistic_of_a_quantity_is_no_other_quantity), cmocka_unit_test(units_stand_at_the_end_of_a_name))
