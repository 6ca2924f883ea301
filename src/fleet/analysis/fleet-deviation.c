/* The default comparison: every counter of every server by its score (fleet-series.h). */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/analysis/fleet-series.h"
#include "lib/data/cleanup.h"

struct deviation_run {
	struct fleet_series series;
	struct fleet_findings *ret;
	pthread_mutex_t lock;
};

static int report(struct deviation_run *d, const struct fleet_finding *found, size_t n, size_t looked_at)
{
	double threshold = d->series.q->threshold;
	int r = 0;

	pthread_mutex_lock(&d->lock);
	d->ret->looked_at += looked_at;
	d->ret->left_out += looked_at - n;
	for (size_t i = 0; i < n && r == 0; i++)
		if (isnan(threshold) || found[i].score >= threshold)
			r = VEC_PUSH(d->ret->list, found[i]);
	pthread_mutex_unlock(&d->lock);
	return r;
}

static int one_counter(void *data, size_t counter)
{
	struct deviation_run *d = data;
	const struct fleet_question *q = d->series.q;
	_cleanup_free_ struct fleet_finding *found = malloc((q->fleet->servers.n + 1) * sizeof(*found));
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_(fleet_relative_free) struct fleet_relative relative = {};
	size_t n = 0, looked_at = 0;

	if (!found)
		return -ENOMEM;
	if (q->counter >= 0 && (size_t)q->counter != counter)
		return 0;
	if (fleet_series_relative(&d->series, counter, &room, &relative) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < q->fleet->servers.n; i++) {
		if ((q->server >= 0 && (size_t)q->server != i) || !q->fleet->servers.v[i].column[counter])
			continue;
		looked_at++;
		n += fleet_series_judge(&d->series, i, counter, relative.v ? relative.v[i] : NULL, &room, &found[n], NULL) == 0;
	}
	return report(d, found, n, looked_at);
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	struct deviation_run d = {.ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = fleet_series_open(q, &d.series);

	ret->analysis = "deviation";
	r = r ?: parallel_run(q->threads, q->fleet->counters.n, one_counter, &d);
	fleet_series_close(&d.series);
	if (r == 0)
		fleet_findings_sort(ret);
	return r;
}

const struct fleet_analysis fleet_deviation = {
	.name = "deviation",
	.help = "the default: shift, peak, jump and range against the baseline of the server's counter, or against its peers",
	.run = run,
};
