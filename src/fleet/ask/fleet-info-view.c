/* The contents of a fleet's data: extent, clocks, groups, counters. */
#include <inttypes.h>
#include <stdlib.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

#define GROUPS_SHOWN 12

static size_t count_rates(const struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->counters.n; i++)
		n += f->counters.v[i].kind == FLEET_COUNTER;
	return n;
}

void fleet_extent_text(const struct fleet *f, FILE *out)
{
	int64_t first, last;
	uint64_t places, values = fleet_values(f, &places);

	fleet_extent(f, &first, &last);
	fprintf(out, "%zu servers, %zu counters (%zu of them running sums, shown as rates), %" PRIu64 " values", f->servers.n, f->counters.n, count_rates(f), values);
	if (places > values)
		fprintf(out, ", %.2g %% missing", 100.0 * (double)(places - values) / (double)places);
	fprintf(out, "\nfrom %s to %s, a row every %s\n", CLOCK_RFC3339(first), CLOCK_RFC3339(last),
		CLOCK_SPAN(f->interval));
}

json_t *fleet_load_json(const struct fleet *f, const char *file)
{
	return json_pack("{s:s, s:s, s:I, s:I}", "schema", "whyslow.fleet.load/1", "file", file, "servers", (json_int_t)f->servers.n, "counters",
			 (json_int_t)f->counters.n);
}

static void print_deviation(const struct fleet_clock *c, FILE *out)
{
	const char *apart = c->missing ? ", " : "";

	if (c->missing)
		fprintf(out, "%" PRIu32 " row%s missing", c->missing, c->missing == 1 ? "" : "s");
	if (c->drifts)
		fprintf(out, "%sclock drifts by %s: paired by index", apart, CLOCK_SPAN(llabs(c->drift)));
	else if (c->off)
		fprintf(out, "%sclock or rows %s %s", apart, CLOCK_SPAN(llabs(c->off)),
			c->off > 0 ? "later than most" : "earlier than most");
	fputc('\n', out);
}

static void print_clocks(const struct fleet *f, const struct fleet_info *info, FILE *out)
{
	if (info->by_index)
		fprintf(out, "[ts, tf] = [%s, %s], N = %" PRIu32 ", N' = %" PRIu32 ", by index\n", CLOCK_RFC3339(info->from),
			CLOCK_RFC3339(info->to), info->points_most, info->points);
	else
		fprintf(out, "common time: %s, %" PRIu32 " points\n", CLOCK_SPAN(info->common), info->points);
	for (size_t i = 0; i < info->clocks.n; i++) {
		const struct fleet_server *s = &f->servers.v[i];
		const struct fleet_clock *c = &info->clocks.v[i];

		if (!s->n)
			fprintf(out, "  %-24s has no rows\n", s->name);
		else if (c->late || c->ended)
			fprintf(out, "  %-24s %s: used where it has rows\n", s->name, c->late ? "joined late" : "ended early");
		else if (c->missing || c->drifts || c->off)
			fprintf(out, "  %-24s ", s->name), print_deviation(c, out);
	}
}

static void print_groups(const struct fleet *f, const struct fleet_info *info, FILE *out)
{
	fprintf(out, "groups of servers that do the same work: %zu\n", info->groups.n);
	for (size_t g = 0; g < info->groups.n && g < GROUPS_SHOWN; g++) {
		const struct fleet_server *first = &f->servers.v[info->groups.v[g].first];

		fprintf(out, "  %zu like %s%s%s\n", info->groups.v[g].n, first->name, first->role ? ", role " : "", first->role ? first->role : "");
	}
}

static void print_counters(const struct fleet *f, FILE *out)
{
	for (size_t i = 0; i < f->counters.n; i++) {
		const struct fleet_counter *c = &f->counters.v[i];
		size_t servers = 0;

		for (size_t s = 0; s < f->servers.n; s++)
			servers += f->servers.v[s].column[i] != NULL;
		fprintf(out, "  %-40s %-8s %-10s %zu servers%s%s\n", c->name, c->kind == FLEET_COUNTER ? "sum" : "level", c->unit ? c->unit : "-", servers,
			c->help ? "  " : "", c->help ? c->help : "");
	}
}

void fleet_info_text(const struct fleet *f, const struct fleet_info *info, FILE *out)
{
	fleet_extent_text(f, out);
	if (info->points)
		print_clocks(f, info, out);
	print_groups(f, info, out);
	print_counters(f, out);
}

static json_t *server_json(const struct fleet_server *s, const struct fleet_clock *c)
{
	return json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:b, s:b}", "name", s->name, "role", s->role, "rows", (json_int_t)s->n, "skew_ns",
			 (json_int_t)c->skew, "drift_ns", (json_int_t)c->drift, "missing_rows", (json_int_t)c->missing, "late", c->late, "ended", c->ended);
}

static json_t *servers_json(const struct fleet *f, const struct fleet_info *info)
{
	static const struct fleet_clock none;
	json_t *list = json_array();

	for (size_t i = 0; i < f->servers.n; i++)
		json_array_append_new(list, server_json(&f->servers.v[i], i < info->clocks.n ? &info->clocks.v[i] : &none));
	return list;
}

static json_t *counters_json(const struct fleet *f)
{
	return JSON_EACH(x, f->counters, json_pack("{s:s, s:s?, s:s?, s:b}", "name", x->name, "unit", x->unit, "help", x->help, "rate",
		x->kind == FLEET_COUNTER));
}

json_t *fleet_info_json(const struct fleet *f, const struct fleet_info *info)
{
	int64_t first, last;

	fleet_extent(f, &first, &last);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:o, s:o, s:o}", "schema", "whyslow.fleet.info/1", "start",
			 CLOCK_RFC3339(first), "end", CLOCK_RFC3339(last), "common_start", CLOCK_RFC3339(info->from),
			 "common_end", CLOCK_RFC3339(info->to), "by_index", (int)info->by_index, "interval_ns",
			 (json_int_t)f->interval, "points", (json_int_t)info->points, "points_most", (json_int_t)info->points_most, "servers",
			 servers_json(f, info), "counters", counters_json(f), "remarks", JSON_EACH(x, f->remarks, json_string(*x)));
}
