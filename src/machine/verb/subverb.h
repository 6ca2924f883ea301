/* Verbs that do several things: `fleet`, `spans`. The first word says which; each has options of its own. */
#pragma once

#include "machine/verb/verb.h"

struct subverb {
	const char *name, *words, *help; /* as struct verb has them */
	const struct option_row *options;
	int (*run)(struct common *common, int argc, char **argv); /* argv[0] is the subverb; options are gone */
	const struct grammar *grammar; /* as struct verb has it */
	void (*more)(void); /* prints what --help tells next to the options; may be NULL */
};

struct subverbs {
	const char *verb;
	const char *intro; /* what the words that follow mean */
	const struct subverb *const *list; /* NULL-terminated */
	void (*reset)(void); /* options to their defaults; may be NULL */
};

/* Prints the usage, and a line for each. */
void subverbs_list(const struct subverbs *s);
/* Runs what argv[0] names, or without a word lists what there is. Exit status. */
int subverbs_run(struct common *common, const struct subverbs *s, int argc, char **argv);
