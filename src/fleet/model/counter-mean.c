#include "fleet/model/counter-mean.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define SUM "_sum"

/* NAME_sum{LABELS} with another ending; a counter's number, -ENOENT or -ENOMEM. */
static int with_ending(struct fleet *f, size_t sum, const char *ending, bool add)
{
	const char *name = f->counters.v[sum].name;
	_cleanup_str_ struct str other = {};
	size_t n = strcspn(name, "{");

	str_append(&other, name, n - strlen(SUM));
	str_printf(&other, "%s%s", ending, name + n);
	if (other.error)
		return -ENOMEM;
	return add ? fleet_add_counter(f, other.data) : fleet_find_counter(f, other.data);
}

static bool is_sum(const struct fleet_counter *c)
{
	size_t n = strcspn(c->name, "{");

	return c->kind == FLEET_COUNTER && n > strlen(SUM) && strncmp(c->name + n - strlen(SUM), SUM, strlen(SUM)) == 0;
}

static int divide(struct fleet *f, struct fleet_server *s, size_t sum, int count, int mean)
{
	const float *a = s->column[sum], *b = s->column[count];
	float *to;

	if (!a || !b || s->column[mean])
		return 0;
	to = malloc(((size_t)s->n + 1) * sizeof(*to));
	if (VEC_PUSH_OWNER(f->blocks, to, to) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		to[i] = b[i] > 0 ? a[i] / b[i] : NAN;
	s->column[mean] = to;
	return 0;
}

int counter_mean_add(struct fleet *f)
{
	const size_t n = f->counters.n;

	for (size_t i = 0; i < n; i++) {
		int count = is_sum(&f->counters.v[i]) ? with_ending(f, i, "_count", false) : -ENOENT, mean, r = 0;

		if (count == -ENOMEM)
			return count;
		if (count < 0 || f->counters.v[count].kind != FLEET_COUNTER)
			continue;
		mean = with_ending(f, i, "_mean", true);
		if (mean < 0)
			return mean;
		f->counters.v[mean].kind = FLEET_GAUGE;
		if (!f->counters.v[mean].unit && f->counters.v[i].unit && !(f->counters.v[mean].unit = strdup(f->counters.v[i].unit)))
			return -ENOMEM;
		for (size_t k = 0; k < f->servers.n && r == 0; k++)
			r = divide(f, &f->servers.v[k], i, count, mean);
		if (r < 0)
			return r;
	}
	return 0;
}
