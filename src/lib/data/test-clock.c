#include "lib/data/test.h"

#include <stdlib.h>
#include <time.h>

#include "lib/data/clock.h"

/* 2026-11-20 14:32:07 UTC */
#define NOW (1795185127ll * NS_PER_SEC)

static void takes_times_as_journalctl_does(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {
		{"now", 1795185127},
		{"-5min", 1795185127 - 300},
		{"+2h", 1795185127 + 7200},
		{"-1d 2h", 1795185127 - 26 * 3600},
		{"14:00", 1795185127 - 32 * 60 - 7},
		{"14:00:30", 1795185127 - 31 * 60 - 37},
		{"today", 1795132800},
		{"yesterday", 1795132800 - 86400},
		{"2026-11-20", 1795132800},
		{"2026-11-20 14:32:07", 1795185127},
		{"2026-11-20T14:32:07Z", 1795185127},
		{"2026-11-20T16:32:07+02:00", 1795185127},
		{"@1795185127", 1795185127},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = 0;

		assert_int_equal(clock_parse_time(cases[i].text, NOW, &ns), 0);
		if (ns != cases[i].seconds * NS_PER_SEC)
			fail_msg("%s gave %lld", cases[i].text, (long long)(ns / NS_PER_SEC));
	}
}

static void refuses_what_is_no_time(void **state)
{
	static const char *const bad[] = {"", "-", "5 parsecs ago", "2026-13-45", "14:32x", "-5xyz", "@", "@abc", "9999-01-01T00:00:00Z",
					   "2026-11-20T14:32:07.e999Z", "@9999999999"};
	int64_t ns = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (clock_parse_time(bad[i], NOW, &ns) == 0)
			fail_msg("'%s' was taken for a time", bad[i]);
	assert_int_equal(ns, 7);
}

static void keeps_fractions(void **state)
{
	int64_t ns;

	assert_int_equal(clock_parse_time("2026-11-20T14:32:07.250Z", NOW, &ns), 0);
	assert_int_equal(ns, NOW + 250 * NS_PER_MS);
	assert_int_equal(clock_parse_span("1.5s", &ns), 0);
	assert_int_equal(ns, 1500 * NS_PER_MS);
}

static void writes_what_it_reads(void **state)
{
	char text[40];
	int64_t ns;

	assert_string_equal(clock_format_rfc3339(NOW + 123 * NS_PER_MS, text, sizeof(text)), "2026-11-20T14:32:07.123Z");
	assert_int_equal(clock_parse_time(text, 0, &ns), 0);
	assert_int_equal(ns, NOW + 123 * NS_PER_MS);
}

static void spans_read_well(void **state)
{
	char text[32];

	assert_string_equal(clock_format_span(41 * NS_PER_SEC, text, sizeof(text)), "41 s");
	assert_string_equal(clock_format_span(4 * 3600 * NS_PER_SEC, text, sizeof(text)), "4 h");
	assert_string_equal(clock_format_span(200 * NS_PER_SEC, text, sizeof(text)), "3 min 20 s");
	assert_string_equal(clock_format_span(120 * NS_PER_MS, text, sizeof(text)), "120 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_times_as_journalctl_does), cmocka_unit_test(refuses_what_is_no_time),
		cmocka_unit_test(keeps_fractions),		   cmocka_unit_test(writes_what_it_reads),
		cmocka_unit_test(spans_read_well),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
