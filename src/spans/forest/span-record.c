#include "spans/forest/span-record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/input/csv-field.h"

#define SET_MAX 128 /* attributes of one set, joined ones included */

static int field_named(const char *name, size_t n)
{
	for (int f = FIELD_SERVICE; f < FIELD_COUNT; f++)
		if (strlen(span_field_name((enum span_field)f)) == n && !memcmp(span_field_name((enum span_field)f), name, n))
			return f;
	return -1;
}

int span_record_init(struct recorder_of_sets *r, struct names *names, const struct span_mapping *mapping,
		const char *dimensions)
{
	*r = (struct recorder_of_sets){.names = names, .mapping = mapping};
	for (int f = 0; f < FIELD_COUNT; f++)
		for (size_t i = 0; mapping->keys[f][i]; i++)
			r->fields[f][i] = names_text(names, mapping->keys[f][i], strlen(mapping->keys[f][i]));
	for (const char *at = dimensions; *at;) {
		size_t n = strcspn(at, ",");

		if (r->n_dimensions == FOREST_DIMENSIONS)
			return -E2BIG;
		if (n) {
			r->dimension_field[r->n_dimensions] = field_named(at, n);
			r->dimensions[r->n_dimensions++] = names_text(names, at, n);
		}
		at += n + (at[n] == ',');
	}
	return 0;
}

void span_record_free(struct recorder_of_sets *r)
{
	VEC_FREE_EACH(r->inventories, hmap_free(&each->rows));
	VEC_FREE(r->sets);
}

static uint32_t first_value(const struct attribute_set *set, const uint32_t *keys)
{
	for (; *keys; keys++) {
		uint32_t value = attribute_set_value(set, *keys);

		if (value)
			return value;
	}
	return 0;
}

/* Attributes of the set, then those the inventories have for it; what the span itself says counts. */
static uint32_t join(struct recorder_of_sets *r, uint32_t id)
{
	const struct attribute_set *set = names_get_set(r->names, id);
	struct attribute v[SET_MAX];
	size_t n = 0;
	uint32_t joined;

	VEC_EACH(inventory, r->inventories) {
		uint32_t value = attribute_set_value(set, inventory->key);
		uint32_t row = value ? (uint32_t)(uintptr_t)hmap_get(&inventory->rows, value, 0) : 0;
		const struct attribute_set *more = names_get_set(r->names, row);

		for (uint32_t j = 0; j < more->n && n < SET_MAX; j++)
			v[n++] = more->v[j];
	}
	if (!n)
		return id;
	for (uint32_t i = 0; i < set->n && n < SET_MAX; i++)
		v[n++] = set->v[i];
	joined = names_set(r->names, set->service, v, n);
	return joined ? joined : id;
}

/* service.version is the version of the service; any other attribute is a package of its own. */
static uint32_t versions_of(struct recorder_of_sets *r, const struct attribute_set *set)
{
	struct attribute v[FIELD_KEYS_MAX];
	size_t n = 0;

	for (const uint32_t *key = r->fields[FIELD_VERSION]; *key; key++) {
		uint32_t value = attribute_set_value(set, *key);

		if (!value)
			continue;
		if (n && v[0].key == set->service)
			v[n++] = (struct attribute){*key, value};
		else
			v[n++] = (struct attribute){set->service ? set->service : *key, value};
	}
	return n ? names_set(r->names, 0, v, n) : 0;
}

static void resolve(struct recorder_of_sets *r, uint32_t id, struct set_record *ret)
{
	struct attribute_set set;

	ret->joined = join(r, id);
	set = *names_get_set(r->names, ret->joined);
	ret->host = first_value(&set, r->fields[FIELD_HOST]);
	if (!ret->host)
		ret->host = first_value(&set, r->fields[FIELD_INSTANCE]);
	ret->process = first_value(&set, r->fields[FIELD_PROCESS]);
	ret->callee = first_value(&set, r->fields[FIELD_CALLEE]);
	for (uint32_t d = 0; d < r->n_dimensions; d++) {
		const uint32_t own[] = {r->dimensions[d], 0};
		int field = r->dimension_field[d];

		ret->values[d] = field == FIELD_SERVICE ? set.service :
						first_value(&set, field >= 0 ? r->fields[field] : own);
	}
	ret->versions = versions_of(r, &set);
	ret->known = true;
}

const struct set_record *span_record_of(struct recorder_of_sets *r, uint32_t set)
{
	while (r->sets.n <= set)
		if (VEC_PUSH(r->sets, (struct set_record){}) < 0)
			return NULL;
	if (!r->sets.v[set].known)
		resolve(r, set, &r->sets.v[set]);
	return &r->sets.v[set];
}

#define COLUMNS 64

static int add_row(struct recorder_of_sets *r, struct inventory *inventory, char **fields, size_t n, size_t key_column,
		   const uint32_t *columns)
{
	struct attribute v[COLUMNS];
	size_t used = 0;
	uint32_t key, set;

	if (key_column >= n || !*fields[key_column])
		return 0;
	key = names_text(r->names, fields[key_column], strlen(fields[key_column]));
	for (size_t i = 0; i < n; i++)
		if (i != key_column && *fields[i])
			v[used++] = (struct attribute){columns[i], names_value(r->names, columns[i], fields[i], strlen(fields[i]))};
	set = names_set(r->names, 0, v, used);
	inventory->n_rows++;
	return set ? hmap_put(&inventory->rows, key, 0, (void *)(uintptr_t)set) : 0;
}

static int read_inventory(struct recorder_of_sets *r, FILE *f, const char *path, const char *attribute, char **ret_error)
{
	struct inventory inventory = {.key = names_text(r->names, attribute, strlen(attribute))};
	const char *last = strrchr(attribute, '.');
	_cleanup_free_ char *line = NULL;
	char *fields[COLUMNS];
	uint32_t columns[COLUMNS];
	size_t allocated = 0, n, key = SIZE_MAX;
	int result = 0;

	if (getline(&line, &allocated, f) < 0)
		return asprintf(ret_error, "%s is empty: its first line must name the columns", path) < 0 ? -ENOMEM : -EINVAL;
	n = csv_split(line, fields, COLUMNS);
	if (n > COLUMNS)
		return asprintf(ret_error, "%s has more than %d columns", path, COLUMNS) < 0 ? -ENOMEM : -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(fields[i], attribute) || (key == SIZE_MAX && last && !strcmp(fields[i], last + 1)))
			key = i;
		columns[i] = names_text(r->names, fields[i], strlen(fields[i]));
	}
	if (key == SIZE_MAX)
		return asprintf(ret_error, "%s has no column '%s'", path, attribute) < 0 ? -ENOMEM : -EINVAL;
	while (result == 0 && getline(&line, &allocated, f) >= 0) {
		size_t found = csv_split(line, fields, n);

		result = add_row(r, &inventory, fields, found < n ? found : n, key, columns);
	}
	result = result ?: VEC_PUSH(r->inventories, inventory);
	if (result < 0)
		hmap_free(&inventory.rows);
	return result;
}

int span_record_join(struct recorder_of_sets *r, const char *spec, char **ret_error)
{
	const char *colon = strrchr(spec, ':');
	_cleanup_free_ char *path = colon ? strndup(spec, (size_t)(colon - spec)) : NULL;
	_cleanup_fclose_ FILE *f = NULL;

	*ret_error = NULL;
	if (!path || !colon[1])
		return asprintf(ret_error, "'%s' is not FILE:ATTRIBUTE, as inventory.csv:host.name", spec) < 0 ? -ENOMEM : -EINVAL;
	f = fopen(path, "re");
	if (!f)
		return asprintf(ret_error, "%s: %s", path, strerror(errno)) < 0 ? -ENOMEM : -EINVAL;
	return read_inventory(r, f, path, colon + 1, ret_error);
}
