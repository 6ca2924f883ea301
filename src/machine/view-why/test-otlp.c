#include "machine/view-why/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/test.h"

/* The documents of one signal. */
struct sent {
	const char *signal;
	json_t *documents;
	int fails;
};

static int take(const char *signal, const json_t *document, void *data)
{
	struct sent *s = data;

	assert_string_equal(signal, s->signal);
	json_array_append_new(s->documents, json_deep_copy(document));
	return s->fails;
}

static json_t *at(json_t *value, const char *path, ...)
{
	char copy[200], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save))
		value = key[0] >= '0' && key[0] <= '9' ? json_array_get(value, (size_t)atoi(key)) : json_object_get(value, key);
	return value;
}

static json_t *find_metric(json_t *documents, const char *name)
{
	size_t i, k;
	json_t *document, *metric;

	json_array_foreach (documents, i, document)
		json_array_foreach (at(document, "resourceMetrics.0.scopeMetrics.0.metrics"), k, metric)
			if (strcmp(json_string_value(json_object_get(metric, "name")), name) == 0)
				return metric;
	return NULL;
}

static const char *attribute(json_t *of, const char *key)
{
	size_t i;
	json_t *attribute;

	json_array_foreach (json_object_get(of, "attributes"), i, attribute)
		if (strcmp(json_string_value(json_object_get(attribute, "key")), key) == 0)
			return json_string_value(json_object_iter_value(json_object_iter(json_object_get(attribute, "value"))));
	return NULL;
}

static struct totals_row *some_rows(void)
{
	struct totals_row *rows = calloc(TOTALS_ROWS, sizeof(*rows));

	rows[1] = (struct totals_row){.kind = ENTITY_PROCESS, .name = "python3 orders.py", .unit = "/kubepods/x", .container = "shop/cart-1/web",
				      .present = FEATURE_BIT(FEATURE_CPU_USER) | FEATURE_BIT(FEATURE_CPU_SYSTEM) | FEATURE_BIT(FEATURE_CPU_RUN_DELAY)};
	rows[1].values[FEATURE_CPU_USER] = 1500 * NS_PER_MS;
	rows[1].values[FEATURE_CPU_RUN_DELAY] = 250 * NS_PER_MS;
	rows[2] = (struct totals_row){.kind = TOTALS_RECORDER, .present = FEATURES_ALL,
				      .values = {[TOTALS_RECORDER_STARTED] = 7, [TOTALS_RECORDER_LAST] = 1234567890123456789}};
	return rows;
}

static void what_conventions_name_has_their_name(void **state)
{
	struct totals_row *rows = some_rows();
	struct dataset d = {};
	struct sent s = {"metrics", json_array(), 0};
	json_t *time, *delay, *point;

	assert_int_equal(otlp_metrics(&(struct metrics){&d, rows, NULL, 0}, take, &s), 0);
	assert_int_equal(json_array_size(s.documents), 1);
	time = find_metric(s.documents, "process.cpu.time");
	assert_string_equal(json_string_value(json_object_get(time, "unit")), "s");
	assert_true(json_is_true(at(time, "sum.isMonotonic")));
	assert_int_equal(json_array_size(at(time, "sum.dataPoints")), 2); /* of two features */
	point = at(time, "sum.dataPoints.0");
	assert_string_equal(attribute(point, "cpu.mode"), "user");
	assert_string_equal(attribute(point, "process.executable.name"), "python3");
	assert_string_equal(attribute(point, "whyslow.program"), "python3 orders.py");
	assert_string_equal(attribute(point, "process.linux.cgroup"), "/kubepods/x");
	assert_string_equal(attribute(point, "k8s.namespace.name"), "shop");
	assert_string_equal(attribute(point, "k8s.pod.name"), "cart-1");
	assert_string_equal(attribute(point, "k8s.container.name"), "web");
	assert_true(json_real_value(json_object_get(point, "asDouble")) == 1.5);
	assert_string_equal(json_string_value(json_object_get(point, "timeUnixNano")), "1234567890123456789");
	assert_string_equal(json_string_value(json_object_get(point, "startTimeUnixNano")), "7");
	delay = find_metric(s.documents, "whyslow.program.cpu.run_delay");
	assert_true(json_real_value(at(delay, "sum.dataPoints.0.asDouble")) == 0.25);
	json_decref(s.documents);
	free(rows);
}

/* Collectors refuse what is too large. */
static void many_programs_are_several_documents(void **state)
{
	struct totals_row *rows = calloc(TOTALS_ROWS, sizeof(*rows));
	struct dataset d = {};
	struct sent s = {"metrics", json_array(), 0};

	for (int i = 0; i < TOTALS_ROWS; i++)
		rows[i] = (struct totals_row){.kind = ENTITY_PROCESS, .name = "x", .present = FEATURES_BELOW(PROCESS_FEATURE_COUNT)};
	assert_int_equal(otlp_metrics(&(struct metrics){&d, rows, NULL, 0}, take, &s), 0);
	assert_true(json_array_size(s.documents) > 5);
	json_array_clear(s.documents);
	s.fails = -EBUSY;
	assert_int_equal(otlp_metrics(&(struct metrics){&d, rows, NULL, 0}, take, &s), -EBUSY);
	assert_int_equal(json_array_size(s.documents), 1); /* none after the first that failed */
	json_decref(s.documents);
	free(rows);
}

static void an_incident_is_a_log_record(void **state)
{
	const struct otlp_incident x = {.id = 3, .wall = 5 * NS_PER_SEC, .last = 9 * NS_PER_SEC, .rule = "cpu", .note = "cpu: up to 97 %", .summary = "python3 is to blame",
					.culprit = "python3 orders.py", .confidence = 0.9};
	struct totals_row *rows = some_rows();
	struct sent s = {"logs", json_array(), 0};
	json_t *record;

	assert_int_equal(otlp_incidents(&x, 0, rows, take, &s), 0);
	assert_int_equal(json_array_size(s.documents), 0);
	assert_int_equal(otlp_incidents(&x, 1, rows, take, &s), 0);
	record = at(s.documents, "0.resourceLogs.0.scopeLogs.0.logRecords.0");
	assert_string_equal(json_string_value(at(record, "body.stringValue")), "python3 is to blame");
	assert_string_equal(json_string_value(json_object_get(record, "timeUnixNano")), "5000000000");
	assert_string_equal(json_string_value(json_object_get(record, "eventName")), "whyslow.incident");
	assert_string_equal(attribute(record, "whyslow.incident.id"), "3");
	assert_string_equal(attribute(record, "whyslow.rule"), "cpu");
	assert_string_equal(attribute(record, "k8s.pod.name"), "cart-1"); /* where the culprit runs */
	rows[5] = rows[1];
	strcpy(rows[5].container, "shop/cart-2/web");
	assert_int_equal(otlp_incidents(&x, 1, rows, take, &s), 0);
	record = at(s.documents, "1.resourceLogs.0.scopeLogs.0.logRecords.0");
	assert_null(attribute(record, "k8s.pod.name")); /* it runs in two */
	json_decref(s.documents);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_conventions_name_has_their_name),
		cmocka_unit_test(many_programs_are_several_documents),
		cmocka_unit_test(an_incident_is_a_log_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
