/* Shared by `why` and the verbs that answer for a moment. */
#pragma once

#include <stdint.h>

#include "machine/verb/verb.h"

extern struct why_args {
	const char *at, *since, *model, *who, *window_mode, *baseline, *elsewhere;
	int64_t window;
	uint64_t top;
	bool all, boot, evidence, facts, wait;
} why_args;

#define WHY_OPTIONS                                                                                                      \
	{OPTION_TEXT, 0, "at", "TIME", &why_args.at, "the moment asked about, or a mark's number (default: now)"},                             \
	{OPTION_TEXT, 0, "since", "TIME", &why_args.since, "start of the incident (default: detected); -5min is before --at"},                  \
	{OPTION_FLAG, 0, "boot", NULL, &why_args.boot, "why the machine's last start took so long"},                    \
	{OPTION_SPAN, 0, "window", "SPAN", &why_args.window, "length of the baseline (default 4h)"},        \
	{OPTION_TEXT, 0, "baseline", "WHICH", &why_args.baseline, "in its place: last-hour, same-hour (of the last 7 days, or of --window), upgrade or upgrade=PACKAGE (since it)"}, \
	{OPTION_TEXT, 0, "for", "WHO", &why_args.who, "list only this pid, unit or name"},                                       \
	{OPTION_TEXT, 0, "model", "NAME", &why_args.model, "blame (default), gaussian (the paper's) or unusual"},          \
	{OPTION_TEXT, 0, "window-mode", "MODE", &why_args.window_mode, "past (default), or block: the paper's, event included"}, \
	{OPTION_COUNT, 'n', "top", "N", &why_args.top, "how many to list (default 5)"},                                     \
	{OPTION_FLAG, 0, "all-features", NULL, &why_args.all, "list every feature of each"},                                 \
	{OPTION_FLAG, 0, "evidence", NULL, &why_args.evidence, "list what each score is made of: factors, and their logarithms"}, \
	{OPTION_FLAG, 0, "wait", NULL, &why_args.wait, "use every event of the flight recorder, even if that takes longer"},         \
	{OPTION_FLAG, 0, "facts", NULL, &why_args.facts, "print the facts that the causes are tested on instead (share/causes)"}

/* The method and what it learns from, by --model, --window-mode, --window (`window` without it), and --baseline. EXIT_ANSWERED, or the usage error's status. */
struct why_request;
int why_parse_model(const char *verb, int64_t window, struct why_request *request);

/* Answers for a moment with the options of `why` and prints it. `mark`: something pressed the button then; 0 = nothing did.
 * Returns the exit status. */
int why_at(struct common *common, int64_t wall, int64_t mark);
