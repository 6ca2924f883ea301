/* whyslow spans compare, why, gate: two sets of requests, where the milliseconds went, and by what. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/spans/spans-change.h"
#include "source/span/span-clickhouse.h"

#define VERSIONS_TOLD 1000 /* characters */

static void sides_free(struct sides *s)
{
	descent_free(&s->descent);
	forest_free(&s->forest);
	free(s->before);
	free(s->after);
	suspects_free(&s->suspects);
	span_causes_free(&s->causes);
	span_deployed_free(&s->deployed);
	deployments_free(&s->deployments);
	names_free(s->names);
}

/* --- choosing the sides ------------------------------------------------------------------------------------------------ */

struct choice {
	const struct forest *f;
};

/* "1.4" (of any package) or "package=1.4". */
static bool has_version(const struct forest *f, const struct group *g, const char *wanted)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);
	const char *equal = strchr(wanted, '=');

	for (uint32_t i = 0; i < set->n; i++) {
		const char *package = names_get(f->names, set->v[i].key), *version = names_get(f->names, set->v[i].value);

		if (equal && (strlen(package) != (size_t)(equal - wanted) || strncmp(package, wanted, strlen(package))))
			continue;
		if (!strcmp(version, equal ? equal + 1 : wanted))
			return true;
	}
	return false;
}

static enum span_side by_version(void *state, const struct bucket *b, const struct group *g)
{
	const struct choice *c = state;

	if (!spans_selected(c->f, b))
		return SIDE_NONE;
	if (spans_arg.candidate && has_version(c->f, g, spans_arg.candidate))
		return SIDE_CANDIDATE;
	if (!spans_arg.baseline)
		return SIDE_BASELINE;
	if (has_version(c->f, g, spans_arg.baseline))
		return SIDE_BASELINE;
	return spans_arg.candidate ? SIDE_NONE : SIDE_CANDIDATE;
}

/* A version that no request ran is a slip of the pen: says which there are. */
static int check_version(const struct forest *f, const char *wanted)
{
	_cleanup_str_ struct str there = {};
	uint32_t last = 0;

	for (size_t i = 0; wanted && i < f->buckets.n; i++) {
		for (size_t j = 0; j < f->buckets.v[i].groups.n; j++) {
			const struct group *g = &f->buckets.v[i].groups.v[j];
			_cleanup_free_ char *text = g->versions != last ? spans_versions_label(f, g->versions) : NULL;

			if (has_version(f, g, wanted))
				return 0;
			if (text && there.len < VERSIONS_TOLD && (!there.len || !strstr(there.data, text)))
				str_printf(&there, "\n  %s", text);
			last = g->versions;
		}
	}
	if (!wanted)
		return 0;
	log_error("no request ran version '%s'; there are:%s%s", wanted, there.data ? there.data : "", there.len < VERSIONS_TOLD ? "" : "\n  ...");
	return -ENODATA;
}

static int sides_by_version(const struct forest *f, struct sides *ret)
{
	struct choice c = {f};

	if (check_version(f, spans_arg.baseline) < 0 || check_version(f, spans_arg.candidate) < 0)
		return -ENODATA;
	ret->before = strdup(spans_arg.baseline ? spans_arg.baseline : "all other versions");
	ret->after = strdup(spans_arg.candidate ? spans_arg.candidate : "all other versions");
	return span_sides_of(f, by_version, &c, &ret->forest);
}

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

static int add_side(struct common *common, size_t n, char **files, enum span_side side, struct sides *ret)
{
	struct names *names;
	struct forest f;
	int r = spans_forest_of(common, n, files, &names, &f);

	if (r < 0)
		return r;
	r = span_sides_add(&ret->forest, &f, side, spans_selected);
	if (r == -EEXIST)
		log_error("the two sides were read with different --rule or --by");
	forest_free(&f);
	names_free(names);
	return r;
}

static int sides_by_files(struct common *common, size_t n, char **files, struct sides *ret)
{
	_cleanup_free_ char *list = strdup(spans_arg.against);
	_cleanup_free_ char **baseline = NULL;
	size_t n_baseline = 0;
	int r = list ? split_files(list, &baseline, &n_baseline) : -ENOMEM;

	ret->before = strdup(spans_arg.against);
	ret->after = strdup(n == 1 ? files[0] : "the given files");
	if (r == 0)
		r = add_side(common, n_baseline, baseline, SIDE_BASELINE, ret);
	return r == 0 ? add_side(common, n, files, SIDE_CANDIDATE, ret) : r;
}

/* The requests of [from, to), 0 = no bound. */
static int add_time(struct common *common, size_t n, char **files, int64_t from, int64_t to, enum span_side side, struct sides *ret)
{
	int r;

	spans_arg.only_from = from;
	spans_arg.only_to = to;
	r = add_side(common, n, files, side, ret);
	spans_arg.only_from = spans_arg.only_to = 0;
	return r;
}

static int sides_by_moments(struct common *common, size_t n, char **files, const struct span_since *times, struct sides *ret)
{
	char when[32], end[32];
	int r;

	format_rfc3339(times->from, when, sizeof(when));
	if (asprintf(&ret->after, "since %s%s%s", when, times->to ? " until " : "",
		     times->to ? format_rfc3339(times->to, end, sizeof(end)) : "") < 0)
		return -ENOMEM;
	format_rfc3339(times->against_to, end, sizeof(end));
	if (asprintf(&ret->before, "%s%s%s%s", times->against_from ? "the same hours the day before, " : "before ",
		     times->against_from ? format_rfc3339(times->against_from, when, sizeof(when)) : "", times->against_from ? " to " : "", end) < 0)
		return -ENOMEM;
	r = add_time(common, n, files, times->against_from, times->against_to, SIDE_BASELINE, ret);
	return r == 0 ? add_time(common, n, files, times->from, times->to, SIDE_CANDIDATE, ret) : r;
}

static int sides_by_time(struct common *common, size_t n, char **files, struct sides *ret)
{
	struct span_since times = {};
	int r = parse_time(spans_arg.since, wall_now(), &times.from);

	times.against_to = times.from;
	if (r == 0)
		return sides_by_moments(common, n, files, &times, ret);
	usage_error("spans", "invalid time '%s'", spans_arg.since);
	return r;
}

struct suspicion {
	const struct forest *f;
	const struct suspect_version *suspect;
};

static enum span_side by_suspect(void *state, const struct bucket *b, const struct group *g)
{
	const struct suspicion *s = state;

	if (b != &s->f->buckets.v[s->suspect->bucket])
		return SIDE_NONE;
	return suspect_side(s->f, s->suspect, g);
}

static enum span_side by_suspect_anywhere(void *state, const struct bucket *b, const struct group *g)
{
	const struct suspicion *s = state;

	return spans_selected(s->f, b) ? suspect_side(s->f, s->suspect, g) : SIDE_NONE;
}

/* Where that version is slower: its requests of all buckets, against those of the other versions. */
static int find_causes_anywhere(struct suspicion *s, struct sides *ret)
{
	struct forest everywhere = {};
	int r = forest_init(&everywhere, s->f->names, spans_arg.slot);

	if (r == 0)
		r = span_sides_of(s->f, by_suspect_anywhere, s, &everywhere);
	if (r == 0)
		r = forest_finish(&everywhere);
	if (r == 0)
		r = span_causes_find(&everywhere, &ret->causes);
	forest_free(&everywhere);
	return r;
}

/* Was this version deployed while these requests ran, or shortly before? */
static bool was_deployed(const struct forest *f, const struct suspect_version *s, const struct deployments *d)
{
	const struct bucket *b = &f->buckets.v[s->bucket];
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < b->groups.n; i++) {
		first = b->groups.v[i].first_seen < first ? b->groups.v[i].first_seen : first;
		last = b->groups.v[i].last_seen > last ? b->groups.v[i].last_seen : last;
	}
	for (size_t i = 0; i < d->list.n; i++)
		if (d->list.v[i].time >= first - DEPLOYED_LEAD && d->list.v[i].time <= last &&
		    !strcmp(d->list.v[i].package, names_get(f->names, s->package)) && !strcmp(d->list.v[i].version, names_get(f->names, s->version)))
			return true;
	return false;
}

/* The candidates begin with what changed; otherwise they stay in their order. */
static void deployed_first(const struct forest *f, struct suspects *s, const struct deployments *d)
{
	size_t front = 0;

	for (size_t i = 0; i < s->list.n; i++) {
		struct suspect_version one = s->list.v[i];

		one.deployed = was_deployed(f, &one, d);
		if (one.deployed) {
			memmove(&s->list.v[front + 1], &s->list.v[front], (i - front) * sizeof(one));
			s->list.v[front++] = one;
		}
	}
}

/* No side was named: the version that is slower than the others of its bucket. */
static int sides_by_suspect(const struct forest *f, struct sides *ret)
{
	struct suspicion s = {.f = f};
	struct choice all = {f};
	int r = suspects_find(f, spans_selected, &ret->suspects);

	if (r < 0)
		return r;
	deployed_first(f, &ret->suspects, &ret->deployments);
	if (!ret->suspects.list.n)
		return span_sides_of(f, by_version, &all, &ret->forest);
	s.suspect = &ret->suspects.list.v[0];
	if (asprintf(&ret->after, "%s %s", names_get(f->names, s.suspect->package), names_get(f->names, s.suspect->version)) < 0 ||
	    asprintf(&ret->before, "other versions of %s", names_get(f->names, s.suspect->package)) < 0)
		return -ENOMEM;
	r = find_causes_anywhere(&s, ret);
	return r < 0 ? r : span_sides_of(f, by_suspect, &s, &ret->forest);
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
static bool can_be_read_again(struct common *common, size_t n, char **data, int64_t since)
{
	if (!n)
		return !spans_arg.engine && store_has_parts_from(common, since);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(data[i], "-") || span_table_is(data[i]))
			return false;
	return true;
}

/* No version is slower than the others: all of them may be, since some moment. */
static int sides_by_change(struct common *common, size_t n, char **files, struct sides *ret)
{
	forest_free(&ret->forest);
	free(ret->before);
	free(ret->after);
	ret->before = ret->after = NULL;
	if (forest_init(&ret->forest, ret->names, spans_arg.slot) < 0)
		return -ENOMEM;
	return sides_by_moments(common, n, files, &ret->changed, ret);
}

static int choose_sides(struct common *common, size_t n, char **files, bool guess, struct sides *ret)
{
	struct names *names;
	struct forest f;
	int r;

	ret->names = names_new();
	r = ret->names ? forest_init(&ret->forest, ret->names, spans_arg.slot) : -ENOMEM;
	if (r < 0)
		return r;
	if (spans_arg.against)
		r = sides_by_files(common, n, files, ret);
	else if (spans_arg.since)
		r = sides_by_time(common, n, files, ret);
	else if (spans_arg.baseline || spans_arg.candidate || guess) {
		r = spans_forest_of(common, n, files, &names, &f);
		if (r < 0)
			return r;
		r = spans_arg.baseline || spans_arg.candidate ? sides_by_version(&f, ret) : sides_by_suspect(&f, ret);
		/* the suspects speak in texts of f's names */
		suspects_translate(&ret->suspects, f.names, ret->names);
		if (r == 0 && guess && !spans_arg.baseline && !spans_arg.candidate && !ret->suspects.list.n &&
		    !span_since_worst(&f, spans_selected, &ret->changed))
			ret->changed = (struct span_since){};
		forest_free(&f);
		names_free(names);
		if (r == 0 && ret->changed.since && can_be_read_again(common, n, files, ret->changed.since))
			r = sides_by_change(common, n, files, ret);
	} else {
		usage_error("spans", "expected one of --baseline VERSION, --candidate VERSION, --since TIME, or --against FILE,...");
		return -EINVAL;
	}
	return r == 0 ? forest_finish(&ret->forest) : r;
}

/* --- verbs ---------------------------------------------------------------------------------------------------------------- */

/* What changed, and for what became slower: of which requests. */
static int judge(struct sides *s, struct span_change *ret)
{
	int r = span_change(&s->forest, (double)spans_arg.min_effect / 100, ret);

	if (r == 0 && !s->suspects.list.n && span_is_regression(span_change_gate(ret)))
		r = span_causes_find(&s->forest, &s->causes);
	if (r == 0 && (s->suspects.list.n || span_is_regression(span_change_gate(ret))))
		r = span_deployed_rank(&s->forest, ret, &s->deployments, &s->deployed);
	return r;
}

/* From the call that adds most to the first bucket that became slower down to its host. */
static int descend_change(const struct common *common, struct sides *s, const struct span_change *c)
{
	const struct bucket_change *b = c->buckets.n && span_is_regression(c->buckets.v[0].verdict) ? &c->buckets.v[0] : NULL;
	uint32_t vertex = b && b->vertices.n ? b->vertices.v[0].vertex : NO_VERTEX;
	const struct exemplar *request = b && b->after && vertex != NO_VERTEX ? descent_choose(b->after, vertex) : NULL;

	return request ? descend(common, &s->forest, request, vertex, &s->descent) : 0;
}

static int with_change(struct common *common, size_t n, char **files, bool guess, const char *schema,
		       int (*tell)(struct common *common, const struct sides *s, const struct span_change *c, const char *schema))
{
	struct sides s = {};
	struct span_change c = {};
	int r = spans_deployments(common, !n && !spans_arg.engine, &s.deployments), status = EXIT_CANNOT;

	if (r == 0)
		r = choose_sides(common, n, files, guess, &s);
	if (r == 0)
		r = judge(&s, &c);
	if (r == 0) {
		r = guess ? descend_change(common, &s, &c) : 0;
		status = r == 0 ? tell(common, &s, &c, schema) : EXIT_CANNOT;
		span_change_free(&c);
	}
	if (r == -ENOMEM) {
		log_error("out of memory");
	}
	sides_free(&s);
	return r == -EINVAL ? EXIT_USAGE : status;
}

/* --html: 1 = nothing else is to be said. */
static int write_html(const struct sides *s, const struct span_change *c)
{
	int r = spans_arg.html ? change_html(spans_arg.html, s, c) : 0;

	if (r < 0)
		log_error("cannot write %s: %s", spans_arg.html, strerror(-r));
	return r < 0 ? r : spans_arg.html && !strcmp(spans_arg.html, "-");
}

static int tell_change(struct common *common, const struct sides *s, const struct span_change *c, const char *schema)
{
	bool slower = span_is_regression(span_change_gate(c));

	if (common->json)
		return spans_print_json(change_json(schema, s, c), slower ? EXIT_ANSWERED : EXIT_NOTHING_FOUND);
	change_print(s, c);
	return slower ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

int spans_compare(struct common *common, int argc, char **argv)
{
	return with_change(common, (size_t)argc - 1, argv + 1, false, "whyslow.spans.compare/1", tell_change);
}

/* All versions together take longer since some moment: in words, and where they were read by time, where it went. */
static int tell_since(const struct sides *s, const struct span_change *c)
{
	char x[24], y[24], when[32], end[32];

	printf("but where it costs most all of them together take %s since %s, were %s", spans_duration(s->changed.change.during, x),
	       format_local(s->changed.since, when, sizeof(when)), spans_duration(s->changed.change.before, y));
	if (s->changed.until)
		printf(", until %s", format_local(s->changed.until, end, sizeof(end)));
	puts("\n");
	if (s->after) {
		change_print(s, c);
		return EXIT_ANSWERED;
	}
	printf("'--since %s' says where that went\n", format_rfc3339(s->changed.since, when, sizeof(when)));
	spans_print_tally(&s->forest);
	return EXIT_ANSWERED;
}

static int tell_why(struct common *common, const struct sides *s, const struct span_change *c, const char *schema)
{
	bool guessed = s->suspects.compared || s->suspects.alone;
	int html = write_html(s, c);

	if (html)
		return html < 0 ? EXIT_CANNOT : s->suspects.list.n || span_is_regression(span_change_gate(c)) ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;

	if (common->json || !guessed)
		return tell_change(common, s, c, schema);
	if (s->suspects.list.n) {
		suspects_print(s);
		change_print(s, c);
		return EXIT_ANSWERED;
	}
	if (s->suspects.compared)
		printf("no version is slower than the others of its bucket: %u compared in %u buckets (q <= %.2g and at least %.0f %% slower)\n",
		       s->suspects.compared, s->suspects.buckets, SPAN_Q, 100 * SPAN_TOLERANCE);
	else if (s->suspects.few)
		printf("too few requests to compare versions: %d of each are needed in a bucket (--by OTHER,... makes fewer buckets)\n", SPAN_LEAST);
	else
		puts("there is only one version to see");
	if (s->suspects.replaced)
		printf("%u were slower than all that followed them, and have ended\n", s->suspects.replaced);
	if (s->changed.since)
		return tell_since(s, c);
	if (!s->suspects.compared)
		puts("and nothing changed in time; compare times with --since TIME, or files with --against FILE,...");
	spans_print_tally(&s->forest);
	return s->suspects.compared ? EXIT_NOTHING_FOUND : EXIT_CANNOT;
}

/* The request of that id among those that were stored whole. */
static const struct exemplar *find_request(const struct forest *f, const char *id)
{
	uint64_t high, low;

	trace_id_of_text(f->names, id, strlen(id), &high, &low);
	for (size_t i = 0; i < f->buckets.n; i++)
		for (size_t k = 0; k < f->buckets.v[i].groups.n; k++) {
			const struct group *g = &f->buckets.v[i].groups.v[k];

			for (size_t j = 0; j < g->slowest.n + g->sample.n; j++) {
				const struct exemplar *e = j < g->slowest.n ? &g->slowest.v[j] : &g->sample.v[j - g->slowest.n];

				if (e->high == high && e->low == low)
					return e;
			}
		}
	return NULL;
}

static int tell_request(const struct common *common, const struct exemplar *request, const struct descent *d)
{
	char at[40], took[24];

	if (common->json)
		return spans_print_json(json_pack("{s:s, s:s, s:s, s:I, s:o}", "schema", "whyslow.spans.request/1", "trace", spans_arg.trace, "start",
						  format_rfc3339(request->start, at, sizeof(at)), "duration_ns", (json_int_t)request->duration,
						  "hosts", descent_json(d)), EXIT_ANSWERED);
	printf("request %s of %s took %s\n", spans_arg.trace, format_local(request->start, at, sizeof(at)),
	       spans_duration((double)request->duration, took));
	descent_print(d);
	return EXIT_ANSWERED;
}

/* One request, down to its hosts. */
static int why_request(struct common *common, size_t n, char **files)
{
	_cleanup_(descent_free) struct descent d = {};
	const struct exemplar *request;
	struct names *names;
	struct forest f;
	int status = EXIT_CANNOT, r = spans_forest_of(common, n, files, &names, &f);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	request = find_request(&f, spans_arg.trace);
	if (!request)
		log_error("request %s is not stored whole; 'whyslow spans exemplars' lists those that are", spans_arg.trace);
	else if (descend(common, &f, request, NO_VERTEX, &d) == 0)
		status = tell_request(common, request, &d);
	forest_free(&f);
	names_free(names);
	return status;
}

int spans_why(struct common *common, int argc, char **argv)
{
	if (spans_arg.trace)
		return why_request(common, (size_t)argc - 1, argv + 1);
	return with_change(common, (size_t)argc - 1, argv + 1, true, "whyslow.spans.why/1", tell_why);
}

static int add_window(struct common *common, int64_t begin, enum span_side side, struct sides *ret)
{
	return add_time(common, 0, NULL, begin, begin + spans_arg.window, side, ret);
}

int spans_judge_window(struct common *common, int64_t begin, const int64_t *past, size_t n_past, json_t **ret, char **ret_headline,
		       int *ret_verdict)
{
	struct sides s = {};
	struct span_change c = {};
	int r;

	s.names = names_new();
	r = s.names ? forest_init(&s.forest, s.names, spans_arg.slot) : -ENOMEM;
	if (r == 0)
		r = spans_deployments(common, true, &s.deployments);
	for (size_t i = 0; r == 0 && i < n_past; i++)
		r = add_window(common, past[i], SIDE_BASELINE, &s);
	if (r == 0)
		r = add_window(common, begin, SIDE_CANDIDATE, &s);
	if (r == 0)
		r = forest_finish(&s.forest);
	if (r == 0)
		r = judge(&s, &c);
	if (r == 0) {
		s.before = strdup("the windows before");
		s.after = strdup("the window");
		*ret_verdict = (int)span_change_gate(&c);
		*ret = change_json("whyslow.spans.watch/1", &s, &c);
		*ret_headline = change_headline(&s, &c);
		span_change_free(&c);
	}
	sides_free(&s);
	return r;
}

/* 0 pass, 1 regression, 3 cannot tell. */
static int tell_gate(struct common *common, const struct sides *s, const struct span_change *c, const char *schema)
{
	enum span_verdict verdict = span_change_gate(c);
	int status = span_is_regression(verdict) ? 1 : verdict == VERDICT_SAME ? 0 : EXIT_CANNOT;

	if (common->json)
		return spans_print_json(change_json(schema, s, c), status);
	gate_print(s, c, verdict);
	return status;
}

int spans_gate(struct common *common, int argc, char **argv)
{
	if (!gate_report_is_known(spans_arg.report))
		return usage_error("spans gate", "invalid --report '%s'; expected long, line, table, markdown, or junit", spans_arg.report);
	return with_change(common, (size_t)argc - 1, argv + 1, false, "whyslow.spans.gate/1", tell_gate);
}
