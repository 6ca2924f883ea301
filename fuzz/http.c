/* A request as the server's own code reads it: its line, headers and body; and logging in. The library's part is put in: it looks up what
 * stands in the input. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "lib/net/http-incoming.h"

#define LINES_MAX 32

/* METHOD PATH\n NAME: VALUE\n ... \n\n BODY; "?NAME=VALUE" lines are the query. "Bearer good" is a session that holds. */
struct request {
	const char *method, *path;
	const char *names[LINES_MAX], *values[LINES_MAX];
	bool query[LINES_MAX];
	size_t n;
	char *body;
	size_t body_n;
	char bearer[SECRET_TEXT + 8];
};

static const char *look_up(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name)
{
	const struct request *r = (const struct request *)connection;

	for (size_t i = 0; i < r->n; i++)
		if (r->query[i] == (kind == MHD_GET_ARGUMENT_KIND) && strcasecmp(r->names[i], name) == 0)
			return strcmp(r->values[i], "Bearer good") == 0 ? r->bearer : r->values[i];
	return NULL;
}

static int each_value(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIterator next, void *data)
{
	const struct request *r = (const struct request *)connection;
	int found = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->query[i] == (kind == MHD_GET_ARGUMENT_KIND)) {
			found++;
			if (next && next(data, kind, r->names[i], r->values[i]) == MHD_NO)
				break;
		}
	return found;
}

static void take_line(struct request *r, char *line)
{
	bool query = *line == '?';
	char *end = strchr(line, query ? '=' : ':');

	if (!end || r->n == LINES_MAX)
		return;
	*end++ = '\0';
	r->names[r->n] = line + query;
	r->values[r->n] = end + (*end == ' ');
	r->query[r->n++] = query;
}

static void take_apart(struct request *r, char *text, size_t n)
{
	char *end = memmem(text, n, "\n\n", 2), *line = strsep(&text, "\n");

	r->method = strsep(&line, " ");
	r->path = line ? line : "/";
	r->body = end ? end + 2 : text ? text + strlen(text) : (char *)"";
	r->body_n = end ? n - (size_t)(r->body - r->method) : 0;
	if (end)
		end[1] = '\0';
	while (text && text < r->body && *text)
		take_line(r, strsep(&text, "\n"));
}

static void answer(struct http_exchange *e)
{
	str_append(&e->reply, e->body.data, e->body.len);
}

static const struct http_route routes[] = {
	{"GET", "/metrics", answer, 0, SCOPE_METRICS}, {"GET", "/api/*", answer, 0, SCOPE_READ}, {"POST", "/api/marks", answer, 4096, SCOPE_ALL},
	{"GET", "/*", answer, 0, SCOPE_PUBLIC},	       {},
};

static void answer_request(struct http_incoming *q, struct request *r)
{
	const struct http_refusal *why = http_examine(q, (struct MHD_Connection *)r, r->path);

	if (why) {
		http_fail(&q->exchange, why->status, "%s", why->said);
		return;
	}
	q->exchange.body.max = q->route->body_max + 2;
	if (r->body_n > q->route->body_max || str_append(&q->exchange.body, r->body, r->body_n) < 0)
		q->too_large = true;
	why = http_unpack(q);
	if (!why)
		q->route->handle(&q->exchange);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const struct user user = {"anna", SCOPE_ALL, ""};
	static const char *const names[] = {"server.example", NULL};
	_cleanup_free_ char *text = malloc(n + 1), *error = NULL;
	struct request r = {};
	struct http_server s = {.mhd.MHD_lookup_connection_value = look_up, .mhd.MHD_get_connection_values = each_value, .routes = routes, .names = names, .loopback = true, .requests_max = 4};
	struct http_incoming q = {.server = &s};
	char session[SECRET_TEXT] = "";

	s.sessions = sessions_new(NULL);
	if (!text || !s.sessions || users_open("/nonexistent/tokens", true, &s.tokens, &error) < 0)
		abort();
	memcpy(text, bytes, n);
	text[n] = '\0';
	(void)sessions_begin(s.sessions, &user, PEER_UNKNOWN, session);
	snprintf(r.bearer, sizeof(r.bearer), "Bearer %s", session);
	take_apart(&r, text, n);
	q.exchange = (struct http_exchange){.server = &s, .method = r.method, .path = r.path, .connection = &r, .peer = PEER_UNKNOWN};
	answer_request(&q, &r);
	str_free(&q.exchange.body);
	str_free(&q.exchange.reply);
	sessions_free(s.sessions);
	users_free(s.tokens);
	return 0;
}
