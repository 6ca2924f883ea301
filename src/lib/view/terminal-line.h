/* Lines of the terminal view (terminal.c): what does not fit in one is cut off at its end, where ncurses would continue in the next. */
#pragma once

#include <stddef.h>

enum colour { RED = 1, GREEN, DIM, CURVE, HEAD };

/* After newterm(). Without colors (NO_COLOR, a terminal that has none) what must stand out still does. */
void terminal_colours(void);
/* As attron() takes it. */
int terminal_look(enum colour c);

/* Columns from the cursor to the end of its line. */
int terminal_room(void);
/* At the cursor: at most so many columns of the text. */
void terminal_text(const char *text, int columns);
void terminal_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The text and as many spaces as make it so wide. */
void terminal_padded(const char *text, int columns);
/* Over as many as `lines` lines from `row` on; returns how many it takes. Drawn only where `row` is not negative. */
int terminal_wrapped(int row, const char *text, int lines);
/* n bytes from `row` on over as many lines as they take, further ones indented as the first is; returns how many. Only what
 * lies between the first and the last row of the screen is drawn. */
size_t terminal_indented(const char *text, size_t n, long row);
