#include "spans/formats/deployments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/json-tape.h"
#include "lib/input/timestamp.h"
#include "spans/formats/span-input.h"

struct reading {
	const char *name;
	const char *text; /* of the file */
	int64_t now;
	struct deployments found;
	char **ret_error;
};

enum part { PART_PACKAGE, PART_VERSION, PART_HOST, PART_TIME, PARTS };

/* The first that is there counts. */
static const char *const names[PARTS][6] = {
	[PART_PACKAGE] = {"package", "service", "service.name", "component"},
	[PART_VERSION] = {"version", "service.version"},
	[PART_HOST] = {"host", "host.name", "hostname", "instance"},
	[PART_TIME] = {"time", "timestamp", "at", "started_at"},
};

static int refuse(const struct reading *r, const struct tape_value *v, const char *what)
{
	return str_fail(r->ret_error, -EINVAL, "%s: byte %zu: %s", r->name, (size_t)(v->text - r->text),
			 what);
}

static const struct tape_value *part_of(const struct tape_value *event, enum part part)
{
	for (const char *const *name = names[part]; *name; name++) {
		const struct tape_value *v = tape_find(event, *name, strlen(*name));

		if (v && v->kind != TAPE_NULL)
			return v;
	}
	return NULL;
}

/* Its text, terminated; "" where it is not there. False without memory. */
static bool copy_part(const struct tape_value *event, enum part part, char **ret)
{
	size_t n = 0;
	const char *text = tape_text(part_of(event, part), &n);

	*ret = strndup(text ? text : "", n);
	return *ret;
}

static int read_time(const struct reading *r, const struct tape_value *event, int64_t *ret)
{
	const struct tape_value *v = part_of(event, PART_TIME);
	size_t n;
	const char *text = tape_text(v, &n);

	*ret = r->now;
	if (!v)
		return 0;
	return text && timestamp_parse(text, text + n, ret) == 0 ? 0 : refuse(r, event, "the time is neither RFC 3339 nor a number since 1970");
}

static int add_event(struct reading *r, const struct tape_value *event)
{
	_cleanup_free_ char *package = NULL, *version = NULL, *host = NULL;
	int64_t time;
	int e = tape_is(event, TAPE_OBJECT) ? read_time(r, event, &time) : refuse(r, event, "expected an object");

	if (e < 0)
		return e;
	if (!copy_part(event, PART_PACKAGE, &package) || !copy_part(event, PART_VERSION, &version) || !copy_part(event, PART_HOST, &host))
		return -ENOMEM;
	e = deployments_add(&r->found, package, version, host, time);
	if (e == -EINVAL)
		return refuse(r, event, "a deployment has a \"package\" and a \"version\"");
	return e == -E2BIG ? refuse(r, event, "too many deployments, or a text of more than 200 bytes") : e;
}

static int add_value(struct reading *r, const struct tape_value *v)
{
	const struct tape_value *list = v->kind == TAPE_ARRAY ? v : tape_get(v, "deployments");
	int e = 0;

	if (!tape_is(list, TAPE_ARRAY))
		return add_event(r, v);
	TAPE_EACH(event, list)
		if (e == 0)
			e = add_event(r, event);
	return e;
}

/* One value after another, commas and blanks between them. */
static int read_values(struct reading *r, size_t n)
{
	struct tape tape = {};
	int e = 0;

	for (size_t at = 0; e == 0; at += tape.end) {
		at += strspn(r->text + at, " \t\r\n,\x1e");
		if (at == n)
			break;
		e = tape_read(&tape, r->text + at, n - at);
		if (e == -EINVAL || e == -ENODATA)
			e = str_fail(r->ret_error, -EINVAL, "%s: byte %zu: this is not JSON", r->name, at + tape.end);
		else if (e == 0)
			e = add_value(r, tape.values.v);
	}
	tape_free(&tape);
	return e;
}

static int take_over(struct deployments *to, struct deployments *from)
{
	for (size_t i = 0; i < from->list.n; i++) {
		if (to->list.n == DEPLOYMENTS_MAX || VEC_GROW(to->list) < 0)
			return -ENOMEM;
		to->list.v[to->list.n++] = from->list.v[i];
		from->list.v[i] = (struct deployment){};
	}
	return 0;
}

int deployments_parse(const char *name, const char *text, size_t n, int64_t now, struct deployments *d, char **ret_error)
{
	_cleanup_free_ char *copy = strndup(text, n); /* ends with a NUL: JSON has none elsewhere */
	struct reading r = {name, copy, now, {}, ret_error};
	int e;

	*ret_error = NULL;
	if (!copy)
		return -ENOMEM;
	e = read_values(&r, strlen(copy));
	if (e == 0)
		e = take_over(d, &r.found);
	deployments_free(&r.found);
	return e;
}

/* When a file was last written; of a pipe: now. */
static int64_t written_at(const char *path, int64_t now)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISREG(s.st_mode) ? s.st_mtim.tv_sec * NS_PER_SEC + s.st_mtim.tv_nsec : now;
}

int deployments_read(const char *path, int64_t now, struct deployments *d, char **ret_error)
{
	struct input in;
	int64_t n;
	int e = input_open(&in, path);

	*ret_error = NULL;
	if (e < 0)
		return str_fail(ret_error, e, "%s: %s", path, strerror(-e));
	n = input_need(&in, DEPLOYMENTS_FILE_MAX + 1);
	if (n < 0 || in.broken || n > (int64_t)DEPLOYMENTS_FILE_MAX)
		e = str_fail(ret_error, n < 0 ? (int)n : -EFBIG, "%s: %s", path, n < 0 ? strerror((int)-n) : "damaged, or larger than 64 MiB");
	else
		e = deployments_parse(path, (const char *)input_at(&in), (size_t)n, written_at(path, now), d, ret_error);
	input_close(&in);
	return e;
}
