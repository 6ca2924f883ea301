#include "spans/formats/span-columns.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"

static struct text_field field_of(const char *text)
{
	return (struct text_field){text, strlen(text)};
}

static bool is_apart(char c)
{
	return c == '_' || c == '-' || c == '.' || c == ' ' || c == '(' || c == ')' || c == '[' || c == ']';
}

static struct text_field without_apart(struct text_field f)
{
	while (f.n && is_apart(*f.at)) {
		f.at++;
		f.n--;
	}
	while (f.n && is_apart(f.at[f.n - 1]))
		f.n--;
	return f;
}

/* Does the name begin with the key? Then *ret is what follows. */
static bool begins_with(struct text_field name, struct text_field key, struct text_field *ret)
{
	for (;;) {
		while (key.n && is_apart(*key.at)) {
			key.at++;
			key.n--;
		}
		if (!key.n)
			break;
		while (name.n && is_apart(*name.at)) {
			name.at++;
			name.n--;
		}
		if (!name.n || tolower((unsigned char)*name.at) != tolower((unsigned char)*key.at))
			return false;
		name.at++;
		name.n--;
		key.at++;
		key.n--;
	}
	*ret = name;
	return true;
}

static const struct {
	const char *name;
	int64_t ns;
} units[] = {{"unixnano", 1}, {"nanoseconds", 1}, {"nanos", 1}, {"nano", 1}, {"ns", 1},
	     {"microseconds", 1000}, {"micros", 1000}, {"micro", 1000}, {"us", 1000}, {"\xc2\xb5s", 1000},
	     {"milliseconds", 1000000}, {"millis", 1000000}, {"milli", 1000000}, {"ms", 1000000},
	     {"seconds", 1000000000}, {"secs", 1000000000}, {"sec", 1000000000}, {"s", 1000000000}};

/* What follows a name of a time: "_us", "Ms", " (ms)", "UnixNano". A lone "s" must stand apart: "starts" has no unit. */
static bool unit_named(struct text_field rest, int64_t *ret)
{
	bool apart = rest.n && is_apart(*rest.at);

	rest = without_apart(rest);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (rest.n != strlen(units[i].name) || strncasecmp(rest.at, units[i].name, rest.n) != 0 || (rest.n == 1 && !apart))
			continue;
		*ret = units[i].ns;
		return true;
	}
	return false;
}

/* Of a whole name, "DurationNano" or another one's own "took_us": what stands apart at its end, or a whole word. */
static int64_t unit_at_end(struct text_field name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i].name);
		const char *at = name.at + name.n - n;

		if (name.n > n && !strncasecmp(at, units[i].name, n) && (n > 3 || is_apart(at[-1]) || (isupper((unsigned char)*at) && islower((unsigned char)at[-1]))))
			return units[i].ns;
	}
	return 0;
}

static bool is_time(enum span_field f)
{
	return f == FIELD_START || f == FIELD_END || f == FIELD_DURATION;
}

/* A mapping's "took ms": the unit of a column whose name has none. */
static int64_t unit_said(struct text_field *key)
{
	const char *blank = memrchr(key->at, ' ', key->n);
	int64_t unit = 0;

	if (blank && unit_named((struct text_field){blank, (size_t)(key->at + key->n - blank)}, &unit))
		key->n = (size_t)(blank - key->at);
	return unit;
}

static int column_of(const struct text_field *names, size_t n, enum span_field field, struct text_field key, struct span_columns *c)
{
	int64_t said = is_time(field) ? unit_said(&key) : 0, unit;
	struct text_field rest;

	for (size_t i = 0; i < n; i++) {
		if (!begins_with(names[i], key, &rest))
			continue;
		unit = said ? said : unit_at_end(names[i]);
		if (!unit)
			unit = unit_at_end(key);
		if (without_apart(rest).n && !(is_time(field) && unit_named(rest, &unit)))
			continue;
		c->unit[i] = is_time(field) ? unit : 0;
		return (int)i;
	}
	return -1;
}

/* ClickHouse's exporter has all attributes of a process in one column. */
static bool is_resource_map(struct text_field name)
{
	struct text_field rest;

	return begins_with(name, field_of("ResourceAttributes"), &rest) && !rest.n;
}

/* Other traces that a span refers to: as ClickHouse's exporter calls them, and shorter. */
static bool is_links(struct text_field name)
{
	struct text_field rest;

	return begins_with(name, field_of("Links"), &rest) && (!rest.n || (begins_with(rest, field_of("TraceId"), &rest) && !rest.n));
}

void span_columns_find(const struct text_field *names, size_t n, const struct span_mapping *mapping, struct span_columns *ret)
{
	bool structural[COLUMNS_MAX] = {};

	*ret = (struct span_columns){.n = n, .links = -1};
	memcpy(ret->names, names, n * sizeof(*names));
	for (enum span_field f = 0; f < FIELD_COUNT; f++) {
		ret->of_field[f] = -1;
		for (char *const *key = mapping->keys[f]; *key; key++) {
			int column = column_of(names, n, f, field_of(*key), ret);

			if (column < 0)
				continue;
			if (ret->of_field[f] < 0)
				ret->of_field[f] = column;
			structural[column] |= f < FIELD_SERVICE;
			ret->of_resource[column] |= span_field_is_of_process(f);
			if (f >= FIELD_SERVICE && !span_mapping_wants(mapping, ret->names[column].at, ret->names[column].n))
				ret->names[column] = field_of(*key);
		}
	}
	for (size_t i = 0; i < n; i++) {
		ret->of_resource[i] |= is_resource_map(names[i]);
		ret->of_span[i] = !ret->of_resource[i] && !structural[i];
		if (ret->of_span[i] && ret->links < 0 && is_links(names[i])) {
			ret->links = (int)i;
			ret->of_span[i] = false;
		}
	}
}

enum span_field span_columns_missing(const struct span_columns *c)
{
	static const enum span_field needed[] = {FIELD_TRACE, FIELD_SPAN, FIELD_FUNCTION};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (c->of_field[needed[i]] < 0)
			return needed[i];
	return c->of_field[FIELD_END] < 0 && c->of_field[FIELD_DURATION] < 0 ? FIELD_DURATION : FIELD_COUNT;
}
