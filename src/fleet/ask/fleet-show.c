/* whyslow fleet load | info | view */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fleet/analysis/fleet-views.h"
#include "fleet/ask/fleet-info.h"
#include "fleet/store/fleet-store.h"
#include "fleet/store/fleet-save.h"
#include "fleet/verb/fleet-verb.h"
#include "lib/data/cleanup.h"
#include "lib/data/log.h"

static int run_load(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	_cleanup_free_ char *error = NULL;
	struct fleet *f;
	int r;

	if (argc != 2 || !args->output)
		return verb_usage_error("fleet", "load expects DATA and an output file: fleet load FOLDER --output FILE");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (str_starts(args->output, "clickhouse://"))
		r = fleet_save(args->output, NULL, NULL, f, &error);
	else
		r = fleet_store_write(f, args->output, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	else if (common->json)
		fleet_json_out(fleet_load_json(f, args->output));
	else {
		fleet_extent_text(f, stdout);
		printf("saved in %s: 'whyslow fleet info %s' shows more\n", args->output, args->output);
	}
	fleet_close(f);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static const struct option_row load_options[] = {
	{OPTION_TEXT, 'o', "output", "FILE", &fleet_parsed.output, "the output file"},
	FLEET_INPUT_OPTIONS,
	FLEET_WINDOW_OPTIONS,
	{},
};

static void list_sources(void)
{
	puts("\nSources:");
	for (size_t i = 0; fleet_sources[i]; i++)
		printf("  %-12s %s\n", fleet_sources[i]->name, fleet_sources[i]->help);
}

const struct subverb fleet_load = {
	"load", "LOCATION ", "read counters of many servers into one file that opens fast", load_options, run_load, list_sources};

/* --- info --- */

static int run_info(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	struct fleet_info info = {};
	struct fleet *f;
	int r;

	if (argc != 2)
		return verb_usage_error("fleet", "info expects DATA: a file that 'fleet load' wrote, a folder of CSV files ...");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	r = fleet_info_find(f, fleet_parsed.literal, &info);
	if (r < 0)
		log_error("%s: %s", argv[1], strerror(-r));
	else if (common->json)
		fleet_json_out(fleet_info_json(f, &info));
	else
		fleet_info_text(f, &info, stdout);
	fleet_info_free(&info);
	fleet_close(f);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static const struct option_row info_options[] = {
	{OPTION_FLAG, 0, "literal", NULL, &fleet_parsed.literal, "PAD's Equation 3: from the latest start to the earliest end of all servers, by index"},
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_info = {"info", "DATA ", "show the contents: servers, counters, clocks, gaps, groups", info_options, run_info, NULL};

/* --- view --- */

static int show_view(struct common *common, const struct fleet_query *args, const struct fleet_view *v)
{
	_cleanup_fclose_ FILE *file = NULL;
	FILE *out = stdout;

	if (args->output) {
		out = file = fopen(args->output, "we");
		if (!file) {
			log_error("cannot write %s: %s", args->output, strerror(errno));
			return EXIT_CANNOT;
		}
	}
	if (common->json)
		fleet_json_out(fleet_view_json(v));
	else if (args->svg)
		fleet_view_svg(v, out);
	else if (args->csv)
		fleet_view_csv(v, out);
	else
		fleet_view_text(v, out);
	return EXIT_ANSWERED;
}

static int view_kind(const char *name)
{
	static const char *const names[] = {"detail", "server", "time"};

	for (int i = 0; i < 3; i++)
		if (!name ? i == FLEET_SERVER_VIEW : strcmp(name, names[i]) == 0)
			return i;
	return -1;
}

static int run_view(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	int kind = view_kind(args->view), status = EXIT_CANNOT, r;
	struct fleet_question q;
	struct fleet_view v;
	struct fleet *f;

	if (argc != 3 || kind < 0)
		return verb_usage_error("fleet", "view expects DATA and a COUNTER, and --by detail, server or time");
	args->counter = argv[2];
	f = fleet_open(args, argv[1], argv[2]);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q)) {
		r = fleet_view_find(f, q.counter, q.window, (enum fleet_view_kind)kind, &v);
		if (r < 0) {
			status = fleet_analysis_failed("view", r);
		} else {
			r = args->points ? fleet_view_reduce(&v, args->points < UINT32_MAX ? (uint32_t)args->points : UINT32_MAX) : 0;
			status = r < 0 ? fleet_analysis_failed("view", r) : show_view(common, args, &v);
			fleet_view_free(&v);
		}
	}
	fleet_close(f);
	return status;
}

static const struct option_row view_options[] = {
	{OPTION_TEXT, 0, "by", "VIEW", &fleet_parsed.view, "detail (servers x time), server (default), or time"},
	{OPTION_COUNT, 0, "points", "N", &fleet_parsed.points, "detail, time: maximum number of points, each of as many moments (for drawing)"},
	{OPTION_FLAG, 0, "csv", NULL, &fleet_parsed.csv, "as CSV"},
	{OPTION_FLAG, 0, "svg", NULL, &fleet_parsed.svg, "as a drawing"},
	{OPTION_TEXT, 'o', "output", "FILE", &fleet_parsed.output, "where to write (default: standard output)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_view = {"view", "DATA COUNTER ", "one counter of all servers: by server, by time, or both", view_options, run_view, NULL};
