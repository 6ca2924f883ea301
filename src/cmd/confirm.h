/* What `confirm` and `calm` share. */
#pragma once

#include "cmd/verb.h"

/* Where a word stands in a list of names; -1 = nowhere. */
int find_name(const char *text, const char *const *names, int n);
/* Says what rights it takes, and returns EXIT_CANNOT. */
int say_no_rights(void);
