#include "fleet/verb/fleet-verb.h"
#include "fleet/verb/fleet-plugin.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/store/fleet-store.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/input/timestamp.h"
#include "lib/view/json.h"

#define MERGED_SHARE 10 /* one of so many values: no mere repetition */
#define PROGRESS_EVERY (NS_PER_SEC / 5)

struct progress {
	int64_t begin, last;
	bool shown;
};

static void show_progress(void *data, uint64_t done, uint64_t total)
{
	struct progress *p = data;
	int64_t now = clock_boot();

	if (now - p->begin < NS_PER_SEC || now - p->last < PROGRESS_EVERY || !isatty(STDERR_FILENO))
		return;
	p->last = now;
	p->shown = true;
	if (total)
		fprintf(stderr, "\rreading: %3.0f %%", 100.0 * (double)done / (double)total);
	else
		fprintf(stderr, "\rreading: %llu", (unsigned long long)done);
}

static const struct fleet_source *choose_source(const char *name, const char *location)
{
	const struct fleet_source *best = NULL;
	int sure = 0;

	if (fleet_plugin_source())
		return fleet_plugin_source();
	for (size_t i = 0; fleet_sources[i]; i++) {
		int score = name ? strcmp(name, fleet_sources[i]->name) == 0 : fleet_sources[i]->recognise(location);

		if (score > sure) {
			sure = score;
			best = fleet_sources[i];
		}
	}
	if (!best && name)
		log_error("unknown source '%s'; 'whyslow fleet load --help' lists them", name);
	else if (!best && access(location, F_OK) < 0 && !strpbrk(location, ":*?"))
		log_error("%s: there is no such file or folder", location);
	else if (!best)
		log_error("%s: no source recognizes this; give one with --source NAME ('whyslow fleet load --help' lists them)", location);
	return best;
}

static void tell_bad_rows(const struct intake *in)
{
	size_t n;
	char *const *rows = intake_bad_rows(in, &n);
	uint64_t bad = intake_count(in).bad;

	for (size_t i = 0; i < n; i++)
		log_warning("%s", rows[i]);
	if (bad > n)
		log_warning("%s%llu %sbad rows or values were left out", n ? "... and " : "", (unsigned long long)(bad - n), n ? "more " : "");
}

/* Says so where so many values stand in the place of others that they must be of different series. */
static bool merged_series(const struct intake *in, const char *location)
{
	struct intake_count n = intake_count(in);

	if (n.twice * MERGED_SHARE <= n.values)
		return false;
	return log_failure(true, "%s: %llu of %llu values have the same server, counter and time as another one: give the column or key that tells them apart with --server-column NAME, "
		  "or --counter-column NAME",
		  location, (unsigned long long)n.twice, (unsigned long long)n.values);
}

static bool input_time(const char *text, int64_t otherwise, int64_t *ret)
{
	*ret = otherwise;
	if (!text || timestamp_parse(text, text + strlen(text), ret) == 0 || clock_parse_time(text, clock_wall(), ret) == 0)
		return true;
	return log_failure(false, "invalid TIME '%s'; expected 2026-11-20T14:32:07Z, '2026-11-20 14:32' or -2h", text);
}

static struct fleet *load(const struct fleet_query *args, const char *location)
{
	const struct fleet_source *source = choose_source(args->source, location);
	struct fleet_input input = {.location = location, .from = INT64_MIN, .to = INT64_MAX, .step = args->step, .delimiter = args->delimiter,
				    .time_column = args->time_column, .server_column = args->server_column, .role_column = args->role_column,
				    .counter_column = args->counter_column, .value_column = args->value_column, .columns_are_servers = args->columns_are_servers, .time_format = args->time_format, .match = args->match,
				    .token_file = args->token_file, .ca_file = args->ca_file};
	struct progress progress = {.begin = clock_boot()};
	struct intake *in;
	_cleanup_free_ char *error = NULL;
	struct fleet *f = NULL;
	int r;

	if (!source)
		return NULL;
	if (strstr(location, "://") && (!input_time(args->usual_from ? args->usual_from : args->from, INT64_MIN, &input.from) || !input_time(args->to, INT64_MAX, &input.to)))
		return NULL;
	if (!input_time(args->begin, 0, &input.begin))
		return NULL;
	if (args->delimiter && *args->delimiter && args->delimiter[1] && strcmp(args->delimiter, "tab") != 0)
		return log_failure(NULL, "invalid --delimiter '%s'; expected one character, or tab", args->delimiter);
	in = intake_new();
	if (!in)
		return NULL;
	intake_on_progress(in, show_progress, &progress);
	intake_kinds(in, args->sums, args->gauges);
	r = source->load(&input, in, &error);
	if (r == 0 && merged_series(in, location))
		r = -EEXIST;
	r = r ?: intake_finish(in, &f);
	if (progress.shown)
		fputs("\r                    \r", stderr);
	tell_bad_rows(in);
	if (r == -EEXIST)
		; /* said */
	else if (r == -ENODATA)
		log_error("%s: no values were found in it", location);
	else if (intake_refusal(in))
		log_error("%s: %s", location, intake_refusal(in));
	else if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	intake_free(in);
	return f;
}

static struct fleet *open_store(const struct fleet_query *args, const char *location, const char *wanted)
{
	_cleanup_free_ char *error = NULL, *pattern = NULL;
	struct fleet *f;

	if (wanted && asprintf(&pattern, "*%s*", wanted) < 0)
		return NULL;
	for (char *p = pattern; p && (p = strpbrk(p, "[\\")); p++)
		*p = '?';
	if (fleet_store_open(location, pattern ? pattern : args->match, &f, &error) == 0)
		return f;
	return log_failure(NULL, "%s", error ? error : location);
}

struct fleet *fleet_open(const struct fleet_query *args, const char *location, const char *wanted)
{
	_cleanup_free_ char *error = NULL;
	struct fleet *f;

	if (args->plugin && fleet_plugin_open(args->plugin, &error) < 0)
		return log_failure(NULL, "%s", error ? error : "out of memory");
	f = fleet_store_is(location) ? open_store(args, location, wanted) : load(args, location);
	for (size_t i = 0; f && i < f->remarks.n; i++)
		log_warning("%s", f->remarks.v[i]);
	return f;
}

void fleet_close(struct fleet *f)
{
	fleet_free(f);
	free(f);
}

/* "14:05" or "14:05:30": UTC as all times of a fleet are, of the data's last day that has it. */
static bool time_of_last_day(const char *text, int64_t last, int64_t *ret)
{
	const int64_t day = 86400 * NS_PER_SEC;
	unsigned hour, minute, second = 0;
	int used = 0;

	if (sscanf(text, "%2u:%2u%n", &hour, &minute, &used) != 2 || (text[used] == ':' && sscanf(text + used, ":%2u", &second) != 1))
		return false;
	if (strlen(text) != (text[used] ? strspn(text, "0123456789:") : (size_t)used) || hour > 24 || minute > 59 || second > 60)
		return false;
	*ret = last / day * day + (((int64_t)hour * 60 + minute) * 60 + second) * NS_PER_SEC;
	*ret -= *ret > last ? day : 0;
	return true;
}

/* TIME (with the data's end as "now") into wall ns. False after saying what is wrong. */
static bool parse_time(const struct fleet *f, const char *text, int64_t *ret)
{
	int64_t first, last;

	fleet_extent(f, &first, &last);
	if (timestamp_parse(text, text + strlen(text), ret) == 0 && (strlen(text) > 8 || *ret >= first))
		return true;
	if (time_of_last_day(text, last, ret) || clock_parse_time(text, last, ret) == 0)
		return true;
	return log_failure(false, "invalid TIME '%s'; expected 2026-11-20T14:32:07Z, '2026-11-20 14:32' or 14:32 (UTC, of the data's last day), or -2h before the data's end", text);
}

/* Within the times that rows may have. */
static bool read_time(const struct fleet *f, const char *text, int64_t *ret)
{
	if (!parse_time(f, text, ret))
		return false;
	*ret = *ret < -FLEET_TIME_MOST ? -FLEET_TIME_MOST : *ret > FLEET_TIME_MOST ? FLEET_TIME_MOST : *ret;
	return true;
}

static void list_like(const char *what, const char *name, size_t n, const char *(*name_of)(const struct fleet *f, size_t i), const struct fleet *f)
{
	_cleanup_free_ char *pattern = NULL;
	size_t shown = 0;

	log_error("there is no %s '%s'%s", what, name, n ? "; there are:" : "");
	if (asprintf(&pattern, "*%s*", name) < 0)
		return;
	for (int pass = 0; pass < 2 && !shown; pass++)
		for (size_t i = 0; i < n && shown < 12; i++)
			if (pass || fnmatch(pattern, name_of(f, i), FNM_CASEFOLD) == 0) {
				fprintf(stderr, "  %s\n", name_of(f, i));
				shown++;
			}
}

static const char *counter_name(const struct fleet *f, size_t i)
{
	return f->counters.v[i].name;
}

static const char *server_name(const struct fleet *f, size_t i)
{
	return f->servers.v[i].name;
}

/* The index, or -1 after saying what there is instead. */
static int named_counter(const struct fleet *f, const char *name)
{
	int i = fleet_find_counter(f, name), found = -1;

	for (size_t k = 0; i < 0 && k < f->counters.n; k++)
		if (strcasestr(f->counters.v[k].name, name)) {
			if (found >= 0) {
				found = -2;
				break;
			}
			found = (int)k;
		}
	if (i >= 0 || found >= 0)
		return i >= 0 ? i : found;
	list_like("counter", name, f->counters.n, counter_name, f);
	return -1;
}

static int named_server(const struct fleet *f, const char *name)
{
	int i = fleet_find_server(f, name);

	if (i < 0)
		list_like("server", name, f->servers.n, server_name, f);
	return i < 0 ? -1 : i;
}

static bool ask_statistic(const char *text, struct fleet_question *q)
{
	char *end;

	if (!text || strcmp(text, "median") == 0)
		return true;
	if (strcmp(text, "average") == 0 || strcmp(text, "mean") == 0) {
		q->statistic = FLEET_AVERAGE;
		return true;
	}
	q->statistic = FLEET_QUANTILE;
	q->quantile = strtod(text, &end);
	if (end != text && !*end && q->quantile >= 0 && q->quantile <= 1)
		return true;
	return log_failure(false, "invalid --statistic '%s'; expected median, average, or a quantile between 0 and 1", text);
}

static bool window_has_data(const struct fleet *f, const struct fleet_span *w)
{
	int64_t first, last;

	fleet_extent(f, &first, &last);
	if (w->from <= last && w->to > first)
		return true;
	return log_failure(false, "the window lies outside of the data, which is from %s to %s", CLOCK_RFC3339(first), CLOCK_RFC3339(last));
}

static bool ask_times(const struct fleet_query *args, const struct fleet *f, struct fleet_question *q)
{
	if (args->from && !read_time(f, args->from, &q->window.from))
		return false;
	if (args->to && !read_time(f, args->to, &q->window.to))
		return false;
	if (args->usual_from && !read_time(f, args->usual_from, &q->usual.from))
		return false;
	if (args->usual_to && !read_time(f, args->usual_to, &q->usual.to))
		return false;
	if (q->window.from < q->window.to && q->usual.from < q->usual.to)
		return window_has_data(f, &q->window);
	return log_failure(false, "the window ends before it begins");
}

bool fleet_ask(const struct fleet_query *args, const struct fleet *f, struct fleet_question *q)
{
	char *end;

	*q = fleet_question_default(f);
	q->max_lag = args->max_lag == LAG_NOT_GIVEN ? 0 : args->max_lag < UINT32_MAX ? (uint32_t)args->max_lag : UINT32_MAX - 1;
	q->spearman = args->spearman;
	q->by_time = args->by_time;
	if (!ask_statistic(args->statistic, q) || !ask_times(args, f, q))
		return false;
	if (args->threshold) {
		q->threshold = strtod(args->threshold, &end);
		if (end == args->threshold || *end)
			return log_failure(false, "invalid --threshold '%s'; expected a number", args->threshold);
	}
	if (args->server && (q->server = named_server(f, args->server)) < 0)
		return false;
	return !args->counter || (q->counter = named_counter(f, args->counter)) >= 0;
}

int fleet_analysis_failed(const char *analysis, int r)
{
	if (r == -ENODATA)
		log_error("%s: there is too little data: nothing or one moment in the window, or nothing outside it to compare with (--from and --to choose it)",
			  analysis);
	else if (r == -E2BIG)
		log_error("%s: the rows lie too far apart for their interval, as after rows of a wrong year; choose a part of the time with --from and --to",
			  analysis);
	else
		log_error("%s: %s", analysis, strerror(-r));
	return EXIT_CANNOT;
}

void fleet_json_out(json_t *root)
{
	json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(10), stdout);
}

/* A plug-in's analysis, which has words of its own for what went wrong, or our own. */
static int run_analysis(const char *analysis, const struct fleet_question *q, struct fleet_findings *ret, char **ret_error)
{
	return fleet_plugin_analysis() ? fleet_plugin_run(q, ret, ret_error) : fleet_analysis_find(analysis)->run(q, ret);
}

int fleet_tell(struct common *common, const struct fleet_query *args, const char *analysis, const struct fleet_question *q,
	       const char *headline)
{
	_cleanup_(fleet_findings_free) struct fleet_findings found = {};
	_cleanup_free_ char *error = NULL;
	int r = run_analysis(analysis, q, &found, &error);
	int status;

	if (error) {
		log_error("%s", error);
		return EXIT_CANNOT;
	}
	if (r < 0)
		return fleet_analysis_failed(analysis, r);
	if (common->json) {
		fleet_json_out(fleet_findings_json(q->fleet, &found, args->top));
	} else {
		printf("%s: %llu checked, %zu found\n", headline, (unsigned long long)found.looked_at, found.list.n);
		fleet_findings_text(q->fleet, &found, args->top, stdout);
	}
	status = found.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	return status;
}
