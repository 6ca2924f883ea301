#include "fleet/formats/cloudwatch.h"

#include <errno.h>
#include <string.h>

#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/timestamp.h"

/* A text, or seconds since 1970 as SDKs write them. */
static bool time_of(const json_t *when, int64_t *ret)
{
	const char *text = json_string_value(when);

	if (text)
		return timestamp_parse(text, text + strlen(text), ret) == 0;
	*ret = (int64_t)(json_number_value(when) * 1e3) * NS_PER_MS;
	return json_is_number(when) && json_number_value(when) > 0 && json_number_value(when) < 9e9;
}

/* 0, also where it was not asked for, or is reported; -ENOMEM. */
static int put(struct text_lines *l, int server, const char *counter, const char *unit, const json_t *when, const json_t *value)
{
	int64_t time;

	if (!time_of(when, &time) || !json_is_number(value)) {
		intake_bad(l->into, l->path, l->line, "a point of %.80s has no %s", counter, json_is_number(value) ? "time" : "number");
		return 0;
	}
	if (!selection_wants_time(l->input, time) || !selection_wants_counter(l->input, counter))
		return 0;
	return text_lines_put(l, server, counter, &(struct counter_info){.kind = FLEET_GAUGE, .unit = unit}, time, json_number_value(value));
}

static bool label_is_taken(const json_t *results, size_t at, const char *label)
{
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)results, i, one) {
		const char *other = json_string_value(json_object_get(one, "Label"));

		if (i != at && other && strcmp(other, label) == 0)
			return true;
	}
	return false;
}

/* "i-0a1b CPUUtilization": the last word is the counter, what stands before it the server. */
static int put_result(struct text_lines *l, const json_t *result, const char *label, const char *id)
{
	const json_t *times = json_object_get(result, "Timestamps"), *values = json_object_get(result, "Values");
	const char *space = strrchr(label, ' '), *word = space && space > label && space[1] ? space + 1 : label;
	_cleanup_free_ char *name = word > label ? strndup(label, (size_t)(space - label)) : strdup(l->name);
	_cleanup_str_ struct str counter = {};
	int server = name ? intake_server(l->into, name) : -ENOMEM, r = 0;

	str_puts(&counter, word);
	if (id)
		str_printf(&counter, "{id=\"%s\"}", id);
	if (server < 0 || counter.error)
		return -ENOMEM;
	if (json_array_size(times) != json_array_size(values)) {
		intake_bad(l->into, l->path, l->line, "%.80s has %zu times, but %zu values", label, json_array_size(times), json_array_size(values));
		return 0;
	}
	for (size_t i = 0; i < json_array_size(times) && r >= 0; i++)
		r = put(l, server, counter.data, NULL, json_array_get(times, i), json_array_get(values, i));
	return r;
}

int cloudwatch_take_data(struct text_lines *l, const json_t *results)
{
	const json_t *one;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)results, i, one) {
		const char *id = json_string_value(json_object_get(one, "Id")), *label = json_string_value(json_object_get(one, "Label")) ?: id;

		if (!label || !*label)
			intake_bad(l->into, l->path, l->line, "result %zu has neither a label nor an id", i + 1);
		else if (r >= 0)
			r = put_result(l, one, label, label != id && label_is_taken(results, i, label) ? id : NULL);
	}
	return r;
}

/* NULL: a number without a unit, or of what the label says. */
static const char *unit_of(const char *unit)
{
	static const struct {
		const char *theirs, *ours;
	} units[] = {{"Percent", "%"}, {"Bytes", "B"}, {"Bytes/Second", "B/s"}, {"Seconds", "s"}, {"Milliseconds", "ms"}, {"Microseconds", "us"}, {"Count", NULL}, {"None", NULL}};

	for (size_t i = 0; unit && i < ARRAY_SIZE(units); i++)
		if (strcmp(units[i].theirs, unit) == 0)
			return units[i].ours;
	return unit;
}

/* The numbers of an object, each a statistic. */
static int put_statistics(struct text_lines *l, int server, const char *label, const json_t *point, const json_t *numbers)
{
	const char *statistic;
	json_t *value;
	int r = 0;

	json_object_foreach((json_t *)numbers, statistic, value) {
		_cleanup_str_ struct str name = {};

		if (!json_is_number(value))
			continue;
		str_printf(&name, "%s.%s", label, statistic);
		r = name.error ? -ENOMEM : put(l, server, name.data, unit_of(json_string_value(json_object_get(point, "Unit"))), json_object_get(point, "Timestamp"), value);
		if (r < 0)
			return r;
	}
	return 0;
}

int cloudwatch_take_statistics(struct text_lines *l, const char *label, const json_t *points)
{
	const json_t *point;
	int server = intake_server(l->into, l->name), r = server < 0 ? server : 0;
	size_t i;

	json_array_foreach((json_t *)points, i, point) {
		_cleanup_(json_decrefp) json_t *numbers = json_copy((json_t *)point);

		json_object_del(numbers, "Timestamp"); /* which may be a number */
		r = r < 0 ? r : put_statistics(l, server, label, point, numbers);
		r = r < 0 ? r : put_statistics(l, server, label, point, json_object_get(point, "ExtendedStatistics"));
	}
	return r;
}
