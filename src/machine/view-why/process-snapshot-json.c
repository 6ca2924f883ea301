
#include "lib/data/cleanup.h"
#include "machine/view-why/finding-json.h"
#include "machine/view-why/process-snapshot.h"

#define MOST_UNUSUAL 3 /* features named with each process */

/* What a list of processes shows of each. */
static const int columns[] = {
	FEATURE_CPU_TIME,	FEATURE_CPU_RUN_DELAY, FEATURE_MEM_ANON,     FEATURE_MEM_FILE,	   FEATURE_MEM_SWAP,
	FEATURE_IO_READ_BYTES,	FEATURE_IO_WRITE_BYTES, FEATURE_DELAY_BLOCK, FEATURE_FAULTS_MAJOR, FEATURE_NET_RX_BYTES,
	FEATURE_NET_TX_BYTES,	FEATURE_THREADS,       FEATURE_HANDLES_FILES,
};

static json_t *columns_json(void)
{
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);

	return JSON_FIRST(x, columns, ARRAY_SIZE(columns), json_pack("{s:s, s:o, s:s}", "name", features[*x].name, "unit",
		finding_unit_json(&features[*x]), "help", features[*x].help));
}

static json_t *who_json(const struct process_snapshot *b, const struct suspect *s)
{
	const struct entity_info *info = &s->subject->info;
	_cleanup_free_ char *label = entity_label(info), *place = entity_place(info);
	int64_t born = b->data.ticks.v[s->subject->first].wall;

	/* score: the name of culprit_score until 0.2 */
	return json_pack("{s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "pid", (json_int_t)info->pid,
			 "start_time", (json_int_t)info->start, "kind", culprit_kind_name(s->kind), "name", json_text(info->name),
			 "label", json_text(label), "exe", json_text(info->exe), "cmdline", json_text(info->cmdline), "unit",
			 json_text(info->unit), "container", json_text(info->container), "place", json_text(place), "parent", (json_int_t)info->parent, "since",
			 s->subject->first ? json_moment(born) : json_null(), "score", json_number(process_snapshot_bar(b, s)),
			 "culprit_score", json_number(s->guilt), "guilt", json_number(s->guilt));
}

static json_t *unusual_json(const struct process_snapshot *b, const struct suspect *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->features.n && i < MOST_UNUSUAL && process_snapshot_feature_bar(b, s, &s->features.v[i]) > 0; i++) {
		const struct deviation *f = &s->features.v[i];

		json_array_append_new(array, json_pack("{s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "name", f->feature->name, "unit", finding_unit_json(f->feature), "new",
						       (f->flags & FINDING_NEW) != 0, "value",
						       json_number(f->observed), "usual", json_number(f->usual), "spread",
						       json_number(f->spread), "deviation", json_number(f->deviation), "score",
						       json_number(process_snapshot_feature_bar(b, s, f))));
	}
	return array;
}

static json_t *verdict_json(const struct answer *a)
{
	return json_pack("{s:b, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "slow", a->slow, "summary", a->summary, "bottleneck",
			 bottleneck_name(a->bottleneck), "slow_since", json_moment(a->slow_since), "slow_until",
			 json_moment(a->slow_until), "pressure", finding_pressure_json(&a->pressure), "confidence", json_number(a->confidence), "next",
			 json_text(a->next));
}

json_t *process_snapshot_json(const struct process_snapshot *b)
{
	const struct ranking *r = &b->everybody.ranking;
	json_t *processes = json_array();

	for (size_t i = 0; i < r->suspects.n; i++) {
		json_t *process = who_json(b, &r->suspects.v[i]);

		json_object_set_new(process, "log_likelihood", json_number(process_snapshot_log_likelihood(b, r->suspects.v[i].score)));
		json_object_set_new(process, "values", JSON_FIRST(x, columns, ARRAY_SIZE(columns), json_number(process_snapshot_value(b, &r->suspects.v[i], *x))));
		json_object_set_new(process, "unusual", unusual_json(b, &r->suspects.v[i]));
		json_array_append_new(processes, process);
	}
	return json_pack("{s:s, s:s, s:I, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:o, s:o, s:o}", "schema", "whyslow.board/1", "model", r->method, "left_out", (json_int_t)r->left_out, "at",
			 json_moment(b->everybody.window_end), "window", "start", json_moment(b->everybody.window_start), "end",
			 json_moment(b->everybody.window_end), "recorded", "start", json_moment(b->recorded_from), "end",
			 json_moment(b->recorded_to), "verdict", verdict_json(&b->verdict), "columns", columns_json(),
			 "processes", processes);
}

json_t *process_snapshot_process_json(const struct process_snapshot *b, const struct suspect *s)
{
	json_t *features = json_array(), *process = who_json(b, s);

	for (size_t i = 0; i < s->features.n; i++) {
		json_t *f = finding_deviation_json(&s->features.v[i]);

		json_object_set_new(f, "help", json_string(s->features.v[i].feature->help));
		json_object_set_new(f, "score", json_number(process_snapshot_feature_bar(b, s, &s->features.v[i])));
		json_object_set_new(f, "log_likelihood", json_number(process_snapshot_log_likelihood(b, s->features.v[i].score)));
		json_array_append_new(features, f);
	}
	return json_pack("{s:s, s:o, s:{s:o, s:o}, s:o, s:o}", "schema", "whyslow.process/1", "at",
			 json_moment(b->everybody.window_end), "window", "start", json_moment(b->everybody.window_start), "end",
			 json_moment(b->everybody.window_end), "process", process, "features", features);
}

static json_t *numbers_json(const double *values, size_t n)
{
	return JSON_FIRST(x, values, n, json_number(*x));
}

json_t *process_snapshot_curve_json(const struct entity_info *who, const struct feature *f,
				    const struct curve *c)
{
	_cleanup_free_ char *label = entity_label(who);

	return json_pack("{s:s, s:I, s:I, s:o, s:s, s:o, s:s, s:s, s:o, s:I, s:o, s:o, s:o}", "schema", "whyslow.series/1", "pid",
			 (json_int_t)who->pid, "start_time", (json_int_t)who->start, "label", json_text(label), "feature", f->name,
			 "unit", finding_unit_json(f), "help", f->help, "resource", resource_name(f->resource), "from",
			 json_moment(c->from), "step_ns", (json_int_t)c->step, "low", numbers_json(c->low, c->n), "mean",
			 numbers_json(c->mean, c->n), "high", numbers_json(c->high, c->n));
}

json_t *process_snapshot_lives_json(const struct lives *l, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < l->v.n && i < top; i++) {
		const struct life *life = &l->v.v[i];
		_cleanup_free_ char *label = entity_label(&life->info);

		json_array_append_new(array, json_pack("{s:I, s:o, s:o, s:o, s:o, s:b, s:b}", "pid", (json_int_t)life->info.pid, "label",
						       json_text(label), "unit", json_text(life->info.unit), "from",
						       json_moment(life->from), "to", json_moment(life->to), "began", life->began,
						       "ended", life->ended));
	}
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:o}", "schema", "whyslow.lives/1", "from", json_moment(l->from), "to",
			 json_moment(l->to), "processes", (json_int_t)l->v.n, "throughout", (json_int_t)l->throughout, "lives", array);
}
