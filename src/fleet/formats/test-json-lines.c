#include "fleet/formats/test-intake.h"

extern const struct fleet_source fleet_source_json_lines;

#define T 1795183200ll /* 2026-11-20T14:00:00Z */

static void wide_lines_become_counters(void **state)
{
	struct loaded l = load_fixture(&fleet_source_json_lines, "wide.jsonl");

	check_at(&l, "web-1", "cpu", T, 0.5);
	check_at(&l, "web-1", "cpu", T + 60, 0.7);
	check_at(&l, "web-1", "disk.read", T + 60, 12);
	check_at(&l, "web-1", "disk.written.bytes", T, 3);
	assert_true(isnan(value_at(&l, "web-1", "disk.written.bytes", (T + 60) * NS_PER_SEC)));
	check_at(&l, "web-2", "cpu", T + 60, 0.1);
	check_at(&l, "web-2", "cpu", T + 120, 0.3);
	assert_string_equal(l.fleet->servers.v[fleet_find_server(l.fleet, "web-1")].role, "front");
	assert_int_equal(l.fleet->counters.n, 3);
	loaded_free(&l);
}

static void the_key_of_roles_is_chosen(void **state)
{
	char path[300];
	struct fleet_input input = {.location = path, .from = INT64_MIN, .to = INT64_MAX, .role_column = "zone"};
	struct loaded l;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/whyslow-roles-%d.jsonl", (int)getpid());
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "{\"time\":%lld,\"host\":\"a\",\"role\":\"front\",\"zone\":\"north\",\"cpu\":1}\n{\"time\":%lld,\"host\":\"b\",\"job\":\"node\",\"cpu\":1}\n", T, T);
	assert_int_equal(fclose(file), 0);
	l = load_input(&fleet_source_json_lines, &input);
	unlink(path);
	assert_int_equal(l.result, 0);
	assert_string_equal(l.fleet->servers.v[fleet_find_server(l.fleet, "a")].role, "north");
	assert_string_equal(l.fleet->servers.v[fleet_find_server(l.fleet, "b")].role, "node");
	loaded_free(&l);
}

static void bad_lines_are_located_and_counted(void **state)
{
	struct loaded l = load_fixture(&fleet_source_json_lines, "wide.jsonl");

	check_bad(&l, "wide.jsonl:5: no time: no field named");
	check_bad(&l, "wide.jsonl:6: no JSON");
	check_bad(&l, "wide.jsonl:7: no JSON object");
	check_bad(&l, "wide.jsonl:8: no time that is understood");
	assert_int_equal(intake_count(l.intake).bad, 4);
	loaded_free(&l);
}

static void long_lines_tell_their_kind(void **state)
{
	struct loaded l = load_fixture(&fleet_source_json_lines, "long.ndjson");

	assert_int_equal(counter_named(&l, "bytes.sent")->kind, FLEET_COUNTER);
	assert_string_equal(counter_named(&l, "bytes.sent")->unit, "bytes");
	check_at(&l, "a", "bytes.sent", T + 10, 200);
	check_at(&l, "a", "bytes.sent", T + 20, 100);
	check_at(&l, "a", "load", T + 20, 2.5);
	check_bad(&l, "long.ndjson:4: the value of load is not a number");
	assert_int_equal(intake_count(l.intake).bad, 1);
	loaded_free(&l);
}

static void whole_series_are_read(void **state)
{
	struct loaded l = load_fixture(&fleet_source_json_lines, "export.jsonl");

	check_at(&l, "web-1:9100", "node_load1", T, 1.5);
	check_at(&l, "web-1:9100", "node_load1", T + 15, 2.5);
	check_at(&l, "web-1:9100", "node_disk_io{device=\"sda\"}", T + 30, 9);
	assert_true(isnan(value_at(&l, "web-1:9100", "node_disk_io{device=\"sda\"}", (T + 15) * NS_PER_SEC)));
	check_bad(&l, "export.jsonl:3: 2 timestamps, but 1 values");
	loaded_free(&l);
}

static void only_what_is_asked_for_is_read(void **state)
{
	char path[300];
	struct fleet_input in = {.location = path, .from = (T + 30) * NS_PER_SEC, .to = INT64_MAX, .match = "c*"};
	struct loaded l;

	snprintf(path, sizeof(path), "%s/fleet/wide.jsonl", FIXTURES);
	l = load_input(&fleet_source_json_lines, &in);
	assert_int_equal(l.fleet->counters.n, 1);
	assert_true(isnan(value_at(&l, "web-1", "cpu", T * NS_PER_SEC)));
	check_at(&l, "web-1", "cpu", T + 60, 0.7);
	loaded_free(&l);
}

static void what_is_not_there_is_said(void **state)
{
	struct loaded l = load_location(&fleet_source_json_lines, "/nowhere/at/all.jsonl");

	assert_int_equal(l.result, -ENOENT);
	assert_non_null(strstr(l.error, "there is no such file"));
	loaded_free(&l);
}

static void damaged_files_do_no_harm(void **state)
{
	load_mutated(&fleet_source_json_lines, "wide.jsonl", 300);
	load_mutated(&fleet_source_json_lines, "long.ndjson", 300);
	load_mutated(&fleet_source_json_lines, "export.jsonl", 300);
}

RUN_TESTS(cmocka_unit_test(wide_lines_become_counters), cmocka_unit_test(the_key_of_roles_is_chosen), cmocka_unit_test(bad_lines_are_located_and_counted),
	  cmocka_unit_test(long_lines_tell_their_kind), cmocka_unit_test(whole_series_are_read),
	  cmocka_unit_test(only_what_is_asked_for_is_read), cmocka_unit_test(what_is_not_there_is_said),
	  cmocka_unit_test(damaged_files_do_no_harm))
