/* whyslow fleet load | info | view */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-peers.h"
#include "fleet/analysis/fleet-views.h"
#include "fleet/model/fleet-info.h"
#include "fleet/model/fleet.h"
#include "fleet/store/fleet-save.h"
#include "fleet/store/fleet-store.h"
#include "fleet/verb/fleet-verb.h"
#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "lib/rights/write-path.h"

#define CLOCK_OFF 10 /* a tenth of the interval: less is not reported */

static void fleet_info_free(struct fleet_info *i)
{
	VEC_FREE(i->clocks);
	VEC_FREE(i->groups);
}

ORDER(by_skew, int64_t, CMP(*a, *b))

/* Where most clocks are: points are counted from the one that is behind all others. 0 or -ENOMEM. */
static int usual_skew(const struct fleet_alignment *a, int64_t *ret)
{
	_cleanup_free_ int64_t *skews = calloc(a->servers.n + 1, sizeof(*skews));
	size_t n = 0;

	if (!skews)
		return -ENOMEM;
	for (size_t i = 0; i < a->servers.n; i++)
		if (a->servers.v[i].used)
			skews[n++] = a->servers.v[i].skew;
	if (n)
		qsort(skews, n, sizeof(*skews), by_skew);
	*ret = n ? skews[n / 2] : 0;
	return 0;
}

static int find_clocks(const struct fleet_alignment *a, struct fleet_info *ret)
{
	int64_t usual;
	int r = usual_skew(a, &usual);

	ret->common = a->tf - a->ts;
	ret->points = a->n;
	ret->points_most = a->n_most;
	ret->from = a->ts;
	ret->to = a->tf;
	ret->by_index = a->by != FLEET_BY_TIME;
	for (size_t i = 0; r == 0 && i < a->servers.n; i++) {
		const struct fleet_aligned_server *s = &a->servers.v[i];
		const int64_t off = s->skew - usual;

		r = VEC_PUSH(ret->clocks, (struct fleet_clock){.skew = s->skew, .drift = s->drift, .off = llabs(off) > a->d / CLOCK_OFF ? off : 0,
							       .missing = s->missing, .drifts = !s->gaps && llabs(s->drift) >= a->d / 2, .late = s->late, .ended = s->died});
	}
	return r;
}

static int find_groups(const struct fleet *f, struct fleet_info *ret)
{
	struct fleet_peers p;
	int r = fleet_peers_find(f, &p);

	if (r < 0)
		return r;
	for (size_t g = 0; r == 0 && g < p.groups; g++) {
		struct fleet_group x = {};

		for (size_t i = 0; i < f->servers.n; i++)
			if (p.group.v[i] == (int)g && x.n++ == 0)
				x.first = i;
		r = VEC_PUSH(ret->groups, x);
	}
	fleet_peers_free(&p);
	return r;
}

/* literal: what the servers have in common by Equation 3 of PAD, as it stands. 0 or -ENOMEM. */
static int fleet_info_find(const struct fleet *f, bool literal, struct fleet_info *ret)
{
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	struct fleet_alignment a = {};
	struct fleet_info info = {};
	int r = literal ? fleet_align(f, all, FLEET_LITERALLY, &a) : fleet_align_best(f, all, &a);

	r = r == 0 ? find_clocks(&a, &info) : r == -ENODATA || r == -E2BIG ? 0 : r;
	r = r ?: find_groups(f, &info);
	fleet_alignment_free(&a);
	if (r < 0)
		fleet_info_free(&info);
	else
		*ret = info;
	return r;
}

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
	"load", "LOCATION ", "read counters of many servers into one file that opens fast", load_options, run_load, .more = list_sources};

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

const struct subverb fleet_info = {"info", "DATA ", "show the contents: servers, counters, clocks, gaps, groups", info_options, .run = run_info};

/* --- view --- */

static int show_view(struct common *common, const struct fleet_query *args, const struct fleet_view *v)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	FILE *out = stdout;

	if (args->output) {
		out = file = write_path_stream(args->output, 'w', &error);
		if (!file)
			return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(errno));
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

const struct subverb fleet_view = {"view", "DATA COUNTER ", "one counter of all servers: by server, by time, or both", view_options, .run = run_view};
