/* Shared libraries that only some verbs need, loaded when they do: the recorder stays small, the program starts at once,
 * and a machine without the library can still do everything else.
 *
 * A list names the functions once: for the table of pointers to them, and for the loader, which fills the table in this order:
 *
 *   #define CURL_CALLS(CALL) CALL(curl_easy_init) CALL(curl_easy_setopt)
 *   struct curl { CURL_CALLS(LIBRARY_CALL) };
 *   static const struct library libcurl = LIBRARY("libcurl.so.4", "libcurl4", CURL_CALLS);
 */
#pragma once

#define LIBRARY_CALL(function) __typeof__(function) *function;
#define LIBRARY_NAME_(function) #function,
#define LIBRARY(file, package, CALLS) {file, package, (const char *const[]){CALLS(LIBRARY_NAME_) 0}}

struct library {
	const char *file;    /* "libcurl.so.4" */
	const char *package; /* that has it, for the error: "libcurl4" */
	const char *const *names; /* of its functions, ends with NULL */
};

/* Loads the library, for the rest of the process's life, and fills the pointers with which `table` begins. 0, or -ENOENT without the library or one of
 * the symbols, with *ret_error (caller frees) naming the package to install. */
int library_load(const struct library *library, void *table, char **ret_error);
