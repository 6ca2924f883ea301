/* Options as a table: parsed, printed by --help, and turned into man page and completion from one description. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPTION_END,
	OPTION_FLAG,  /* bool */
	OPTION_TEXT,  /* const char *: points into argv */
	OPTION_SPAN,  /* int64_t ns */
	OPTION_COUNT, /* uint64_t */
};

struct option_row {
	enum option_type type;
	char letter; /* 0 = none */
	const char *name;
	const char *argument; /* what --help calls it; NULL for flags */
	void *target;
	const char *help;
};

/* Takes options out of argv (in any place, until "--"; with `stop_at_word` until the first word, which begins a
 * command of its own); what is left are the words, argv[0] included, and a NULL. Returns their number, or -EINVAL with *ret_error set (caller frees) in words that name the option. `more` may be NULL: a second
 * table, for the options all verbs share. */
int options_parse(const struct option_row *rows, const struct option_row *more, bool stop_at_word, int argc,
		  char **argv, char **ret_error);
/* "  --window SPAN   how far back ..." lines on standard output, but for options that `before` (may be NULL) has under the same name:
 * those are parsed first. */
void options_print(const struct option_row *rows, const struct option_row *before);
