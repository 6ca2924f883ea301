/* Where the verbs that look at events get them from. */
#pragma once

#include "machine/events/interval.h"
#include "machine/verb/verb.h"

/* The part of the past that is asked for. */
struct trace_request {
	const char *since, *until; /* TIME; NULL = as far as the events reach */
	const char *mark;	   /* a mark's number: the events kept of it; NULL = those of now */
	int64_t span;		   /* without a recorder: how long to watch now */
	bool redact;		   /* names without what comes from command lines */
};

#define TRACE_OPTIONS(r)                                                                                          \
	{OPTION_TEXT, 0, "since", "TIME", &(r).since, "start of the window (default: the oldest saved event); of a mark -5s counts from the mark"},      \
	{OPTION_TEXT, 0, "until", "TIME", &(r).until, "end of the window (default: the newest saved event)"},                                \
	{OPTION_TEXT, 0, "mark", "ID", &(r).mark, "the saved events of a mark (default: the current ones)"},        \
	{OPTION_SPAN, 0, "for", "SPAN", &(r).span, "how long to watch when no recorder runs (default 5s)"}

/* Everything that is to be known of a window; the caller frees with opened_trace_free(). */
struct opened_trace {
	struct trace trace;
	struct timeline timeline;
	int64_t from, to;
	int64_t asked; /* ns; 0 = as much as there is */
};

/* Says on standard error why it cannot, and what to do. The exit status: EXIT_ANSWERED = there it is. */
int trace_open(const struct common *common, const char *verb, const struct trace_request *what, struct opened_trace *ret);
void opened_trace_free(struct opened_trace *r);

/* A TIME in the trace's clock, where now is when the events were frozen: a mark's moment; `standard` for NULL. 0 or -EINVAL. */
int trace_open_time(const struct trace *t, const char *text, int64_t standard, int64_t *ret);
/* Another window of what was recalled; as trace_open(). */
int trace_open_window(const struct trace_request *what, const char *verb, struct opened_trace *ret);
