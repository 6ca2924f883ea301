/* Who waited for whom, as text for people and as JSON (schemas "whyslow.waits/1", "whyslow.blame/1", "whyslow.threads/1").
 *
 * Every text begins with the span that is really covered. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "lib/data/tree.h"
#include "machine/events/drawing.h"

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

/* At most `top` victims and culprits, all others together: cells are sums by (victim, culprit, wait). */
int waits_matrix_json(const struct timeline *t, const struct blame_matrix *m, const struct waits_options *o, FILE *out);

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
void waits_threads_text(const struct timeline *t, const uint32_t *threads, const struct wait_report *reports, size_t n,
		  const struct waits_options *o, FILE *out);
int waits_threads_json(const struct timeline *t, const uint32_t *threads, const struct wait_report *reports, size_t n, FILE *out);

/* Whose stacks, of when. */
struct fold_options {
	int64_t from, to;
	bool waits; /* where they waited (wall time), not where they ran */
	const uint32_t *threads; /* of these alone; NULL = of all */
	size_t n;
};

/* Where CPU time went, by samples, or waits by their stacks, in ns: program, outermost ... innermost frame; "_[k]" marks the
 * kernel's. 0 or -ENOMEM. */
int waits_fold_stacks(const struct timeline *t, const struct fold_options *o, struct path_tree *ret);
/* "program;frame;frame ns", as flame graphs take them. */
void waits_folded_text(const struct path_tree *tree, FILE *out);
/* Schema "whyslow.flame/1". `base` is another window (of the same trace or of another), or all NULL: its ns are scaled to this
 * window's length. 0 or -ENOMEM. */
struct flame {
	const struct timeline *t;
	struct fold_options o;
	const struct path_tree *tree;
};
int waits_flame_json(const struct flame *flame, const struct flame *base, FILE *out);
/* Schemas "whyslow.timeline/1", "whyslow.instant/1": one line each. */
int waits_timeline_json(const struct timeline *t, const struct drawing *d, FILE *out);
int waits_instant_json(const struct timeline *t, const struct instant *m, FILE *out);

/* 0, -EIO, -ENOMEM. */
int waits_perfetto(const struct timeline *t, int64_t from, int64_t to, FILE *out);
