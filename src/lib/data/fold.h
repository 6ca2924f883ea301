/* Text no wider than the terminal that it is written to. Files and pipes get every line as it is.
 *
 * A line that does not fit is continued behind a space: nothing of it is lost, and no name is torn. Where the line has columns (two spaces
 * or more inside) in its first half, it continues under the last of these, else two columns further in than it begins. A word that is wider than
 * a line begins on a line of its own and is continued at the edge, as the terminal does it. Colors count for nothing, and
 * characters of UTF-8 for as many columns as the C library says: East Asian ones for two, combining ones for none. The locale's LC_CTYPE must be UTF-8. A text that begins with '{', '[' or '<', or with an ESC sequence other than a color, is for programs and stays as it is.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "lib/data/str.h"

#define FOLD_LEAST 20 /* columns: a narrower terminal gets lines as they are */

/* The columns of the first n bytes, up to a NUL. */
size_t fold_columns(const char *text, size_t n);
/* Bytes of the longest beginning that takes at most so many columns; up to a line's end. */
size_t fold_fit(const char *text, size_t columns);
/* Likewise, but what does not fit on one line is broken at a space where there is one: bytes of the first line without the
 * space; the next one begins behind it. */
size_t fold_break(const char *text, size_t columns);
/* Makes of the line's n bytes, without its end, lines of at most `width` columns. 0 or -ENOMEM. */
int fold_line(const char *line, size_t n, size_t width, struct str *ret);
/* The columns of the terminal behind a descriptor: COLUMNS, where that is set, or its own size. 0 = there is none, or it is too narrow. */
size_t fold_width(int fd);

/* A text on its way to a descriptor. Starts as {.fd = fd}. */
struct fold {
	int fd;
	enum { FOLD_NEW, FOLD_WORDS, FOLD_RAW } kind;
	struct str line; /* that has no end yet */
	size_t shown;	 /* of it: bytes that are written */
};
/* Writes what is given; of a line that has no end yet, as it is so far. 0 or -errno. */
int fold_write(struct fold *f, const char *bytes, size_t n);
void fold_free(struct fold *f);

/* From now on what is printed to stdout is folded, where it is a terminal. Called once. */
void fold_stdout(void);
/* The stream behind it, for what draws by itself. */
FILE *fold_behind_stdout(void);
