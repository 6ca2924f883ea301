#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "view/why.h"

/* JSON has no NaN: what is not known is null. */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value)
{
	return value ? json_string_nocheck(value) : json_null();
}

static json_t *moment(int64_t wall)
{
	char buf[40];

	return wall ? json_string(format_rfc3339(wall, buf, sizeof(buf))) : json_null();
}

static json_t *feature_json(const struct deviation *f)
{
	char unit[64];

	snprintf(unit, sizeof(unit), "%s%s", unit_name(f->feature->unit), f->feature->kind == COUNTER ? "/s" : "");
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:i, s:s, s:o, s:b, s:b}", "name", f->feature->name,
			 "resource", resource_name(f->feature->resource), "unit", unit, "value", number(f->observed), "usual",
			 number(f->usual), "spread", number(f->spread), "deviation", number(f->deviation), "rank_in_window",
			 (int)f->rank, "compared_with", (int)f->compared, "shape", shape_name(f->shape), "since",
			 moment(f->since), "highest", (f->flags & FINDING_HIGHEST) != 0, "left_only_value",
			 (f->flags & FINDING_LEFT_ONLY_VALUE) != 0);
}

static json_t *suspect_json(const struct suspect *s, size_t rank)
{
	const struct entity_info *info = &s->subject->info;
	_cleanup_free_ char *label = entity_label(info);
	json_t *features = json_array(), *evidence = json_array();

	for (size_t i = 0; i < s->features.n; i++)
		json_array_append_new(features, feature_json(&s->features.v[i]));
	for (size_t i = 0; i < s->evidence.n; i++)
		json_array_append_new(evidence, text(s->evidence.v[i]));
	return json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rank",
			 (int)rank, "role", s->role == ROLE_PRIMARY ? "primary" : "contributing", "kind",
			 culprit_kind_name(s->kind), "pid", (json_int_t)info->pid, "start_time", (json_int_t)info->start,
			 "members", (json_int_t)s->members, "parent", (json_int_t)info->parent, "name", text(info->name),
			 "label", text(label), "exe", text(info->exe), "cmdline", text(info->cmdline), "unit",
			 text(info->unit), "container", text(info->container), "score", number(s->score), "share",
			 number(s->share), "features", features, "evidence", evidence);
}

static json_t *suspects_json(const struct suspect *suspects, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, suspect_json(&suspects[i], i + 1));
	return array;
}

static json_t *pressure_json(const struct pressure *p)
{
	json_t *object = json_object();

	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		if (!isnan(p->now[b]))
			json_object_set_new(object, bottleneck_name((enum bottleneck)b),
					    json_pack("{s:o, s:o}", "now", number(p->now[b]), "usual", number(p->usual[b])));
	return object;
}

int why_json(const struct answer *a, FILE *out)
{
	json_t *remarks = json_array();
	json_t *root;
	int r;

	for (size_t i = 0; i < a->remarks.n; i++)
		json_array_append_new(remarks, text(a->remarks.v[i]));
	root = json_pack("{s:s, s:o, s:{s:o, s:o}, s:b, s:o, s:o, s:b, s:o, s:s, s:o, s:o, s:s, s:o, s:i, s:o, s:o, s:o}", "schema",
			 "whyslow.why/1", "at", moment(a->at), "window", "start", moment(a->window_start), "end",
			 moment(a->window_end), "slow", a->slow, "slow_since", moment(a->slow_since), "slow_until", moment(a->slow_until), "has_history",
			 a->has_history, "confidence", number(a->confidence), "bottleneck", bottleneck_name(a->bottleneck),
			 "cause", text(a->cause), "summary", text(a->summary), "model", a->ranking.method, "pressure",
			 pressure_json(&a->pressure), "looked_at", (int)a->ranking.looked_at, "remarks", remarks, "culprits",
			 suspects_json(a->ranking.suspects.v, a->ranking.suspects.n), "victims",
			 suspects_json(a->ranking.victims.v, a->ranking.victims.n));
	if (!root)
		return -ENOMEM;
	r = json_dumpf(root, out, JSON_INDENT(1) | JSON_SORT_KEYS * 0);
	json_decref(root);
	fputc('\n', out);
	return r < 0 ? -EIO : 0;
}
