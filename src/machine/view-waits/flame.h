/* Kept profiles as text, folded stacks and JSON ("whyslow.flame/1", as of events). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "lib/data/tree.h"
#include "machine/events/profile.h"

struct flame_window {
	const struct profile *profile;
	int64_t from, to; /* wall ns: what is covered; both 0 = not known */
	const char *unit; /* of values: "ns", or another program's word */
};

struct flame_options {
	bool waits; /* where threads waited, not where they ran */
	size_t top; /* functions to list */
};

int flame_folded(const struct flame_window *w, const struct flame_options *o, FILE *out);
/* `base`: what it is compared with, scaled to the same length; NULL = nothing. */
int flame_text(const struct flame_window *w, const struct flame_window *base, const struct flame_options *o, FILE *out);
int flame_json(const struct flame_window *w, const struct flame_window *base, const struct flame_options *o, FILE *out);
