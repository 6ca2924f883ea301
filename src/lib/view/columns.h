/* Text by the columns that it takes on a terminal: UTF-8, of which some characters take two columns and some none. What is no
 * UTF-8 takes a column a byte. The locale's LC_CTYPE must be UTF-8. */
#pragma once

#include <stddef.h>

/* The width of the first n bytes. */
int columns_of(const char *text, size_t n);
/* Bytes of the longest beginning that takes at most so many columns; up to a line's end. */
size_t columns_fit(const char *text, int columns);
/* Likewise, but what does not fit on one line is broken at a space where there is one: bytes of the first line without the
 * space; the next one begins behind it. */
size_t columns_wrap(const char *text, int columns);
