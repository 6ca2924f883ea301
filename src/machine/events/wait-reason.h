/* The reasons of a process's waits, by the call stacks in which it slept (machine/answer-waits/wait-reasons.h). */
#pragma once

#include <stdint.h>

#include "lib/data/vec.h"

enum wait_reason_kind {
	REASON_SIGNATURE, /* of the table (machine/rule/signature.h) */
	REASON_KERNEL,	  /* no signature: the kernel function that put the thread to sleep */
	REASON_UNKNOWN,	  /* neither: no stack was taken, or it has no names */
};

struct wait_reason {
	enum wait_reason_kind kind;
	char *name;  /* the signature's, or the kernel function; NULL = unknown */
	char *words; /* of a signature; else NULL */
	uint64_t ns;
};

struct wait_reasons {
	VEC(struct wait_reason) list; /* the longest first */
	uint64_t ns;		      /* of all */
};

void wait_reasons_free(struct wait_reasons *r);
