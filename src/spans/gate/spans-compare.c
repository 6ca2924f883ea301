/* whyslow spans compare, why, gate: two sets of requests, where the milliseconds went, and by what. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/rights/write-path.h"
#include "spans/compare/span-change.h"
#include "spans/compare/span-select.h"
#include "spans/descent/spans-descent.h"
#include "spans/formats/span-clickhouse.h"
#include "spans/gate/span-comparison.h"

#define WATCH_LEVEL_TIME (3600. * NS_PER_SEC)
#define WATCH_TWO	 .75 /* of the level is for two windows together: one alone shows only what is plain */

static struct comparison_query comparison_of(const struct spans_query *q)
{
	return (struct comparison_query){.choice = q->choice, .baseline = q->baseline, .candidate = q->candidate, .slot = spans_slot(q, true),
					 .least = (double)q->min_effect / 100};
}

/* --- reading the sides ------------------------------------------------------------------------------------------------- */

static int split_files(char *list, char ***ret, size_t *ret_n)
{
	struct {
		VEC(char *) v;
	} files = {};
	char *file;

	while ((file = strsep(&list, ",")))
		if (*file && VEC_PUSH(files.v, file) < 0)
			return -ENOMEM;
	*ret = files.v.v;
	*ret_n = files.v.n;
	return 0;
}

static int add_side(struct common *common, const struct spans_query *q, size_t n, char **files, enum span_side side, struct span_comparison *ret)
{
	const struct comparison_query query = comparison_of(q);
	struct names *names;
	struct forest f;
	int r = spans_forest_of(common, q, n, files, &names, &f);

	if (r < 0)
		return r;
	r = span_comparison_add(&query, &f, side, ret);
	if (r == -EEXIST)
		log_error("the two sides were read with different --rule or --by");
	forest_free(&f);
	names_free(names);
	return r;
}

static int sides_by_files(struct common *common, const struct spans_query *q, size_t n, char **files, struct span_comparison *ret)
{
	_cleanup_free_ char *list = strdup(q->against);
	_cleanup_free_ char **baseline = NULL;
	size_t n_baseline = 0;
	int r = list ? split_files(list, &baseline, &n_baseline) : -ENOMEM;

	ret->before = strdup(q->against);
	ret->after = strdup(n == 1 ? files[0] : "the given files");
	r = r ?: add_side(common, q, n_baseline, baseline, SIDE_BASELINE, ret);
	return r == 0 ? add_side(common, q, n, files, SIDE_CANDIDATE, ret) : r;
}

/* The requests of [from, to), 0 = no bound. */
static int add_time(struct common *common, const struct spans_query *q, size_t n, char **files, int64_t from,
		    int64_t to, enum span_side side, struct span_comparison *ret)
{
	struct spans_query part = *q;

	part.input.only_from = from;
	part.input.only_to = to;
	return add_side(common, &part, n, files, side, ret);
}

static int sides_by_moments(struct common *common, const struct spans_query *q, size_t n, char **files,
			    const struct span_since *times, struct span_comparison *ret)
{
	int r = span_comparison_name_times(times, ret);

	r = r ?: add_time(common, q, n, files, times->against_from, times->against_to, SIDE_BASELINE, ret);
	return r == 0 ? add_time(common, q, n, files, times->from, times->to, SIDE_CANDIDATE, ret) : r;
}

static int sides_by_time(struct common *common, const struct spans_query *q, size_t n, char **files, struct span_comparison *ret)
{
	struct span_since times = {};
	int r = clock_parse_time(q->input.since, clock_wall(), &times.from);

	times.against_to = times.from;
	if (r == 0)
		return sides_by_moments(common, q, n, files, &times, ret);
	verb_usage_error("spans", "invalid time '%s'", q->input.since);
	return r;
}

/* Does the store have a part that begins from then on? */
static bool store_has_parts_from(struct common *common, int64_t since)
{
	struct span_store *store = spans_open_store(common, false);
	int64_t part = 0, requests = 0;
	bool has = store && span_store_newest(store, since, INT64_MAX, &part, &requests) == 0 && requests;

	span_store_close(store);
	return has;
}

/* Files can be read again, by time, and the store's parts; a pipe or what was summed cannot. */
static bool can_be_read_again(struct common *common, const struct spans_query *q, size_t n, char **data, int64_t since)
{
	if (!n)
		return !q->input.engine && store_has_parts_from(common, since);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(data[i], "-") || span_table_is(data[i]))
			return false;
	return true;
}

/* One forest has both sides: versions that were named, or (`guess`) the one that is slower. */
static int sides_of_forest(struct common *common, const struct spans_query *q, size_t n, char **files, struct span_comparison *ret)
{
	const struct comparison_query query = comparison_of(q);
	_cleanup_free_ char *error = NULL;
	struct names *names;
	struct forest f;
	int r = spans_forest_of(common, q, n, files, &names, &f);

	if (r < 0)
		return r;
	r = q->baseline || q->candidate ? span_comparison_by_version(&query, &f, ret, &error) : span_comparison_by_suspect(&query, &f, ret);
	if (error)
		log_error("%s", error);
	forest_free(&f);
	names_free(names);
	/* no version is slower than the others: all of them may be, since some moment */
	if (r < 0 || !ret->changed.since || !can_be_read_again(common, q, n, files, ret->changed.since))
		return r;
	r = span_comparison_restart(&query, ret);
	return r == 0 ? sides_by_moments(common, q, n, files, &ret->changed, ret) : r;
}

static int choose_sides(struct common *common, const struct spans_query *q, size_t n, char **files, bool guess, struct span_comparison *ret)
{
	if (q->against)
		return sides_by_files(common, q, n, files, ret);
	if (q->input.since)
		return sides_by_time(common, q, n, files, ret);
	if (q->baseline || q->candidate || guess)
		return sides_of_forest(common, q, n, files, ret);
	verb_usage_error("spans", "expected one of --baseline VERSION, --candidate VERSION, --since TIME, or --against FILE,...");
	return -EINVAL;
}

/* --- verbs ---------------------------------------------------------------------------------------------------------------- */

/* From the call that adds most to the first bucket that became slower down to its host. */
static int descend(const struct common *common, const struct spans_query *q, struct span_comparison *s)
{
	uint32_t vertex;
	const struct exemplar *request = span_comparison_example(s, &vertex);

	return request ? spans_descend(common, q, &s->forest, request, vertex, &s->descent) : 0;
}

/* How the answer is given. */
struct answering {
	const struct spans_query *q;
	const char *schema;
	bool json;
};

static int with_change(struct common *common, const struct spans_query *q, size_t n, char **files, bool guess, const char *schema,
		       int (*tell)(const struct answering *a, const struct span_comparison *s))
{
	const struct comparison_query query = comparison_of(q);
	struct span_comparison s;
	int r = span_comparison_init(&query, &s), status = EXIT_CANNOT;

	r = r ?: spans_deployments(common, q, !n && !q->input.engine, &s.deployments);
	r = r ?: choose_sides(common, q, n, files, guess, &s);
	r = r ?: span_comparison_judge(&query, &s);
	if (r == 0 && guess)
		r = descend(common, q, &s);
	if (r == 0)
		status = tell(&(struct answering){q, schema, common->json}, &s);
	if (r == -ENOMEM)
		log_error("out of memory");
	span_comparison_free(&s);
	return r == -EINVAL ? EXIT_USAGE : status;
}

static int tell_json(const struct answering *a, const struct span_comparison *s, int status)
{
	return spans_print_json(span_change_json(a->schema, s, a->q->top), status);
}

static int status_of(const struct span_comparison *s)
{
	return span_is_regression(span_change_gate(&s->change)) ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int tell_change(const struct answering *a, const struct span_comparison *s)
{
	if (a->json)
		return tell_json(a, s, status_of(s));
	span_change_text(s, a->q->top, stdout);
	return status_of(s);
}

int spans_compare(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	return with_change(common, q, (size_t)argc - 1, argv + 1, false, "whyslow.spans.compare/1", tell_change);
}

/* --html: 1 = it is written to standard output, where nothing else is; -errno (said). */
static int write_html(const struct spans_query *q, const struct span_comparison *s)
{
	const struct span_selection all = {};
	_cleanup_free_ char *error = NULL;
	struct span_map map = {};
	FILE *out;
	int r;

	if (!q->html)
		return 0;
	out = strcmp(q->html, "-") ? write_path_stream(q->html, 'w', &error) : stdout;
	if (!out)
		return log_failure(-EIO, "%s", error ? error : strerror(errno));
	r = span_map_make(&s->forest, &all, &map);
	if (r == 0) {
		span_change_html(s, &map, q->top, out);
		r = ferror(out) ? -EIO : 0;
	}
	span_map_free(&map);
	if (out != stdout && fclose(out) != 0)
		r = -errno;
	if (r < 0)
		log_error("cannot write %s: %s", q->html, strerror(-r));
	return r < 0 ? r : out == stdout;
}

/* A version or a time was found, or something became slower: the same for all forms of the answer. */
static int status_of_why(const struct span_comparison *s)
{
	if (s->suspects.list.n || s->suspects.silent.n || s->changed.since)
		return EXIT_ANSWERED;
	if (!s->suspects.compared && !s->suspects.alone)
		return status_of(s);
	return s->suspects.compared || !s->suspects.few ? EXIT_NOTHING_FOUND : EXIT_CANNOT;
}

static int tell_why(const struct answering *a, const struct span_comparison *s)
{
	int html = write_html(a->q, s), status = status_of_why(s);

	if (html)
		return html < 0 ? EXIT_CANNOT : status;
	if (a->json)
		return tell_json(a, s, status);
	span_why_text(s, a->q->top, stdout);
	return status;
}

static int tell_request(const struct common *common, const struct spans_query *q, const struct exemplar *request, const struct descent *d)
{
	if (common->json)
		return spans_print_json(span_request_json(request, q->input.trace, d), EXIT_ANSWERED);
	span_request_text(request, q->input.trace, d, stdout);
	return EXIT_ANSWERED;
}

/* One request, down to its hosts. */
static int why_request(struct common *common, const struct spans_query *q, size_t n, char **files)
{
	_cleanup_(descent_free) struct descent d = {};
	const struct exemplar *request;
	struct names *names;
	struct forest f;
	int status = EXIT_CANNOT, r = spans_forest_of(common, q, n, files, &names, &f);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	request = descent_request(&f, q->input.trace);
	if (!request)
		log_error("request %s is not stored whole; 'whyslow spans exemplars' lists those that are", q->input.trace);
	else if (spans_descend(common, q, &f, request, NO_VERTEX, &d) == 0)
		status = tell_request(common, q, request, &d);
	forest_free(&f);
	names_free(names);
	return status;
}

int spans_why(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	if (q->input.trace)
		return why_request(common, q, (size_t)argc - 1, argv + 1);
	return with_change(common, q, (size_t)argc - 1, argv + 1, true, "whyslow.spans.why/1", tell_why);
}

/* SPAN_Q is for all windows of WATCH_LEVEL_TIME, each of them judged alone and with the one before. */
static int judge_windows(struct common *common, const struct spans_query *q, const struct spans_window *w, struct span_comparison *s)
{
	struct comparison_query query = comparison_of(q);
	bool two = w->end - w->begin > q->window;
	int r = deployments_add_all(&s->deployments, w->deployments);

	for (size_t i = 0; r == 0 && i < w->n_past; i++)
		r = add_time(common, q, 0, NULL, w->past[i], w->past[i] + q->window, SIDE_BASELINE, s);
	r = r ?: add_time(common, q, 0, NULL, w->begin, w->end, SIDE_CANDIDATE, s);
	s->before = strdup("the windows before");
	s->after = strdup(two ? "the last two windows" : "the window");
	query.level = w->was_slower ? SPAN_Q : SPAN_Q * (two ? WATCH_TWO : 1 - WATCH_TWO) * fmin(1, (double)q->window / WATCH_LEVEL_TIME);
	return r == 0 ? span_comparison_judge(&query, s) : r;
}

int spans_judge_window(struct common *common, const struct spans_query *q, const struct spans_window *window, json_t **ret, char **ret_headline,
		       int *ret_verdict)
{
	const struct comparison_query query = comparison_of(q);
	struct span_comparison s;
	int r = span_comparison_init(&query, &s);

	r = r ?: judge_windows(common, q, window, &s);
	if (r == 0) {
		*ret_verdict = (int)span_change_gate(&s.change);
		*ret = span_change_json("whyslow.spans.watch/1", &s, q->top);
		*ret_headline = span_change_headline(&s);
	}
	span_comparison_free(&s);
	return r;
}

/* 0 pass, 1 regression, 3 cannot tell. */
static int tell_gate(const struct answering *a, const struct span_comparison *s)
{
	enum span_verdict verdict = span_change_gate(&s->change);
	int status = span_is_regression(verdict) ? 1 : verdict == VERDICT_SAME ? 0 : EXIT_CANNOT;

	if (a->json)
		return tell_json(a, s, status);
	span_gate_text(a->q->report, s, a->q->top, stdout);
	return status;
}

int spans_gate(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	if (!span_gate_report_is_known(q->report))
		return verb_usage_error("spans gate", "invalid --report '%s'; expected long, line, table, markdown, or junit", q->report);
	return with_change(common, q, (size_t)argc - 1, argv + 1, false, "whyslow.spans.gate/1", tell_gate);
}
