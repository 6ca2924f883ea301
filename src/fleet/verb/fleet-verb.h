/* whyslow fleet SUBVERB: what its parts share. */
#pragma once

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/model/fleet-source.h"
#include "fleet/verb/fleet-view.h"
#include "machine/verb/subverb.h"

#define LAG_NOT_GIVEN UINT64_MAX

/* A command line of `whyslow fleet`: one for all subverbs, each of which has those options that its table lists. */
struct fleet_query {
	const char *from, *to, *begin, *usual_from, *usual_to;
	const char *match, *server, *counter, *symptom;
	const char *delimiter, *time_column, *server_column, *role_column, *counter_column, *value_column, *time_format, *sums, *gauges, *source, *token_file, *ca_file, *plugin;
	const char *output, *view, *statistic, *threshold, *rules, *rule, *calls, *deployments, *html, *causes, *incidents, *remember;
	int64_t step;
	uint64_t top, max_lag, points;
	bool columns_are_servers, csv, svg, literal, by_time, spearman, all;
};

/* The tables of options are read into it. A subverb begins with a copy, and passes that on. */
extern struct fleet_query fleet_parsed;
extern const struct subverb fleet_load, fleet_info, fleet_view, fleet_check_verb, fleet_correlate, fleet_compare, fleet_rank,
	fleet_why, fleet_history_verb, fleet_incidents_verb, fleet_run, fleet_watch, fleet_join;
/* Runs one command line, "view DATA cpu": for `fleet` itself and for saved analyses. Exit status. */
int fleet_dispatch(struct common *common, int argc, char **argv);

#define FLEET_INPUT_OPTIONS                                                                                                     \
	{OPTION_TEXT, 0, "source", "NAME", &fleet_parsed.source, "how to read it: 'whyslow fleet load --help' lists them (default: detected)"}, \
	{OPTION_TEXT, 0, "match", "PATTERN", &fleet_parsed.match, "only counters that match (shell pattern)"},                     \
	{OPTION_TEXT, 0, "delimiter", "CHAR", &fleet_parsed.delimiter, "field separator, or 'tab' (default: detected)"},           \
	{OPTION_TEXT, 0, "time-column", "NAME", &fleet_parsed.time_column, "the column of times"},                                 \
	{OPTION_TEXT, 0, "server-column", "NAME", &fleet_parsed.server_column, "the column of servers"},                           \
	{OPTION_FLAG, 0, "columns-are-servers", NULL, &fleet_parsed.columns_are_servers, "tables: each column of numbers is a server, and each file a counter, by its name"}, \
	{OPTION_TEXT, 0, "role-column", "NAME", &fleet_parsed.role_column, "the column, key or label of roles: servers of one role are compared"}, \
	{OPTION_TEXT, 0, "counter-column", "NAME", &fleet_parsed.counter_column, "long tables: the column of counter names"}, \
	{OPTION_TEXT, 0, "value-column", "NAME", &fleet_parsed.value_column, "long tables: the column of values"},              \
	{OPTION_TEXT, 0, "time-format", "FORMAT", &fleet_parsed.time_format, "how times are written, as in strptime(3): '%m/%d/%Y %H:%M:%S' (default: detected)"}, \
	{OPTION_TEXT, 0, "sum", "PATTERN", &fleet_parsed.sums, "counters that are running sums (shell pattern; default: detected)"}, \
	{OPTION_TEXT, 0, "gauge", "PATTERN", &fleet_parsed.gauges, "counters that are levels (shell pattern; default: detected)"}, \
	{OPTION_TEXT, 0, "begin", "TIME", &fleet_parsed.begin, "when the first row was written, of files whose rows have no dates (vmstat without -t, top -b)"}, \
	{OPTION_SPAN, 0, "step", "SPAN", &fleet_parsed.step, "time between rows, where the source does not say"},                       \
	{OPTION_TEXT, 0, "token-file", "FILE", &fleet_parsed.token_file, "for URLs: a file with the token or user:password"},       \
	{OPTION_TEXT, 0, "ca-file", "FILE", &fleet_parsed.ca_file, "for URLs: the authority that signed the server's certificate"}, \
	{OPTION_TEXT, 0, "plugin", "FILE.so", &fleet_parsed.plugin, "a source or an analysis of your own (HACKING.md)"}

#define FLEET_WINDOW_OPTIONS                                                                                       \
	{OPTION_TEXT, 0, "from", "TIME", &fleet_parsed.from, "the window begins: 2026-11-20T14:32Z, 14:32 (UTC), -2h before the data's end (default: with the data)"},          \
	{OPTION_TEXT, 0, "to", "TIME", &fleet_parsed.to, "the window ends (default: with the data)"}

#define FLEET_USUAL_OPTIONS                                                                                             \
	{OPTION_TEXT, 0, "usual-from", "TIME", &fleet_parsed.usual_from, "start of the baseline (default: all outside the window)"}, \
	{OPTION_TEXT, 0, "usual-to", "TIME", &fleet_parsed.usual_to, "end of the baseline"}

/* Opens DATA: a store file that `fleet load` wrote, or whatever a source reads. Says what is wrong; NULL then. `wanted`: a
 * counter's name or a part of it, when no other is needed. The caller frees with fleet_close(). */
struct fleet *fleet_open(const struct fleet_query *args, const char *location, const char *wanted);
void fleet_close(struct fleet *f);
/* Window, normal time, server, counter, statistic and threshold of the options. False after saying what is wrong. */
bool fleet_ask(const struct fleet_query *args, const struct fleet *f, struct fleet_question *ret);
/* Runs an analysis and prints what it found. Exit status. */
int fleet_tell(struct common *common, const struct fleet_query *args, const char *analysis, const struct fleet_question *q,
	       const char *headline);
int fleet_analysis_failed(const char *analysis, int r);
void fleet_json_out(json_t *root);
