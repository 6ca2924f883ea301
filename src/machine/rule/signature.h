/* The reason of a wait, by the call stack in which a thread slept: allocators, garbage collectors, interpreter locks, locks of databases.
 *
 * A table, a signature a line; the first that matches is taken:
 *
 *   # NAME       | FUNCTIONS                    | WORDS
 *   python-gil   | take_gil                     | Python's interpreter lock (GIL)
 *   go-gc        | runtime.gcAssistAlloc* *park* | Go's garbage collector
 *
 * FUNCTIONS are shell patterns, separated by blanks. A stack matches if its functions, from the outermost to the innermost, match all of them
 * in that order; others may lie between, but for a pattern behind ">", which must match the function that the one before it calls. A kernel function ends in "_[k]". Behind the innermost one stands "woken-by:THREAD", with the name
 * of the thread that ended the wait ("?" in a pattern for a blank): so the threads of a runtime are known whose functions have no names. A signature of the same NAME in another line is an alternative.
 */
#pragma once

#include <stddef.h>

#include "lib/data/vec.h"

#define WOKEN_BY "woken-by:"

#define SIGNATURES_MAX		 1000 /* lines of all files */
#define SIGNATURE_FUNCTIONS_MAX	 8
#define SYSTEM_SIGNATURES	 "/etc/whyslow/signatures.d" /* the user's, before the built-in ones; by name of file */

struct signature {
	char *name, *words;
	char *functions[SIGNATURE_FUNCTIONS_MAX];
	size_t n_functions;
};

struct signatures {
	VEC(struct signature) list;
};

/* Appends what the text has. 0; -EINVAL with *ret_error "FILE:LINE: ..." (caller frees); -ENOMEM. */
int signatures_parse(const char *text, const char *file, struct signatures *ret, char **ret_error);
/* Those of the folder's files, then the built-in ones; the folder may not be there. As signatures_parse(). */
int signatures_load(const char *folder, struct signatures *ret, char **ret_error);
void signatures_free(struct signatures *s);
/* names: of a stack's functions, the outermost first. NULL = none matches. */
const struct signature *signatures_find(const struct signatures *s, const char *const *names, size_t n);

extern const char default_signatures[];
