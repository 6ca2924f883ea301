/* Shared libraries that only some verbs need, loaded when they do: the recorder stays small, the program starts at once,
 * and a machine without the library can still do everything else.
 *
 * A table of function pointers is filled by name:
 *
 *   struct curl { LIBRARY_CALL(curl_easy_init); ... };
 *   static const struct library_symbol symbols[] = {LIBRARY_SYMBOL(struct curl, curl_easy_init), ...};
 */
#pragma once

#include <stddef.h>

#define LIBRARY_CALL(function) __typeof__(function) *function
#define LIBRARY_SYMBOL(table, function) {#function, offsetof(table, function)}

struct library_symbol {
	const char *name;
	size_t offset;
};

struct library {
	const char *file;    /* "libcurl.so.4" */
	const char *package; /* that has it, for the error: "libcurl4" */
	const struct library_symbol *symbols;
	size_t n;
};

/* Loads the library, for the rest of the process's life, and fills `table`. 0, or -ENOENT without the library or one of
 * the symbols, with *ret_error (caller frees) naming the package to install. */
int library_load(const struct library *library, void *table, char **ret_error);
