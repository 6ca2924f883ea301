#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/model/fleet-source.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/number.h"
#include "lib/input/timestamp.h"

extern const struct fleet_source fleet_source_csv;

struct loaded {
	struct fleet *fleet;
	struct intake *intake;
	int r;
};

static struct loaded load_with(const char *text, size_t n, struct fleet_input input)
{
	char path[] = "/tmp/whyslow-test-XXXXXX.csv";
	int fd = mkstemps(path, 4);
	struct loaded l = {.intake = intake_new()};
	char *error = NULL;

	assert_true(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
	input.location = path;
	input.from = INT64_MIN;
	input.to = INT64_MAX;
	l.r = fleet_source_csv.load(&input, l.intake, &error);
	free(error);
	if (l.r == 0)
		l.r = intake_finish(l.intake, &l.fleet);
	unlink(path);
	return l;
}

static struct loaded load(const char *text)
{
	return load_with(text, strlen(text), (struct fleet_input){});
}

static void loaded_free(struct loaded *l)
{
	intake_free(l->intake);
	fleet_free(l->fleet);
	free(l->fleet);
}

static float value(const struct loaded *l, const char *server, const char *counter, uint32_t row)
{
	int s = fleet_find_server(l->fleet, server), c = fleet_find_counter(l->fleet, counter);

	assert_true(s >= 0 && c >= 0 && l->fleet->servers.v[s].column[c] && row < l->fleet->servers.v[s].n);
	return l->fleet->servers.v[s].column[c][row];
}

static void wide_tables(void **state)
{
	struct loaded l = load("\xef\xbb\xbftime,host,role,cpu (%),mem\r\n2026-11-20T10:00:00Z,a,web,1.5,100\r\n2026-11-20T10:00:00Z,b,web,2,\r\n"
			       "2026-11-20T10:01:00Z,a,web,\"2.5\",1e2\r\n");

	assert_int_equal(l.r, 0);
	assert_int_equal(l.fleet->servers.n, 2);
	assert_int_equal(l.fleet->counters.n, 2);
	assert_string_equal(l.fleet->counters.v[0].unit, "%");
	assert_string_equal(l.fleet->servers.v[0].role, "web");
	assert_true(value(&l, "a", "cpu (%)", 1) == 2.5F);
	assert_true(value(&l, "a", "mem", 1) == 100);
	assert_int_equal(fleet_values(l.fleet, NULL), 5);
	assert_int_equal(l.fleet->interval, 60 * NS_PER_SEC);
	loaded_free(&l);
}

static void long_tables_in_any_order(void **state)
{
	struct loaded l = load("timestamp;instance;metric;value;unit\n1700000120;a;cpu;3,5;%\n1700000060;a;cpu;2,5;%\n1700000060;b;mem;7;MB\n");

	assert_int_equal(l.r, 0);
	assert_true(value(&l, "a", "cpu", 0) == 2.5F);
	assert_true(value(&l, "a", "cpu", 1) == 3.5F);
	assert_string_equal(l.fleet->counters.v[fleet_find_counter(l.fleet, "mem")].unit, "MB");
	loaded_free(&l);
}

static void several_header_rows(void **state)
{
	struct loaded l = load("microservice,A,A,B\nmetric,latency,requests,latency\nstatistic,p90,Sum,p90\nunix_timestamp,,,\n"
			       "1693922400.0,0.5,10,\n1693922700.0,0.6,20,0.25\n");

	assert_int_equal(l.r, 0);
	assert_true(value(&l, "B", "latency.p90", 0) == 0.25F || isnan(value(&l, "B", "latency.p90", 0)));
	assert_true(value(&l, "A", "requests.Sum", 1) == 20);
	assert_int_equal(l.fleet->servers.v[fleet_find_server(l.fleet, "A")].time[0], 1693922400ll * NS_PER_SEC);
	loaded_free(&l);
}

static void bad_rows_are_told_with_their_line_and_left_out(void **state)
{
	struct loaded l = load("time,host,cpu\n1700000060,a,1\n1700000120,a\nyesterday,a,3\n1700000240,,4\n1700000300,a,fast\n1700000360,a,nan\n1700000420,a,6\n");
	size_t n;
	char *const *rows = intake_bad_rows(l.intake, &n);

	assert_int_equal(l.r, 0);
	assert_int_equal(n, 4);
	assert_non_null(strstr(rows[0], ".csv:3: 2 fields instead of 3"));
	assert_non_null(strstr(rows[1], ".csv:4: no time"));
	assert_non_null(strstr(rows[2], ".csv:5: no server"));
	assert_non_null(strstr(rows[3], ".csv:6: 'fast' is not a number"));
	assert_int_equal(fleet_values(l.fleet, NULL), 2);
	loaded_free(&l);
}

static void columns_may_be_named(void **state)
{
	const char text[] = "when,who,how much\n2026-11-20 10:00:00,a,1\n2026-11-20 10:01:00,b,2\n";
	struct fleet_input input = {.time_column = "when", .server_column = "who"};
	struct loaded l = load_with(text, strlen(text), input);

	assert_int_equal(l.r, 0);
	assert_true(value(&l, "b", "how much", 0) == 2);
	loaded_free(&l);
	input.time_column = "nowhere";
	l = load_with(text, strlen(text), input);
	assert_int_equal(l.r, -ENODATA);
	assert_int_equal(intake_count(l.intake).bad, 1);
	loaded_free(&l);
}

/* Who exports one counter of many servers gets a column a server: taken as counters of one server nothing is compared with its peers. */
static void columns_that_may_be_servers_are_remarked(void **state)
{
	static const struct {
		const char *head;
		bool is_remarked;
	} cases[] = {
		{"time,web-1,web-2,web-3", true}, {"time,db3.example.net,db1.example.net,db2.example.net", true},
		{"time,load1,load5,load15", false}, {"time,cpu,mem,disk", false}, {"time,web-1,web-2,cpu", false}, {"time,web-1,web-2,", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = NULL;
		struct loaded l;
		bool is_remarked = false;

		assert_true(asprintf(&text, "%s\n60,1,2,3\n120,4,5,6\n180,7,8,9\n", cases[i].head) > 0);
		l = load(text);
		assert_int_equal(l.r, 0);
		for (size_t k = 0; k < l.fleet->remarks.n; k++)
			is_remarked |= strstr(l.fleet->remarks.v[k], "if each is a server, give --columns-are-servers") != NULL;
		if (is_remarked != cases[i].is_remarked)
			fail_msg("%s", cases[i].head);
		loaded_free(&l);
	}
}

/* A running sum becomes a rate; near 2^32 it wraps, elsewhere a fall is a restart and its interval missing. */
static void counters_become_rates(void **state)
{
	struct intake *in = intake_new();
	const struct counter_info sum = {.kind = FLEET_COUNTER};
	const double values[] = {4294967000.0, 4294967200.0, 104, 204, 5, 25};
	int server = intake_server(in, "a"), counter = intake_counter(in, "bytes", &sum);
	const float want[] = {NAN, 20, 20, 10, NAN, 2};
	struct fleet *f;

	for (int i = 0; i < 6; i++)
		assert_int_equal(intake_put(in, server, counter, i * 10 * NS_PER_SEC, values[i]), 0);
	assert_int_equal(intake_finish(in, &f), 0);
	for (int i = 0; i < 6; i++)
		assert_true(isnan(want[i]) ? isnan(f->servers.v[0].column[0][i]) : f->servers.v[0].column[0][i] == want[i]);
	assert_int_equal(intake_count(in).wraps, 1);
	assert_int_equal(intake_count(in).restarts, 1);
	fleet_free(f);
	free(f);
	intake_free(in);
}

static void behaviour_tells_sums_from_levels(void **state)
{
	struct intake *in = intake_new();
	int server = intake_server(in, "a"), sum = intake_counter(in, "packets", NULL), level = intake_counter(in, "queue", NULL);
	struct fleet *f;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(intake_put(in, server, sum, i * NS_PER_SEC, 1e12 + i * 3.0), 0);
		assert_int_equal(intake_put(in, server, level, i * NS_PER_SEC, i % 7), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	assert_int_equal(f->counters.v[sum].kind, FLEET_COUNTER);
	assert_true(f->servers.v[0].column[sum][50] == 3); /* a float32 could not hold the sum's digits */
	assert_int_equal(f->counters.v[level].kind, FLEET_GAUGE);
	fleet_free(f);
	free(f);
	intake_free(in);
}

static void moments_as_written(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{"2022-08-22 03:51:19.607158889 +0000 UTC m=+0.113112869", 1661140279607158889},
		{"2022-08-22T05:51:19+02:00", 1661140279000000000},
		{"2022-08-22", 1661126400000000000},
		{"1693922400.0", 1693922400000000000},
		{"1693922400123", 1693922400123000000},
		{"1693922400123456789", 1693922400123456789},
	};
	static const char noon[] = "noon", thirteenth[] = "2022-13-01";
	int64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(timestamp_parse(cases[i].text, cases[i].text + strlen(cases[i].text), &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
	assert_int_equal(timestamp_parse(noon, strchr(noon, 0), &ns), -EINVAL);
	assert_int_equal(timestamp_parse(thirteenth, strchr(thirteenth, 0), &ns), -EINVAL);
}

/* The quick parser rounds as strtod() does. */
static void numbers_are_rounded_correctly(void **state)
{
	srand(3);
	for (int i = 0; i < 200000; i++) {
		char text[64];
		double got, want;

		snprintf(text, sizeof(text), "%.*f", rand() % 12, (rand() - RAND_MAX / 2) / (double)(1 << (rand() % 31)));
		want = strtod(text, NULL);
		if (number_parse_plain(text, '.', &got))
			assert_true(got == want);
	}
}

/* Whatever stands in a file: no crash, and what is not understood is counted. */
static void damaged_tables_are_survived(void **state)
{
	static const char seed[] = "time,host,cpu,mem\n2026-11-20T10:00:00Z,a,1.5,100\n2026-11-20T10:01:00Z,\"b \"\"x\"\"\",2,3e5\n1700000000,c,,-7\n";

	srand(4);
	for (int i = 0; i < 3000; i++) {
		char text[sizeof(seed)];
		size_t n = (size_t)rand() % sizeof(seed);
		struct loaded l;

		memcpy(text, seed, sizeof(seed));
		for (int k = rand() % 6; k >= 0; k--)
			text[(size_t)rand() % sizeof(seed)] = rand() % 3 ? ",\"\n;\t-.e0:"[rand() % 10] : (char)rand();
		l = load_with(text, n, (struct fleet_input){});
		assert_true(l.r == 0 || l.r == -ENODATA);
		loaded_free(&l);
	}
}

/* The month or the day first: nothing tells. The rows were once taken as a minute apart from 1970 on. */
static void times_that_cannot_be_read_are_no_rows_of_1970(void **state)
{
	struct loaded l = load("time,cpu\n11/05/2026 14:10:00,1\n11/05/2026 14:11:00,2\n11/05/2026 14:12:00,3\n");
	size_t n;

	assert_int_equal(l.r, -ENODATA);
	assert_non_null(strstr(intake_bad_rows(l.intake, &n)[0], "invalid time '11/05/2026 14:10:00' in the column 'time'"));
	intake_free(l.intake);
}

/* Its first line is longer than a piece of the file. */
static void a_table_of_very_many_columns_is_read(void **state)
{
	enum { COLUMNS = 150000 };
	struct str text = {.max = 16 << 20};
	struct loaded l;

	str_puts(&text, "time,host");
	for (int i = 0; i < COLUMNS; i++)
		str_printf(&text, ",counter%d", i);
	for (int t = 0; t < 2; t++) {
		str_printf(&text, "\n%d,a", 1767225600 + 60 * t);
		for (int i = 0; i < COLUMNS; i++)
			str_printf(&text, ",%d", i);
	}
	l = load_with(text.data, text.len, (struct fleet_input){});
	assert_int_equal(l.r, 0);
	assert_int_equal(l.fleet->counters.n, COLUMNS);
	assert_true(value(&l, "a", "counter149999", 1) == 149999);
	loaded_free(&l);
	str_free(&text);
}

static void check_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 32 || *text == 127)
			fail_msg("a terminal obeys what is left of '%s'", text);
}

/* Names of servers and counters, and what is quoted of a bad row, are shown on a terminal. */
static void nothing_that_a_terminal_obeys_is_kept(void **state)
{
	struct loaded l = load("time,host,cpu\033[2J\n2026-11-21 14:10,a\033]0;x\007,1\n2026-11-21 14:11,a\033]0;x\007,2\n"
			       "\033[31mbad,a\033]0;x\007,3\n2026-11-21 14:12,a\033]0;x\007,3\n");
	size_t n = 0;
	char *const *bad = intake_bad_rows(l.intake, &n);

	assert_int_equal(l.r, 0);
	assert_int_equal(l.fleet->servers.n, 1);
	check_printable(l.fleet->servers.v[0].name);
	check_printable(l.fleet->counters.v[0].name);
	assert_true(n > 0);
	check_printable(bad[0]);
	assert_int_equal(fleet_find_server(l.fleet, l.fleet->servers.v[0].name), 0);
	assert_int_equal(fleet_add_server(l.fleet, "a\001]0;x\002"), 0); /* it looks the same: one server */
	loaded_free(&l);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void a_table_without_times_among_others_is_left_out(void **state)
{
	char folder[] = "/tmp/whyslow-test-XXXXXX", path[300];
	struct fleet_input input = {.location = folder, .from = INT64_MIN, .to = INT64_MAX};
	struct intake *in = intake_new();
	struct fleet *f;
	char *error = NULL;
	size_t n;

	assert_non_null(mkdtemp(folder));
	write_file(folder, "a-prices.csv", "price,pieces\n3,4\n5,6\n9,3\n");
	write_file(folder, "web.csv", "time,cpu\n2026-11-21 14:10,1\n2026-11-21 14:11,2\n2026-11-21 14:12,3\n");
	assert_int_equal(fleet_source_csv.load(&input, in, &error), 0);
	assert_non_null(strstr(intake_bad_rows(in, &n)[0], ".csv:1: no column of times: name it by --time-column"));
	assert_int_equal(intake_finish(in, &f), 0);
	assert_int_equal(f->servers.n, 1);
	assert_int_equal(f->counters.n, 1);
	intake_free(in);
	fleet_free(f);
	free(f);
	snprintf(path, sizeof(path), "%s/a-prices.csv", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/web.csv", folder);
	unlink(path);
	rmdir(folder);
}

/* Each file is read for itself: what they say of one server comes together, in the order of the names. */
static void several_files_tell_of_one_server(void **state)
{
	static const char *const names[] = {"1.csv", "2.csv", "3.csv"};
	char folder[] = "/tmp/whyslow-test-XXXXXX", path[300];
	struct fleet_input input = {.location = folder, .from = INT64_MIN, .to = INT64_MAX};
	struct loaded l = {.intake = intake_new()};
	char *error = NULL;
	size_t n;

	assert_non_null(mkdtemp(folder));
	write_file(folder, names[0], "time,host,cpu,mem\n60,a,1,10\n120,a,2,20\n60,b,7,70\n");
	write_file(folder, names[1], "time,host,disk,cpu\n120,a,5,3\n180,a,6,4\nnever,a,1,1\n");
	write_file(folder, names[2], "time,host,role,cpu\n0,a,web,9\n60,c,db,8\n");
	assert_int_equal(fleet_source_csv.load(&input, l.intake, &error), 0);
	assert_int_equal(intake_count(l.intake).values, 12);
	assert_int_equal(intake_count(l.intake).twice, 1);
	assert_int_equal(intake_count(l.intake).bad, 1);
	assert_non_null(strstr(intake_bad_rows(l.intake, &n)[0], "2.csv:4:"));
	assert_int_equal(intake_finish(l.intake, &l.fleet), 0);
	assert_int_equal(fleet_find_server(l.fleet, "a"), 0);
	assert_int_equal(fleet_find_server(l.fleet, "c"), 2);
	assert_string_equal(l.fleet->servers.v[0].role, "web");
	assert_int_equal(l.fleet->servers.v[0].n, 4); /* 0, 60, 120, 180: sorted */
	assert_true(value(&l, "a", "cpu", 0) == 9 && value(&l, "a", "cpu", 1) == 1 && value(&l, "a", "cpu", 2) == 3 && value(&l, "a", "cpu", 3) == 4);
	assert_true(value(&l, "a", "disk", 3) == 6 && isnan(value(&l, "a", "disk", 0)) && value(&l, "a", "mem", 2) == 20);
	assert_true(value(&l, "b", "mem", 0) == 70 && value(&l, "c", "cpu", 0) == 8);
	loaded_free(&l);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

RUN_TESTS(cmocka_unit_test(a_table_of_very_many_columns_is_read), cmocka_unit_test(nothing_that_a_terminal_obeys_is_kept),
	  cmocka_unit_test(several_files_tell_of_one_server), cmocka_unit_test(times_that_cannot_be_read_are_no_rows_of_1970), cmocka_unit_test(a_table_without_times_among_others_is_left_out),
	  cmocka_unit_test(wide_tables), cmocka_unit_test(long_tables_in_any_order), cmocka_unit_test(several_header_rows),
	  cmocka_unit_test(bad_rows_are_told_with_their_line_and_left_out), cmocka_unit_test(columns_may_be_named), cmocka_unit_test(columns_that_may_be_servers_are_remarked),
	  cmocka_unit_test(counters_become_rates), cmocka_unit_test(behaviour_tells_sums_from_levels), cmocka_unit_test(moments_as_written),
	  cmocka_unit_test(numbers_are_rounded_correctly), cmocka_unit_test(damaged_tables_are_survived))
