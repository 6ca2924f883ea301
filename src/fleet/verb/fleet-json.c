
#include "fleet/verb/fleet-view.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

static json_t *moment(int64_t wall)
{
	return wall && wall != INT64_MIN ? json_string(CLOCK_RFC3339(wall))
					 : json_null();
}

static json_t *flags(unsigned bits)
{
	static const char *const names[] = {"left_only_value", "regime_differs", "higher", "lower", "peers", "better", "worse", "called"};
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bits & 1u << i)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

json_t *fleet_finding_json(const struct fleet *f, const struct fleet_finding *x)
{
	const struct fleet_counter *c = x->counter >= 0 ? &f->counters.v[x->counter] : NULL;

	return json_pack("{s:s?, s:s?, s:s?, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:s?, s:s?}",
			 "server", x->server >= 0 ? f->servers.v[x->server].name : NULL, "counter", c ? c->name : NULL, "unit",
			 c ? c->unit : NULL, "rate", c && c->kind == FLEET_COUNTER, "time", moment(x->time), "score", json_number(x->score),
			 "observed", json_number(x->observed), "usual", json_number(x->usual), "spread", json_number(x->spread), "shift",
			 json_number(x->shift), "peak", json_number(x->peak), "jump", json_number(x->jump), "range", json_number(x->range), "r", json_number(x->r), "lag", x->lag, "p",
			 json_number(x->p), "q", json_number(x->q), "low", json_number(x->low), "high", json_number(x->high), "n", (json_int_t)x->n,
			 "since", moment(x->since), "flags", flags(x->flags), "rule", x->words,
			 "measured_on", x->flags & FLEET_CALLED ? f->servers.v[x->measured_on].name : NULL);
}

json_t *fleet_findings_json(const struct fleet *f, const struct fleet_findings *found, size_t top)
{
	char schema[64];

	snprintf(schema, sizeof(schema), "whyslow.fleet.%s/1", found->analysis);
	return json_pack("{s:s, s:I, s:I, s:I, s:s?, s:o}", "schema", schema, "looked_at", (json_int_t)found->looked_at, "left_out",
			 (json_int_t)found->left_out, "total", (json_int_t)found->list.n, "remark", found->remark, "findings", JSON_FIRST(x,
				found->list.v, top && top < found->list.n ? top : found->list.n, fleet_finding_json(f, x)));
}

static json_t *summary(const struct fleet_view *v, const struct fleet_summary *x)
{
	return json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "server",
			 x->server >= 0 ? v->fleet->servers.v[x->server].name : NULL, "time", moment(x->server >= 0 ? 0 : x->time), "median",
			 json_number(x->median), "mean", json_number(x->mean), "sd", json_number(x->sd), "min", json_number(x->min), "q05", json_number(x->q05),
			 "q25", json_number(x->q25), "q75", json_number(x->q75), "q95", json_number(x->q95), "max", json_number(x->max), "n", (json_int_t)x->n);
}

static json_t *numbers(const float *values, uint32_t n)
{
	return JSON_COUNT(k, n, json_number((double)values[k]));
}

static json_t *series(const struct fleet_view *v)
{
	json_t *list = json_array();

	for (size_t s = 0; s < v->fleet->servers.n; s++) {
		json_t *one = json_pack("{s:s, s:o}", "server", v->fleet->servers.v[s].name, "values", numbers(v->values + s * v->n, v->n));

		if (v->low) {
			json_object_set_new(one, "low", numbers(v->low + s * v->n, v->n));
			json_object_set_new(one, "high", numbers(v->high + s * v->n, v->n));
		}
		json_array_append_new(list, one);
	}
	return list;
}

json_t *fleet_view_json(const struct fleet_view *v)
{
	static const char *const names[] = {"detail", "server", "time"};
	const struct fleet_counter *c = &v->fleet->counters.v[v->counter];
	json_t *root;

	root = json_pack("{s:s, s:s, s:s, s:s?, s:b, s:I, s:I, s:o}", "schema", "whyslow.fleet.view/1", "view", names[v->kind], "counter", c->name,
			 "unit", c->unit, "rate", c->kind == FLEET_COUNTER, "each", (json_int_t)(v->each ? v->each : 1), "servers_partly",
				(json_int_t)v->partly, "rows", JSON_EACH(x, v->rows, summary(v, x)));
	if (v->kind == FLEET_DETAIL_VIEW) {
		json_object_set_new(root, "start", moment(v->ts));
		json_object_set_new(root, "step_ns", json_integer(v->d));
		json_object_set_new(root, "series", series(v));
	}
	return root;
}
