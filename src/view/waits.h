/* Who waited for whom, as text for people and as JSON (schemas "whyslow.waits/1", "whyslow.threads/1").
 *
 * Every text begins with the span that is really covered. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "model/blame.h"

struct waits_options {
	bool colour;
	bool all;     /* also what was waited for others' work */
	unsigned top; /* how many to list */
	int64_t asked; /* ns the window was asked to be; 0 = as much as there is */
	bool brief;    /* only the victims: their text stands in another's */
};

/* The matrix, at its level: the victims by what they waited, then the culprits by what they imposed. */
void waits_text(const struct timeline *t, const struct blame_matrix *m, const struct waits_options *o, FILE *out);
/* 0 or -ENOMEM, as all of JSON here. */
int waits_json(const struct timeline *t, const struct blame_matrix *m, const struct waits_options *o, FILE *out);

/* One process or thread (n threads of it): matrix and report are of these alone. */
struct waits_of {
	const uint32_t *threads;
	size_t n;
	const struct blame_matrix *matrix; /* of threads */
	const struct wait_report *report;
	const struct critical_path *path; /* NULL = not asked for */
	bool whole;			  /* a process, not one thread of it */
};
void waits_of_text(const struct timeline *t, const struct waits_of *w, const struct waits_options *o, FILE *out);
int waits_of_json(const struct timeline *t, const struct waits_of *w, const struct waits_options *o, FILE *out);

/* A line a thread: the share of each state. `reports` go with `threads`. */
void threads_text(const struct timeline *t, const uint32_t *threads, const struct wait_report *reports, size_t n,
		  const struct waits_options *o, FILE *out);
int threads_json(const struct timeline *t, const uint32_t *threads, const struct wait_report *reports, size_t n, FILE *out);

/* Where CPU time went, by samples, and waits by their stacks: "process;frame;frame count" in ns. */
void folded_text(const struct timeline *t, int64_t from, int64_t to, bool waits, FILE *out);
/* 0, -EIO, -ENOMEM. */
int perfetto_write(const struct timeline *t, int64_t from, int64_t to, FILE *out);
