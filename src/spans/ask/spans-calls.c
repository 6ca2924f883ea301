/* whyslow spans calls: who calls whom, as `whyslow fleet why --calls` reads it. */
#include <errno.h>

#include "spans/ask/span-calls.h"
#include "spans/ask/spans.h"

static int tell(const struct common *common, const struct names *names, const struct span_calls *c)
{
	if (common->json)
		return spans_print_json(span_calls_json(names, c), EXIT_ANSWERED);
	span_calls_text(names, c, stdout);
	return c->list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

int spans_calls(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct span_calls calls = {};
	struct names *names;
	struct forest f;
	int status, r = spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = q->hosts ? span_calls_hosts(&f, &calls) : span_calls_services(&f, &calls);
	status = r < 0 ? EXIT_CANNOT : tell(common, names, &calls);
	span_calls_free(&calls);
	forest_free(&f);
	names_free(names);
	return status;
}
