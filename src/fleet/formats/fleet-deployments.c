#include "fleet/formats/fleet-deployments.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/csv-field.h"
#include "lib/input/timestamp.h"

#define LINES_MAX  100000 /* more is not a file of deployments */
#define FIELDS_MAX 64

enum part { SERVICE, VERSION, COMMIT, TIME, PARTS };

static const char *const names[PARTS][6] = {
	[SERVICE] = {"service", "package", "component", "service.name", "app"},
	[VERSION] = {"version", "service.version", "tag", "image"},
	[COMMIT] = {"commit", "commit_sha", "revision", "sha", "git_sha"},
	[TIME] = {"time", "timestamp", "at", "deployed_at", "started_at"},
};

void fleet_deployments_free(struct fleet_deployments *d)
{
	for (size_t i = 0; i < d->list.n; i++) {
		free(d->list.v[i].service);
		free(d->list.v[i].version);
		free(d->list.v[i].commit);
	}
	VEC_FREE(d->list);
}

/* -EINVAL without a service or a time. */
static int add(struct fleet_deployments *d, const char *const parts[PARTS])
{
	struct fleet_deployment x = {};

	if (!*parts[SERVICE] || timestamp_parse(parts[TIME], strchr(parts[TIME], 0), &x.time) < 0)
		return -EINVAL;
	x.service = strdup(parts[SERVICE]);
	x.version = strdup(parts[VERSION]);
	x.commit = strdup(parts[COMMIT]);
	str_make_printable(x.service);
	str_make_printable(x.version);
	str_make_printable(x.commit);
	if (x.service && x.version && x.commit && VEC_PUSH(d->list, x) == 0)
		return 0;
	free(x.service);
	free(x.version);
	free(x.commit);
	return -ENOMEM;
}

/* The next one after blanks; it is read again. */
static int next_character(FILE *file)
{
	int c;

	do
		c = fgetc(file);
	while (c == ' ' || c == '\n' || c == '\r' || c == '\t');
	return ungetc(c, file);
}

static int add_object(struct fleet_deployments *d, const json_t *object)
{
	const char *parts[PARTS] = {"", "", "", ""};
	char digits[32];

	for (int i = 0; i < PARTS; i++)
		for (size_t k = 0; names[i][k] && !*parts[i]; k++) {
			const json_t *value = json_object_get(object, names[i][k]);

			if (json_is_string(value))
				parts[i] = json_string_value(value);
			if (i == TIME && json_is_integer(value)) {
				snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
				parts[i] = digits;
			}
		}
	return add(d, parts);
}

/* Lists and objects, one after another. */
static int read_json(FILE *file, struct fleet_deployments *d)
{
	int r = 0;

	while (r == 0 && next_character(file) != EOF) {
		json_t *value = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);

		if (json_is_array(value))
			for (size_t i = 0; i < json_array_size(value) && r == 0; i++)
				r = add_object(d, json_array_get(value, i));
		else
			r = json_is_object(value) ? add_object(d, value) : -EINVAL;
		json_decref(value);
	}
	return r;
}

static size_t split(char *line, struct csv_field fields[FIELDS_MAX])
{
	char *end = line + strcspn(line, "\r\n"), delimiter = strchr(line, '\t') ? '\t' : strchr(line, ';') ? ';' : ',';
	size_t n = 0;

	for (char *p = line; p <= end && n < FIELDS_MAX; n++) {
		fields[n] = csv_next_field(&p, end, delimiter);
		csv_trim(&fields[n]);
	}
	for (size_t i = 0; i < n; i++)
		*fields[i].end = 0;
	return n;
}

static void find_columns(const struct csv_field *header, size_t n, int columns[PARTS])
{
	for (int i = 0; i < PARTS; i++) {
		columns[i] = -1;
		for (size_t k = 0; names[i][k] && columns[i] < 0; k++)
			for (size_t c = 0; c < n && columns[i] < 0; c++)
				columns[i] = strcasecmp(header[c].at, names[i][k]) == 0 ? (int)c : -1;
	}
}

static int read_table(FILE *file, struct fleet_deployments *d)
{
	_cleanup_free_ char *line = NULL;
	struct csv_field fields[FIELDS_MAX];
	int columns[PARTS], r = 0;
	size_t size = 0;

	for (unsigned i = 0; r == 0 && i < LINES_MAX && getline(&line, &size, file) > 0; i++) {
		const char *parts[PARTS];
		size_t n = split(line, fields);

		if (i == 0)
			find_columns(fields, n, columns);
		for (int k = 0; k < PARTS; k++)
			parts[k] = columns[k] >= 0 && (size_t)columns[k] < n ? fields[columns[k]].at : "";
		if (i && line[0])
			r = add(d, parts);
	}
	return r;
}

int fleet_deployments_read(const char *path, struct fleet_deployments *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct fleet_deployments d = {};
	int first, r = file ? 0 : -errno;

	if (r < 0)
		return str_fail(ret_error, r, "%s: %s", path, strerror(-r));
	first = next_character(file);
	r = first == '{' || first == '[' ? read_json(file, &d) : read_table(file, &d);
	if (r == -EINVAL || (r == 0 && !d.list.n))
		r = str_fail(ret_error, -EINVAL, "%s: deployment %zu has no service or no time; expected a list of {\"service\": \"cart\", \"version\": \"2.3\", \"time\": "
			     "\"2026-11-20T14:02:07Z\"}, or a table with these columns", path, d.list.n + 1);
	if (r < 0) {
		fleet_deployments_free(&d);
		return r;
	}
	*ret = d;
	return 0;
}
