/* What rules catch while no one presses the button: incidents next to the marks, and what else the rules ask
 * for.
 *
 * Rules are evaluated in the sampler's thread, on the tick in hand; writing and starting programs is left to
 * a thread of its own, so that a starved disk delays no sample.
 */
#pragma once

#include "machine/model/tick.h"

struct triggers;

struct trigger_options {
	const char *rules_file; /* not there: the rules that are built in */
	const char *store_file, *run_dir;
	struct totals *totals; /* machine/model/totals.h: counts incidents by rule; NULL = none */
};

/* 0; -EINVAL for rules that cannot be read, *ret_error with line and column (caller frees); -errno. */
int triggers_start(const struct trigger_options *options, struct triggers **ret, char **ret_error);
/* Ends the events that continue; the entities of the last tick must still be there. */
void triggers_stop(struct triggers *t);
/* Called in the sampler's thread before the tick is encoded. */
void triggers_observe(const struct tick *tick, void *triggers);
/* Reads the rules again; on error those in force stay. From the sampler's thread. */
int triggers_reload(struct triggers *t, char **ret_error);
/* How many rules are in force. */
size_t triggers_count(const struct triggers *t);
