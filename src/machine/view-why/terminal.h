/* The terminal view's three panes, drawn with ncurses: processes, features of the chosen one, its curve. It draws what
 * it is given (docs/json.md) and keeps nothing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum pane { PANE_PROCESSES, PANE_FEATURES };

struct terminal_list {
	size_t chosen, top; /* among those listed; the first one on the screen */
};

struct terminal_state {
	const json_t *board, *process, *series; /* whyslow.board/1, .process/1, .series/1; NULL = not there yet */
	const size_t *listed;			/* indices into the board's processes that pass the filter */
	size_t n_listed;
	struct terminal_list processes, features;
	enum pane focus;
	bool live;
	const char *filter;  /* NULL = none */
	const char *message; /* of the last action; NULL = none */
	const char *prompt, *typed; /* a line being typed; NULL = none */
};

/* Where things are, for the mouse: rows of the screen. */
struct terminal_layout {
	int rows, columns;
	int verdict; /* lines of it: narrow screens need two */
	int processes, n_processes; /* first row and number of rows of each list */
	int features, n_features;
};

/* Takes over the terminal. 0, or -ENOTTY with a reason in *ret_error (not to be freed). */
int terminal_open(const char **ret_error);
void terminal_close(void);
struct terminal_layout terminal_layout(void);
/* Moves each list's top so that the chosen line is on the screen, and draws everything. */
void terminal_draw(struct terminal_state *s);
/* A text over the panes, from line *top; returns how many lines it has. */
size_t terminal_draw_text(const char *title, const char *text, size_t top);
