/* Runs side by side (the paper's VI.B): for each counter, how much it differs and how sure that is.
 *
 * The effect is the difference of the medians over servers (each server's median over its run), as a share of the
 * reference's; its interval (95 %) comes from resampling servers, and rows in blocks where there is one server only.
 * p: Mann-Whitney over those medians. Where several runs are before it, the median of a run over its servers is one value: a run differs if it lies outside
 * of what one more run would (the prediction interval by Student's t, 95 %), however sure each run is of its own. Then the surest come first.
 * q: Benjamini-Hochberg over all counters. Whether more is better is known from names
 * ("latency", "errors": less; "throughput": more) or not at all.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-analysis.h"
#include "lib/data/cleanup.h"
#include "lib/stat/rank.h"
#include "lib/stat/robust.h"
#include "lib/stat/welch.h"

#define RESAMPLES 400
#define PARTS	  20 /* of a run, where servers are too few to resample */
#define FEW	  5  /* servers */
#define USUAL_NEW 10 /* the score of what was 0 before: a share of 0 says nothing */

struct runs {
	const struct fleet_question *q;
	struct fleet_findings *ret;
	pthread_mutex_t lock;
};

struct direction {
	const char *part;
	int better; /* -1 = less is better */
};

static const struct direction directions[] = {
	{"latency", -1}, {"duration", -1}, {"delay", -1}, {"error", -1}, {"fail", -1}, {"timeout", -1}, {"queue", -1},
	{"wait", -1}, {"retrans", -1}, {"drop", -1}, {"cpu", -1}, {"memory", -1}, {"gc", -1}, {"throughput", 1},
	{"success", 1}, {"availability", 1}, {"hit_rate", 1}, {"ops", 1}, {"requests_per", 1},
};

static int better_when(const char *counter)
{
	for (size_t i = 0; i < ARRAY_SIZE(directions); i++)
		if (strcasestr(counter, directions[i].part))
			return directions[i].better;
	return 0;
}

/* One median a server; with few servers one for each part of its run. */
static size_t medians(const struct fleet *f, size_t counter, struct fleet_span span, struct select_room *room, double *to)
{
	struct piece *pieces = malloc((f->servers.n + 1) * sizeof(*pieces));
	size_t n = pieces ? fleet_pieces(f, counter, span, pieces) : 0, parts = n < FEW ? PARTS : 1, found = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < parts; k++) {
			size_t from = pieces[i].n * k / parts, end = pieces[i].n * (k + 1) / parts;
			struct piece part = {pieces[i].v + from, end - from};
			double median = end > from ? columns_median(&part, 1, room) : NAN;

			if (!isnan(median))
				to[found++] = median;
		}
	free(pieces);
	return found;
}

static double median_double(double *v, size_t n)
{
	n = robust_sort(v, n);
	return robust_quantile(v, n, 0.5);
}

static double resampled(const double *v, size_t n, double *room, uint64_t *state)
{
	for (size_t i = 0; i < n; i++) {
		*state = *state * 6364136223846793005ull + 1442695040888963407ull;
		room[i] = v[(*state >> 33) % n];
	}
	return median_double(room, n);
}

static void find_interval(const double *a, size_t n_a, const double *b, size_t n_b, double *room, struct fleet_finding *x)
{
	double effects[RESAMPLES];
	uint64_t state = 1;

	for (size_t i = 0; i < RESAMPLES; i++) {
		double before = resampled(a, n_a, room, &state), after = resampled(b, n_b, room, &state);

		effects[i] = (after - before) / fabs(x->usual);
	}
	robust_sort(effects, RESAMPLES);
	x->low = robust_quantile(effects, RESAMPLES, 0.025);
	x->high = robust_quantile(effects, RESAMPLES, 0.975);
}

/* t beyond which p is less than 5 %. */
static double student_95(double df)
{
	double low = 0, high = 1000;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		*(welch_student_p(middle, df) > 0.05 ? &low : &high) = middle;
	}
	return high;
}

/* One median a run, each over its servers. */
static size_t medians_of_runs(const struct fleet_question *q, const char *counter, struct select_room *room, double *of_servers, double *to)
{
	size_t found = 0;

	for (size_t k = 0; k < q->n_earlier; k++) {
		int other = fleet_find_counter(q->earlier[k], counter);
		double median = other < 0 ? NAN : median_double(of_servers, medians(q->earlier[k], (size_t)other, q->usual, room, of_servers));

		if (!isnan(median))
			to[found++] = median;
	}
	return found;
}

/* How far beyond the runs before it this one lies; they differ among themselves. */
static void compare_with_runs(const double *runs, size_t n, struct fleet_finding *x)
{
	double sum = 0, squares = 0, error, within;

	for (size_t k = 0; k < n; k++)
		sum += runs[k];
	x->usual = sum / (double)n;
	for (size_t k = 0; k < n; k++)
		squares += (runs[k] - x->usual) * (runs[k] - x->usual);
	x->spread = sqrt(squares / (double)(n - 1));
	error = x->spread * sqrt(1 + 1 / (double)n);
	x->p = x->observed == x->usual ? 1 : error > 0 ? welch_student_p((x->observed - x->usual) / error, (double)(n - 1)) : 0;
	if (x->usual == 0)
		return;
	within = student_95((double)(n - 1)) * error;
	x->low = (x->observed - x->usual - within) / fabs(x->usual);
	x->high = (x->observed - x->usual + within) / fabs(x->usual);
}

static unsigned judge(const struct fleet_finding *x, int better)
{
	unsigned flags = x->observed > x->usual ? FLEET_HIGHER : x->observed < x->usual ? FLEET_LOWER : 0;

	if (better && flags && x->p <= 0.05)
		flags |= (x->observed > x->usual) == (better > 0) ? FLEET_BETTER : FLEET_WORSE;
	return flags;
}

static void compare_two(double *a, size_t n_a, double *b, size_t n_b, double *room, struct fleet_finding *x)
{
	double superiority;

	x->spread = robust_scale(a, n_a);
	if (n_a > 1 && n_b > 1 && x->usual != 0)
		find_interval(a, n_a, b, n_b, room, x);
	x->p = rank_mann_whitney(a, n_a, b, n_b, &superiority);
}

/* `a`, `b` and `room` have room for the medians of either side. */
static int compare(struct runs *c, size_t counter, size_t other, double *a, double *b, double *room)
{
	const struct fleet_question *q = c->q;
	_cleanup_(select_room_free) struct select_room select = {};
	struct fleet_finding x = fleet_finding_empty;
	const struct fleet *before = q->reference ? q->reference : q->fleet;
	bool many = q->n_earlier > 0;
	size_t n_b = medians(q->fleet, counter, q->window, &select, b),
	       n_a = many ? medians_of_runs(q, q->fleet->counters.v[counter].name, &select, room, a) : medians(before, other, q->usual, &select, a);
	int r = 0;

	x.counter = (int)counter;
	x.usual = median_double(a, n_a);
	x.observed = median_double(b, n_b);
	x.n = (uint32_t)(n_a + n_b);
	if (!many)
		compare_two(a, n_a, b, n_b, room, &x);
	else if (n_a > 1 && n_b)
		compare_with_runs(a, n_a, &x);
	x.shift = x.usual != 0 ? (x.observed - x.usual) / fabs(x.usual) : NAN;
	x.score = many ? -log10(fmax(x.p, 1e-300)) : isnan(x.shift) ? x.observed != x.usual ? USUAL_NEW : 0 : fabs(x.shift);
	x.flags = judge(&x, better_when(q->fleet->counters.v[counter].name));
	pthread_mutex_lock(&c->lock);
	c->ret->looked_at++;
	if (n_a > (size_t)many && n_b)
		r = VEC_PUSH(c->ret->list, x);
	else
		c->ret->left_out++;
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* The most medians that a run has. */
static size_t room_for(const struct fleet_question *q)
{
	size_t most = q->fleet->servers.n;

	if (q->reference && q->reference->servers.n > most)
		most = q->reference->servers.n;
	for (size_t k = 0; k < q->n_earlier; k++)
		most = q->earlier[k]->servers.n > most ? q->earlier[k]->servers.n : most;
	return most + q->n_earlier + FEW * PARTS;
}

static int one_counter(void *data, size_t counter)
{
	struct runs *c = data;
	const struct fleet_question *q = c->q;
	const struct fleet *before = q->reference ? q->reference : q->fleet;
	int other = q->reference && !q->n_earlier ? fleet_find_counter(before, q->fleet->counters.v[counter].name) : (int)counter;
	size_t most = room_for(q);
	_cleanup_free_ double *room = malloc(3 * most * sizeof(*room));

	if (!room)
		return -ENOMEM;
	return other < 0 ? 0 : compare(c, counter, (size_t)other, room, room + most, room + 2 * most);
}

static int find_q(struct fleet_findings *f)
{
	_cleanup_free_ double *p = malloc((f->list.n + 1) * sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < f->list.n; i++)
		p[i] = isnan(f->list.v[i].p) ? 1 : f->list.v[i].p;
	r = rank_benjamini_hochberg(p, f->list.n);
	for (size_t i = 0; r == 0 && i < f->list.n; i++)
		f->list.v[i].q = p[i];
	return r;
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	struct runs c = {.q = q, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = parallel_run(q->threads, q->fleet->counters.n, one_counter, &c);

	ret->analysis = "runs";
	if (r == 0 && ret->list.n)
		r = find_q(ret);
	if (r == 0)
		fleet_findings_sort(ret);
	return r;
}

const struct fleet_analysis fleet_runs = {
	.name = "runs",
	.help = "a run against one or more before it: better or worse, effect and its interval, counter by counter",
	.run = run,
};
