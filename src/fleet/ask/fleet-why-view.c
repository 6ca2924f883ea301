/* Why a fleet is slow: the chain of an answer, as text and JSON. */
#include <stdio.h>

#include "fleet/ask/fleet-deployed.h"
#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

#define SIMILAR 0.5

static void print_similar(const struct fleet_incidents *incidents, FILE *out)
{
	for (size_t i = 0; i < incidents->list.n && i < 3 && incidents->list.v[i].similarity >= SIMILAR; i++)
		fprintf(out, "%s  %.2f  %s (%s, %s)\n", i ? "" : "\nSimilar incidents:\n",
		       incidents->list.v[i].similarity, incidents->list.v[i].name,
		       incidents->list.v[i].counter,
		       CLOCK_RFC3339(incidents->list.v[i].at));
}

static void print_deployments(const struct fleet_deployed *d, size_t n, size_t top, FILE *out)
{
	for (size_t i = 0; i < n && (!top || i < top); i++) {
		const struct fleet_deployed *x = &d[i];

		fprintf(out, "%s  %.2f  %s %s %.12s at %s%s%s\n", i ? "" : "\nDeployments (score: how likely it came with this one):\n", x->score, x->what.package, x->what.version, x->what.commit,
			CLOCK_RFC3339(x->what.time), x->verdict ? ": " : "", fleet_deployed_why_not(x));
	}
}

static json_t *deployments_json(const struct fleet_deployed *d, size_t n)
{
	return JSON_FIRST(x, d, n, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:s?}", "service", x->what.package, "version", x->what.version, "commit",
		x->what.commit, "time", CLOCK_RFC3339(x->what.time), "score", x->score, "seconds_before", (double)x->ahead / 1e9, "why_not",
		x->verdict ? fleet_deployed_why_not(x) : NULL));
}

static void print_next(const struct fleet_answer *a, const struct fleet *f, const char *data, FILE *out)
{
	fprintf(out, "\nNext:\n");
	if (a->next)
		fprintf(out, "  %s\n", a->next);
	fprintf(out, "  whyslow fleet view %s '%s' --by detail\n", data, f->counters.v[a->counter].name);
	fprintf(out, "  whyslow fleet correlate %s '%s@%s' --max-lag 10\n", data, f->counters.v[a->counter].name, f->servers.v[a->server].name);
}

void fleet_why_text(const struct fleet_answer *a, const struct fleet *f, const struct fleet_incidents *incidents, const struct fleet_deployed *deployed, size_t n_deployed, const char *data, size_t top,
		    FILE *out)
{
	fprintf(out, "%s\n\n", a->summary);
	fprintf(out, "The window %s: %s to %s (UTC, as all times here)\n", a->found_window ? "(found)" : "asked about",
	       CLOCK_RFC3339(a->asked.from), CLOCK_RFC3339(a->asked.to));
	if (a->window.from < a->asked.from)
		fprintf(out, "The rows from %s on look like the same incident and count as part of it.\n", CLOCK_RFC3339(a->window.from));
	if (a->found_symptom)
		fprintf(out, "No symptom was given; whyslow uses the most unusual counter of the most unusual server.\n");
	fprintf(out, "\nMost unusual servers (p: share of baseline windows that are as unusual; q: corrected for the number of servers):\n");
	fleet_findings_text(f, &a->alarms, top, out);
	fprintf(out, "\nWhat moved with the symptom, of what is unusual (score: share explained):\n");
	fleet_findings_text(f, &a->explain, top, out);
	fprintf(out, "\nMost unusual counters:\n");
	fleet_findings_text(f, &a->unusual, top, out);
	print_deployments(deployed, n_deployed, top, out);
	print_similar(incidents, out);
	print_next(a, f, data, out);
}

static json_t *incidents_json(const struct fleet_incidents *incidents)
{
	return JSON_FIRST(x, incidents->list.v, 10 < incidents->list.n ? 10 : incidents->list.n, json_pack("{s:s, s:s, s:s, s:f}", "name", x->name,
		"symptom", x->counter, "at", CLOCK_RFC3339(x->at), "similarity", x->similarity));
}

static bool in_chain(const struct fleet_answer *a, int server)
{
	return ANY_WHERE(i, a->n_chain, a->chain[i].server == server);
}

static json_t *calls_json(const struct fleet_answer *a, const struct fleet *f, const struct fleet_calls *calls)
{
	json_t *list = json_array();

	VEC_EACH(c, calls->list)
		if (in_chain(a, c->caller) && in_chain(a, c->callee))
			json_array_append_new(list, json_pack("{s:s, s:s}", "caller", f->servers.v[c->caller].name, "callee", f->servers.v[c->callee].name));
	return list;
}

static json_t *silences_json(const struct fleet_answer *a, const struct fleet *f)
{
	return JSON_EACH(x, a->silences.list, json_pack("{s:s, s:s?, s:s, s:s?}", "server", f->servers.v[x->server].name, "counter",
		x->counter >= 0 ? f->counters.v[x->counter].name : NULL, "since", CLOCK_RFC3339(x->since), "until",
		x->until ? CLOCK_RFC3339(x->until) : NULL));
}

json_t *fleet_why_json(const struct fleet_answer *a, const struct fleet *f, const struct fleet_incidents *incidents, const struct fleet_calls *calls, const struct fleet_deployed *deployed, size_t n_deployed,
		       size_t top)
{
	return json_pack("{s:s, s:s, s:b, s:b, s:o, s:{s:s, s:s}, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o}", "schema", "whyslow.fleet.why/1", "summary",
				 a->summary, "nothing_unusual", a->calm, "all_servers", a->common > 0, "silent", silences_json(a, f), "window", "start", CLOCK_RFC3339(a->asked.from), "end",
				 CLOCK_RFC3339(a->asked.to), "judged_from", CLOCK_RFC3339(a->window.from),
				 "now", json_number(a->now), "normal_p5", json_number(a->normal_p5), "normal_p95", json_number(a->normal_p95), "culprit",
				 a->named ? fleet_finding_json(f, &a->culprit) : json_null(), "chain", JSON_FIRST(x, a->chain, a->n_chain, fleet_finding_json(f, x)), "chain_together", (int)fleet_chain_is_together(f, a->chain, a->n_chain), "calls", calls_json(a, f, calls), "symptom", f->counters.v[a->counter].name, "server",
				 f->servers.v[a->server].name, "cause", a->cause, "next", a->next,
				 "servers", fleet_findings_json(f, &a->alarms, top), "explained_by", fleet_findings_json(f, &a->explain, top),
				 "unusual", fleet_findings_json(f, &a->unusual, top), "similar", incidents_json(incidents), "deployments", deployments_json(deployed, n_deployed));
}

json_t *fleet_why_nothing_json(const char *words)
{
	return json_pack("{s:s, s:s, s:b}", "schema", "whyslow.fleet.why/1", "summary", words, "nothing_unusual", true);
}
