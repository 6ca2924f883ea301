/* whyslow fleet load | info | view */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fleet/fleet-align.h"
#include "analysis/fleet/fleet-peers.h"
#include "analysis/fleet/fleet-views.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/fleet/fleet.h"
#include "cmd/fleet/fleet-engine.h"
#include "store/fleet/fleet-store.h"

#define CLOCK_OFF 10 /* a tenth of the interval: a clock that is told */

static void count_kinds(const struct fleet *f, size_t *ret_rates)
{
	*ret_rates = 0;
	for (size_t i = 0; i < f->counters.n; i++)
		*ret_rates += f->counters.v[i].kind == FLEET_COUNTER;
}

static void tell_extent(const struct fleet *f)
{
	int64_t first, last;
	char a[32], b[32], c[32];
	uint64_t places, values = fleet_values(f, &places);
	size_t rates;

	fleet_extent(f, &first, &last);
	count_kinds(f, &rates);
	printf("%zu servers, %zu counters (%zu of them running sums, shown as rates), %llu values", f->servers.n, f->counters.n, rates,
	       (unsigned long long)values);
	if (places > values)
		printf(", %.2g %% missing", 100.0 * (double)(places - values) / (double)places);
	printf("\nfrom %s to %s, a row every %s\n", format_rfc3339(first, a, sizeof(a)), format_rfc3339(last, b, sizeof(b)),
	       format_span(f->interval, c, sizeof(c)));
	for (size_t i = 0; i < f->remarks.n; i++)
		printf("note: %s\n", f->remarks.v[i]);
}

static int run_load(struct common *common, int argc, char **argv)
{
	struct fleet_args *args = &fleet_args;
	_cleanup_free_ char *error = NULL;
	struct fleet *f;
	int r;

	if (argc != 2 || !args->output)
		return usage_error("fleet", "load expects DATA and an output file: fleet load FOLDER --output FILE");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (str_starts(args->output, "clickhouse://"))
		r = fleet_engine_save(args->output, NULL, NULL, f, &error);
	else
		r = fleet_store_write(f, args->output, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	else if (common->json)
		fleet_json_out(json_pack("{s:s, s:s, s:I, s:I}", "schema", "whyslow.fleet.load/1", "file", args->output, "servers",
					 (json_int_t)f->servers.n, "counters", (json_int_t)f->counters.n));
	else {
		tell_extent(f);
		printf("saved in %s: 'whyslow fleet info %s' shows more\n", args->output, args->output);
	}
	fleet_close(f);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static const struct option_row load_options[] = {
	{OPTION_TEXT, 'o', "output", "FILE", &fleet_args.output, "the output file"},
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

static int by_skew(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where most clocks are: points are counted from the one that is behind all others. */
static int64_t usual_skew(const struct fleet *f, const struct fleet_alignment *a)
{
	_cleanup_free_ int64_t *skews = calloc(f->servers.n + 1, sizeof(*skews));
	size_t n = 0;

	for (size_t i = 0; skews && i < f->servers.n; i++)
		if (a->servers.v[i].used)
			skews[n++] = a->servers.v[i].skew;
	if (n)
		qsort(skews, n, sizeof(*skews), by_skew);
	return n ? skews[n / 2] : 0;
}

static void tell_skew(const struct fleet *f, const struct fleet_alignment *a)
{
	int64_t usual = usual_skew(f, a);
	char text[32], total[32];

	printf("common time: %s, %u points\n", format_span(a->tf - a->ts, total, sizeof(total)), a->n);
	for (size_t i = 0; i < f->servers.n; i++) {
		const struct fleet_aligned_server *s = &a->servers.v[i];
		int64_t off = s->skew - usual;
		const char *apart = "";

		if (s->late || s->died || !f->servers.v[i].n) {
			printf("  %-24s %s\n", f->servers.v[i].name, !f->servers.v[i].n ? "has no rows" : s->late ? "joined late: used where it has rows" : "ended early: used where it has rows");
			continue;
		}
		if (llabs(off) <= a->d / CLOCK_OFF && llabs(s->drift) < a->d / 2 && !s->missing)
			continue;
		printf("  %-24s ", f->servers.v[i].name);
		if (s->missing)
			printf("%u row%s missing", s->missing, s->missing == 1 ? "" : "s"), apart = ", ";
		if (llabs(s->drift) >= a->d / 2)
			printf("%sclock drifts by %s: paired by index", apart, format_span(llabs(s->drift), text, sizeof(text)));
		else if (llabs(off) > a->d / CLOCK_OFF)
			printf("%sclock or rows %s %s", apart, format_span(llabs(off), text, sizeof(text)), off > 0 ? "later than most" : "earlier than most");
		putchar('\n');
	}
}

static void tell_groups(const struct fleet *f)
{
	struct fleet_peers p;

	if (fleet_peers_find(f, &p) < 0)
		return;
	printf("groups of servers that do the same work: %zu\n", p.groups);
	for (size_t g = 0; g < p.groups && g < 12; g++) {
		size_t n = 0, first = 0;

		for (size_t i = 0; i < f->servers.n; i++)
			if (p.group.v[i] == (int)g && n++ == 0)
				first = i;
		printf("  %zu like %s%s%s\n", n, f->servers.v[first].name, f->servers.v[first].role ? ", role " : "",
		       f->servers.v[first].role ? f->servers.v[first].role : "");
	}
	fleet_peers_free(&p);
}

static void tell_counters(const struct fleet *f)
{
	for (size_t i = 0; i < f->counters.n; i++) {
		const struct fleet_counter *c = &f->counters.v[i];
		size_t servers = 0;

		for (size_t s = 0; s < f->servers.n; s++)
			servers += f->servers.v[s].column[i] != NULL;
		printf("  %-40s %-8s %-10s %zu servers%s%s\n", c->name, c->kind == FLEET_COUNTER ? "sum" : "level", c->unit ? c->unit : "-", servers,
		       c->help ? "  " : "", c->help ? c->help : "");
	}
}

static json_t *server_json(const struct fleet *f, const struct fleet_alignment *a, size_t i)
{
	const struct fleet_aligned_server *s = a->servers.n ? &a->servers.v[i] : NULL;

	return json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:b, s:b}", "name", f->servers.v[i].name, "role", f->servers.v[i].role, "rows",
			 (json_int_t)f->servers.v[i].n, "skew_ns", (json_int_t)(s ? s->skew : 0), "drift_ns", (json_int_t)(s ? s->drift : 0),
			 "missing_rows", (json_int_t)(s ? s->missing : 0), "late", s && s->late, "ended", s && s->died);
}

static void info_json(const struct fleet *f, const struct fleet_alignment *a)
{
	json_t *servers = json_array(), *counters = json_array(), *remarks = json_array();
	int64_t first, last;
	char from[32], to[32];

	fleet_extent(f, &first, &last);
	for (size_t i = 0; i < f->servers.n; i++)
		json_array_append_new(servers, server_json(f, a, i));
	for (size_t i = 0; i < f->counters.n; i++)
		json_array_append_new(counters, json_pack("{s:s, s:s?, s:s?, s:b}", "name", f->counters.v[i].name, "unit", f->counters.v[i].unit, "help",
							  f->counters.v[i].help, "rate", f->counters.v[i].kind == FLEET_COUNTER));
	for (size_t i = 0; i < f->remarks.n; i++)
		json_array_append_new(remarks, json_string(f->remarks.v[i]));
	fleet_json_out(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "schema", "whyslow.fleet.info/1", "start",
				 format_rfc3339(first, from, sizeof(from)), "end", format_rfc3339(last, to, sizeof(to)), "interval_ns",
				 (json_int_t)f->interval, "points", (json_int_t)a->n, "points_most", (json_int_t)a->n_most, "servers", servers,
				 "counters", counters, "remarks", remarks));
}

static int run_info(struct common *common, int argc, char **argv)
{
	struct fleet_args *args = &fleet_args;
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	struct fleet_alignment a = {};
	struct fleet *f;

	if (argc != 2)
		return usage_error("fleet", "info expects DATA: a file that 'fleet load' wrote, a folder of CSV files ...");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	(void)fleet_align_best(f, all, &a);
	if (common->json) {
		info_json(f, &a);
	} else {
		tell_extent(f);
		if (a.n)
			tell_skew(f, &a);
		tell_groups(f);
		tell_counters(f);
	}
	fleet_alignment_free(&a);
	fleet_close(f);
	return EXIT_ANSWERED;
}

static const struct option_row info_options[] = {FLEET_INPUT_OPTIONS, {}};

const struct subverb fleet_info = {"info", "DATA ", "show the contents: servers, counters, clocks, gaps, groups", info_options, run_info, NULL};

/* --- view --- */

static int show_view(struct common *common, const struct fleet_args *args, const struct fleet_view *v)
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
	struct fleet_args *args = &fleet_args;
	int kind = view_kind(args->view), status = EXIT_CANNOT, r;
	struct fleet_question q;
	struct fleet_view v;
	struct fleet *f;

	if (argc != 3 || kind < 0)
		return usage_error("fleet", "view expects DATA and a COUNTER, and --by detail, server or time");
	args->counter = argv[2];
	f = fleet_open(args, argv[1], argv[2]);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q)) {
		struct fleet_engine *e = fleet_engine_of(f);

		r = e ? fleet_engine_view(e, q.counter, q.window, (enum fleet_view_kind)kind, &v)
		      : fleet_view_find(f, q.counter, q.window, (enum fleet_view_kind)kind, &v);
		if (r < 0 && e) {
			log_error("%s", fleet_engine_error(e));
		} else if (r < 0) {
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
	{OPTION_TEXT, 0, "by", "VIEW", &fleet_args.view, "detail (servers x time), server (default), or time"},
	{OPTION_COUNT, 0, "points", "N", &fleet_args.points, "detail, time: maximum number of points, each of as many moments (for drawing)"},
	{OPTION_FLAG, 0, "csv", NULL, &fleet_args.csv, "as CSV"},
	{OPTION_FLAG, 0, "svg", NULL, &fleet_args.svg, "as a drawing"},
	{OPTION_TEXT, 'o', "output", "FILE", &fleet_args.output, "where to write (default: standard output)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_view = {"view", "DATA COUNTER ", "one counter of all servers: by server, by time, or both", view_options, run_view, NULL};
