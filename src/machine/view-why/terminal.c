#include "machine/view-why/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/fold.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/terminal-line.h"
#include "machine/model/feature.h"
#include "machine/view-why/plot.h"

#define HEAD_ROWS     3 /* title, pressure, names of the columns; and the verdict */
#define NARROW	      140 /* columns on which a verdict takes two lines, where there are ... */
#define HIGH	      20  /* ... so many */
#define MESSAGE_LINES 3
#define BAR_WIDTH     7
#define PROCESS_SHARE 0.45 /* of the rows */
#define FEATURE_WIDTH 46
#define NAME_WIDTH    20
#define NAME_NARROW   14

int terminal_open(const char **ret_error)
{
	setlocale(LC_ALL, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		*ret_error = "needs a terminal; 'whyslow show' prints the same as text";
		return -ENOTTY;
	}
	if (!newterm(NULL, fold_behind_stdout(), stdin) || !tigetstr("cup")) {
		if (stdscr)
			endwin();
		*ret_error = "does not know this terminal: set TERM (for instance TERM=xterm)";
		return -ENOTTY;
	}
	cbreak();
	noecho();
	curs_set(0);
	set_escdelay(25);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	terminal_colours();
	return 0;
}

void terminal_close(void)
{
	endwin();
}

struct terminal_layout terminal_layout(void)
{
	struct terminal_layout l = {};
	int body;

	getmaxyx(stdscr, l.rows, l.columns);
	l.verdict = l.columns < NARROW && l.rows >= HIGH ? 2 : 1;
	body = l.rows - HEAD_ROWS - l.verdict - 3; /* the features' names, a line of keys, one of messages */
	body = body < 2 ? 2 : body;
	l.processes = HEAD_ROWS + l.verdict;
	l.n_processes = (int)(PROCESS_SHARE * body + 0.5);
	l.features = l.processes + l.n_processes + 1;
	l.n_features = body - l.n_processes;
	return l;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static const struct feature *process_feature(const char *name)
{
	size_t n;
	int i = feature_index(ENTITY_PROCESS, name);

	return i < 0 ? NULL : &features_of(ENTITY_PROCESS, &n)[i];
}

static const char *value_text(const struct feature *f, double value, char *buf, size_t n)
{
	return !f || isnan(value) ? "?" : feature_format(f, value, buf, n);
}

/* The local zone's short name at that moment, "CET"; over ssh it may be another one than the reader's. */
static const char *zone_of(const char *rfc3339, char *buf, size_t n)
{
	int64_t wall;
	struct tm tm;
	time_t seconds;

	if (clock_parse_time(rfc3339, 0, &wall) < 0)
		return "";
	seconds = (time_t)(wall / NS_PER_SEC);
	return strftime(buf, n, " %Z", localtime_r(&seconds, &tm)) ? buf : "";
}

/* "Fri 2026-11-20 14:32:07" in local time; empty where there is none. */
static const char *local_time(const char *rfc3339, char *buf, size_t n)
{
	int64_t wall;

	return clock_parse_time(rfc3339, 0, &wall) < 0 ? "" : clock_format_local(wall, buf, n);
}

static void put_title(const struct terminal_state *s, const struct terminal_layout *l)
{
	char at[40], zone[16];
	const char *time = local_time(text_of(s->board, "at"), at, sizeof(at)), *day = strchr(time, ' ');

	attron(terminal_look(HEAD));
	mvhline(0, 0, ' ', l->columns);
	move(0, 0);
	terminal_put(" whyslow  %s  %s%s  %s%s%s%zu of %zu processes", s->live ? "LIVE" : "PAST", day ? day + 1 : time,
	    zone_of(text_of(s->board, "at"), zone, sizeof(zone)), s->filter ? "filter: " : "", s->filter ? s->filter : "", s->filter ? "  " : "",
	    s->n_listed, json_array_size(json_object_get(s->board, "processes")));
	attroff(terminal_look(HEAD));
}

static void put_verdict(const struct terminal_state *s, const struct terminal_layout *l)
{
	const json_t *verdict = json_object_get(s->board, "verdict");
	int how = A_BOLD | terminal_look(json_is_true(json_object_get(verdict, "slow")) ? RED : GREEN);

	if (!s->board && s->message)
		return; /* it says why there is none */
	attron(how);
	terminal_wrapped(1, s->board ? text_of(verdict, "summary") : "reading the recording ...", l->verdict);
	attroff(how);
}

static void put_pressure(const struct terminal_state *s, const struct terminal_layout *l)
{
	static const char *const shown[] = {"cpu", "disk", "memory"};
	const json_t *pressure = json_object_get(json_object_get(s->board, "verdict"), "pressure");

	move(1 + l->verdict, 0);
	terminal_put("waiting for:");
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		const json_t *p = json_object_get(pressure, shown[i]);
		double now = number_of(p, "now"), usual = number_of(p, "usual");

		if (isnan(now))
			continue;
		terminal_put("  %s %.0f %%", shown[i], 100 * now);
		if (!isnan(usual) && lround(100 * usual) != lround(100 * now))
			terminal_put(" (normally %.0f)", 100 * usual);
	}
}

static void put_bar(double score)
{
	int full = (int)lround(fmin(1, isnan(score) ? 0 : score) * BAR_WIDTH);

	attron(terminal_look(RED));
	for (int i = 0; i < BAR_WIDTH; i++)
		addstr(i < full ? "█" : " ");
	attroff(terminal_look(RED));
}

static double column_value(const struct terminal_state *s, const json_t *process, const char *name)
{
	const json_t *columns = json_object_get(s->board, "columns"), *values = json_object_get(process, "values"), *value;

	for (size_t i = 0; i < json_array_size(columns); i++)
		if (strcmp(text_of(json_array_get(columns, i), "name"), name) == 0) {
			value = json_array_get(values, i);
			return json_is_number(value) ? json_number_value(value) : NAN;
		}
	return NAN;
}

/* As many as fit; the rest of the line names what is most unusual. */
static const struct {
	const char *feature, *title;
	int width;
} columns_shown[] = {{"cpu.time", "cpu", 8},	       {"cpu.run_delay", "cpu wait", 9}, {"mem.anon", "memory", 9},
		     {"io.read_bytes", "read", 11},    {"io.write_bytes", "written", 11}, {"delay.block", "disk wait", 10},
		     {"net.rx_bytes", "received", 11}, {"net.tx_bytes", "sent", 11}};
#define LEAST_FOR_REASON 28

static int name_width(int width)
{
	return width < 60 ? NAME_NARROW : NAME_WIDTH;
}

static size_t columns_that_fit(int width)
{
	int used = BAR_WIDTH + 9 + name_width(width) + (width < 80 ? 1 : LEAST_FOR_REASON);
	size_t n = 0;

	while (n < ARRAY_SIZE(columns_shown) && used + columns_shown[n].width <= width)
		used += columns_shown[n++].width;
	return n;
}

static void put_process_names(const struct terminal_state *s, const struct terminal_layout *l)
{
	int how = A_UNDERLINE | terminal_look(DIM);

	attron(how);
	move(l->processes - 1, 0);
	terminal_put("%-*s %7s %-*s", BAR_WIDTH, strcmp(text_of(s->board, "model"), "gaussian") == 0 ? "log p" : "anomaly", "pid", name_width(l->columns), "program");
	for (size_t i = 0; i < columns_that_fit(l->columns); i++)
		terminal_put("%*s", columns_shown[i].width, columns_shown[i].title);
	if (terminal_room() > LEAST_FOR_REASON / 2)
		terminal_put("  most unusual");
	attroff(how);
}

static void put_reason(const json_t *odd)
{
	char value[40], usual[40];
	const struct feature *f = process_feature(text_of(odd, "name"));
	bool new = json_is_true(json_object_get(odd, "new"));

	if (number_of(odd, "score") > 0.05 && terminal_room() > LEAST_FOR_REASON / 2)
		terminal_put("  %s %s, %s%s", text_of(odd, "name"), value_text(f, number_of(odd, "value"), value, sizeof(value)),
		    new ? "was not running before" : "normally ", new ? "" : value_text(f, number_of(odd, "usual"), usual, sizeof(usual)));
}

static void put_process(const struct terminal_state *s, const struct terminal_layout *l, int row, const json_t *process)
{
	bool guilty = number_of(process, "culprit_score") > 0;
	char text[40];

	move(row, 0);
	put_bar(number_of(process, "score"));
	terminal_put(" %7.0f ", number_of(process, "pid"));
	if (guilty)
		attron(A_BOLD | terminal_look(RED));
	terminal_padded(text_of(process, "label"), name_width(l->columns));
	if (guilty)
		attroff(A_BOLD | terminal_look(RED));
	for (size_t i = 0; i < columns_that_fit(l->columns); i++)
		terminal_put("%*s", columns_shown[i].width,
		    value_text(process_feature(columns_shown[i].feature), column_value(s, process, columns_shown[i].feature), text, sizeof(text)));
	put_reason(json_array_get(json_object_get(process, "unusual"), 0));
}

static void keep_in_view(struct terminal_list *list, size_t n, int rows)
{
	if (list->chosen >= n)
		list->chosen = n ? n - 1 : 0;
	if (list->chosen < list->top)
		list->top = list->chosen;
	if (rows > 0 && list->chosen >= list->top + (size_t)rows)
		list->top = list->chosen - (size_t)rows + 1;
}

static void put_processes(struct terminal_state *s, const struct terminal_layout *l)
{
	const json_t *processes = json_object_get(s->board, "processes");

	keep_in_view(&s->processes, s->n_listed, l->n_processes);
	put_process_names(s, l);
	if (!s->n_listed && s->filter) {
		move(l->processes, 0);
		terminal_put("no process here contains '%s': / and Enter list all", s->filter);
	}
	for (int i = 0; i < l->n_processes && s->processes.top + (size_t)i < s->n_listed; i++) {
		size_t at = s->processes.top + (size_t)i;

		put_process(s, l, l->processes + i, json_array_get(processes, s->listed[at]));
		if (at == s->processes.chosen)
			mvchgat(l->processes + i, 0, -1, s->focus == PANE_PROCESSES ? A_REVERSE : A_BOLD, 0, NULL);
	}
}

static void put_feature(const json_t *f, int row, int width)
{
	const struct feature *feature = process_feature(text_of(f, "name"));
	char value[40], usual[40];

	move(row, 0);
	put_bar(number_of(f, "score"));
	terminal_put(" %-18.18s", text_of(f, "name"));
	terminal_put("%10s", value_text(feature, number_of(f, "value"), value, sizeof(value)));
	if (width > BAR_WIDTH + 19 + 10 + 10)
		terminal_put(" %10s", value_text(feature, number_of(f, "usual"), usual, sizeof(usual)));
}

static void put_features(struct terminal_state *s, const struct terminal_layout *l)
{
	const json_t *features = json_object_get(s->process, "features");
	int width = l->columns < 2 * FEATURE_WIDTH ? l->columns / 2 + 6 : FEATURE_WIDTH;

	keep_in_view(&s->features, json_array_size(features), l->n_features);
	attron(A_UNDERLINE | terminal_look(DIM));
	move(l->features - 1, 0);
	terminal_put("%-*s ", BAR_WIDTH, "anomaly");
	terminal_padded(text_of(json_object_get(s->process, "process"), "label"), 18);
	terminal_put("%10s", "now");
	if (width > BAR_WIDTH + 19 + 10 + 10)
		terminal_put(" %10s", "usual");
	attroff(A_UNDERLINE | terminal_look(DIM));
	for (int i = 0; i < l->n_features && s->features.top + (size_t)i < json_array_size(features); i++) {
		size_t at = s->features.top + (size_t)i;

		put_feature(json_array_get(features, at), l->features + i, width);
		if (at == s->features.chosen)
			mvchgat(l->features + i, 0, width - 1, s->focus == PANE_FEATURES ? A_REVERSE : A_BOLD, 0, NULL);
	}
}

static size_t read_numbers(const json_t *array, double **ret)
{
	size_t n = json_array_size(array);

	*ret = calloc(n + 1, sizeof(**ret));
	for (size_t i = 0; *ret && i < n; i++) {
		const json_t *value = json_array_get(array, i);

		(*ret)[i] = json_is_number(value) ? json_number_value(value) : NAN;
	}
	return *ret ? n : 0;
}

static struct curve curve_of(const json_t *series)
{
	struct curve c = {};

	c.n = read_numbers(json_object_get(series, "low"), &c.low);
	if (read_numbers(json_object_get(series, "mean"), &c.mean) != c.n || read_numbers(json_object_get(series, "high"), &c.high) != c.n)
		curve_free(&c);
	return c;
}

static void put_curve_cells(const struct plot *p, int row, int column)
{
	attron(terminal_look(CURVE));
	for (int y = 0; y < p->height; y++)
		for (int x = 0; x < p->width; x++)
			mvaddstr(row + y, column + x, plot_cell(p, x, y, (char[PLOT_CELL]){}));
	attroff(terminal_look(CURVE));
}

/* "14:32" of it. */
static void put_time(int row, int column, const char *rfc3339)
{
	char at[40];
	const char *text = local_time(rfc3339, at, sizeof(at));

	if (strlen(text) > 20) {
		move(row, column);
		terminal_put("%.5s", text + strlen(text) - 8);
	}
}

static void put_curve(const struct terminal_state *s, const struct terminal_layout *l)
{
	int left = (l->columns < 2 * FEATURE_WIDTH ? l->columns / 2 + 6 : FEATURE_WIDTH) + 1;
	const struct feature *f = s->series ? process_feature(text_of(s->series, "feature")) : NULL;
	const json_t *compared = json_array_get(json_object_get(s->process, "features"), s->features.chosen);
	int width = l->columns - left - 1, height = l->n_features - 2;
	char top[40], bottom[40], usual[40], spread[40];
	struct curve c;
	struct plot p;

	if (!f || width < 10 || height < 2)
		return;
	c = curve_of(s->series);
	p = plot_of(&c, width, height);
	put_curve_cells(&p, l->features + 1, left);
	move(l->features - 1, left);
	terminal_put("%s: %s", f->name, f->help);
	move(l->features, left);
	terminal_put("%s", value_text(f, p.top, top, sizeof(top)));
	if (!isnan(number_of(compared, "usual")))
		terminal_put("   normally %s +- %s", value_text(f, number_of(compared, "usual"), usual, sizeof(usual)),
		    value_text(f, number_of(compared, "spread"), spread, sizeof(spread)));
	put_time(l->features + l->n_features - 1, left, text_of(s->series, "from"));
	move(l->features + l->n_features - 1, left + 8);
	if (width >= 32)
		terminal_text("bottom ", width);
	terminal_text(value_text(f, p.bottom, bottom, sizeof(bottom)), l->columns - 8 - getcurx(stdscr));
	put_time(l->features + l->n_features - 1, l->columns - 6, text_of(s->board, "at"));
	plot_free(&p);
	curve_free(&c);
}

/* Of a long line that is being typed its end. */
static void put_typed(const struct terminal_state *s)
{
	const char *typed = s->typed;

	terminal_put("%s", s->prompt);
	while ((int)fold_columns(typed, strlen(typed)) >= terminal_room() && *typed)
		typed += fold_fit(typed, 1) ?: fold_fit(typed, 2);
	terminal_put("%s_", typed);
}

static void put_foot(const struct terminal_state *s, const struct terminal_layout *l)
{
	move(l->rows - 2, 0);
	if (s->prompt)
		put_typed(s);
	else if (s->message)
		terminal_wrapped(l->rows - 1 - terminal_wrapped(-1, s->message, MESSAGE_LINES), s->message, MESSAGE_LINES);
	attron(terminal_look(DIM));
	move(l->rows - 1, 0);
	terminal_put("? help  q quit  m mark  w why  b blame  t threads  / filter  ←→ time  End live  Enter features");
	attroff(terminal_look(DIM));
}

void terminal_draw(struct terminal_state *s)
{
	struct terminal_layout l = terminal_layout();

	erase();
	put_title(s, &l);
	put_verdict(s, &l);
	if (s->board) {
		put_pressure(s, &l);
		put_processes(s, &l);
	}
	if (s->process)
		put_features(s, &l);
	put_curve(s, &l);
	put_foot(s, &l);
	refresh();
}

size_t terminal_draw_text(const char *title, const char *text, size_t top)
{
	struct terminal_layout l = terminal_layout();
	size_t line = 0;

	erase();
	attron(terminal_look(HEAD));
	mvhline(0, 0, ' ', l.columns);
	move(0, 0);
	terminal_put(" %s", title);
	attroff(terminal_look(HEAD));
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");

		line += terminal_indented(at, n, (long)line - (long)top + 1);
		at += n + (at[n] == '\n');
	}
	attron(terminal_look(DIM));
	move(l.rows - 1, 0);
	terminal_put("q or Esc back  up/down scroll");
	if (line > (size_t)l.rows - 2)
		terminal_put("  lines %zu to %zu of %zu", top + 1, top + (size_t)l.rows - 2 < line ? top + (size_t)l.rows - 2 : line, line);
	attroff(terminal_look(DIM));
	refresh();
	return line;
}
