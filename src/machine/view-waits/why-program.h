/* Why one program is slow, as text and as JSON (schema "whyslow.program/1"). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "lib/data/str.h"
#include "machine/events/program-waits.h"

/* The first sentence: for what, and at the end of whom. False: nothing unusual is known of it. */
bool why_program_summary(const struct program_waits *p, struct str *out);
void why_program_text(const struct program_waits *p, bool colour, FILE *out);
/* 0, -ENOMEM or -EIO. */
int why_program_json(const struct program_waits *p, FILE *out);
