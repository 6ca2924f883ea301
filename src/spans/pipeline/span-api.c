#include "spans/pipeline/span-api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/input/json-tape.h"
#include "lib/net/http-client.h"

struct fetch {
	const char *url;
	struct http_client *client;
	struct http_reply reply;
	struct tape tape; /* of the answer at hand */
	struct hmap known; /* (hash of a trace's id, its length) -> itself: of several services, or slices */
	FILE *out;
	struct span_api_tally *tally;
};

bool span_api_is(const char *location)
{
	return str_starts(location, "http://") || str_starts(location, "https://");
}

/* Asks for a path below the URL; the reply is kept until the next one. */
static int get(struct fetch *f, const char *path)
{
	_cleanup_str_ struct str url = {};
	struct http_request request = {};
	int r;

	str_printf(&url, "%.*s%s", (int)(strlen(f->url) - (f->url[strlen(f->url) - 1] == '/')), f->url, path);
	if (url.error)
		return -ENOMEM;
	request.url = url.data;
	http_reply_free(&f->reply);
	r = http_send(f->client, &request, &f->reply);
	return r < 0 ? r : http_check_status(f->client, &request, &f->reply);
}

/* The same for an answer in JSON. */
static int get_json(struct fetch *f, const char *path, const struct tape_value **ret)
{
	int r = get(f, path);

	r = r ?: tape_read(&f->tape, f->reply.body.data ? f->reply.body.data : "", f->reply.body.len);
	if (r == 0)
		*ret = f->tape.values.v;
	return r == -EINVAL || r == -ENODATA ? -EBADMSG : r;
}

/* 1 = it was not seen before. */
static int is_new(struct fetch *f, const struct tape_value *id)
{
	uint64_t hash;

	if (!tape_is(id, TAPE_TEXT))
		return 0;
	hash = hmap_hash_bytes(id->text, id->n);
	if (hmap_get(&f->known, hash, id->n))
		return 0;
	f->tally->traces++;
	return hmap_put(&f->known, hash, id->n, f) < 0 ? -ENOMEM : 1;
}

static int put(struct fetch *f, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, f->out) == n && fputc('\n', f->out) != EOF ? 0 : -EIO;
}

/* --- Jaeger: whole traces of a service, {"data": [{"traceID": ...}]} ------------------------------------------------------ */

static int fetch_of_service(struct fetch *f, const char *service, int64_t from, int64_t to, size_t *ret)
{
	_cleanup_str_ struct str path = {};
	const struct tape_value *answer;
	int r;

	str_puts(&path, "/api/traces?service=");
	http_url_escape(&path, service);
	str_printf(&path, "&start=%" PRId64 "&end=%" PRId64 "&limit=%d", from / 1000, to / 1000, SPAN_API_TRACES);
	r = path.error ? -ENOMEM : get_json(f, path.data, &answer);
	if (r < 0)
		return r;
	TAPE_EACH(trace, tape_get(answer, "data")) {
		int fresh = r == 0 ? is_new(f, tape_get(trace, "traceID")) : 0;

		r = fresh > 0 ? put(f, trace->text, trace->n) : fresh < 0 ? fresh : r;
		++*ret;
	}
	return r;
}

static void free_texts(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
}

struct services {
	char **v;
	size_t n;
};

/* -ENOENT: it is not Jaeger. */
static int find_services(struct fetch *f, struct services *ret)
{
	const struct tape_value *answer;
	int r = get_json(f, "/api/services", &answer);

	*ret = (struct services){};
	if (r == -EBADMSG || (r == 0 && !tape_is(tape_get(answer, "data"), TAPE_ARRAY)))
		return -ENOENT;
	if (r < 0)
		return r;
	ret->v = calloc(tape_get(answer, "data")->size, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	TAPE_EACH(name, tape_get(answer, "data"))
		if (tape_is(name, TAPE_TEXT) && (ret->v[ret->n] = strndup(name->text, name->n)))
			ret->n++;
	return 0;
}

/* --- Tempo: ids of a search, {"traces": [{"traceID": ...}]}, then each trace ---------------------------------------------- */

static int fetch_trace(struct fetch *f, const char *id)
{
	_cleanup_str_ struct str path = {};
	int r;

	str_puts(&path, "/api/traces/");
	http_url_escape(&path, id);
	r = path.error ? -ENOMEM : get(f, path.data);
	if (r == -ENOENT) /* it was deleted since the search */
		return 0;
	return r < 0 ? r : put(f, f->reply.body.data, f->reply.body.len);
}

static int search(struct fetch *f, int64_t from, int64_t to, size_t *ret)
{
	char path[128], *ids[SPAN_API_TRACES] = {};
	const struct tape_value *answer;
	size_t n = 0;
	int r;

	snprintf(path, sizeof(path), "/api/search?start=%" PRId64 "&end=%" PRId64 "&limit=%d", (int64_t)(from / NS_PER_SEC), (int64_t)(to / NS_PER_SEC), SPAN_API_TRACES);
	r = get_json(f, path, &answer);
	if (r == 0 && !tape_is(tape_get(answer, "traces"), TAPE_ARRAY))
		return tape_get(answer, "metrics") ? 0 : -EBADMSG; /* of no trace there is no list */
	if (r < 0)
		return r;
	TAPE_EACH(trace, tape_get(answer, "traces")) {
		const struct tape_value *id = tape_get(trace, "traceID");
		int fresh = r == 0 && n < SPAN_API_TRACES ? is_new(f, id) : 0;

		r = fresh < 0 ? fresh : r;
		if (fresh > 0 && (ids[n] = strndup(id->text, id->n)))
			n++;
		++*ret;
	}
	for (size_t i = 0; i < n; i++) {
		r = r == 0 ? fetch_trace(f, ids[i]) : r;
		free(ids[i]);
	}
	return r;
}

/* --- both ------------------------------------------------------------------------------------------------------------------- */

static int fetch_slice(struct fetch *f, const struct services *jaeger, int64_t from, int64_t to)
{
	bool full = false;
	size_t n = 0;
	int r = 0;

	if (!jaeger)
		r = search(f, from, to, &n);
	full = n >= SPAN_API_TRACES;
	for (size_t i = 0; jaeger && r == 0 && i < jaeger->n; i++, full |= n >= SPAN_API_TRACES) {
		n = 0;
		r = fetch_of_service(f, jaeger->v[i], from, to, &n);
	}
	f->tally->slices++;
	f->tally->full += full;
	return r;
}

static int fetch_all(struct fetch *f, int64_t from, int64_t to)
{
	struct services services;
	int r = find_services(f, &services);
	const struct services *jaeger = r == 0 ? &services : NULL;
	int64_t width = (to - from) / SPAN_API_SLICES;

	width = (width < NS_PER_SEC ? 1 : (width + NS_PER_SEC - 1) / NS_PER_SEC) * NS_PER_SEC; /* Tempo knows seconds */
	r = r == -ENOENT ? 0 : r;
	for (int64_t at = from; r == 0 && at < to; at += width)
		r = fetch_slice(f, jaeger, at, at + width < to ? at + width : to);
	free_texts(services.v, services.n);
	return r;
}

int span_api_fetch(const char *url, int64_t from, int64_t to, FILE *out, struct span_api_tally *ret, char **ret_error)
{
	struct fetch f = {.url = url, .out = out, .tally = ret};
	const struct http_client_options options = {};
	int r = http_client_open(&options, &f.client, ret_error);

	*ret = (struct span_api_tally){};
	if (r < 0)
		return r;
	r = fetch_all(&f, from, to);
	if (r == -EBADMSG)
		str_fail(ret_error, r, "%s: neither Tempo's nor Jaeger's query service answers there", url);
	else if (r < 0)
		str_fail(ret_error, r, "cannot read traces from %s: %s", url, r == -ENOMEM || r == -EIO ? strerror(-r) : http_client_error(f.client));
	http_reply_free(&f.reply);
	tape_free(&f.tape);
	hmap_free(&f.known);
	http_client_close(f.client);
	return r;
}
