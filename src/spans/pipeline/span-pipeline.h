/* From files or messages of spans to a call forest: source, assembly by trace, critical path, forest. */
#pragma once

#include <stdbool.h>

#include "spans/forest/forest-add.h"
#include "spans/forest/span-assemble.h"
#include "spans/forest/span-edges.h"
#include "spans/formats/span-reader.h"
#include "spans/model/span-mapping.h"
#include "spans/store/span-store.h"

#define SPAN_DIMENSIONS "hardware,workload" /* SDiag's buckets */

struct pipeline_options {
	const char *mapping_file; /* NULL = semantic conventions */
	const char *join;	  /* "FILE:ATTRIBUTE[,FILE:ATTRIBUTE ...]", or NULL */
	const char *dimensions;	  /* NULL = SPAN_DIMENSIONS */
	const char *asynchronous; /* a file of calls that no one waits for (spans/forest/span-edges.h), or NULL */
	const char *format;	  /* NULL = recognized */
	enum path_rule rule;
	int64_t late;	    /* ns */
	int64_t slot_width; /* ns */
	uint32_t most;	    /* spans that wait */
	uint32_t longest;   /* spans of one trace, as struct assembler_options has it */
	bool ordered;	    /* as struct assembler_options has it */
	bool topmost;	    /* a trace whose root is not there begins with the longest span that has no caller there */
	bool skips_unknown; /* a file that is recognized as no format is counted, and is not an error */
	uint32_t part, parts;
	struct names *names; /* lent; NULL = a table of its own */
	int64_t from, to;   /* wall ns: only requests that began in [from, to); both 0 = all */
	const char *only;   /* only the trace of this id, or two of them (ID,ID); NULL = all */
	int (*trace)(void *state, const struct span *spans, uint32_t n); /* instead of the forest; NULL = the forest */
	void *state;
	const uint32_t *thinned; /* which traces are read whole: of what `trace` fills; NULL = of the forest, without it of none */
};

struct pipeline {
	struct names *names;
	struct span_mapping mapping;
	struct recorder_of_sets records;
	struct forest forest;
	struct forest_builder builder;
	struct span_edges asynchronous;
	struct assembler *assembler;
	struct span_faults faults;
	struct span_reader reader;
	struct span_sampling sampling;
	struct span_links links;
	struct pipeline_options options;
};

/* 0 or -errno, with *ret_error in words (caller frees). */
int pipeline_open(struct pipeline *p, const struct pipeline_options *options, char **ret_error);
void pipeline_close(struct pipeline *p);
/* Reads one file. 0, or -errno with *ret_error. */
int pipeline_read(struct pipeline *p, const char *path, char **ret_error);
/* Hands on what waits and counts; the forest is complete, but not finished: forest_finish(). */
int pipeline_end(struct pipeline *p);

/* Reads the files to learn which calls no one waits for, and writes those to a file; how many. 0 or -errno with *ret_error. */
int pipeline_learn(const struct pipeline_options *options, char *const *paths, size_t n, const char *file, size_t *ret_edges,
		   char **ret_error);

/* A finished forest as a part for a store: `bytes` holds it; key and source are the caller's. 0 or -errno. */
int pipeline_part(const struct forest *f, struct str *bytes, struct span_part *ret);

/* Reads all files with `jobs` threads, each of which takes its share of the traces, into *ret (not finished). Tables in
 * ClickHouse are read as workers do (spans/pipeline/span-work.h). */
int pipeline_load(const struct pipeline_options *options, char *const *paths, size_t n, unsigned jobs,
		  struct forest *ret, struct span_faults *ret_faults, char **ret_error);
