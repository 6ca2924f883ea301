#include "web/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/net/http-server.h"
#include "machine/client/request.h"
#include "web/call-asker.h"
#include "web/mcp.h"
#include "web/reader-pool.h"
#include "web/serve-events.h"
#include "web/web-assets.h"
#include "web/web-control.h"

#define BODY_MAX 4096 /* a note */

struct serve {
	struct http_server *server;
	struct web_control *control;
	struct str address;
	struct call_asker asker;
	struct reader_pool *kept;
	struct live_feeds *feeds;
};

/* --- a request's values ---------------------------------------------------------------------------------------------------- */

static struct call_value query_value(const void *state, const char *name)
{
	return (struct call_value){.text = http_query(state, name)};
}

static struct call_value body_value(const void *state, const char *name)
{
	const json_t *own = json_object_get(state, name), *v = own ? own : json_object_get(json_object_get(state, "metadata"), name); /* as Flagger sends it */

	return json_is_integer(v) ? (struct call_value){.is_number = true, .number = json_integer_value(v)}
				  : (struct call_value){.text = json_string_value(v)};
}

static bool is_error(const struct str *text)
{
	return strstr(text->data, "\"whyslow.error/1\"");
}

/* Exit statuses of verbs: 0 and 1 answer, 2 = a bad question, 3 = cannot; 3 without an error is an answer, too: "too few requests to compare". What gates a
 * version has a status of its own for each. */
static bool has_answered(const struct call *call, int status, const struct str *text, const struct str *errors)
{
	return text->len && (status == 0 || status == 1 || (status == 3 && (call->gate || (!errors->len && !is_error(text)))));
}

static void finish(struct http_exchange *e, const struct call *call, int status, struct str *text, const struct str *errors)
{
	const char *said = errors->len ? errors->data : "no answer";
	bool is_answered = has_answered(call, status, text, errors);

	if (is_answered && call->gate && !strcmp(call->method, "POST"))
		e->status = status == 0 ? 200 : status == 1 ? 409 : 425;
	else if (is_answered && call->gate)
		e->status = is_error(text) ? 404 : 200; /* a version that no request ran yet */
	else if (status == 2)
		http_fail(e, 400, "%s", said);
	else if (!is_answered && (status < 0 || status > 1))
		http_fail(e, status < 0 ? 503 : 404, "%s", status < 0 ? call_asker_failure(&((const struct serve *)e->context)->asker, call, status) : said);
	else if (status == 1 && !text->len)
		http_fail(e, 404, "%s", said);
	if (status < 0)
		e->retry_after = 2;
	if (!is_answered)
		return;
	if (call->type)
		e->type = call->type;
	e->reply = *text;
	*text = (struct str){};
}

static int ask_reader(const struct serve *s, const struct http_exchange *e, const struct call_request *q, struct str *text, struct str *errors)
{
	const char *mark = http_query(e, "mark"), *freeze = http_query(e, "freeze");
	const char *begin[] = {"threads", "--json", "--questions", "--mark", mark};
	char key[64];

	snprintf(key, sizeof(key), "%s:%.40s", mark ? mark : "", mark ? "" : freeze ? freeze : "");
	return reader_pool_ask(s->kept, key, mark ? 5 : 3, begin, q->n - 2, q->v + 2, text, errors); /* "threads --json" is said */
}

static bool has_gone(const void *exchange)
{
	return http_client_has_gone(exchange);
}

static void answer_request(struct http_exchange *e, const struct call_request *q)
{
	const struct serve *s = e->context;
	const struct ask_bounds bounds = {ANSWER_TIMEOUT * NS_PER_SEC, ANSWER_MEMORY, has_gone, e};
	_cleanup_str_ struct str text = {}, errors = {};
	int status;

	if (q->call->resident)
		status = ask_reader(s, e, q, &text, &errors);
	else
		status = call_asker_ask(&s->asker, q, &bounds, &text, &errors);
	finish(e, q->call, status, &text, &errors);
}

static void answer_call(struct http_exchange *e)
{
	const struct serve *s = e->context;
	const struct call *call = call_find(e->path, e->method);
	_cleanup_free_ char *error = NULL;
	struct call_request request;
	json_t *body = NULL;
	bool post = strcmp(e->method, "POST") == 0;

	if (!call) {
		http_fail(e, 404, "there is no %s; /api/v1/openapi.json lists what there is", e->path);
		return;
	}
	if (call_is_about(call, "fleet") && !s->asker.files.fleet) {
		http_fail(e, 404, "no fleet is served here: whyslow serve --fleet FILE");
		return;
	}
	if (post && e->body.len && !(body = json_loadb(e->body.data, e->body.len, 0, NULL)))
		http_fail(e, 400, "the body is not JSON");
	else if (call_request_make(call, &s->asker.files, s->asker.verb_options, post ? body_value : query_value, post ? (const void *)body : e, &request, &error) < 0)
		http_fail(e, 400, "%s; /api/v1/openapi.json lists the parameters", error ? error : "out of memory");
	else
		answer_request(e, &request);
	json_decref(body);
}

static void stream_events(struct http_exchange *e)
{
	const struct serve *s = e->context;

	serve_events(e, s->feeds);
}

/* --- assistants --- */

/* Streamable HTTP without streams: one message, one answer. */
static void answer_assistant(struct http_exchange *e)
{
	const struct serve *s = e->context;
	const struct ask_bounds bounds = {ANSWER_TIMEOUT * NS_PER_SEC, ANSWER_MEMORY, has_gone, e};
	json_t *said = mcp_answer(&s->asker, e->body.data ? e->body.data : "", e->body.len, &bounds);
	char *text = said ? json_dumps(said, JSON_COMPACT) : NULL;

	if (!said)
		e->status = 202; /* a notification */
	else if (!text || str_puts(&e->reply, text) < 0)
		http_fail(e, 503, "out of memory");
	free(text);
	json_decref(said);
}

static void refuse_stream(struct http_exchange *e)
{
	http_fail(e, 405, "/mcp sends nothing by itself: POST a message");
}

/* --- the page --- */

static void answer_asset(struct http_exchange *e)
{
	const char *path = strcmp(e->path, "/") == 0 ? "/index.html" : e->path;

	for (size_t i = 0; i < web_assets_n; i++) {
		const struct web_asset *a = &web_assets[i];

		if (strcmp(a->path, path) != 0)
			continue;
		e->type = a->type;
		if (str_append(&e->reply, a->bytes, a->n) < 0)
			http_fail(e, 503, "out of memory");
		return;
	}
	http_fail(e, 404, "there is no %s", path);
}

/* --- the interface, described --- */

static void answer_openapi(struct http_exchange *e)
{
	const struct serve *s = e->context;
	_cleanup_free_ char *error = NULL;
	json_t *document = calls_openapi(s->asker.verb_options, &error);
	char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;

	if (!text || str_puts(&e->reply, text) < 0)
		http_fail(e, 503, "%s", error ? error : "out of memory");
	free(text);
	json_decref(document);
}

/* --- */

static const struct http_route routes[] = {
	{"GET", "/api/v1/events", stream_events, 0, SCOPE_READ},
	{"GET", "/api/v1/openapi.json", answer_openapi, 0, SCOPE_READ},
	{"GET", "/api/v1/*", answer_call, 0, SCOPE_READ},
	{"POST", "/api/v1/marks", answer_call, BODY_MAX, SCOPE_ALL},
	{"POST", "/api/v1/confirm", answer_call, BODY_MAX, SCOPE_ALL},
	{"POST", "/api/v1/notes", answer_call, BODY_MAX, SCOPE_ALL},
	{"POST", "/api/v1/feedback", answer_call, BODY_MAX, SCOPE_ALL},
	{"POST", "/api/v1/spans/gate", answer_call, BODY_MAX, SCOPE_READ},
	{"GET", "/mcp", refuse_stream, 0, SCOPE_READ},
	{"POST", "/mcp", answer_assistant, MCP_MESSAGE_MAX, SCOPE_READ},
	{"GET", "/metrics", answer_call, 0, SCOPE_METRICS},
	{"GET", "/*", answer_asset, 0, SCOPE_PUBLIC},
	{},
};

/* The name in the address that is handed out: the one given, else the address that is listened on, if it is one. */
static void put_host(struct str *out, const struct serve_options *o)
{
	const char *colon = strrchr(o->listen, ':');
	int n = colon ? (int)(colon - o->listen) : 0;

	if (o->names && *o->names)
		str_puts(out, *o->names);
	else if (!n || strncmp(o->listen, "0.0.0.0:", 8) == 0 || strncmp(o->listen, "[::]:", 5) == 0)
		str_puts(out, "127.0.0.1");
	else
		str_printf(out, "%.*s", n, o->listen);
}

static int set_address(struct serve *s, const struct serve_options *o)
{
	str_puts(&s->address, o->cert_file ? "https://" : "http://");
	put_host(&s->address, o);
	return str_printf(&s->address, ":%u/", http_server_port(s->server));
}

/* Without it `whyslow open` does not find this server; everything else works. */
static void start_control(struct serve *s, const struct serve_options *o)
{
	_cleanup_free_ char *folder = NULL, *error = NULL;
	int r = web_folder(o->run_dir, &folder, &error);

	if (r == 0)
		r = web_control_start(&(struct web_control_options){.folder = folder, .address = s->address.data, .recording = o->recording,
				      .port = http_server_port(s->server), .sessions = http_server_sessions(s->server)}, &s->control);
	if (r < 0)
		log_warning("'whyslow open' will not find this server: %s", error ? error : strerror(-r));
}

int serve_start(const struct serve_options *o, struct serve **ret, char **ret_error)
{
	struct serve *s = calloc(1, sizeof(*s));
	struct http_server_options server = {.listen = o->listen, .cert_file = o->cert_file, .key_file = o->key_file, .sessions = true,
					     .token_file = o->token_file, .names = o->names, .routes = routes, .json_below = "/api/", .context = s};
	int r;

	if (!s)
		return -ENOMEM;
	s->asker = call_asker_make(&o->asker, o->spans_file, &(struct call_files){o->fleet_file, o->hosts_file, o->calls_file}, o->verb_options);
	s->feeds = live_feeds_new(&s->asker.machine);
	r = s->feeds ? reader_pool_new(&s->asker.machine, &s->kept) : -ENOMEM;
	r = r ?: http_server_start(&server, &s->server, ret_error);
	r = r ?: set_address(s, o);
	if (r < 0) {
		serve_stop(s);
		return r;
	}
	start_control(s, o);
	*ret = s;
	return 0;
}

const char *serve_address(const struct serve *s)
{
	return s->address.data;
}

int serve_login_code(const struct serve *s, char ret_code[SECRET_TEXT])
{
	struct user user = web_user(geteuid());

	return sessions_make_code(http_server_sessions(s->server), &user, PRINTED_LIFE, ret_code);
}

size_t serve_tokens_in_clear(const struct serve *s)
{
	return http_server_tokens_in_clear(s->server);
}

void serve_stop(struct serve *s)
{
	if (!s)
		return;
	web_control_stop(s->control);
	http_server_stop(s->server);
	reader_pool_free(s->kept);
	live_feeds_free(s->feeds);
	str_free(&s->address);
	free(s);
}
