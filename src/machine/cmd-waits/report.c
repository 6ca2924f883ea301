#include "machine/cmd-waits/report.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/answer-history/curve.h"
#include "machine/answer-why/why.h"
#include "machine/blame/blame.h"
#include "machine/cmd-waits/trace-open.h"
#include "machine/threads/draw.h"
#include "machine/trace/trace-folder.h"
#include "machine/view-waits/waits.h"
#include "machine/view-why/report.h"
#include "machine/view-why/why.h"

#define CURVES_MAX	 6
#define FEATURES_DRAWN	 2 /* of a suspect */
#define CURVE_BEFORE	 (10 * 60 * NS_PER_SEC)
#define CURVE_AFTER	 (2 * 60 * NS_PER_SEC)
#define CURVE_POINTS	 240
#define CURVE_TICKS_MIN	 5

struct curves {
	struct report_curve v[CURVES_MAX];
	size_t n;
};

static void curves_free(struct curves *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		curve_free(&c->v[i].curve);
	}
}

static void add_curve(struct store *store, const struct why_request *asked, const struct answer *a, const struct suspect *s, const struct feature *feature, struct curves *to)
{
	const int64_t begin = asked->at - CURVE_BEFORE;
	char who[16];
	const struct curve_request q = {.who = who, .feature = (size_t)(feature - s->subject->features), .at = asked->at, .from = begin > a->window_start ? begin : a->window_start,
					.to = asked->at + CURVE_AFTER, .points = CURVE_POINTS, .viewer = asked->viewer};
	struct report_curve *c = &to->v[to->n];
	struct entity_info info;

	snprintf(who, sizeof(who), "%u", s->subject->info.pid);
	if (to->n == CURVES_MAX || curve_read(store, &q, &info, &c->curve) < 0)
		return;
	c->feature = feature;
	if (asprintf(&c->name, "%s, pid %u", info.name, info.pid) >= 0)
		to->n++;
	else
		curve_free(&c->curve);
	entity_info_free(&info);
}

/* One that lived for a moment has no curve. Of a group it is the member that matters most. */
static bool has_curve(const struct suspect *s)
{
	return s->subject && s->subject->info.kind == ENTITY_PROCESS && s->subject->last - s->subject->first >= CURVE_TICKS_MIN;
}

/* Those features for which the first suspects are suspected. */
static void read_curves(struct store *store, const struct why_request *asked, const struct answer *a, struct curves *ret)
{
	for (size_t i = 0; i < a->ranking.suspects.n && ret->n < CURVES_MAX; i++) {
		const struct suspect *s = &a->ranking.suspects.v[i];

		for (size_t k = 0; has_curve(s) && suspect_matters(&a->ranking, s) && k < s->features.n && k < FEATURES_DRAWN; k++)
			if (s->features.v[k].feature >= s->subject->features && s->features.v[k].feature < s->subject->features + s->subject->n_features)
				add_curve(store, asked, a, s, s->features.v[k].feature, ret);
	}
}

static char *answer_text(struct common *common, struct store *store, const struct mark *mark, bool redact, struct curves *ret_curves)
{
	const struct why_text_options options = {.suspects = 5, .features = 5};
	struct why_request request = {.at = mark->wall,
				      .window = common->config.answer_window,
				      .recorded = true,
				      .marked = true,
				      .viewer = redact ? VIEWER_NOBODY : common->viewer};
	_cleanup_(why_data_free) struct why_data data = {};
	struct answer a;
	char *text = NULL;
	size_t size;
	FILE *f;

	if (why_from_store(store, &request, &data, &a) < 0)
		return NULL;
	f = open_memstream(&text, &size);
	if (f) {
		why_text(&a, &options, f);
		fclose(f);
	}
	read_curves(store, &request, &a, ret_curves);
	answer_free(&a);
	return text;
}

#define LINES_DRAWN  24
#define POINTS_DRAWN 400

/* The story that the events kept of the incident tell. */
struct incident_events {
	struct opened_trace events;
	struct drawing drawing;
	char *waits, *matrix;
	bool there;
};

static void events_free(struct incident_events *e)
{
	FREE_ALL(e->waits, e->matrix);
	drawing_free(&e->drawing);
	if (e->there)
		opened_trace_free(&e->events);
}

static bool events_are_kept(const struct common *common, int64_t mark)
{
	_cleanup_free_ char *folder = trace_folder(common->from_file ? common->from_file : common->config.store_file);
	_cleanup_free_ char *path = folder ? trace_file_of(folder, mark) : NULL;

	return path && folder_path_exists(path);
}

static void find_waits(const struct opened_trace *r, struct incident_events *ret)
{
	const struct waits_options o = {.top = 5}, wide = {.top = 12};
	_cleanup_(blame_matrix_free) struct blame_matrix m = {};
	size_t size, n;
	FILE *f, *g;

	if (blame_build(&r->timeline, r->from, r->to, NULL, 0, LEVEL_PROCESS, &m) < 0)
		return;
	f = open_memstream(&ret->waits, &size);
	g = open_memstream(&ret->matrix, &n);
	if (f) {
		waits_text(&r->timeline, &m, &o, f);
		fclose(f);
	}
	if (g) {
		(void)waits_matrix_json(&r->timeline, &m, &wide, g);
		fclose(g);
	}
}

static int draw(const struct opened_trace *r, struct drawing *ret)
{
	const struct row_question rows_asked = {.from = r->from, .to = r->to, .order = ORDER_WAITED};
	const struct draw_question q = {.from = r->from, .to = r->to, .points = POINTS_DRAWN, .count = LINES_DRAWN, .path = NOBODY};
	struct thread_rows rows = {};
	int result = rows_build(&r->timeline, &rows_asked, &rows);

	if (result == 0)
		result = draw_timeline(&r->timeline, &rows, &q, ret);
	rows_free(&rows);
	return result;
}

static void read_events(const struct common *common, const struct mark *mark, bool redact, struct incident_events *ret)
{
	char number[24];
	const struct trace_request what = {.mark = number, .redact = redact};

	snprintf(number, sizeof(number), "%lld", (long long)mark->id);
	if (!events_are_kept(common, mark->id) || trace_open(common, "export", &what, &ret->events) != EXIT_ANSWERED)
		return;
	ret->there = true;
	find_waits(&ret->events, ret);
	if (draw(&ret->events, &ret->drawing) < 0)
		ret->drawing = (struct drawing){};
}

static void write_report(struct common *common, struct store *store, const struct mark *mark, bool redact,
			 FILE *out)
{
	_cleanup_(curves_free) struct curves curves = {};
	_cleanup_free_ char *answer = answer_text(common, store, mark, redact, &curves);
	_cleanup_(events_free) struct incident_events events = {};
	_cleanup_vec_ VEC(struct report_capture) captures = {};
	struct capture *list = NULL;
	char title[64];
	struct report r = {.title = title,
			   .when = CLOCK_LOCAL(mark->wall),
			   .note = mark->note,
			   .answer = answer,
			   .curves = curves.v,
			   .n_curves = curves.n,
			   .at = mark->wall,
			   .redact = redact};
	size_t n = 0;

	read_events(common, mark, redact, &events);
	r.waits = events.waits;
	r.matrix = events.matrix;
	r.timeline = &events.events.timeline;
	r.drawing = events.there ? &events.drawing : NULL;
	snprintf(title, sizeof(title), "Why it was slow: %s %lld", mark_is_of_rule(mark) ? "incident" : "mark",
		 (long long)mark->id);
	(void)store_captures_by_phase(store, mark->id, &list, &n);
	for (size_t i = 0; i < n && visibility(&common->viewer, DATUM_CAPTURES, common->viewer.uid) == SHOWN_WHOLE; i++)
		(void)VEC_PUSH(captures,
			       (struct report_capture){list[i].summary, list[i].text, list[i].json});
	r.captures = captures.v;
	r.n_captures = captures.n;
	report_html(&r, out);
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
}

int report_incident(struct common *common, const char *text, bool redact, FILE *out)
{
	struct store *store;
	struct mark mark;
	uint64_t id;
	int r;

	if (str_parse_u64(text, &id) < 0)
		return verb_usage_error("export", "--format html expects the number of a mark or an incident "
					     "('whyslow list' shows them)");
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark_get(store, (int64_t)id, &mark);
	if (r == 0) {
		write_report(common, store, &mark, redact, out);
		mark_free(&mark);
	} else {
		log_error("there is no mark or incident %s; 'whyslow list' shows them", text);
	}
	store_close(store);
	return r < 0 ? EXIT_ABSENT : EXIT_ANSWERED;
}
