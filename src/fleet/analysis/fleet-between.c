/* PAD, Equation 2: X = |RefDatasetMedian - DatasetMedian| / RefDatasetStdDev over all values of a counter, literally.
 * Averages and quantiles in the median's place where the question says so; of one server where it names one. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-analysis.h"
#include "lib/data/cleanup.h"

struct between {
	const struct fleet_question *q;
	struct fleet_findings *ret;
	pthread_mutex_t lock;
};

/* The reference's values: of another dataset, by the counter's name, or of the normal time of the same one. */
static size_t reference_pieces(const struct fleet_question *q, size_t counter, struct piece *pieces)
{
	int other;

	if (!q->reference)
		return fleet_pieces(q->fleet, counter, q->usual, pieces);
	other = fleet_find_counter(q->reference, q->fleet->counters.v[counter].name);
	return other < 0 ? 0 : fleet_pieces(q->reference, (size_t)other, q->usual, pieces);
}

static int one_counter(void *data, size_t counter)
{
	struct between *b = data;
	const struct fleet_question *q = b->q;
	size_t most = q->fleet->servers.n + (q->reference ? q->reference->servers.n : 0) + 1, n;
	_cleanup_free_ struct piece *pieces = malloc(most * sizeof(*pieces));
	_cleanup_(select_room_free) struct select_room room = {};
	struct fleet_finding x = fleet_finding_empty;
	struct column_moments m;
	int r = 0;

	if (!pieces)
		return -ENOMEM;
	n = reference_pieces(q, counter, pieces);
	column_moments_of(pieces, n, &m);
	x.usual = fleet_statistic_of(q, pieces, n, &room);
	n = fleet_pieces(q->fleet, counter, q->window, pieces);
	x.observed = fleet_statistic_of(q, pieces, n, &room);
	x.counter = (int)counter;
	x.spread = m.sd;
	x.n = (uint32_t)m.n;
	x.score = m.sd > 0 ? fabs(x.usual - x.observed) / m.sd : NAN;
	x.flags = x.observed > x.usual ? FLEET_HIGHER : x.observed < x.usual ? FLEET_LOWER : 0;
	pthread_mutex_lock(&b->lock);
	b->ret->looked_at++;
	if (isnan(x.score))
		b->ret->left_out++;
	else if (isnan(q->threshold) || x.score >= q->threshold)
		r = VEC_PUSH(b->ret->list, x);
	pthread_mutex_unlock(&b->lock);
	return r;
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	struct between b = {.q = q, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = parallel_run(q->threads, q->fleet->counters.n, one_counter, &b);

	ret->analysis = "between";
	if (r == 0)
		fleet_findings_sort(ret);
	return r;
}

const struct fleet_analysis fleet_between = {
	.name = "between",
	.help = "PAD's Equation 2: a counter's median against the reference's, in the reference's standard deviations",
	.run = run,
};
