/* whyslow fleet history DATA: what was unusual, without a question. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "answer/fleet/fleet-history.h"
#include "base/data/clock.h"
#include "cmd/fleet/fleet.h"
#include "view/why/json.h"

static void print_episode(const struct fleet *f, const struct fleet_episode *e)
{
	const struct fleet_stretch *x = &e->first;
	char from[32], span[32], now[48], normal[48];

	printf("  %s %10s %8.1f  %s of %s: %s, normally %s", format_rfc3339(x->span.from, from, sizeof(from)),
	       format_span(x->span.to - x->span.from, span, sizeof(span)), x->score, f->counters.v[x->counter].name, f->servers.v[x->server].name,
	       fleet_value_text(f, x->counter, e->value, now, sizeof(now)), fleet_value_text(f, x->counter, e->normal, normal, sizeof(normal)));
	for (uint32_t i = 0; i < e->n_members && i < 2; i++)
		printf("%s %s of %s", i ? "," : "; also", f->counters.v[e->members[i].counter].name, f->servers.v[e->members[i].server].name);
	if (e->n_members > 2)
		printf(" and %" PRIu32 " more", e->n_members - 2);
	putchar('\n');
}

static void print_text(const struct fleet *f, const struct fleet_history *h, size_t top)
{
	char from[32], to[32];

	printf("%s to %s, %zu servers: ", format_rfc3339(h->span.from, from, sizeof(from)), format_rfc3339(h->span.to, to, sizeof(to)), f->servers.n);
	if (!h->list.n) {
		puts("nothing was unusual.");
		return;
	}
	printf("unusual %zu times.\n\n  %-24s %10s %8s\n", h->list.n, "since", "for", "anomaly");
	for (size_t i = 0; i < h->list.n && i < top; i++)
		print_episode(f, &h->list.v[i]);
	if (h->list.n > top)
		printf("  ... and %zu more (--top 0 lists all)\n", h->list.n - top);
	puts("\n'whyslow fleet why DATA --from TIME --to TIME' says why.");
}

static json_t *stretch_json(const struct fleet *f, const struct fleet_stretch *x)
{
	char from[32], to[32];

	return json_pack("{s:s, s:s, s:f, s:s, s:s}", "server", f->servers.v[x->server].name, "counter", f->counters.v[x->counter].name, "anomaly",
			 x->score, "from", format_rfc3339(x->span.from, from, sizeof(from)), "to", format_rfc3339(x->span.to, to, sizeof(to)));
}

static json_t *episode_json(const struct fleet *f, const struct fleet_episode *e)
{
	json_t *o = stretch_json(f, &e->first), *members = json_array();

	for (uint32_t i = 0; members && i < e->n_members && i < FLEET_EPISODE_MEMBERS; i++)
		json_array_append_new(members, stretch_json(f, &e->members[i]));
	json_object_set_new(o, "value", number_json(e->value));
	json_object_set_new(o, "normal", number_json(e->normal));
	json_object_set_new(o, "servers", json_integer(e->n_servers));
	json_object_set_new(o, "also_total", json_integer(e->n_members));
	json_object_set_new(o, "also", members);
	return o;
}

static void print_json(const struct fleet *f, const struct fleet_history *h, size_t top)
{
	json_t *list = json_array();
	char from[32], to[32];

	for (size_t i = 0; list && i < h->list.n && i < top; i++)
		json_array_append_new(list, episode_json(f, &h->list.v[i]));
	fleet_json_out(json_pack("{s:s, s:s, s:s, s:I, s:o}", "schema", "whyslow.fleet.history/1", "from",
				 format_rfc3339(h->span.from, from, sizeof(from)), "to", format_rfc3339(h->span.to, to, sizeof(to)), "total",
				 (json_int_t)h->list.n, "episodes", list));
}

static int answer(const struct common *common, const struct fleet_args *args, const struct fleet_question *q)
{
	const size_t top = args->top ? (size_t)args->top : SIZE_MAX;
	struct fleet_history h = {};
	int status, r = fleet_history_make(q, &h);

	if (r < 0)
		return fleet_analysis_failed("history", r);
	if (common->json)
		print_json(q->fleet, &h, top);
	else
		print_text(q->fleet, &h, top);
	status = h.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	fleet_history_free(&h);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	struct fleet_args *args = &fleet_args;
	struct fleet_question q;
	struct fleet *f;
	int status = EXIT_CANNOT;

	if (argc != 2)
		return usage_error("fleet", "history takes DATA");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q))
		status = answer(common, args, &q);
	fleet_close(f);
	return status;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "server", "NAME", &fleet_args.server, "only this server"},
	{OPTION_TEXT, 0, "counter", "NAME", &fleet_args.counter, "only this counter"},
	FLEET_WINDOW_OPTIONS,
	{OPTION_COUNT, 'n', "top", "N", &fleet_args.top, "how many unusual times to list (default 10, 0 = all)"},
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_history_verb = {"history", "DATA ", "what was unusual in all of the data, without a question", options, run, NULL};
