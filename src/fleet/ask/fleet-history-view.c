/* Unusual times of a fleet. */
#include <inttypes.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

static void print_episode(const struct fleet *f, const struct fleet_episode *e, FILE *out)
{
	const struct fleet_stretch *x = &e->first;

	fprintf(out, "  %s %10s %8.1f  %s of %s: %s, normally %s",
	       CLOCK_RFC3339(x->span.from),
	       CLOCK_SPAN(x->span.to - x->span.from), x->score,
	       f->counters.v[x->counter].name, f->servers.v[x->server].name,
	       FLEET_VALUE_TEXT(f, x->counter, e->value),
	       FLEET_VALUE_TEXT(f, x->counter, e->normal));
	if (e->n_servers > 1)
		fprintf(out, "; %" PRIu32 " servers", e->n_servers);
	for (uint32_t i = 0; i < e->n_members && i < 2; i++)
		fprintf(out, "%s %s of %s", i ? "," : "; also", f->counters.v[e->members[i].counter].name, f->servers.v[e->members[i].server].name);
	if (e->n_members > 2)
		fprintf(out, " and %" PRIu32 " more", e->n_members - 2);
	fputc('\n', out);
}

void fleet_history_text(const struct fleet *f, const struct fleet_history *h, size_t top, FILE *out)
{
	fprintf(out, "%s to %s, %zu servers: ", CLOCK_RFC3339(h->span.from), CLOCK_RFC3339(h->span.to), f->servers.n);
	if (!h->list.n) {
		fputs("nothing was unusual.\n", out);
		return;
	}
	fprintf(out, "unusual %zu times.\n\n  %-24s %10s %8s\n", h->list.n, "since", "for", "anomaly");
	for (size_t i = 0; i < h->list.n && i < top; i++)
		print_episode(f, &h->list.v[i], out);
	if (h->list.n > top)
		fprintf(out, "  ... and %zu more (--top 0 lists all)\n", h->list.n - top);
	fputs("\n'whyslow fleet why DATA --from TIME --to TIME' says why.\n", out);
}

static json_t *stretch_json(const struct fleet *f, const struct fleet_stretch *x)
{
	return json_pack("{s:s, s:s, s:f, s:s, s:s}", "server", f->servers.v[x->server].name, "counter", f->counters.v[x->counter].name, "anomaly",
			 x->score, "from", CLOCK_RFC3339(x->span.from), "to", CLOCK_RFC3339(x->span.to));
}

static json_t *episode_json(const struct fleet *f, const struct fleet_episode *e)
{
	json_t *o = stretch_json(f, &e->first), *members = json_array();

	for (uint32_t i = 0; members && i < e->n_members && i < FLEET_EPISODE_MEMBERS; i++)
		json_array_append_new(members, stretch_json(f, &e->members[i]));
	json_object_set_new(o, "value", json_number(e->value));
	json_object_set_new(o, "normal", json_number(e->normal));
	json_object_set_new(o, "servers", json_integer(e->n_servers));
	json_object_set_new(o, "also_total", json_integer(e->n_members));
	json_object_set_new(o, "also", members);
	return o;
}

json_t *fleet_history_json(const struct fleet *f, const struct fleet_history *h, size_t top)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:o}", "schema", "whyslow.fleet.history/1", "from",
				 CLOCK_RFC3339(h->span.from), "to", CLOCK_RFC3339(h->span.to), "total",
				 (json_int_t)h->list.n, "episodes", JSON_FIRST(x, h->list.v, top < h->list.n ? top : h->list.n, episode_json(f, x)));
}
