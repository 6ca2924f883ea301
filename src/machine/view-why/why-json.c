#include <jansson.h>
#include <math.h>

#include "lib/data/cleanup.h"
#include "lib/view/json.h"
#include "machine/findings/weights.h"
#include "machine/view-why/finding-json.h"
#include "machine/view-why/plot.h"
#include "machine/view-why/why.h"

static json_t *feature_json(const struct deviation *f)
{
	json_t *object = finding_deviation_json(f);
	char spark[SPARKLINE_SIZE];

	json_object_set_new(object, "spark", json_string(plot_sparkline(f->spark, spark)));
	return object;
}

/* of: the ranking whose suspect it is; NULL = it explains nothing, it waits. */
static json_t *explains_json(const struct explained *e, const struct ranking *of)
{
	if (!of || !(of->added > 0) || isnan(e->share))
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f}", "part", e->part, "share", e->share, "low", e->low, "high", e->high);
}

/* Of models whose scores are products. */
static json_t *factors_json(const struct suspect *s)
{
	json_t *array = json_array();

	for (enum evidence e = 0; e < EVIDENCE_COUNT; e++)
		if (s->factors[e] > 0)
			json_array_append_new(array, json_pack("{s:s, s:f, s:f}", "name", evidence_rows[e].name, "factor", s->factors[e], "weight",
							       evidence_weights[e] * log(s->factors[e])));
	return array;
}

static json_t *odds_json(const struct odds *o)
{
	json_t *facts = json_object();

	for (enum moment_fact f = 0; f < MOMENT_COUNT; f++)
		json_object_set_new(facts, moment_rows[f].name, json_real(o->facts[f]));
	return json_pack("{s:o, s:o, s:o}", "nothing", json_number(o->nothing), "unlisted", json_number(o->unlisted), "facts", facts);
}

static json_t *suspect_json(const struct suspect *s, size_t rank, bool matters, const struct ranking *of)
{
	const struct entity_info *info = &s->subject->info;
	_cleanup_free_ char *label = entity_label(info), *place = entity_place(info);
	_cleanup_free_ char *server = s->server ? entity_label(&s->server->info) : NULL;
	_cleanup_free_ char *mostly = s->mostly ? entity_label(&s->mostly->info) : NULL;
	_cleanup_free_ char *starter = s->starter ? entity_label(&s->starter->info) : NULL;

	return json_pack("{s:o, s:o, s:i, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
		"pids", JSON_EACH(x, s->processes, json_integer((*x)->info.pid)), "starter", json_text(starter), "rank",
			 (int)rank, "using", s->using, "role", s->role == ROLE_PRIMARY ? "primary" : "contributing", "kind",
			 culprit_kind_name(s->kind), "pid", (json_int_t)info->pid, "start_time", (json_int_t)info->start,
			 "members", (json_int_t)s->members, "parent", (json_int_t)info->parent, "name", json_text(info->name),
			 "label", json_text(label), "server", json_text(server), "mostly", json_text(mostly), "exe", json_text(info->exe), "cmdline", json_text(info->cmdline), "unit",
			 json_text(info->unit), "container", json_text(info->container), "place", json_text(place), "score", json_number(s->score), "probability", json_number(s->probability), "share",
			 json_number(s->share), "features", JSON_EACH(x, s->features, feature_json(x)), "evidence", JSON_EACH(x, s->evidence,
				json_text(*x)), "explains", explains_json(&s->explains, of), "factors", factors_json(s),
			 "matters", matters);
}

/* `culprits_of`: the ranking whose suspects they are; NULL = victims, who all matter. */
static json_t *suspects_json(const struct suspect *suspects, size_t n, const struct ranking *culprits_of)
{
	return JSON_COUNT(i, n, suspect_json(&suspects[i], i + 1, !culprits_of || suspect_matters(culprits_of, &suspects[i]), culprits_of));
}

static json_t *similar_json(const struct answer *a)
{
	return JSON_EACH(e, a->similar, json_pack("{s:I, s:o, s:f, s:o, s:o, s:s?}", "id", (json_int_t)e->mark, "at", json_moment(e->wall),
		"similarity", e->likeness, "note", json_text(e->note), "what", json_text(e->what), "feedback", e->feedback));
}

int why_json(const struct answer *a, FILE *out)
{
	bool explained = a->ranking.added > 0 && !isnan(a->ranking.unexplained);
	json_t *root;

	root = json_pack("{s:s, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:b, s:o, s:o, s:b, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "schema",
			 "whyslow.why/1", "at", json_moment(a->at), "window", "start", json_moment(a->window_start), "end",
			 json_moment(a->window_end), "baseline", json_text(a->baseline), "odds", odds_json(&a->odds), "candidates", suspects_json(a->unnamed.v, a->unnamed.n, NULL), "slow", a->slow, "slow_since", json_moment(a->slow_since), "slow_until", json_moment(a->slow_until), "has_history",
			 a->has_history, "confidence", json_number(a->confidence), "bottleneck", bottleneck_name(a->bottleneck),
			 "cause", json_text(a->cause), "summary", json_text(a->summary), "next", json_text(a->next), "model", a->ranking.method, "pressure",
			 finding_pressure_json(&a->pressure), "looked_at", (int)a->ranking.looked_at, "remarks", JSON_EACH(x, a->remarks,
				json_text(*x)), "culprits",
			 suspects_json(a->ranking.suspects.v, a->ranking.suspects.n, &a->ranking), "victims",
			 suspects_json(a->ranking.victims.v, a->ranking.victims.n, NULL), "busiest",
			 a->busiest.subject ? suspect_json(&a->busiest, 1, false, NULL) : json_null(), "similar", similar_json(a), "added_waiting",
			 explained ? json_real(a->ranking.added) : json_null(), "unexplained",
			 explained ? json_real(a->ranking.unexplained) : json_null(), "stolen",
			 explained ? json_real(a->ranking.stolen) : json_null(), "slowed_by_heat",
			 explained ? json_real(a->ranking.slowed) : json_null(), "slowdown", isnan(a->ranking.slowdown) ? json_null() : json_real(a->ranking.slowdown), "events_are_late", a->events_are_late);
	return json_print(root, JSON_INDENT(1), out);
}
