#include "fleet/analysis/fleet-views.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-analysis.h"
#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"

#define DRAWN_MAX   300000 /* values of a detail view: more than a screen has places for */
#define POINTS_LEAST 60	   /* however many servers there are */

void fleet_view_free(struct fleet_view *v)
{
	VEC_FREE(v->rows);
	FREE_ALL(v->values, v->low, v->high);
	v->values = v->low = v->high = NULL;
}

static struct fleet_summary summarise(const struct piece *pieces, size_t n, struct select_room *room)
{
	struct column_moments m;

	column_moments_of(pieces, n, &m);
	return (struct fleet_summary){
		.server = -1,
		.mean = m.mean,
		.median = columns_median(pieces, n, room),
		.sd = m.sd,
		.min = (double)m.min,
		.max = (double)m.max,
		.q05 = columns_quantile(pieces, n, 0.05, room),
		.q25 = columns_quantile(pieces, n, 0.25, room),
		.q75 = columns_quantile(pieces, n, 0.75, room),
		.q95 = columns_quantile(pieces, n, 0.95, room),
		.n = (uint32_t)m.n,
	};
}

static int server_view(const struct fleet *f, struct fleet_span window, struct fleet_view *v)
{
	_cleanup_(select_room_free) struct select_room room = {};

	for (size_t i = 0; i < f->servers.n; i++) {
		const struct fleet_server *s = &f->servers.v[i];
		uint32_t first, rows = fleet_rows(s, window.from, window.to, &first);
		struct piece piece = {s->column[v->counter] ? s->column[v->counter] + first : NULL, rows};
		struct fleet_summary x;

		if (!piece.v || !rows)
			continue;
		x = summarise(&piece, 1, &room);
		x.server = (int)i;
		if (x.n && VEC_PUSH(v->rows, x) < 0)
			return -ENOMEM;
	}
	return v->rows.n ? 0 : -ENODATA;
}

static int gather(const struct fleet *f, const struct fleet_alignment *a, struct fleet_view *v)
{
	v->ts = a->ts;
	v->d = a->d;
	v->n = a->n;
	v->values = malloc((f->servers.n * a->n + 1) * sizeof(*v->values));
	if (!v->values)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++)
		for (uint32_t k = 0; k < a->n; k++) {
			const float *column = f->servers.v[i].column[v->counter];
			uint32_t row = column && fleet_aligned(a, i) ? fleet_aligned_row(a, i, k) : FLEET_NO_ROW;

			v->values[i * a->n + k] = row == FLEET_NO_ROW ? NAN : column[row];
		}
	return 0;
}

static int time_view(struct fleet_view *v)
{
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_free_ float *point = malloc((v->fleet->servers.n + 1) * sizeof(*point));

	for (uint32_t k = 0; point && k < v->n; k++) {
		struct piece piece = {point, v->fleet->servers.n};
		struct fleet_summary x;

		for (size_t i = 0; i < v->fleet->servers.n; i++)
			point[i] = v->values[i * v->n + k];
		x = summarise(&piece, 1, &room);
		x.time = v->ts + k * v->d;
		if (x.n && VEC_PUSH(v->rows, x) < 0)
			return -ENOMEM;
	}
	return point ? 0 : -ENOMEM;
}

int fleet_view_find(const struct fleet *f, int counter, struct fleet_span window, enum fleet_view_kind kind, struct fleet_view *ret)
{
	struct fleet_view v = {.kind = kind, .fleet = f, .counter = counter, .each = 1};
	struct fleet_alignment a = {};
	int r;

	if (kind == FLEET_SERVER_VIEW) {
		r = server_view(f, window, &v);
	} else {
		r = fleet_align_best(f, window, &a);
		v.partly = r == 0 ? fleet_aligned_partly(&a) : 0;
		r = r ?: gather(f, &a, &v);
		if (r == 0 && kind == FLEET_TIME_VIEW)
			r = time_view(&v);
		fleet_alignment_free(&a);
	}
	if (r < 0) {
		fleet_view_free(&v);
		return r;
	}
	*ret = v;
	return 0;
}

/* --- fewer points --- */

static struct piece part_of(const struct fleet_view *v, size_t server, uint32_t k)
{
	uint32_t from = k * v->each, n = v->n - from < v->each ? v->n - from : v->each;

	return (struct piece){v->values + server * v->n + from, n};
}

static int reduce_values(struct fleet_view *v, uint32_t n)
{
	size_t all = v->fleet->servers.n * n + 1;
	float *mean = malloc(all * sizeof(*mean));

	v->low = malloc(all * sizeof(*v->low));
	v->high = malloc(all * sizeof(*v->high));
	if (!mean || !v->low || !v->high) {
		free(mean);
		return -ENOMEM;
	}
	for (size_t s = 0; s < v->fleet->servers.n; s++)
		for (uint32_t k = 0; k < n; k++) {
			struct piece part = part_of(v, s, k);
			struct column_moments m;

			column_moments_of(&part, 1, &m);
			mean[s * n + k] = m.n ? (float)m.mean : NAN;
			v->low[s * n + k] = m.n ? m.min : NAN;
			v->high[s * n + k] = m.n ? m.max : NAN;
		}
	free(v->values);
	v->values = mean;
	return 0;
}

/* Of all servers' values of a part together. */
static int reduce_rows(struct fleet_view *v, uint32_t n)
{
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_free_ struct piece *pieces = malloc((v->fleet->servers.n + 1) * sizeof(*pieces));

	if (!pieces)
		return -ENOMEM;
	v->rows.n = 0;
	for (uint32_t k = 0; k < n; k++) {
		struct fleet_summary x;

		for (size_t s = 0; s < v->fleet->servers.n; s++)
			pieces[s] = part_of(v, s, k);
		x = summarise(pieces, v->fleet->servers.n, &room);
		x.time = v->ts + (int64_t)k * v->each * v->d;
		if (x.n && VEC_PUSH(v->rows, x) < 0)
			return -ENOMEM;
	}
	return 0;
}

int fleet_view_reduce(struct fleet_view *v, uint32_t points)
{
	size_t servers = v->fleet->servers.n;
	uint32_t n;
	int r;

	if (v->kind == FLEET_DETAIL_VIEW && servers && points > DRAWN_MAX / servers)
		points = DRAWN_MAX / servers > POINTS_LEAST ? (uint32_t)(DRAWN_MAX / servers) : POINTS_LEAST;
	if (v->kind == FLEET_SERVER_VIEW || !v->values || !points || v->n <= points)
		return 0;
	v->each = (v->n + points - 1) / points;
	n = (v->n + v->each - 1) / v->each;
	r = v->kind == FLEET_DETAIL_VIEW ? reduce_values(v, n) : reduce_rows(v, n);
	if (r == 0) {
		v->n = n;
		v->d *= v->each;
	}
	return r;
}

/* --- threshold rules --- */

static double statistic_of(enum threshold_statistic of, double quantile, const struct piece *pieces, size_t n, struct select_room *room)
{
	struct column_moments m;

	switch (of) {
	case OF_MEDIAN:
		return columns_median(pieces, n, room);
	case OF_QUANTILE:
		return columns_quantile(pieces, n, quantile, room);
	default:
		column_moments_of(pieces, n, &m);
		return of == OF_MINIMUM || of == OF_EVERY ? (double)m.min : of == OF_MAXIMUM || of == OF_ANY ? (double)m.max : m.mean;
	}
}

static bool holds(enum threshold_operator op, double value, double expected)
{
	const bool truth[] = {value > expected,	 value >= expected, value < expected,
			      value <= expected, value == expected, value != expected};

	return truth[op];
}

/* What is to be looked at in a group of values: "any" looks for the extreme in the operator's direction. */
static enum threshold_statistic extreme(const struct fleet_threshold *t)
{
	bool below = t->operator == IS_LESS || t->operator == IS_LESS_EQUAL;

	if (t->statistic == OF_ANY)
		return below ? OF_MINIMUM : OF_MAXIMUM;
	if (t->statistic == OF_EVERY)
		return below ? OF_MAXIMUM : OF_MINIMUM;
	return t->statistic;
}

struct checking {
	const struct fleet *f;
	const struct fleet_threshold *rule;
	struct fleet_span window;
	int counter;
	struct fleet_findings *ret;
	size_t most, found;
	size_t first; /* of the rule's findings in *ret: a heap, its least bad one in front, once there are `most` */
	double expected;
	double mean, sd; /* of the values that are compared: for z-scores */
	struct select_room room;
};

static void swap(struct fleet_finding *a, struct fleet_finding *b)
{
	struct fleet_finding x = *a;

	*a = *b;
	*b = x;
}

static void sift_down(struct fleet_finding *v, size_t n)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && v[child + 1].score < v[child].score;
		if (v[at].score <= v[child].score)
			return;
		swap(&v[at], &v[child]);
	}
}

static void sift_up(struct fleet_finding *v, size_t at)
{
	for (size_t parent; at && v[parent = (at - 1) / 2].score > v[at].score; at = parent)
		swap(&v[at], &v[parent]);
}

/* The worst `most` of those that break a rule stay. */
static int keep_worst(struct checking *c, const struct fleet_finding *x)
{
	size_t n = c->ret->list.n - c->first;
	int r;

	c->found++;
	if (n >= c->most) {
		if (n && x->score > c->ret->list.v[c->first].score) {
			c->ret->list.v[c->first] = *x;
			sift_down(c->ret->list.v + c->first, n);
		}
		return 0;
	}
	r = VEC_PUSH(c->ret->list, *x);
	if (r == 0)
		sift_up(c->ret->list.v + c->first, n);
	return r;
}

/* The value, or its z-score: it is compared with c->expected. */
static double tested_value(const struct checking *c, double value)
{
	return !c->rule->z_score ? value : c->sd > 0 ? (value - c->mean) / c->sd : NAN;
}

static bool breaks(const struct checking *c, double value)
{
	double tested = tested_value(c, value);

	return !isnan(tested) && holds(c->rule->operator, tested, c->expected);
}

static int test(struct checking *c, double value, int server, int64_t time, uint32_t n)
{
	struct fleet_finding x = fleet_finding_empty;
	double tested = tested_value(c, value);

	c->ret->looked_at++;
	if (!breaks(c, value))
		return 0;
	x.server = server;
	x.counter = c->counter;
	x.time = time;
	x.observed = value;
	x.usual = c->expected;
	x.spread = c->sd;
	x.n = n;
	x.score = fabs(tested - c->expected) / (c->expected != 0 ? fabs(c->expected) : 1);
	x.words = c->rule->words;
	x.flags = tested > c->expected ? FLEET_HIGHER : tested < c->expected ? FLEET_LOWER : 0;
	return keep_worst(c, &x);
}

/* How many rows from `k` on break the rule together, before `end`; a missing value ends them. */
static uint32_t rows_breaking(const struct checking *c, const float *v, uint32_t k, uint32_t end)
{
	uint32_t n = 0;

	while (k + n < end && breaks(c, (double)v[k + n]))
		n++;
	return n;
}

static int check_server(struct checking *c, size_t server)
{
	const struct fleet_server *s = &c->f->servers.v[server];
	const float *v = s->column[c->counter];
	uint32_t first, rows = fleet_rows(s, c->window.from, c->window.to, &first);
	int r = 0;

	for (uint32_t k = first, n; k < first + rows && r == 0; k += n) {
		bool brief;

		n = c->rule->lasting ? rows_breaking(c, v, k, first + rows) : 0;
		brief = n && s->time[k + n - 1] - s->time[k] < c->rule->lasting;
		n = n ? n : 1;
		for (uint32_t i = k; i < k + n && r == 0; i++)
			if (brief)
				c->ret->looked_at++;
			else if (!isnan(v[i]))
				r = test(c, (double)v[i], (int)server, s->time[i], 1);
	}
	return r;
}

static int check_detail(struct checking *c)
{
	int r = 0;

	for (size_t i = 0; i < c->f->servers.n && r == 0; i++)
		if (c->f->servers.v[i].column[c->counter])
			r = check_server(c, i);
	return r;
}

static double of_summary(const struct checking *c, const struct fleet_summary *x, const struct piece *values)
{
	const double of[] = {[OF_AVERAGE] = x->mean, [OF_MEDIAN] = x->median, [OF_MINIMUM] = x->min, [OF_MAXIMUM] = x->max, [OF_QUANTILE] = NAN};
	enum threshold_statistic s = extreme(c->rule);
	struct select_room room = {};
	double value;

	if (s != OF_QUANTILE)
		return of[s];
	value = columns_quantile(values, 1, c->rule->quantile, &room);
	select_room_free(&room);
	return value;
}

static struct piece values_of(const struct checking *c, const struct fleet_view *v, const struct fleet_summary *x, float *room)
{
	uint32_t first, rows;

	if (v->kind == FLEET_SERVER_VIEW) {
		rows = fleet_rows(&c->f->servers.v[x->server], c->window.from, c->window.to, &first);
		return (struct piece){c->f->servers.v[x->server].column[c->counter] + first, rows};
	}
	for (size_t i = 0; i < c->f->servers.n; i++)
		room[i] = v->values[i * v->n + (size_t)((x->time - v->ts) / v->d)];
	return (struct piece){room, c->f->servers.n};
}

/* A rule on all that a detail view shows together: "median in the detail view". */
static int check_whole(struct checking *c, const struct piece *pieces, size_t n)
{
	return test(c, statistic_of(extreme(c->rule), c->rule->quantile, pieces, n, &c->room), -1, INT64_MIN, 0);
}

static int check_rows(struct checking *c)
{
	struct fleet_view v;
	_cleanup_free_ float *room = malloc((c->f->servers.n + 1) * sizeof(*room));
	_cleanup_free_ float *values = NULL;
	struct column_moments m;
	int r = room ? fleet_view_find(c->f, c->counter, c->window, c->rule->view, &v) : -ENOMEM;

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	values = malloc((v.rows.n + 1) * sizeof(*values));
	for (size_t i = 0; values && i < v.rows.n; i++) {
		struct piece piece = values_of(c, &v, &v.rows.v[i], room);

		values[i] = (float)of_summary(c, &v.rows.v[i], &piece);
	}
	c->ret->remark = v.partly ? FLEET_PARTLY : c->ret->remark;
	column_moments_of(&(struct piece){values, values ? v.rows.n : 0}, 1, &m);
	c->mean = m.mean;
	c->sd = m.sd;
	for (size_t i = 0; values && i < v.rows.n && r == 0; i++)
		r = test(c, (double)values[i], v.rows.v[i].server, v.kind == FLEET_TIME_VIEW ? v.rows.v[i].time : INT64_MIN, v.rows.v[i].n);
	fleet_view_free(&v);
	return values ? r : -ENOMEM;
}

static int check_counter(struct checking *c)
{
	_cleanup_free_ struct piece *pieces = malloc((c->f->servers.n + 1) * sizeof(*pieces));
	struct column_moments m;
	size_t n;

	if (!pieces)
		return -ENOMEM;
	n = fleet_pieces(c->f, (size_t)c->counter, c->window, pieces);
	column_moments_of(pieces, n, &m);
	c->mean = m.mean;
	c->sd = m.sd;
	c->expected = c->rule->expected;
	if (c->rule->percent_of)
		c->expected *= statistic_of(c->rule->of, 0.5, pieces, n, &c->room) / 100;
	if (c->rule->view != FLEET_DETAIL_VIEW)
		return check_rows(c);
	return c->rule->statistic == OF_ANY ? check_detail(c) : check_whole(c, pieces, n);
}

static int check_rule(const struct fleet *f, struct fleet_span window, const struct fleet_threshold *rule, size_t most,
		      struct fleet_findings *ret)
{
	struct checking c = {.f = f, .rule = rule, .window = window, .ret = ret, .most = most, .first = ret->list.n};
	int r = 0, known = 0;

	for (size_t i = 0; i < f->counters.n && r == 0; i++) {
		if (fnmatch(rule->counter, f->counters.v[i].name, 0) != 0)
			continue;
		known++;
		c.counter = (int)i;
		r = check_counter(&c);
	}
	select_room_free(&c.room);
	ret->left_out += c.found > most ? c.found - most : 0;
	return r < 0 ? r : known ? 0 : -ENOENT;
}

/* ---- several comparisons at one place ---- */

/* A server or moment that a finding is not about, and one that may be any. */
#define PLACE_NONE UINT64_MAX
#define PLACE_ANY  (UINT64_MAX - 1)

struct place {
	uint64_t server, time; /* the moment in intervals: clocks of servers and the time view's grid differ by less */
};

static struct place place_of(const struct fleet *f, const struct fleet_finding *x)
{
	int64_t interval = f->interval > 0 ? f->interval : 1;

	return (struct place){x->server < 0 ? PLACE_NONE : (uint64_t)x->server,
			      x->time == INT64_MIN ? PLACE_NONE : (uint64_t)((x->time + interval / 2) / interval)};
}

/* A finding is found by its place, and by the places that leave the server or the moment open. */
static int note_places(const struct fleet *f, const struct fleet_findings *found, struct hmap *places)
{
	int r = 0;

	for (size_t i = 0; i < found->list.n && r == 0; i++) {
		const struct place p = place_of(f, &found->list.v[i]);

		r = hmap_put(places, p.server, p.time, places);
		r = r ?: hmap_put(places, PLACE_ANY, p.time, places);
		r = r ?: hmap_put(places, p.server, PLACE_ANY, places);
		r = r ?: hmap_put(places, PLACE_ANY, PLACE_ANY, places);
	}
	return r;
}

static bool is_at(const struct hmap *places, struct place p)
{
	const uint64_t servers[] = {p.server == PLACE_NONE ? PLACE_ANY : p.server, PLACE_NONE}, times[] = {p.time == PLACE_NONE ? PLACE_ANY : p.time, PLACE_NONE};

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++)
			if (hmap_get(places, servers[i], times[k]))
				return true;
	return false;
}

/* Leaves of `found` what is where the other rule is broken, too. */
static int keep_common(const struct fleet *f, struct fleet_span window, const struct fleet_threshold *other, struct fleet_findings *found)
{
	struct fleet_findings others = {};
	struct hmap places = {};
	size_t kept = 0;
	int r = check_rule(f, window, other, SIZE_MAX, &others);

	r = r ?: note_places(f, &others, &places);
	for (size_t i = 0; i < found->list.n && r == 0; i++)
		if (is_at(&places, place_of(f, &found->list.v[i])))
			found->list.v[kept++] = found->list.v[i];
	found->list.n = kept;
	found->looked_at += others.looked_at;
	hmap_free(&places);
	fleet_findings_free(&others);
	return r;
}

/* Leaves out what another alternative of the same rule has found already. */
static int keep_new(const struct fleet *f, struct fleet_findings *found, struct hmap *seen)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < found->list.n && r == 0; i++) {
		const struct place p = place_of(f, &found->list.v[i]);

		if (hmap_get(seen, p.server, p.time))
			continue;
		r = hmap_put(seen, p.server, p.time, seen);
		found->list.v[kept++] = found->list.v[i];
	}
	found->list.n = kept;
	return r;
}

/* rule: the first of those that must hold together. seen: places of the rule's other alternatives; NULL = it has none. */
static int check_together(const struct fleet *f, struct fleet_span window, const struct fleet_threshold *rule, struct hmap *seen, size_t most,
			  struct fleet_findings *ret, const char **ret_missing)
{
	struct fleet_findings found = {};
	int r = check_rule(f, window, rule, rule->others || seen ? SIZE_MAX : most, &found);

	*ret_missing = r == -ENOENT ? rule->counter : *ret_missing;
	for (size_t i = 1; i <= rule->others && r == 0; i++) {
		r = keep_common(f, window, &rule[i], &found);
		*ret_missing = r == -ENOENT ? rule[i].counter : *ret_missing;
	}
	if (r == 0 && seen)
		r = keep_new(f, &found, seen);
	fleet_findings_sort(&found);
	for (size_t i = 0; i < found.list.n && r == 0; i++)
		r = i < most ? VEC_PUSH(ret->list, found.list.v[i]) : 0;
	ret->left_out += found.left_out + (found.list.n > most ? found.list.n - most : 0);
	ret->looked_at += found.looked_at;
	ret->remark = found.remark ?: ret->remark;
	fleet_findings_free(&found);
	return r == -ENOENT ? 0 : r;
}

int fleet_check(const struct fleet *f, struct fleet_span window, const struct fleet_thresholds *rules, size_t most,
		struct fleet_findings *ret, const char **ret_missing)
{
	struct hmap seen = {};
	int r = 0;

	ret->analysis = "check";
	*ret_missing = NULL;
	for (size_t i = 0, next; i < rules->list.n && r == 0; i = next) {
		const struct fleet_threshold *rule = &rules->list.v[i];

		next = i + 1 + rule->others;
		if (!rule->alternative)
			hmap_free(&seen);
		r = check_together(f, window, rule, rule->alternative || (next < rules->list.n && rule[next - i].alternative) ? &seen : NULL, most, ret, ret_missing);
	}
	hmap_free(&seen);
	if (r < 0)
		return r;
	fleet_findings_sort(ret);
	return *ret_missing && !ret->looked_at ? -ENOENT : 0;
}
