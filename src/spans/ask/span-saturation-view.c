/* Whether a rise is one of load, in words. */
#include <math.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "spans/ask/span-view.h"

/* The verdict; nothing where there are too few requests. */
static void put_verdict(const struct span_comparison *s, struct str *out)
{
	const struct span_saturation *x = &s->saturation;
	double runs = span_comparison_at_a_time(s, 1), normal = span_comparison_normal(s);

	switch (x->verdict) {
	case SATURATION_NORMAL:
		str_puts(out, "saturation: none to see; no more requests run at a time than did at this throughput");
		break;
	case SATURATION_LOAD:
		str_printf(out, "saturation: more load; %.0f %% of the rise is what requests took before when so many began (%.3g at a time)", 100 * x->by_load,
			   normal);
		break;
	case SATURATION_SLOWER:
		str_printf(out, "saturation: %.3g run at a time, at this throughput %.3g did before: the load does not explain the rise", runs, normal);
		break;
	case SATURATION_BEYOND:
		str_printf(out, "saturation: more load than ever before (%.3g requests a second, before at most %.3g): it may explain the rise", x->rate[1],
			   x->most_before);
		break;
	case SATURATION_GROWING:
		str_printf(out, "saturation: a queue grows; requests took %.3g times as long as before at first and %.3g times at last: more begin than end",
			   x->first, x->last);
		break;
	default:
		break;
	}
}

static void put_wait(const struct span_comparison *s, struct str *out)
{
	const struct span_saturation *x = &s->saturation;

	if (!x->service)
		return;
	str_printf(out, "%scalls wait longest for %s: %s a call in its queue or the network, were %s", out->len ? "; " : "", names_get(s->names, x->service),
		   SPAN_DURATION(x->wait_after), SPAN_DURATION(x->wait_before));
	if (!isnan(x->calls[0]) && !isnan(x->calls[1]))
		str_printf(out, " (it runs %.3g calls at a time, ran %.3g)", x->calls[1], x->calls[0]);
}

char *span_saturation_words(const struct span_comparison *s)
{
	_cleanup_str_ struct str out = {};

	put_verdict(s, &out);
	put_wait(s, &out);
	return out.len && !out.error ? TAKE(out.data) : NULL;
}

const char *span_saturation_headline(const struct span_saturation *s)
{
	switch (s->verdict) {
	case SATURATION_LOAD:
		return "more load, at which they took as long before";
	case SATURATION_BEYOND:
		return "more load than ever before";
	case SATURATION_GROWING:
		return "a queue grows";
	default:
		return NULL;
	}
}
