/* An answer as text for people and as JSON for programs (schema "whyslow.why/1"). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "machine/findings/finding.h"

struct why_text_options {
	bool colour;
	unsigned suspects; /* how many to list */
	unsigned features; /* of each */
	bool evidence;	   /* what each score is made of */
};

void why_text(const struct answer *a, const struct why_text_options *options, FILE *out);
/* 0 or -ENOMEM. */
int why_json(const struct answer *a, FILE *out);
