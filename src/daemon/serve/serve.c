#include "daemon/serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/data/log.h"
#include "net/http-server.h"
#include "daemon/serve/reader-pool.h"
#include "daemon/serve/serve-events.h"
#include "daemon/serve/web-assets.h"
#include "daemon/serve/web-control.h"

#define PARAMETERS_MAX 16
#define BODY_MAX       4096 /* a note */

struct serve {
	struct http_server *server;
	struct web_control *control;
	struct str address;
	struct asker asker, spans_asker; /* the latter's store is that of the spans */
	const char *fleet_file, *hosts_file;
	struct reader_pool *kept;
};

/* Among a call's words: the files that are served. */
#define FLEET_FILE "FLEET"
#define HOSTS_FILE "HOSTS" /* left out, with the option before it, where there is none */

/* A query's parameter becomes an option of the verb; one without an option is a word of its own. */
struct parameter {
	const char *name, *option, *help;
};

struct call {
	const char *path, *method, *help;
	const char *type; /* NULL = JSON */
	const char *words[8];
	struct parameter parameters[PARAMETERS_MAX]; /* of a POST: the keys of its body */
};

#define AT     {"at", "--at", "a moment as `whyslow why --at` takes it"}
#define WINDOW {"window", "--window", "length of the baseline, e.g. 4h"}
#define MARK   {"mark", "--mark", "the saved events of this mark (default: the current ones)"}
#define FREEZE {"freeze", "", "any word: a new one freezes the flight recorder again, where no mark is given"}
#define SINCE  {"since", "--since", "from here"}
#define UNTIL  {"until", "--until", "up to here"}
#define SPANS_PARAMETERS {"by", "--by", "attributes that form buckets"}, {"where", "--where", "only buckets with these values: KEY=VALUE,..."}, \
	{"entry", "--entry", "only requests whose entry point contains this"}, SINCE, UNTIL
#define FLEET_PARAMETERS {"from", "--from", "the window begins"}, {"to", "--to", "the window ends"}
#define WAIT   {"wait", "--wait", "1: use every event of the flight recorder, even if that takes longer"}
#define MARK_NUMBER {"id", NULL, "the mark's number"}
#define NOTE   {"note", NULL, "a text"}
#define WHO    {"for", "--for", "a pid, unit or name"}

static const struct call calls[] = {
	{"/api/v1/why", "GET", "why it is (or was) slow", NULL, {"why", "--json"},
	 {AT, {"since", "--since", "start of the incident"}, WINDOW, WHO, {"model", "--model", "blame, gaussian or unusual"}, WAIT}},
	{"/api/v1/program", "GET", "why one program is (or was) slow: what it waits for, and what makes it wait", NULL, {"why", "--json"},
	 {AT, SINCE, {"for", NULL, "a pid, unit or name"}}},
	{"/api/v1/incident", "GET", "the answer for a mark", NULL, {"show", "--json"}, {{"id", NULL, "the mark's number"}, WINDOW, WAIT}},
	{"/api/v1/board", "GET", "every process at a moment, the most unusual first", NULL, {"show", "--json"}, {AT, WINDOW}},
	{"/api/v1/process", "GET", "the features of one process at a moment", NULL, {"show", "--json"}, {AT, WINDOW, WHO}},
	{"/api/v1/series", "GET", "one feature of a process over the window", NULL, {"show", "--json"},
	 {AT, WINDOW, WHO, {"since", "--since", "the curve's beginning"}, {"until", "--until", "and its end"}, {"feature", "--feature", "a feature's name"}, {"points", "--points", "at most so many"}}},
	{"/api/v1/lives", "GET", "which processes lived when", NULL, {"show", "--json", "--lives"},
	 {AT, WINDOW, SINCE, UNTIL, {"points", "--points", "at most so many, those that began or ended last"}}},
	{"/api/v1/timeline", "GET", "threads' states and the CPUs' use over a window, to be drawn", NULL, {"threads", "--json"},
	 {MARK, FREEZE, SINCE, UNTIL, {"points", "--points", "on so many points; required"}, {"first", "--first", "begin with this row"},
	  {"rows", "--rows", "and so many rows"}, {"order", "--order", "waited, ran, name or pid"},
	  {"order_since", "--order-since", "order by what happened from here"}, {"order_until", "--order-until", "up to here"},
	  {"filter", "--filter", "only threads with this in their name or unit, or with this number"},
	  {"folded", "--folded", "one row for all threads of these PIDs"}, {"pid", "--chosen", "process whose CPU use is shown separately"},
	  {"path", "--path", "with the critical path of the thread of this number"}}},
	{"/api/v1/instant", "GET", "what a thread was doing at a moment, and what ended it", NULL, {"threads", "--json"},
	 {MARK, FREEZE, {"tid", NULL, "the thread's number"}, AT}},
	{"/api/v1/history", "GET", "what was unusual, minute by minute, without a press of the button", NULL, {"history", "--json"},
	 {SINCE, UNTIL, {"points", "--points", "with the scores, in at most so many parts"}, {"top", "--top", "so many unusual times; 0 = all"}}},
	{"/api/v1/marks", "GET", "marked moments", NULL, {"list", "--json"}, {}},
	{"/api/v1/marks", "POST", "mark this moment: it is slow now; the body may be empty", NULL, {"mark", "--json"}, {NOTE}},
	{"/api/v1/notes", "POST", "an earlier mark's note", "text/plain; charset=utf-8", {"mark"}, {MARK_NUMBER, NOTE}},
	{"/api/v1/feedback", "POST", "whether its answer was right",
	 "text/plain; charset=utf-8", {"feedback"}, {MARK_NUMBER, {"feedback", NULL, "right, wrong or fixed"}}},
	{"/api/v1/confirm", "POST", "whether processes are the cause: they are held back and let go for about 20 s",
	 NULL, {"confirm", "--json"}, {{"pids", NULL, "the processes' numbers, separated by commas: held back together"}, {"short", NULL, "cpu, disk or memory: what is short"}}},
	{"/api/v1/compare", "GET", "what changed between two times", NULL, {"compare", "--json"},
	 {{"a", NULL, "a time as `whyslow compare` accepts it"}, {"b", NULL, "another"}}},
	{"/api/v1/features", "GET", "the catalogue of what is measured", NULL, {"features", "--json"}, {}},
	{"/api/v1/doctor", "GET", "what this machine does not provide, and how to fix it", NULL, {"doctor", "--json"}, {}},
	{"/api/v1/counters", "GET", "the machine's own counters, of an hour at most, for a fleet", NULL, {"export", "--format", "counters"},
	 {{"since", "--since", "from here"}, {"until", "--until", "up to here"}}},
	{"/api/v1/blame", "GET", "who made whom wait: sums by victim, culprit and wait", NULL, {"waits", "--json", "--matrix"},
	 {MARK, SINCE, UNTIL, {"by", "--by", "thread, process, program or cgroup"}, {"top", "--top", "number of each, all others together"}, {"all", "--all", "1: also what was waited for others' work"}}},
	{"/api/v1/flame", "GET", "where time went, by stacks", NULL, {"export", "--format", "folded", "--json"},
	 {MARK, SINCE, UNTIL, {"waits", "--waits", "1: where they waited, not where they ran"}, {"who", "--who", "of this process or thread alone"},
	  {"base_mark", "--base-mark", "compare with the events of this mark"}, {"base_since", "--base-since", "compare with the events from here"},
	  {"base_until", "--base-until", "and up to here"}}},
	{"/api/v1/captures", "GET", "what was seen in the processes that were looked into", NULL, {"show", "--captures", "--json"}, {{"id", NULL, "the incident's number"}}},
	{"/api/v1/spans/groups", "GET", "versions of each bucket against the older ones", NULL, {"spans", "groups", "--json"},
	 {SPANS_PARAMETERS, {"method", "--method", "robust, sdiag-older or sdiag-pooled"}}},
	{"/api/v1/spans/forest", "GET", "every call path of every bucket", NULL, {"spans", "forest", "--json"}, {SPANS_PARAMETERS}},
	{"/api/v1/spans/exemplars", "GET", "requests that were stored whole", NULL, {"spans", "exemplars", "--json"},
	 {SPANS_PARAMETERS, {"top", "--top", "so many of each kind"}}},
	{"/api/v1/spans/why", "GET", "which version, in which bucket, made requests slower, and which attributes explain it, down to the hosts", NULL,
	 {"spans", "why", "--json", "--hosts", HOSTS_FILE}, {SPANS_PARAMETERS, {"trace", "--trace", "why this request was slow, by the recorders of its hosts"}}},
	{"/api/v1/spans/why.html", "GET", "the same as one page to hand on", "text/html; charset=utf-8", {"spans", "why", "--html", "-"}, {SPANS_PARAMETERS}},
	{"/api/v1/spans/select", "GET", "requests by time and duration, and what tells a selection from the rest", NULL, {"spans", "select", "--json"},
	 {SPANS_PARAMETERS, {"begin", "--begin", "select from here on"}, {"end", "--end", "and before this"}, {"longer", "--longer", "that took so long or longer"},
	  {"shorter", "--shorter", "and less than this"}, {"failed", "--failed", "1: that failed"}}},
	{"/api/v1/spans/compare", "GET", "two versions: where the time went", NULL, {"spans", "compare", "--json"},
	 {SPANS_PARAMETERS, {"baseline", "--baseline", "the version that was good"}, {"candidate", "--candidate", "the one to judge"}}},
	{"/api/v1/fleet/info", "GET", "servers and counters", NULL, {"fleet", "info", FLEET_FILE, "--json"}, {}},
	{"/api/v1/fleet/view", "GET", "one counter of all servers", NULL, {"fleet", "view", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"by", "--by", "detail, server or time"}, {"points", "--points", "detail, time: maximum number of points"},
	  {"counter", NULL, "its name"}}},
	{"/api/v1/fleet/rank", "GET", "which servers are conspicuous in the window", NULL, {"fleet", "rank", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"top", "--top", "so many; 0 = all"}}},
	{"/api/v1/fleet/compare", "GET", "which counters of which servers are unusual in the window", NULL, {"fleet", "compare", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"top", "--top", "so many; 0 = all"}}},
	{"/api/v1/fleet/correlate", "GET", "which counters moved with a symptom", NULL, {"fleet", "correlate", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"symptom", NULL, "COUNTER or COUNTER@SERVER"}, {"spearman", "--spearman", "1: by ranks"}, {"top", "--top", "so many; 0 = all"}}},
	{"/api/v1/fleet/check", "GET", "the values that break these rules", NULL, {"fleet", "check", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"rule", "--rule", "'when any COUNTER in detail view > 15 report', as `whyslow fleet check` reads them"}, {"top", "--top", "so many of each"}}},
	{"/api/v1/fleet/history", "GET", "the unusual times of all of the data", NULL, {"fleet", "history", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"top", "--top", "so many; 0 = all"}}},
	{"/api/v1/fleet/why", "GET", "which servers and counters, since when, what moved with it", NULL, {"fleet", "why", FLEET_FILE, "--json"},
	 {FLEET_PARAMETERS, {"symptom", "--symptom", "COUNTER or COUNTER@SERVER"}}},
	{"/metrics", "GET", "the newest tick, for Prometheus", "application/openmetrics-text; version=1.0.0; charset=utf-8",
	 {"export", "--format", "openmetrics", "--since", "-10s"}, {}},
};

struct words {
	const char *v[2 * PARAMETERS_MAX + 8];
	size_t n;
};

static bool is_about(const struct call *call, const char *verb)
{
	return strcmp(call->words[0], verb) == 0;
}

static bool is_post(const struct call *call)
{
	return strcmp(call->method, "POST") == 0;
}

static const struct call *find_call(const struct http_exchange *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].path, e->path) == 0 && strcmp(calls[i].method, e->method) == 0)
			return &calls[i];
	return NULL;
}

/* Options without a value are asked for with 1. */
static bool is_flag(const struct parameter *p)
{
	return str_starts(p->help, "1: ");
}

/* Not the verb's, but this server's. */
static bool is_ours(const struct parameter *p)
{
	return p->option && !*p->option;
}

/* Asked again and again of one recording of events: its reader stays (kept.h). */
static bool is_kept(const struct call *call)
{
	for (size_t i = 0; i < PARAMETERS_MAX && call->parameters[i].name; i++)
		if (is_ours(&call->parameters[i]))
			return true;
	return false;
}

static const char *file_or_word(const struct serve *s, const char *word)
{
	return strcmp(word, FLEET_FILE) == 0 ? s->fleet_file : strcmp(word, HOSTS_FILE) == 0 ? s->hosts_file : word;
}

static void put_words(const struct call *call, const struct http_exchange *e, struct words *w)
{
	const struct serve *s = e->context;

	for (size_t i = 0; call->words[i]; i++) {
		if (call->words[i + 1] && strcmp(call->words[i + 1], HOSTS_FILE) == 0 && !s->hosts_file)
			i++;
		else
			w->v[w->n++] = file_or_word(s, call->words[i]);
	}
	for (size_t pass = 0; pass < 2 && call->parameters[0].name && !is_post(call); pass++) { /* options first; what begins with a dash stays a word */
		if (pass)
			w->v[w->n++] = "--";
		for (size_t i = 0; i < PARAMETERS_MAX && call->parameters[i].name; i++) {
			const struct parameter *p = &call->parameters[i];
			const char *value = http_query(e, p->name);

			if (!value || !p->option != (pass == 1) || is_ours(p))
				continue;
			if (p->option)
				w->v[w->n++] = p->option;
			if (!is_flag(p))
				w->v[w->n++] = value;
		}
	}
}

/* What a POST's body says, as words of the verb. */
struct posted {
	json_t *body;
	char id[24];
};

static void posted_free(struct posted *p)
{
	json_decref(p->body);
}

/* {"pids": "NUMBER,..."}, with "short" where it is known. */
static int put_accused(struct posted *p, struct words *w, const struct http_exchange *e)
{
	const char *what, *who;

	p->body = e->body.len ? json_loadb(e->body.data, e->body.len, 0, NULL) : NULL;
	what = json_string_value(json_object_get(p->body, "short"));
	who = json_string_value(json_object_get(p->body, "pids"));
	if (!who || !*who || who[strspn(who, "0123456789,")])
		return -EBADMSG;
	if (what) {
		w->v[w->n++] = "--short";
		w->v[w->n++] = what;
	}
	w->v[w->n++] = "--";
	w->v[w->n++] = who;
	return 0;
}

/* {"note": TEXT}, with "id" for a mark that is there, or {"id", "feedback"}. -EBADMSG for another body. */
static int put_posted(const struct http_exchange *e, const struct call *call, struct posted *p, struct words *w)
{
	bool press = strcmp(call->path, "/api/v1/marks") == 0;
	const char *key = strcmp(call->path, "/api/v1/feedback") == 0 ? "feedback" : "note";
	json_t *text, *id;

	if (strcmp(call->path, "/api/v1/confirm") == 0)
		return put_accused(p, w, e);
	if (press && !e->body.len)
		return 0;
	p->body = e->body.len ? json_loadb(e->body.data, e->body.len, 0, NULL) : NULL;
	text = json_object_get(p->body, key);
	id = json_object_get(p->body, "id");
	if (!p->body || (text && !json_is_string(text)) || (!press && (!text || json_integer_value(id) <= 0)))
		return -EBADMSG;
	if (!press) {
		snprintf(p->id, sizeof(p->id), "%lld", (long long)json_integer_value(id));
		if (strcmp(key, "note") == 0)
			w->v[w->n++] = "--id";
		w->v[w->n++] = p->id;
	}
	if (strcmp(key, "note") == 0)
		w->v[w->n++] = "--"; /* a note may begin with a dash */
	if (text)
		w->v[w->n++] = json_string_value(text);
	return 0;
}

/* Exit statuses of verbs: 0 and 1 answer, 2 = a bad question, 3 = cannot. */
static void finish(struct http_exchange *e, const struct call *call, int status, struct str *text, const struct str *errors)
{
	const char *said = errors->len ? errors->data : "no answer";

	if (status == 2)
		http_fail(e, 400, "%s", said);
	else if (status < 0 || status > 1)
		http_fail(e, status < 0 ? 503 : 404, "%s", status < 0 ? ask_failure(&((const struct serve *)e->context)->asker, status) : said);
	else if (status == 1 && !text->len)
		http_fail(e, 404, "%s", said);
	if (status < 0)
		e->retry_after = 2;
	if ((status != 0 && status != 1) || !text->len)
		return;
	if (call->type)
		e->type = call->type;
	e->reply = *text;
	*text = (struct str){};
}

static int ask_reader(const struct serve *s, const struct http_exchange *e, const struct words *words, struct str *text, struct str *errors)
{
	const char *mark = http_query(e, "mark"), *freeze = http_query(e, "freeze");
	const char *begin[] = {"threads", "--json", "--questions", "--mark", mark};
	char key[64];

	snprintf(key, sizeof(key), "%s:%.40s", mark ? mark : "", mark ? "" : freeze ? freeze : "");
	return reader_pool_ask(s->kept, key, mark ? 5 : 3, begin, words->n - 2, words->v + 2, text, errors); /* "threads --json" is said */
}

static void answer_call(struct http_exchange *e)
{
	const struct serve *s = e->context;
	const struct call *call = find_call(e);
	_cleanup_str_ struct str text = {}, errors = {};
	_cleanup_(posted_free) struct posted posted = {};
	struct words words = {};
	int status;

	if (!call) {
		http_fail(e, 404, "there is no %s; /api/v1/openapi.json lists what there is", e->path);
		return;
	}
	if (is_about(call, "fleet") && !s->fleet_file) {
		http_fail(e, 404, "no fleet is served here: whyslow serve --fleet FILE");
		return;
	}
	put_words(call, e, &words);
	if (is_post(call) && put_posted(e, call, &posted, &words) < 0) {
		http_fail(e, 400, "the body must be as /api/v1/openapi.json says");
		return;
	}
	if (is_kept(call))
		status = ask_reader(s, e, &words, &text, &errors);
	else
		status = ask_all(is_about(call, "spans") ? &s->spans_asker : &s->asker, words.n, words.v, &text, &errors);
	finish(e, call, status, &text, &errors);
}

static void stream_events(struct http_exchange *e)
{
	const struct serve *s = e->context;

	serve_events(e, &s->asker);
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

static json_t *parameter_json(const struct parameter *p)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:{s:s}}", "name", p->name, "in", "query", "description", p->help, "required",
			 p->option == NULL, "schema", "type", "string");
}

static json_t *body_json(const struct call *c)
{
	json_t *properties = json_object();

	for (size_t i = 0; i < PARAMETERS_MAX && c->parameters[i].name; i++) {
		const struct parameter *p = &c->parameters[i];
		bool number = strcmp(p->name, "id") == 0;

		json_object_set_new(properties, p->name, json_pack("{s:s, s:s}", "type", number ? "integer" : "string", "description", p->help));
	}
	return json_pack("{s:{s:{s:{s:s, s:o}}}}", "content", "application/json", "schema", "type", "object", "properties", properties);
}

static json_t *call_json(const struct call *c)
{
	json_t *parameters = json_array(), *content = json_object(), *call;
	const char *type = c->type ? c->type : "application/json";
	char name[64];

	for (size_t i = 0; !is_post(c) && i < PARAMETERS_MAX && c->parameters[i].name; i++)
		json_array_append_new(parameters, parameter_json(&c->parameters[i]));
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(type, ";"), type);
	json_object_set_new(content, name, json_object());
	call = json_pack("{s:s, s:o, s:{s:{s:s, s:o}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}}", "summary", c->help, "parameters",
			 parameters, "responses", "200", "description", "the answer (docs/json.md)", "content", content, "400", "description",
			 "a bad question, in words", "401", "description", "no session or token, or one that has expired", "404", "description",
			 "nothing is recorded there", "503", "description", "too many requests at a time: try again");
	if (is_post(c))
		json_object_set_new(call, "requestBody", body_json(c));
	return call;
}

json_t *serve_openapi(void)
{
	json_t *paths = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const char *method = is_post(&calls[i]) ? "post" : "get";
		json_t *path = json_object_get(paths, calls[i].path);

		if (!path) {
			path = json_object();
			json_object_set_new(paths, calls[i].path, path);
		}
		json_object_set_new(path, method, call_json(&calls[i]));
	}
	json_object_set_new(paths, "/api/v1/events",
			    json_pack("{s:{s:s, s:[o], s:{s:{s:s, s:{s:{}}}}}}", "get", "summary",
				      "server-sent events: `board` (whyslow.board/1) about once a second, `ended` ({reason}) while no recorder runs, `mark` at each mark", "parameters",
				      parameter_json(&(struct parameter)WINDOW), "responses", "200", "description", "events", "content",
				      "text/event-stream"));
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:{s:{s:{s:s, s:s}}}, s:[{s:[]}], s:o}", "openapi", "3.0.3",
			 "info", "title", "whyslow", "version", "1", "description",
			 "Every answer is what the verb of the command line prints with --json.", "components", "securitySchemes", "bearer",
			 "type", "http", "scheme", "bearer", "security", "bearer", "paths", paths);
}

static void answer_openapi(struct http_exchange *e)
{
	json_t *document = serve_openapi();
	char *text = json_dumps(document, JSON_INDENT(1));

	if (!text || str_puts(&e->reply, text) < 0)
		http_fail(e, 503, "out of memory");
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
					     .token_file = o->token_file, .names = o->names, .routes = routes, .context = s};
	int r;

	if (!s)
		return -ENOMEM;
	s->asker = s->spans_asker = o->asker;
	s->spans_asker.store_file = o->spans_file; /* root reads it; who may not is told so by the verb */
	s->spans_asker.by_recorder = NULL;
	s->spans_asker.from_file = NULL; /* a recording of the machine */
	s->fleet_file = o->fleet_file;
	s->hosts_file = o->hosts_file;
	r = reader_pool_new(&s->asker, &s->kept);
	if (r == 0)
		r = http_server_start(&server, &s->server, ret_error);
	if (r == 0)
		r = set_address(s, o);
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
	str_free(&s->address);
	free(s);
}
