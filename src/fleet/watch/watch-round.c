/* A round of `fleet watch`. */
#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

static const char *name_of(const struct watch_host *h)
{
	return h->name ? h->name : h->url;
}

static void print_hosts(const struct watch_round *round, FILE *out)
{
	size_t ok = 0;

	for (size_t i = 0; i < round->list->hosts.n; i++)
		ok += round->list->hosts.v[i].ok;
	fprintf(out, "%s   %zu of %zu hosts answer\n", CLOCK_LOCAL(round->at), ok, round->list->hosts.n);
	VEC_EACH(h, round->list->hosts) {
		if (!h->ok)
			fprintf(out, "  ! %s: %s (since %s)\n", name_of(h), h->words ? h->words : "out of memory",
				CLOCK_LOCAL(h->since));
		else if (h->away)
			fprintf(out, "  %s is back after %s; what it recorded in between has arrived\n", name_of(h), CLOCK_SPAN(h->away));
	}
}

void fleet_watch_round_text(const struct watch_round *round, size_t top, FILE *out)
{
	print_hosts(round, out);
	if (!round->fleet)
		fputs("  no data yet\n", out);
	else if (!round->findings)
		fputs("  too little data for a baseline\n", out);
	else
		fleet_findings_text(round->fleet, round->findings, top, out);
}

static json_t *hosts_json(const struct watch_list *list)
{
	return JSON_EACH(h, list->hosts, json_pack("{s:s, s:s, s:b, s:s?, s:s}", "name", name_of(h), "url", h->url, "ok", (int)h->ok, "problem",
		h->words, "since", CLOCK_RFC3339(h->since)));
}

static json_t *findings_json(const struct watch_round *round, size_t top)
{
	json_t *list = json_array();

	for (size_t i = 0; round->findings && i < round->findings->list.n && (!top || i < top); i++)
		json_array_append_new(list, fleet_finding_json(round->fleet, &round->findings->list.v[i]));
	return list;
}

json_t *fleet_watch_round_json(const struct watch_round *round, size_t top)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "schema", "whyslow.fleet.watch/1", "time", CLOCK_RFC3339(round->at), "hosts",
			 hosts_json(round->list), "findings", findings_json(round, top));
}
