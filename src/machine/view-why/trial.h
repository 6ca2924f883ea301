/* The proof, as text for people and as JSON (schema "whyslow.confirm/1"). */
#pragma once

#include <stdio.h>

#include "machine/findings/trial.h"

void trial_text(const struct trial *t, FILE *out);
/* 0 or -ENOMEM. */
int trial_json(const struct trial *t, FILE *out);
