/* whyslow spans attributes TABLE.csv: which attribute values identify and explain a change. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "spans/ask/spans.h"
#include "spans/attribute/leaf-search.h"
#include "spans/formats/leaf-csv.h"

static const char *arg_metric = "value/cnt", *arg_time, *arg_at, *arg_expected, *arg_ignore, *arg_direction = "auto";
static uint64_t arg_past = 10, arg_depth, arg_top = 16;
static bool arg_counts;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "metric", "A[/B]", &arg_metric, "the column that changed, or a ratio of two (default value/cnt)"},
	{OPTION_TEXT, 0, "expected", "COLUMN", &arg_expected, "the expected value of A (default: from the earlier times of --time)"},
	{OPTION_TEXT, 0, "time", "COLUMN", &arg_time, "the column of times"},
	{OPTION_TEXT, 0, "at", "VALUE", &arg_at, "the time asked about (default: the last one)"},
	{OPTION_COUNT, 0, "past", "N", &arg_past, "how many times before it are the reference (default 10)"},
	{OPTION_TEXT, 0, "ignore", "A,B", &arg_ignore, "columns that are not attributes"},
	{OPTION_TEXT, 0, "direction", "up|down", &arg_direction, "look for what rose, or fell (default: as the whole)"},
	{OPTION_FLAG, 0, "counts", NULL, &arg_counts, "A counts events, so chance alone moves small ones (a ratio's always does)"},
	{OPTION_COUNT, 0, "depth", "N", &arg_depth, "maximum number of attributes of one finding (default: what one second allows)"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "maximum number of findings (default 16)"},
	{},
};

static int read_table(const char *path, char *metric, struct leaf_csv *ret)
{
	_cleanup_fclose_ FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "re");
	_cleanup_free_ char *error = NULL;
	char *slash = strchr(metric, '/');
	struct leaf_columns columns = {.time = arg_time, .ignore = arg_ignore};
	int e;

	if (!file && strcmp(path, "-") != 0)
		return log_failure(-errno, "%s: %s", path, strerror(errno));
	if (slash)
		*slash = '\0';
	columns.number[LEAF_NUMERATOR] = metric;
	columns.number[LEAF_DENOMINATOR] = slash ? slash + 1 : NULL;
	columns.number[LEAF_EXPECTED] = arg_expected;
	e = leaf_csv_read(file ? file : stdin, path, &columns, ret, &error);
	if (e < 0)
		log_error("%s", error ? error : strerror(-e));
	else if (ret->bad)
		log_warning("%llu rows were skipped, the first one: %s", (unsigned long long)ret->bad, ret->first_bad);
	return e;
}

static int explain_failure(int e)
{
	if (e == -ENOENT)
		log_error("--at: the table has no such time");
	else if (e == -EINVAL)
		log_error("there is nothing to compare with: give --expected COLUMN, or --time COLUMN of a table with earlier times");
	else
		log_error("%s", strerror(-e));
	return EXIT_CANNOT;
}

static enum change_direction direction(void)
{
	return strcmp(arg_direction, "up") == 0 ? CHANGE_UP : strcmp(arg_direction, "down") == 0 ? CHANGE_DOWN : CHANGE_AUTO;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_free_ char *metric = strdup(arg_metric);
	_cleanup_(attribute_findings_free) struct attribute_findings findings = {};
	struct leaf_csv csv = {};
	const struct leaf_search q = {.by_time = arg_time, .at = arg_at, .past = arg_past, .expected = arg_expected, .ratio = strchr(arg_metric, '/'),
				      .counts = arg_counts, .direction = direction(), .depth = (unsigned)arg_depth, .most = (unsigned)arg_top};
	int e, status;

	if (argc != 2 || !metric)
		return verb_usage_error("spans attributes", "expected one CSV file ('-' = standard input)");
	if (q.expected && q.ratio)
		return verb_usage_error("spans attributes", "--expected requires a --metric of one column");
	if (read_table(argv[1], metric, &csv) < 0)
		return EXIT_CANNOT;
	e = leaf_search_run(&csv, &q, &findings);
	if (e < 0)
		status = explain_failure(e);
	else if (common->json)
		status = spans_print_json(span_attributes_json(&csv, arg_metric, &findings), EXIT_ANSWERED);
	else
		span_attributes_text(&csv, arg_metric, &findings, stdout), status = EXIT_ANSWERED;
	if (e == 0 && !findings.elements.n)
		status = EXIT_NOTHING_FOUND;
	leaf_csv_free(&csv);
	return status;
}

const struct subverb spans_attributes = {"attributes", "TABLE.csv ", "which attribute values identify and explain a change", options, .run = run};
