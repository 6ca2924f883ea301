#include "machine/view-why/finding-json.h"

#include <math.h>

json_t *finding_unit_json(const struct feature *f)
{
	return json_string(STR_TEXT(64, "%s%s", unit_name(f->unit), f->kind == COUNTER ? "/s" : ""));
}

json_t *finding_deviation_json(const struct deviation *f)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:s, s:o, s:b, s:b, s:b, s:b}", "name", f->feature->name,
			 "resource", resource_name(f->feature->resource), "unit", finding_unit_json(f->feature), "value", json_number(f->observed), "usual",
			 json_number(f->usual), "spread", json_number(f->spread), "deviation", json_number(f->deviation), "rank_in_window",
			 (int)f->rank, "compared_with", (int)f->compared, "shape", shape_name(f->shape), "since",
			 json_moment(f->since), "highest", (f->flags & FINDING_HIGHEST) != 0, "left_only_value",
			 (f->flags & FINDING_LEFT_ONLY_VALUE) != 0, "new", (f->flags & FINDING_NEW) != 0, "of_server",
			 (f->flags & FINDING_OF_SERVER) != 0);
}

json_t *finding_pressure_json(const struct pressure *p)
{
	json_t *object = json_object();

	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		if (!isnan(p->now[b]))
			json_object_set_new(object, bottleneck_name((enum bottleneck)b),
					    json_pack("{s:o, s:o}", "now", json_number(p->now[b]), "usual", json_number(p->usual[b])));
	return object;
}
