/* Who answers the calls (calls.h), and about which files: the same for the HTTP interface and for assistants. */
#pragma once

#include "machine/client/ask.h"
#include "web/calls.h"

struct call_asker {
	struct asker machine, spans; /* the latter's store is that of the spans */
	struct call_files files;     /* lent */
	verb_options_fn verb_options;
};

/* `spans_file` is a store that `spans load` or `spans receive` wrote; NULL = the default one. */
struct call_asker call_asker_make(const struct asker *machine, const char *spans_file, const struct call_files *files, verb_options_fn verb_options);
/* Asks the verb that answers the call; as ask_all_within(). */
int call_asker_ask(const struct call_asker *a, const struct call_request *q, const struct ask_bounds *bounds, struct str *text, struct str *errors);
/* Why it was not asked, or not answered: a negative result of that, in words that say what to do. */
const char *call_asker_failure(const struct call_asker *a, const struct call *call, int error);
