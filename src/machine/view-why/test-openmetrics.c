#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/view-why/export.h"

#define TICKS	 10
#define PROGRAMS 50
#define PARENTS	 4

static char *print(const struct dataset *d)
{
	_cleanup_free_ char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	export_openmetrics(d, f);
	fclose(f);
	return strdup(text);
}

static void add(struct dataset *d, enum entity_kind kind, const char *name, uint32_t parent, int64_t cpu_ms)
{
	static uint32_t ids;
	struct entity_info info = {.id = ++ids, .kind = kind, .name = (char *)name, .parent = parent,
				   .present = FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_IO_READ_BYTES)};
	struct subject *s = dataset_define(d, &info);

	assert_non_null(s);
	s->first = 0;
	s->last = TICKS - 1;
	for (uint32_t t = 0; t < TICKS; t++)
		series_push(&s->series[FEATURE_CPU_TIME], t, cpu_ms * NS_PER_MS / s->features[FEATURE_CPU_TIME].quantum);
}

static double value_of(const char *text, const char *metric)
{
	const char *at = strstr(text, metric);

	assert_non_null(at);
	return strtod(at + strlen(metric), NULL);
}

static size_t count(const char *text, const char *of)
{
	size_t n = 0;

	for (; (text = strstr(text, of)); text += strlen(of))
		n++;
	return n;
}

/* However many programs and parents there are: the heaviest by name, the one that started them, and the sum of the others. */
static void what_lives_shortly_is_bounded(void **state)
{
	struct dataset d = {};
	char *text;

	(void)state;
	for (int i = 0; i < TICKS; i++)
		dataset_add_tick(&d, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC, NS_PER_SEC);
	for (unsigned i = 0; i < PROGRAMS; i++)
		for (unsigned k = 0; k < PARENTS; k++) {
			char name[16];

			snprintf(name, sizeof(name), "p%u", i);
			add(&d, ENTITY_SHORT_LIVED, name, 100 + k, 1 + i);
		}
	text = print(&d);
	assert_int_equal(count(text, "whyslow_short_lived_cpu_time_per_second{"), 21);
	/* p49 does 50 ms a second for each of its parents; those beyond the first 20 are p0 to p29 */
	assert_true(value_of(text, "whyslow_short_lived_cpu_time_per_second{name=\"p49\"} ") == 50e6 * PARENTS);
	assert_true(value_of(text, "whyslow_short_lived_cpu_time_per_second{name=\"(others)\"} ") == 465e6 * PARENTS);
	assert_null(strstr(text, "whyslow_short_lived_io_read_bytes")); /* none of them read anything */
	assert_int_equal(count(text, "# EOF\n"), 1);
	free(text);
	dataset_free(&d);
}

static void processes_stand_for_themselves(void **state)
{
	struct dataset d = {};
	char *text;

	(void)state;
	for (int i = 0; i < TICKS; i++)
		dataset_add_tick(&d, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC, NS_PER_SEC);
	add(&d, ENTITY_PROCESS, "a \"quoted\"\nname", 1, 5);
	text = print(&d);
	assert_true(value_of(text, "whyslow_process_cpu_time_per_second{name=\"a \\\"quoted\\\" name\"} ") == 5e6);
	assert_non_null(strstr(text, "whyslow_process_io_read_bytes_per_second{"));
	free(text);
	dataset_free(&d);
}

/* A name of a process runs nothing in the table that its export is opened with. */
static void a_cell_is_not_a_formula(void **state)
{
	static const struct {
		const char *text, *cell;
	} cases[] = {{"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""}, {"+1", "\"'+1\""}, {"-bash", "\"'-bash\""}, {"@SUM(A1)", "\"'@SUM(A1)\""},
		     {"a=b", "a=b"}, {"a,\"b\"", "\"a,\"\"b\"\"\""}, {"", ""}, {NULL, ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *cell = NULL;
		size_t n;
		FILE *f = open_memstream(&cell, &n);

		export_csv_text(cases[i].text, f);
		fclose(f);
		assert_string_equal(cell, cases[i].cell);
	}
}

RUN_TESTS(cmocka_unit_test(a_cell_is_not_a_formula), cmocka_unit_test(what_lives_shortly_is_bounded), cmocka_unit_test(processes_stand_for_themselves))
