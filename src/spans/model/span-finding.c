#include "spans/model/span-finding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

double span_comparison_rate(const struct span_comparison *c, int side)
{
	double requests = side ? c->change.requests_after : c->change.requests_before;

	return c->seconds[side] > 0 && requests >= SPAN_LEAST ? requests / c->seconds[side] : NAN;
}

double span_comparison_at_a_time(const struct span_comparison *c, int side)
{
	return span_comparison_rate(c, side) * (side ? c->change.mean_after : c->change.mean_before) / 1e9;
}

double span_comparison_normal(const struct span_comparison *c)
{
	return span_comparison_at_a_time(c, 1) * c->saturation.normal;
}

const char *span_saturation_name(enum saturation_verdict verdict)
{
	static const char *const names[] = {"unclear", "normal", "load", "slower", "beyond", "growing"};

	return names[verdict];
}

char *span_error_words(const struct names *names, const struct span_error *e)
{
	const char *key = names_get(names, e->type.key), *value = names_get(names, e->type.value);
	bool is_status = strstr(key, "status");
	char *text;

	return asprintf(&text, "%s%s of %s", is_status ? "status " : "", value, names_get(names, e->call)) < 0 ? NULL : text;
}

char *span_deployed_words(const struct span_deployed_one *one)
{
	_cleanup_str_ struct str s = {};

	str_printf(&s, "%s %s", one->first->package, one->first->version);
	if (one->n_hosts)
		str_printf(&s, " at %s", one->hosts);
	if (one->n_hosts > DEPLOYED_HOSTS)
		str_printf(&s, " and %zu others", one->n_hosts - DEPLOYED_HOSTS);
	str_printf(&s, ", since %s", CLOCK_LOCAL(one->first->time));
	return s.error ? NULL : TAKE(s.data);
}

void descent_free(struct descent *d)
{
	VEC_FREE_EACH(d->places, host_answer_free(&each->machine); host_answer_free(&each->program));
}
