/* Incidents and feedback of many machines together. */
#include <inttypes.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

static const char *const feedback_names[] = {[FEEDBACK_RIGHT] = "right", [FEEDBACK_WRONG] = "wrong", [FEEDBACK_FIXED] = "fixed"};

static void print_incident(const struct pooled_incident *i, FILE *out)
{
	fprintf(out, "       %-20s %4" PRId64 "  %s%s%s", i->host, i->id, CLOCK_LOCAL(i->wall), i->note ? "  " : "", i->note ? i->note : "");
	if (i->feedback)
		fprintf(out, "  [%s]", feedback_names[i->feedback]);
	fputc('\n', out);
}

static void print_group(const struct pooled_incidents *p, const struct pooled_group *g, size_t most, FILE *out)
{
	fprintf(out, "%4zu  on %u host%s: %s\n", g->incidents.n, g->hosts, g->hosts == 1 ? "" : "s", g->summary);
	if (g->right + g->wrong + g->fixed)
		fprintf(out, "      feedback: %u right, %u wrong, %u fixed\n", g->right, g->wrong, g->fixed);
	for (size_t i = 0; i < g->incidents.n && i < most; i++)
		print_incident(&p->list.v[g->incidents.v[i]], out);
	if (g->incidents.n > most)
		fprintf(out, "       ... and %zu more\n", g->incidents.n - most);
}

void fleet_pooled_incidents_text(const struct pooled_incidents *p, size_t most, FILE *out)
{
	fprintf(out, "%zu incidents in %u recordings, similar ones together:\n\n", p->list.n, p->hosts);
	for (size_t i = 0; i < p->groups.n && i < most; i++)
		print_group(p, &p->groups.v[i], most, out);
	if (p->words.list.n)
		fprintf(out, "\nWords of notes, and what they go with (%u incidents with a note and a finding):\n", p->words.incidents);
	for (size_t i = 0; i < p->words.list.n && i < most; i++) {
		const struct note_word *w = &p->words.list.v[i];

		fprintf(out, "  %-20s %s in %u of %u; all: %u of %u (q = %.2g)\n", w->word, w->symptom, w->both, w->with_word, w->with_symptom, p->words.incidents,
			w->q);
	}
}

static json_t *incident_json(const struct pooled_incident *i)
{
	return json_pack("{s:s, s:I, s:s, s:s?, s:s?, s:s, s:s?, s:s?}", "host", i->host, "id", (json_int_t)i->id, "at",
			 CLOCK_RFC3339(i->wall), "note", i->note, "feedback", feedback_names[i->feedback], "source",
			 i->by_rule ? "rule" : "user", "summary", i->summary, "culprit", i->culprit);
}

static json_t *group_json(const struct pooled_incidents *p, const struct pooled_group *g)
{
	return json_pack("{s:s, s:s?, s:s?, s:b, s:i, s:i, s:i, s:i, s:o}", "summary", g->summary, "culprit", g->culprit, "cause", g->cause, "slow", g->slow,
			 "hosts", (int)g->hosts, "right", (int)g->right, "wrong", (int)g->wrong, "fixed", (int)g->fixed, "incidents",
			 JSON_EACH(x, g->incidents, incident_json(&p->list.v[*x])));
}

static json_t *words_json(const struct note_words *w)
{
	return JSON_COUNT(i, w->list.n, json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:f}", "word", w->list.v[i].word, "symptom", w->list.v[i].symptom,
		"both", (int)w->list.v[i].both, "with_word", (int)w->list.v[i].with_word, "with_symptom",
		(int)w->list.v[i].with_symptom, "p", w->list.v[i].p, "q", w->list.v[i].q));
}

json_t *fleet_pooled_incidents_json(const struct pooled_incidents *p)
{
	return json_pack("{s:s, s:i, s:i, s:I, s:o, s:o}", "schema", "whyslow.fleet.incidents/1", "recordings", (int)p->hosts, "unreadable",
			 (int)p->unreadable, "total", (json_int_t)p->list.n, "groups", JSON_EACH(x, p->groups, group_json(p, x)), "words",
				words_json(&p->words));
}
