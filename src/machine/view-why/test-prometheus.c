#include "machine/view-why/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"

#define TICKS 10

static void add(struct dataset *d, const char *name, uint32_t pid, int64_t memory)
{
	struct entity_info info = {.id = pid, .kind = ENTITY_PROCESS, .name = (char *)name, .pid = pid, .present = FEATURE_BIT(FEATURE_MEM_ANON)};
	struct subject *s = dataset_define(d, &info);

	assert_non_null(s);
	s->first = 0;
	s->last = TICKS - 1;
	for (uint32_t t = 0; t < TICKS; t++)
		series_push(&s->series[FEATURE_MEM_ANON], t, memory / s->features[FEATURE_MEM_ANON].quantum);
}

static char *print(const struct totals_row *rows)
{
	static const char *const culprits[] = {"a \"b\""};
	struct dataset d = {};
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	for (int i = 0; i < TICKS; i++)
		dataset_add_tick(&d, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC, NS_PER_SEC);
	add(&d, "cc1", 10, 8 << 20);
	add(&d, "cc1", 11, 4 << 20);
	metrics_prometheus(&(struct metrics){&d, rows, culprits, ARRAY_SIZE(culprits)}, f);
	fclose(f);
	dataset_free(&d);
	return text;
}

static void a_program_has_one_line_a_feature_in_base_units(void **state)
{
	struct totals_row *rows = calloc(TOTALS_ROWS, sizeof(*rows));
	char *text;

	rows[3] = (struct totals_row){.kind = ENTITY_PROCESS, .name = "a\"b\\", .unit = "x.service",
				      .present = FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_IO_READ_BYTES)};
	rows[3].values[FEATURE_CPU_TIME] = 1500 * NS_PER_MS;
	rows[3].values[FEATURE_IO_READ_BYTES] = 4096;
	text = print(rows);
	assert_non_null(strstr(text, "# TYPE whyslow_program_cpu_time_seconds_total counter\n"
				     "whyslow_program_cpu_time_seconds_total{program=\"a\\\"b\\\\\",unit=\"x.service\"} 1.5\n"));
	assert_non_null(strstr(text, "\nwhyslow_program_io_read_bytes_total{program=\"a\\\"b\\\\\",unit=\"x.service\"} 4096\n"));
	assert_non_null(strstr(text, "\n# TYPE whyslow_program_mem_anon_bytes gauge\nwhyslow_program_mem_anon_bytes{program=\"cc1\"} 12582912\n"));
	assert_non_null(strstr(text, "\nwhyslow_program_processes{program=\"cc1\"} 2\n"));
	assert_null(strstr(text, "io_write")); /* nothing did */
	free(text);
	free(rows);
}

static void other_things_are_told_by_their_labels(void **state)
{
	struct totals_row *rows = calloc(TOTALS_ROWS, sizeof(*rows));
	char *text;

	rows[5] = (struct totals_row){.kind = ENTITY_DISK, .name = "sda", .present = 1};
	rows[5].values[0] = 7;
	rows[6] = (struct totals_row){.kind = ENTITY_SYSTEM, .name = "system", .present = FEATURE_BIT(FEATURE_PSI_CPU_SOME)};
	rows[6].values[FEATURE_PSI_CPU_SOME] = 2 * NS_PER_SEC;
	text = print(rows);
	assert_non_null(strstr(text, "\nwhyslow_disk_reads_total{device=\"sda\"} 7\n"));
	assert_non_null(strstr(text, "\nwhyslow_system_psi_cpu_some_seconds_total 2\n"));
	free(text);
	free(rows);
}

/* Kubernetes' names are labels of their own. */
static void containers_have_their_names(void **state)
{
	struct totals_row *rows = calloc(TOTALS_ROWS, sizeof(*rows));
	char *text;

	for (int i = 0; i < 3; i++)
		rows[i + 1] = (struct totals_row){.kind = ENTITY_PROCESS, .name = "tar", .present = FEATURE_BIT(FEATURE_CPU_TIME)};
	strcpy(rows[1].container, "shop/backup-x2x7q/copy");
	strcpy(rows[2].container, "pod0a1b2c3d-1111/0123456789ab");
	strcpy(rows[3].container, "web");
	text = print(rows);
	assert_non_null(strstr(text, "{program=\"tar\",namespace=\"shop\",pod=\"backup-x2x7q\",container=\"copy\"} 0\n"));
	assert_non_null(strstr(text, "{program=\"tar\",pod_uid=\"0a1b2c3d-1111\",container=\"0123456789ab\"} 0\n"));
	assert_non_null(strstr(text, "{program=\"tar\",container=\"web\"} 0\n"));
	free(text);
	free(rows);
}

static void incidents_are_counted_by_rule(void **state)
{
	struct totals_row *rows = calloc(TOTALS_ROWS, sizeof(*rows));
	char *text;

	rows[7] = (struct totals_row){.kind = TOTALS_RULE, .name = "cpu", .present = FEATURES_ALL, .values = {[TOTALS_RULE_INCIDENTS] = 3, [TOTALS_RULE_CONTINUING] = 1}};
	rows[9] = (struct totals_row){.kind = TOTALS_RULE, .present = FEATURES_ALL, .values = {[TOTALS_RULE_INCIDENTS] = 1}};
	text = print(rows);
	assert_non_null(strstr(text, "# TYPE whyslow_incidents_total counter\nwhyslow_incidents_total{rule=\"cpu\"} 3\nwhyslow_incidents_total 1\n"));
	assert_non_null(strstr(text, "\nwhyslow_slow{rule=\"cpu\"} 1\nwhyslow_slow 0\n"));
	assert_non_null(strstr(text, "\nwhyslow_culprit_info{program=\"a \\\"b\\\"\"} 1\n"));
	free(text);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_one_line_a_feature_in_base_units),
		cmocka_unit_test(other_things_are_told_by_their_labels),
		cmocka_unit_test(containers_have_their_names),
		cmocka_unit_test(incidents_are_counted_by_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
