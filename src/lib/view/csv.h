/* Cells of CSV. */
#pragma once

#include <stdio.h>

/* RFC 4180: quotes around what needs them, quotes doubled; an apostrophe before what a table would take for a formula. NULL is an empty cell. */
void csv_put_text(const char *text, FILE *out);
