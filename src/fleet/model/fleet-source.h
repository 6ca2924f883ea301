/* Where the counters of many servers come from: one const table in one file, one row in fleet/verb/fleet-sources.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/model/intake.h"

/* The user's options. Texts are NULL where nothing was given; the source then finds out for itself. */
struct fleet_input {
	const char *location; /* a file, a folder, a glob, or a URL */
	int64_t from, to;     /* wall ns: only rows in [from, to); INT64_MIN and INT64_MAX = all */
	int64_t begin;	      /* wall ns of the first row, of files without dates; 0 = not known: such files are refused */
	int64_t step;	      /* ns between rows, where the source is asked for a step; 0 = its own choice */
	const char *delimiter;	   /* text tables: one character, or "tab" */
	const char *time_column, *server_column, *role_column, *counter_column, *value_column; /* or labels, or keys */
	bool columns_are_servers;  /* text tables: of a counter that has the file's name */
	const char *time_format;   /* of texts: strptime(3) */
	const char *match;	   /* only these counters: a shell pattern */
	const char *token_file;	   /* URLs: a file with a bearer token, or user:password */
	const char *ca_file;	   /* URLs: who signed the server's certificate */
};

struct fleet_source {
	const char *name;
	const char *help; /* one line: "CSV or TSV files, wide or long" */
	/* Whether this source reads such a location: 0 = no, more = surer; the surest source is taken. It may look into the
	 * files, quickly. Names and schemes score up to 50, content up to 100. */
	int (*recognise)(const char *location);
	/* Puts everything into the intake. 0, or -errno with *ret_error (caller frees) saying what to do. */
	int (*load)(const struct fleet_input *input, struct intake *into, char **ret_error);
};

extern const struct fleet_source *const fleet_sources[]; /* NULL-terminated */
