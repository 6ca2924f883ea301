/* Waits in groups, by whatever is chosen of them: a free pivot (schema "whyslow.pivot/1"). */
#pragma once

#include <stdio.h>

#include "lib/data/vec.h"
#include "machine/view-waits/waits.h"

enum pivot_field {
	PIVOT_THREAD, /* who waited */
	PIVOT_PROCESS,
	PIVOT_PROGRAM,
	PIVOT_CGROUP,
	PIVOT_WAIT,   /* the state: "waiting for a lock" */
	PIVOT_REASON, /* by signatures of call stacks, else the kernel's function, else the state */
	PIVOT_LOCK,
	PIVOT_STACK, /* where it slept */
	PIVOT_WAKER, /* who ended it */
	PIVOT_WAKER_STACK,
	PIVOT_FIELDS
};

#define PIVOT_CHOSEN_MAX 4


struct pivot_group {
	uint32_t values[PIVOT_CHOSEN_MAX]; /* indexes of texts */
	uint32_t count;
	int64_t ns, median, longest;
};

struct wait_pivot {
	enum pivot_field chosen[PIVOT_CHOSEN_MAX];
	size_t n_chosen;
	int64_t from, to;
	VEC(char *) texts;
	VEC(struct pivot_group) groups; /* the longest sum first */
	uint64_t count;
	int64_t ns;
};

/* "process,waker": 0; -EINVAL: not a list of different names of fields, or too long. */
int wait_pivot_parse(const char *text, enum pivot_field chosen[static PIVOT_CHOSEN_MAX], size_t *ret_n);
/* Frames need their names before (machine/symbol/name-stacks.h) where a field is of stacks. */
bool wait_pivot_needs_stacks(const enum pivot_field *chosen, size_t n);

/* Names what a wait was for, by the functions of its stack from the outermost to the innermost; NULL = they say nothing. The caller frees. */
typedef char *(*pivot_reason_fn)(void *user, const char *const *functions, size_t n);

struct pivot_question {
	int64_t from, to;
	const uint32_t *threads; /* of these alone; NULL = of all */
	size_t n_threads;
	bool all; /* also waits for others' work */
	pivot_reason_fn reason;
	void *user;
};

/* The fields and their number are in *p already; the rest is zero. The caller frees. 0 or -ENOMEM. */
int wait_pivot_make(const struct timeline *t, const struct pivot_question *q, struct wait_pivot *p);
void wait_pivot_free(struct wait_pivot *p);

/* At most `top` groups. */
void wait_pivot_text(const struct timeline *t, const struct wait_pivot *p, const struct waits_options *o, FILE *out);
void wait_pivot_csv(const struct wait_pivot *p, const struct waits_options *o, FILE *out);
int wait_pivot_json(const struct timeline *t, const struct wait_pivot *p, const struct waits_options *o, FILE *out);
