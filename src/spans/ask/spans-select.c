/* whyslow spans select: requests by time and duration, and what tells some of them from the others. */
#include <errno.h>

#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "spans/ask/spans.h"
#include "spans/compare/span-select.h"

static bool has_bounds(const struct span_selection *s)
{
	return s->from || s->to || s->low || s->high || s->failed;
}

static int read_time(const char *option, const char *text, int64_t *ret)
{
	if (!text || clock_parse_time(text, clock_wall(), ret) == 0)
		return 0;
	return verb_usage_error("spans select", "invalid %s '%s'", option, text), -EINVAL;
}

static int read_selection(const struct spans_query *q, struct span_selection *ret)
{
	int r;

	*ret = (struct span_selection){.low = q->longer, .high = q->shorter, .failed = q->failed, .choice = q->choice};
	r = read_time("--begin", q->begin, &ret->from);
	return r == 0 ? read_time("--end", q->end, &ret->to) : r;
}

static int tell(struct common *common, const struct spans_query *q, const struct forest *f, const struct span_selection *s)
{
	struct span_map m;
	struct span_differences d;
	int r = span_map_make(f, s, &m), status = EXIT_CANNOT;

	if (r < 0)
		return EXIT_CANNOT;
	r = span_select(f, s, &d);
	if (r == 0 && !d.sampled) {
		log_error("no request was kept for this: load the traces again (they were loaded by an older version)");
	} else if (r == 0) {
		status = d.list.n || !has_bounds(s) ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
		if (common->json)
			spans_print_json(span_selection_json(f, has_bounds(s), &m, &d, q->top), status);
		else
			span_selection_text(f, has_bounds(s), &m, &d, q->top, stdout);
	}
	if (r == 0)
		span_differences_free(&d);
	span_map_free(&m);
	return status;
}

int spans_select(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct span_selection s;
	struct names *names;
	struct forest f;
	int r = read_selection(q, &s), status;

	r = r ?: spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	status = tell(common, q, &f, &s);
	forest_free(&f);
	names_free(names);
	return status;
}
