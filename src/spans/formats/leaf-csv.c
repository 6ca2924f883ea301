#include "spans/formats/leaf-csv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/input/csv-field.h"

#define COLUMNS_MAX   64
#define ATTRIBUTES_AT 16 /* most attributes of a table */
#define VALUES_MAX    (1u << 20)
#define LINE_MAX_BYTES (1u << 20)

enum role { ROLE_ATTRIBUTE = LEAF_NUMBERS, ROLE_TIME, ROLE_IGNORED };

struct table_reader {
	struct leaf_csv *csv;
	const char *path;
	uint64_t line;
	size_t columns;
	unsigned role[COLUMNS_MAX];
	unsigned attribute[COLUMNS_MAX];
	struct hmap known[ATTRIBUTES_AT]; /* hash of value -> code + 1 */
	struct hmap known_times;
};

static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
			return true;
	return false;
}

static unsigned role_of(const struct leaf_columns *columns, const char *name)
{
	for (unsigned k = 0; k < LEAF_NUMBERS; k++)
		if (columns->number[k] && strcmp(columns->number[k], name) == 0)
			return k;
	if (columns->time && strcmp(columns->time, name) == 0)
		return ROLE_TIME;
	return listed(columns->ignore, name) || !*name ? ROLE_IGNORED : ROLE_ATTRIBUTE;
}

static int complain(char **ret_error, const char *path, const char *what, const char *name)
{
	return asprintf(ret_error, "%s:1: %s%s%s", path, what, *name ? " " : "", name) < 0 ? -ENOMEM : -EINVAL;
}

static int check_columns(const struct table_reader *t, const struct leaf_columns *columns, char **ret_error)
{
	for (unsigned k = 0; k <= LEAF_NUMBERS; k++) {
		const char *want = k < LEAF_NUMBERS ? columns->number[k] : columns->time;
		unsigned role = k < LEAF_NUMBERS ? k : ROLE_TIME;
		bool found = !want;

		for (size_t c = 0; c < t->columns; c++)
			found = found || t->role[c] == role;
		if (!found)
			return complain(ret_error, t->path, "the header has no column", want);
	}
	return t->csv->attributes.n ? 0 : complain(ret_error, t->path, "no column is left to be an attribute", "");
}

static int read_header(struct table_reader *t, char *line, const struct leaf_columns *columns, char **ret_error)
{
	char *fields[COLUMNS_MAX];

	if (strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	t->columns = csv_split(line, fields, COLUMNS_MAX);
	if (t->columns > COLUMNS_MAX)
		return complain(ret_error, t->path, "more than 64 columns", "");
	for (size_t c = 0; c < t->columns; c++) {
		struct leaf_attribute attribute = {};

		t->role[c] = role_of(columns, fields[c]);
		if (t->role[c] != ROLE_ATTRIBUTE)
			continue;
		if (t->csv->attributes.n == ATTRIBUTES_AT)
			return complain(ret_error, t->path, "more than 16 attributes: leave some out with --ignore, such as", fields[c]);
		t->attribute[c] = (unsigned)t->csv->attributes.n;
		attribute.name = strdup(fields[c]);
		if (VEC_PUSH_OWNER(t->csv->attributes, attribute.name, attribute) < 0)
			return -ENOMEM;
	}
	return check_columns(t, columns, ret_error);
}

typedef VEC(char *) texts;

/* The code of a text, new or not; hashes of 128 bits stand for the text. 0 or -ENOMEM, -E2BIG. */
static int intern(struct hmap *known, void *list, const char *text, uint32_t *ret)
{
	texts *values = list;
	uint64_t hash = hmap_hash_text(text),
		 other = hmap_hash_bytes(text, strlen(text) + 1) * 0x9e3779b97f4a7c15u;
	void *at = hmap_get(known, hash, other);
	char *copy;

	if (at) {
		*ret = (uint32_t)((uintptr_t)at - 1);
		return 0;
	}
	if (values->n == VALUES_MAX)
		return -E2BIG;
	copy = strdup(text);
	if (VEC_PUSH_OWNER(*values, copy, copy) < 0)
		return -ENOMEM;
	*ret = (uint32_t)values->n - 1;
	return hmap_put(known, hash, other, (void *)(uintptr_t)values->n);
}

static void bad_row(struct table_reader *t, const char *why, const char *what)
{
	if (t->csv->bad++ == 0)
		snprintf(t->csv->first_bad, sizeof(t->csv->first_bad), "%s:%llu: %s%.80s", t->path,
			 (unsigned long long)t->line, why, what);
}

static bool read_number(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && !*end && isfinite(*ret) && *ret >= 0;
}

/* 1 = the row is good. */
static int read_fields(struct table_reader *t, char **fields, struct leaf_row *row, uint32_t *codes)
{
	for (size_t c = 0; c < t->columns; c++) {
		int e = 0;

		if (t->role[c] < LEAF_NUMBERS && !read_number(fields[c], &row->number[t->role[c]])) {
			bad_row(t, "not a number of zero or more: ", fields[c]);
			return 0;
		}
		if (t->role[c] == ROLE_TIME)
			e = intern(&t->known_times, &t->csv->times, fields[c], &row->time);
		if (t->role[c] == ROLE_ATTRIBUTE)
			e = intern(&t->known[t->attribute[c]], &t->csv->attributes.v[t->attribute[c]].values, fields[c],
				   &codes[t->attribute[c]]);
		if (e < 0)
			return e;
	}
	return 1;
}

static int read_row(struct table_reader *t, char *line)
{
	struct leaf_row row = {.number = {NAN, NAN, NAN}};
	uint32_t codes[ATTRIBUTES_AT];
	char *fields[COLUMNS_MAX];
	int e;

	if (csv_split(line, fields, COLUMNS_MAX) != t->columns) {
		bad_row(t, "not as many columns as the header", "");
		return 0;
	}
	e = read_fields(t, fields, &row, codes);
	if (e <= 0)
		return e;
	for (size_t a = 0; a < t->csv->attributes.n; a++)
		if (VEC_PUSH(t->csv->codes, codes[a]) < 0)
			return -ENOMEM;
	return VEC_PUSH(t->csv->rows, row);
}

static int read_lines(struct table_reader *t, FILE *in, const struct leaf_columns *columns, char **ret_error)
{
	_cleanup_free_ char *line = NULL;
	size_t allocated = 0;
	ssize_t n;
	int e = 0;

	while (e >= 0 && (n = getline(&line, &allocated, in)) >= 0) {
		t->line++;
		if (t->line == 1)
			e = read_header(t, line, columns, ret_error);
		else if (memchr(line, '\0', (size_t)n) || n > LINE_MAX_BYTES)
			bad_row(t, "no text", "");
		else if (line[strspn(line, "\r\n ")])
			e = read_row(t, line);
	}
	if (e == 0 && ferror(in))
		return -EIO;
	return e == 0 && !t->line ? complain(ret_error, t->path, "the file is empty", "") : e;
}

int leaf_csv_read(FILE *in, const char *path, const struct leaf_columns *columns, struct leaf_csv *ret, char **ret_error)
{
	struct leaf_csv csv = {};
	struct table_reader t = {.csv = &csv, .path = path};
	int e = read_lines(&t, in, columns, ret_error);

	for (size_t a = 0; a < ATTRIBUTES_AT; a++)
		hmap_free(&t.known[a]);
	hmap_free(&t.known_times);
	if (e < 0)
		leaf_csv_free(&csv);
	else
		*ret = csv;
	return e;
}

void leaf_csv_free(struct leaf_csv *csv)
{
	for (size_t a = 0; a < csv->attributes.n; a++) {
		for (size_t i = 0; i < csv->attributes.v[a].values.n; i++)
			free(csv->attributes.v[a].values.v[i]);
		VEC_FREE(csv->attributes.v[a].values);
		free(csv->attributes.v[a].name);
	}
	VEC_FREE(csv->attributes);
	VEC_FREE_EACH(csv->times, free(*each));
	VEC_FREE(csv->rows);
	VEC_FREE(csv->codes);
}
