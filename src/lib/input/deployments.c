#include "lib/input/deployments.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/input/csv-field.h"
#include "lib/input/json-tape.h"
#include "lib/input/stream.h"
#include "lib/input/timestamp.h"

#define FIELDS_MAX 64 /* columns of a table that are looked at */

struct reading {
	const char *name;
	char *text; /* of the file; a table is split in place */
	enum deployment_needs needs;
	int64_t now;
	struct deployments found;
	char **ret_error;
};

enum part { PACKAGE, VERSION, HOST, COMMIT, TIME, PARTS };

/* The first that is there counts. */
static const char *const names[PARTS][6] = {
	[PACKAGE] = {"package", "service", "service.name", "component", "app"},
	[VERSION] = {"version", "service.version", "tag", "image"},
	[HOST] = {"host", "host.name", "hostname", "instance"},
	[COMMIT] = {"commit", "commit_sha", "revision", "sha", "git_sha"},
	[TIME] = {"time", "timestamp", "at", "deployed_at", "started_at"},
};

static void clear(struct deployment *d)
{
	FREE_ALL(d->package, d->version, d->host, d->commit);
}

void deployments_free(struct deployments *d)
{
	VEC_FREE_EACH(d->list, clear(each));
}

/* Owns the texts of `one` from now on, also when it fails. */
static int append(struct deployments *d, struct deployment one)
{
	char *const texts[] = {one.package, one.version, one.host, one.commit};
	int r = d->list.n == DEPLOYMENTS_MAX ? -E2BIG : 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!texts[i] || (r == 0 && strlen(texts[i]) > DEPLOYMENT_TEXT_MAX))
			r = texts[i] ? -E2BIG : -ENOMEM;
		str_make_printable(texts[i]);
	}
	r = r ?: (*one.package ? VEC_PUSH(d->list, one) : -EINVAL);
	if (r < 0)
		clear(&one);
	return r;
}

static char *copy_of(const char *text)
{
	return strdup(text ? text : "");
}

int deployments_add(struct deployments *d, const struct deployment *one)
{
	return append(d, (struct deployment){copy_of(one->package), copy_of(one->version), copy_of(one->host), copy_of(one->commit), one->time});
}

int deployments_add_all(struct deployments *d, const struct deployments *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->list.n; i++)
		r = deployments_add(d, &from->list.v[i]);
	return r;
}

ORDER(by_time, struct deployment, ASCENDING(time) ?: strcmp(a->package, b->package) ?: strcmp(a->version, b->version) ?: strcmp(a->host, b->host))

void deployments_sort(struct deployments *d)
{
	size_t kept = 0;

	VEC_SORT(d->list, by_time);
	for (size_t i = 0; i < d->list.n; i++) {
		if (kept && !by_time(&d->list.v[i], &d->list.v[kept - 1]))
			clear(&d->list.v[i]);
		else
			d->list.v[kept++] = d->list.v[i];
	}
	d->list.n = kept;
}

static int refuse(const struct reading *r, const char *at, const char *what)
{
	return str_fail(r->ret_error, -EINVAL, "%s: byte %zu: %s", r->name, (size_t)(at - r->text), what);
}

struct text {
	const char *at; /* NULL: not given */
	size_t n;
};

/* `at`: where it is written. */
static int add_parts(struct reading *r, const char *at, const struct text parts[PARTS])
{
	const struct text *time = &parts[TIME];
	bool whole = parts[PACKAGE].n && (r->needs == DEPLOYMENT_NEEDS_TIME ? time->n : parts[VERSION].n);
	struct deployment one = {.time = r->now};
	int e;

	if (!whole)
		return refuse(r, at, r->needs == DEPLOYMENT_NEEDS_TIME ? "a deployment needs a \"service\" and a \"time\"" : "a deployment needs a \"package\" and a \"version\"");
	if (time->n && timestamp_parse(time->at, time->at + time->n, &one.time) < 0)
		return refuse(r, at, "the time is neither RFC 3339 nor a number since 1970");
	for (int i = 0; i < TIME; i++)
		*(char **[]){&one.package, &one.version, &one.host, &one.commit}[i] = strndup(parts[i].n ? parts[i].at : "", parts[i].n);
	e = append(&r->found, one);
	return e == -E2BIG ? refuse(r, at, "more than 100000 deployments, or a text of more than 200 bytes") : e;
}

static int add_object(struct reading *r, const char *at, const struct tape_value *object)
{
	struct text parts[PARTS] = {};

	if (!tape_is(object, TAPE_OBJECT))
		return refuse(r, at, "expected an object");
	for (int i = 0; i < PARTS; i++)
		for (const char *const *name = names[i]; *name && !parts[i].at; name++)
			parts[i].at = tape_text(tape_get(object, *name), &parts[i].n);
	return add_parts(r, object->text, parts);
}

/* One value after another, commas and blanks between them. */
static int read_json(struct reading *r)
{
	_cleanup_(tape_free) struct tape tape = {};
	int e = 0;

	for (const char *at = r->text; e == 0; at += tape.end) {
		const struct tape_value *list;

		at += strspn(at, " \t\r\n,\x1e");
		if (!*at)
			break;
		e = tape_read(&tape, at, strlen(at));
		if (e == -EINVAL || e == -ENODATA)
			e = refuse(r, at + tape.end, "this is not JSON");
		if (e < 0)
			break;
		list = tape_is(tape.values.v, TAPE_ARRAY) ? tape.values.v : tape_get(tape.values.v, "deployments");
		if (!tape_is(list, TAPE_ARRAY))
			e = add_object(r, at, tape.values.v);
		else
			TAPE_EACH(object, list)
				e = e ? e : add_object(r, at, object);
	}
	return e;
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

static int find_column(const struct csv_field *header, size_t n, const char *const *name)
{
	for (; *name; name++)
		for (size_t c = 0; c < n; c++)
			if (strcasecmp(header[c].at, *name) == 0)
				return (int)c;
	return -1;
}

static int read_table(struct reading *r)
{
	struct csv_field fields[FIELDS_MAX];
	char *at = r->text, *next;
	int columns[PARTS], e = 0;

	for (bool header = true; e == 0 && *at; at = next) {
		struct text parts[PARTS] = {};
		size_t n;

		next = strchrnul(at, '\n');
		if (*next)
			*next++ = 0;
		if (!*at || *at == '\r')
			continue;
		n = split(at, fields);
		for (int i = 0; i < PARTS; i++) {
			if (header)
				columns[i] = find_column(fields, n, names[i]);
			else if (columns[i] >= 0 && (size_t)columns[i] < n)
				parts[i] = (struct text){fields[columns[i]].at, strlen(fields[columns[i]].at)};
		}
		if (header && columns[PACKAGE] < 0)
			e = refuse(r, at, "this is neither JSON nor the header of a table with a \"service\" or a \"package\"");
		else if (!header)
			e = add_parts(r, at, parts);
		header = false;
	}
	return e;
}

static int hand_over(struct deployments *to, struct deployments *from)
{
	for (size_t i = 0; i < from->list.n; i++) {
		if (to->list.n == DEPLOYMENTS_MAX || VEC_GROW(to->list) < 0)
			return -ENOMEM;
		to->list.v[to->list.n++] = from->list.v[i];
		from->list.v[i] = (struct deployment){};
	}
	return 0;
}

int deployments_parse(const char *name, const char *text, size_t n, enum deployment_needs needs, int64_t now, struct deployments *d, char **ret_error)
{
	_cleanup_free_ char *copy = strndup(text, n); /* ends with a NUL: neither form has one elsewhere */
	struct reading r = {name, copy, needs, now, {}, ret_error};
	size_t blanks;
	int e;

	*ret_error = NULL;
	if (!copy)
		return -ENOMEM;
	blanks = strspn(copy, " \t\r\n");
	e = !copy[blanks] ? 0 : strchr("[{", copy[blanks]) ? read_json(&r) : read_table(&r);
	e = e ?: hand_over(d, &r.found);
	deployments_free(&r.found);
	return e;
}

static int64_t written_at(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISREG(s.st_mode) ? s.st_mtim.tv_sec * NS_PER_SEC + s.st_mtim.tv_nsec : clock_wall();
}

int deployments_read(const char *path, enum deployment_needs needs, struct deployments *d, char **ret_error)
{
	_cleanup_str_ struct str text = {.max = DEPLOYMENTS_FILE_MAX};
	int e = stream_read_all(path, &text);

	*ret_error = NULL;
	if (e < 0)
		return str_fail(ret_error, e, "%s: %s", path, e == -E2BIG ? "larger than 64 MiB" : strerror(-e));
	return deployments_parse(path, text.data ? text.data : "", text.len, needs, written_at(path), d, ret_error);
}
