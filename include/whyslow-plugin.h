/* A source or an analysis of your own for `whyslow fleet`, as a shared object: plain arrays and functions, nothing of
 * whyslow's own structures. Build with `cc -shared -fPIC -o mine.so mine.c`, use with `whyslow fleet ... --plugin ./mine.so`.
 *
 * The object exports one symbol, `whyslow_plugin`. One of another version is refused. All texts are UTF-8 and belong to who
 * gives them, for as long as the call lasts (for the plug-in's own tables: for ever). Functions return 0, or a negative
 * number after having written into `error` what is wrong and what to do about it.
 */
#ifndef WHYSLOW_PLUGIN_H
#define WHYSLOW_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define WHYSLOW_PLUGIN_VERSION 1

enum whyslow_kind {
	WHYSLOW_UNKNOWN = 0, /* whyslow finds out by how it behaves */
	WHYSLOW_GAUGE = 1,   /* a level */
	WHYSLOW_COUNTER = 2, /* a running sum: whyslow makes rates of it, wraps and restarts seen to */
};

/* Where a source puts what it read. */
struct whyslow_sink {
	void *data; /* the first argument of all */
	/* A number for a name, the same each time; negative = out of memory. */
	int (*server)(void *data, const char *name);
	int (*counter)(void *data, const char *name, enum whyslow_kind kind, const char *unit, const char *help); /* NULL = not known */
	/* n values of one counter of one server; times in ns since 1970, in any order; NaN is missing. 0, or out of memory. */
	int (*put)(void *data, int server, int counter, size_t n, const int64_t *times, const double *values);
	/* A row was left out, and why. Line 0 = none. */
	void (*bad)(void *data, const char *file, uint64_t line, const char *words);
};

struct whyslow_source {
	const char *name, *help;
	/* Rows in [from, to) of what the user named. */
	int (*load)(const char *location, int64_t from, int64_t to, const struct whyslow_sink *sink, char *error, size_t error_size);
};

/* The input of an analysis: for each server its times, and for each of its counters as many values, NaN where missing. */
struct whyslow_data {
	size_t n_servers, n_counters;
	const char *const *servers, *const *counters; /* names */
	const size_t *n_rows;			      /* of each server */
	const int64_t *const *times;		      /* of each server, ascending */
	const float *const *values; /* [server * n_counters + counter]; NULL = the server has no such counter. Counters are rates per second */
};

struct whyslow_question {
	int64_t from, to;	      /* the window that is to be explained */
	int64_t usual_from, usual_to; /* what it is compared with */
};

struct whyslow_result {
	int server; /* -1 = all */
	int counter;
	double score; /* higher = more conspicuous */
	double observed, usual;
	int64_t since; /* ns; 0 = not known */
};

struct whyslow_analysis {
	const char *name, *help;
	/* Calls `found` for each finding, in any order; it returns 0, or out of memory. */
	int (*run)(const struct whyslow_data *data, const struct whyslow_question *question,
		   int (*found)(void *to, const struct whyslow_result *result), void *to, char *error, size_t error_size);
};

struct whyslow_plugin {
	uint32_t version; /* WHYSLOW_PLUGIN_VERSION */
	const struct whyslow_source *source;	 /* or NULL */
	const struct whyslow_analysis *analysis; /* or NULL */
};

extern const struct whyslow_plugin whyslow_plugin;

#endif
