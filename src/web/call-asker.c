#include "web/call-asker.h"

struct call_asker call_asker_make(const struct asker *machine, const char *spans_file, const struct call_files *files, verb_options_fn verb_options)
{
	struct call_asker a = {*machine, *machine, *files, verb_options};

	a.spans.store_file = spans_file; /* root reads it; to who may not the verb says so */
	a.spans.by_recorder = NULL;
	a.spans.from_file = NULL; /* a recording of the machine */
	return a;
}

static const struct asker *asker_of(const struct call_asker *a, const struct call *call)
{
	return call_is_about(call, "spans") ? &a->spans : &a->machine;
}

int call_asker_ask(const struct call_asker *a, const struct call_request *q, const struct ask_bounds *bounds, struct str *text, struct str *errors)
{
	return ask_all_within(asker_of(a, q->call), q->n, q->v, bounds, text, errors);
}

const char *call_asker_failure(const struct call_asker *a, const struct call *call, int error)
{
	return ask_failure(asker_of(a, call), error);
}
