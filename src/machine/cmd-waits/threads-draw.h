/* `whyslow threads --points N`, `threads TID --at TIME`: what a drawing of the timeline asks for. */
#pragma once

#include "machine/cmd-waits/trace-open.h"
#include "machine/threads/rows.h"

struct threads_draw {
	uint64_t points, first, rows;		     /* rows 0 = all */
	const char *order, *filter, *hidden, *folded, *chosen; /* as given; NULL = not */
	const char *path, *at, *order_since, *order_until;
};

#define DRAW_OPTIONS(d)                                                                                                            \
	{OPTION_COUNT, 0, "points", "N", &(d).points, "states over the window in this many points, for drawing; with --json"},       \
	{OPTION_COUNT, 0, "first", "N", &(d).first, "first row (0 is the first)"},                                      \
	{OPTION_COUNT, 0, "rows", "N", &(d).rows, "number of rows (default: all)"},                                              \
	{OPTION_TEXT, 0, "order", "BY", &(d).order, "waited (default), ran, name or pid"},                                         \
	{OPTION_TEXT, 0, "order-since", "TIME", &(d).order_since, "start of the time that decides the order (default: as recorded)"},     \
	{OPTION_TEXT, 0, "order-until", "TIME", &(d).order_until, "up to here"},                                                   \
	{OPTION_TEXT, 0, "filter", "TEXT", &(d).filter, "only threads with this in their name or unit, or with this number"},      \
	{OPTION_TEXT, 0, "hide", "TEXT,...", &(d).hidden, "leave out threads with one of these in their name or unit, or with this number"}, \
	{OPTION_TEXT, 0, "folded", "PID,...", &(d).folded, "with --points: one row for all threads of these; 0 = the kernel's"},    \
	{OPTION_TEXT, 0, "chosen", "PID", &(d).chosen, "process that comes first; in a drawing its CPU use is shown separately"},     \
	{OPTION_TEXT, 0, "path", "TID", &(d).path, "with --points: this thread's critical path, whose threads come first"},        \
	{OPTION_TEXT, 0, "at", "TIME", &(d).at, "what the thread was doing then, where, what ended it; with --json"}

/* What is worth keeping between two questions about one recording. Zeroed = nothing. */
struct draw_cache;
void draw_cache_free(struct draw_cache *c);

bool threads_draw_is_used(const struct threads_draw *d);
/* The rows that were asked for, without a drawing: the threads of `number` alone, or all (0). The caller frees *ret. The exit status. */
int threads_draw_rows(const struct opened_trace *r, const struct threads_draw *d, uint32_t number, struct thread_rows *ret);
/* Answers on standard output, in one line. `number`: the thread of --at; 0 = none was given. The exit status. */
int threads_draw(const struct opened_trace *r, const struct threads_draw *d, uint32_t number, struct draw_cache **cache);
