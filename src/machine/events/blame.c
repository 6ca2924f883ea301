#include "machine/events/blame.h"

const char *const blame_level_names[LEVEL_COUNT] = {
	[LEVEL_THREAD] = "thread",
	[LEVEL_PROCESS] = "process",
	[LEVEL_PROGRAM] = "program",
	[LEVEL_CGROUP] = "cgroup",
};

void blame_matrix_free(struct blame_matrix *m)
{
	VEC_FREE(m->cells);
	VEC_FREE(m->members);
}

uint32_t blame_holder(const struct blame_cell *c)
{
	if (c->wait != FOR_LOCK)
		return NOBODY;
	return c->via != NOBODY ? c->via : c->culprit == BY_TASK ? c->id : NOBODY;
}

int64_t blame_held(const struct blame_matrix *m, const struct blame_cell *c)
{
	uint32_t holder = blame_holder(c);
	int64_t ns = 0;

	for (size_t i = 0; holder != NOBODY && i < m->cells.n; i++)
		if (blame_holder(&m->cells.v[i]) == holder)
			ns += m->cells.v[i].ns;
	return holder == NOBODY ? c->ns : ns;
}

#define NS_PER_US 1000

static int64_t sum_states(const struct wait_report *r, enum state_group group)
{
	int64_t sum = 0;

	for (int s = 0; s < INTERVAL_STATES; s++)
		if (state_table[s].group == group)
			sum += r->state[s];
	return sum;
}

int64_t wait_report_running(const struct wait_report *r)
{
	return sum_states(r, GROUP_RUNNING);
}

int64_t wait_report_waited(const struct wait_report *r, enum wait_for wait)
{
	int64_t sum = 0;

	for (int s = 0; s < INTERVAL_STATES; s++)
		if (state_table[s].wait == wait)
			sum += r->state[s];
	return sum;
}

int64_t wait_report_contended(const struct wait_report *r)
{
	int64_t sum = 0;

	for (int s = 0; s < INTERVAL_STATES; s++)
		if (wait_for_is_contended(state_table[s].wait))
			sum += r->state[s];
	return sum;
}

int64_t delays_quantile(const struct delays *d, double share)
{
	double want = share * (double)d->n;
	uint64_t seen = 0;

	for (unsigned b = 0; b < DELAY_BUCKETS; b++) {
		seen += d->count[b];
		if (seen && (double)seen >= want)
			return b + 1 < DELAY_BUCKETS && (int64_t)NS_PER_US << b < d->longest ? (int64_t)NS_PER_US << b : d->longest;
	}
	return d->longest;
}
