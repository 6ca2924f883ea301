#include "lib/view/terminal-line.h"

#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/fold.h"

static bool colours;

void terminal_colours(void)
{
	colours = has_colors() && !getenv("NO_COLOR");
	if (!colours)
		return;
	start_color();
	use_default_colors();
	init_pair(RED, COLOR_RED, -1);
	init_pair(GREEN, COLOR_GREEN, -1);
	init_pair(DIM, COLOR_CYAN, -1);
	init_pair(CURVE, COLOR_YELLOW, -1);
	init_pair(HEAD, COLOR_BLACK, COLOR_CYAN);
}

int terminal_look(enum colour c)
{
	if (colours)
		return COLOR_PAIR(c);
	return c == HEAD ? A_REVERSE : c == RED ? A_BOLD : A_NORMAL;
}

int terminal_room(void)
{
	return getmaxx(stdscr) - 1 - getcurx(stdscr);
}

void terminal_text(const char *text, int columns)
{
	int room = terminal_room();

	if (columns > 0 && room > 0)
		addnstr(text, (int)fold_fit(text, (size_t)(columns < room ? columns : room)));
}

void terminal_put(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	terminal_text(text, terminal_room());
}

void terminal_padded(const char *text, int columns)
{
	int used = (int)fold_columns(text, fold_fit(text, (size_t)columns));

	terminal_text(text, columns);
	if (used < columns)
		terminal_put("%*s", columns - used, "");
}

int terminal_wrapped(int row, const char *text, int lines)
{
	int line = 0;

	for (; *text && line < lines; line++) {
		size_t n = fold_break(text, (size_t)getmaxx(stdscr) - 1);

		if (row >= 0) {
			move(row + line, 0);
			clrtoeol();
			addnstr(text, (int)n);
		}
		text += n;
		text += strspn(text, " \n");
	}
	return line;
}

size_t terminal_indented(const char *text, size_t n, long row)
{
	int indent = (int)strspn(text, " "), width = getmaxx(stdscr) - 1, last = getmaxy(stdscr) - 1;
	const char *at = text, *end = text + n;
	size_t lines = 0;

	indent = indent < width / 2 ? indent : 0;
	do {
		size_t fits = fold_break(at, (size_t)(lines ? width - indent : width));

		if (row > 0 && row < last) {
			move((int)row, lines ? indent : 0);
			addnstr(at, (int)fits);
		}
		at += fits;
		while (at < end && *at == ' ')
			at++;
		lines++;
		row++;
	} while (at < end);
	return lines;
}
