#include "web/calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define TEXT_TYPE    "text/plain; charset=utf-8"

#define SPANS_OPTIONS "by where entry since until "
#define FLEET_OPTIONS "from to "
#define GET(...)      {.method = "GET", CALL(__VA_ARGS__)}
#define POST(...)     {.method = "POST", CALL(__VA_ARGS__)}
#define CALL(at, what, ...) .path = at, .help = what, __VA_ARGS__
#define WORDS(...)    .words = {__VA_ARGS__}
#define TEXT(word, what, ...) {.name = word, .help = what, .type = OPTION_TEXT, ##__VA_ARGS__}
#define NUMBER(word, what) {.name = word, .help = what, .type = OPTION_COUNT}
#define WHO	      TEXT("for", "a pid, unit or name")
#define MARK_NUMBER   NUMBER("id", "the mark's number")

static const struct call calls[] = {
	GET("/api/v1/why", "why it is (or was) slow", WORDS("why", "--json"), .options = "at since window baseline for model wait", .tool = "why"),
	GET("/api/v1/program", "why one program is (or was) slow: what it waits for, and what makes it wait", WORDS("why", "--json"),
	    .options = "at since", .arguments = {WHO}, .tool = "why_program"),
	GET("/api/v1/incident", "the answer for a mark", WORDS("show", "--json"), .options = "window baseline wait", .arguments = {MARK_NUMBER}, .tool = "incident"),
	GET("/api/v1/board", "every process at a moment, the most unusual first", WORDS("show", "--json"), .options = "at window baseline model", .tool = "processes"),
	GET("/api/v1/process", "the features of one process at a moment", WORDS("show", "--json"), .options = "at window baseline for model", .tool = "process"),
	GET("/api/v1/series", "one feature of a process over the window", WORDS("show", "--json"),
	    .options = "at window for since until feature points"),
	GET("/api/v1/lives", "process lifetimes", WORDS("show", "--json", "--lives"), .options = "at window since until points"),
	GET("/api/v1/timeline", "threads' states and the CPUs' use over a window, to be drawn", WORDS("threads", "--json"),
	    .options = "mark since until points! first rows order order_since order_until filter hide folded pid=chosen path", .resident = true),
	GET("/api/v1/instant", "what a thread was doing at a moment, and what ended it", WORDS("threads", "--json"),
	    .options = "mark at", .arguments = {NUMBER("tid", "the thread's number")}, .resident = true),
	GET("/api/v1/history", "what was unusual, minute by minute, without a mark", WORDS("history", "--json"),
	    .options = "since until points top", .tool = "history"),
	GET("/api/v1/marks", "marked moments", WORDS("list", "--json"), .tool = "incidents"),
	POST("/api/v1/marks", "mark this moment: it is slow now; the body may be empty", WORDS("mark", "--json"),
	    .arguments = {TEXT("note", "a text", .optional = true)}),
	POST("/api/v1/notes", "an earlier mark's note", WORDS("mark"),
	    .type = TEXT_TYPE, .options = "id!", .arguments = {TEXT("note", "a text")}),
	POST("/api/v1/feedback", "whether its answer was right", WORDS("feedback"),
	    .type = TEXT_TYPE, .arguments = {MARK_NUMBER, TEXT("feedback", "right, wrong or fixed")}),
	POST("/api/v1/confirm", "whether processes are the cause: they are held back and released for about 20 s", WORDS("confirm", "--json"),
	    .options = "short", .arguments = {TEXT("pids", "the processes' numbers, separated by commas: held back together", .characters = "0123456789,")}),
	GET("/api/v1/compare", "what changed between two times", WORDS("compare", "--json"),
	    .arguments = {TEXT("a", "a time as `whyslow compare` accepts it"), TEXT("b", "another")}, .tool = "compare"),
	GET("/api/v1/features", "the catalogue of what is measured", WORDS("features", "--json")),
	GET("/api/v1/doctor", "what this machine does not provide, and how to fix it", WORDS("doctor", "--json"), .tool = "doctor"),
	GET("/api/v1/counters", "the machine's own counters, of an hour at most, for a fleet", WORDS("export", "--format", "counters"),
	    .options = "since until"),
	GET("/api/v1/blame", "who made whom wait: sums by victim, culprit and wait", WORDS("waits", "--json", "--matrix"),
	    .options = "mark since until by top all"),
	GET("/api/v1/waits", "what waited, for what, and which thread caused it", WORDS("waits", "--json"), .options = "mark since until by top all",
	    .arguments = {TEXT("who", "a pid or name; without, all", .optional = true)}, .tool = "waits"),
	GET("/api/v1/inspect", "what a process is doing now, looked at for some seconds: its threads, their stacks", WORDS("inspect", "--json"),
	    .options = "seconds depth", .arguments = {TEXT("who", "a pid or name")}, .tool = "inspect"),
	GET("/api/v1/pivot", "waits in groups by chosen fields: count, sum, median and maximum", WORDS("waits", "--json", "--table"),
	    .options = "mark since until by! top all", .tool = "waits_by"),
	GET("/api/v1/flame", "where time went, by stacks", WORDS("export", "--format", "folded", "--json"),
	    .options = "mark since until waits who base_mark base_since base_until"),
	GET("/api/v1/profile", "where programs ran or waited, by the stacks that are kept for days", WORDS("flame", "--json"),
	    .options = "at since until against waits", .arguments = {TEXT("program", "of this program alone", .optional = true)}, .tool = "profile"),
	GET("/api/v1/captures", "the inspections of an incident's processes", WORDS("show", "--captures", "--json"),
	    .arguments = {MARK_NUMBER}, .tool = "incident_inspections"),
#ifdef WITH_SPANS
	GET("/api/v1/spans/groups", "versions of each bucket against the older ones", WORDS("spans", "groups", "--json"),
	    .options = SPANS_OPTIONS "method", .tool = "spans_groups"),
	GET("/api/v1/spans/forest", "every call path of every bucket", WORDS("spans", "forest", "--json"), .options = SPANS_OPTIONS, .tool = "spans_forest"),
	GET("/api/v1/spans/exemplars", "requests that were stored whole", WORDS("spans", "exemplars", "--json"),
	    .options = SPANS_OPTIONS "top trace"),
	GET("/api/v1/spans/why", "which version, in which bucket, made requests slower, and which attributes explain it, down to the hosts", WORDS("spans", "why", "--json", "--hosts", CALL_HOSTS),
	    .options = SPANS_OPTIONS "trace", .tool = "spans_why"),
	GET("/api/v1/spans/why.html", "the same as one page to give to others", WORDS("spans", "why", "--html", "-"),
	    .type = "text/html; charset=utf-8", .options = SPANS_OPTIONS),
	GET("/api/v1/spans/select", "requests by time and duration, and what distinguishes a selection from the rest", WORDS("spans", "select", "--json"),
	    .options = SPANS_OPTIONS "begin end longer shorter failed"),
	GET("/api/v1/spans/compare", "two versions: where the time went", WORDS("spans", "compare", "--json"),
	    .options = SPANS_OPTIONS "baseline candidate", .tool = "spans_compare"),
	GET("/api/v1/spans/gate", "whether a deployment may continue: `verdict` is same, faster, slower, failing, or unclear", WORDS("spans", "gate", "--json"),
	    .options = SPANS_OPTIONS "baseline candidate min_effect", .gate = true),
	POST("/api/v1/spans/gate", "the same for web hooks that look at the status alone: 200 pass, 409 regression, 425 cannot tell yet", WORDS("spans", "gate", "--json"),
	     .options = SPANS_OPTIONS "baseline candidate min_effect", .gate = true),
#endif
#ifdef WITH_FLEET
	GET("/api/v1/fleet/info", "servers and counters", WORDS("fleet", "info", CALL_FLEET, "--json"), .tool = "fleet_info"),
	GET("/api/v1/fleet/view", "one counter of all servers", WORDS("fleet", "view", CALL_FLEET, "--json"),
	    .options = FLEET_OPTIONS "by points", .arguments = {TEXT("counter", "its name")}),
	GET("/api/v1/fleet/rank", "which servers are conspicuous in the window", WORDS("fleet", "rank", CALL_FLEET, "--json"),
	    .options = "from! to! top", .tool = "fleet_rank"),
	GET("/api/v1/fleet/compare", "which counters of which servers are unusual in the window", WORDS("fleet", "compare", CALL_FLEET, "--json"),
	    .options = "from! to! top"),
	GET("/api/v1/fleet/correlate", "which counters moved with a symptom", WORDS("fleet", "correlate", CALL_FLEET, "--json"),
	    .options = FLEET_OPTIONS "spearman top", .arguments = {TEXT("symptom", "COUNTER or COUNTER@SERVER")}, .tool = "fleet_correlate"),
	GET("/api/v1/fleet/check", "the values that break rules", WORDS("fleet", "check", CALL_FLEET, "--json"),
	    .options = FLEET_OPTIONS "rule top"),
	GET("/api/v1/fleet/history", "the unusual times of all of the data", WORDS("fleet", "history", CALL_FLEET, "--json"),
	    .options = FLEET_OPTIONS "top", .tool = "fleet_history"),
	GET("/api/v1/fleet/why", "which servers and counters, since when, what moved with it", WORDS("fleet", "why", CALL_FLEET, "--json", "--calls", CALL_GRAPH),
	    .options = FLEET_OPTIONS "symptom", .tool = "fleet_why"),
	GET("/api/v1/fleet/why.html", "the same as one page to give to others", WORDS("fleet", "why", CALL_FLEET, "--html", "-", "--calls", CALL_GRAPH),
	    .type = "text/html; charset=utf-8", .options = FLEET_OPTIONS "symptom"),
#endif
	GET("/metrics", "running sums and levels by program, for Prometheus", WORDS("export", "--format", "prometheus", "--since", "-10s"),
	    .type = METRICS_TYPE),
};

const struct call *call_find(const char *path, const char *method)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].path, path) == 0 && strcmp(calls[i].method, method) == 0)
			return &calls[i];
	return NULL;
}

const struct call *call_next_tool(const struct call *before)
{
	for (size_t i = before ? (size_t)(before - calls) + 1 : 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].tool)
			return &calls[i];
	return NULL;
}

bool call_is_about(const struct call *call, const char *verb)
{
	return strcmp(call->words[0], verb) == 0;
}

/* --- parameters that are options ---------------------------------------------------------------------------------------- */

struct parameter {
	char name[32], option[32];
	bool required;
	const struct option_row *row; /* NULL = the verb has no such option */
};

static void copy_name(char to[32], const char *from, size_t n)
{
	n = n < 31 ? n : 31;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* Takes the next parameter of call->options; false at the end. */
static bool next_parameter(const char **at, const struct option_row *rows, struct parameter *ret)
{
	const char *word = *at ? *at + strspn(*at, " ") : "";
	size_t n = strcspn(word, " "), name = strcspn(word, " =!");

	if (!n)
		return false;
	copy_name(ret->name, word, name);
	copy_name(ret->option, word[name] == '=' ? word + name + 1 : word, word[name] == '=' ? n - name - 1 : name);
	for (char *c = ret->option; *c; c++)
		*c = *c == '_' ? '-' : *c;
	ret->required = word[name] == '!';
	for (ret->row = rows; ret->row && ret->row->type != OPTION_END; ret->row++)
		if (strcmp(ret->row->name, ret->option) == 0)
			break;
	if (ret->row && ret->row->type == OPTION_END)
		ret->row = NULL;
	*at = word + n;
	return true;
}

/* --- a request ------------------------------------------------------------------------------------------------------------ */

/* Whether a word stands for a file; *ret NULL = there is none. */
static bool is_file(const char *word, const struct call_files *files, const char **ret)
{
	const struct {
		const char *word, *file;
	} all[] = {{CALL_FLEET, files->fleet}, {CALL_HOSTS, files->hosts}, {CALL_GRAPH, files->graph}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i].word, word) == 0) {
			*ret = all[i].file;
			return true;
		}
	return false;
}

static void put_call(const struct call *call, const struct call_files *files, struct call_request *q)
{
	for (size_t i = 0; i < CALL_WORDS_MAX && call->words[i]; i++) {
		const char *word = call->words[i], *next = i + 1 < CALL_WORDS_MAX ? call->words[i + 1] : NULL, *file = word;

		if (*word == '-' && next && is_file(next, files, &file) && !file) {
			i++;
			continue;
		}
		file = word;
		(void)is_file(word, files, &file);
		q->v[q->n++] = file;
	}
}

static bool fits(enum option_type type, const char *text)
{
	uint64_t count;
	int64_t span;

	switch (type) {
	case OPTION_FLAG:
		return strcmp(text, "0") == 0 || strcmp(text, "1") == 0;
	case OPTION_COUNT:
		return str_parse_u64(text, &count) == 0;
	case OPTION_SPAN:
		return clock_parse_span(text, &span) == 0;
	default:
		return true;
	}
}

static const char *const expected[] = {
	[OPTION_FLAG] = "0 or 1", [OPTION_TEXT] = "a text", [OPTION_SPAN] = "a span such as 90s, 5min or 4h", [OPTION_COUNT] = "a whole number",
};

/* *ret NULL = not given. A number of a body is taken for a count or a flag alone. 0 or -EINVAL. */
static int take_value(enum option_type type, const char *name, struct call_value value, struct call_request *q, const char **ret, char **ret_error)
{
	if (value.is_number && (type == OPTION_COUNT || type == OPTION_FLAG)) {
		value.text = q->numbers[q->n_numbers];
		snprintf(q->numbers[q->n_numbers++], sizeof(q->numbers[0]), "%lld", value.number);
	} else if (value.is_number) {
		return str_fail(ret_error, -EINVAL, "invalid %s %lld; expected %s", name, value.number, expected[type]);
	}
	*ret = value.text;
	if (value.text && !fits(type, value.text))
		return str_fail(ret_error, -EINVAL, "invalid %s '%s'; expected %s", name, value.text, expected[type]);
	return 0;
}

static int put_option(const struct parameter *p, struct call_value value, struct call_request *q, char **ret_error)
{
	const char *text;
	int r = take_value(p->row->type, p->name, value, q, &text, ret_error);

	if (r < 0)
		return r;
	if (!text && p->required)
		return str_fail(ret_error, -EINVAL, "%s is required", p->name);
	if (!text || (p->row->type == OPTION_FLAG && strcmp(text, "0") == 0))
		return 0;
	q->v[q->n++] = q->names[q->n_names];
	snprintf(q->names[q->n_names++], sizeof(q->names[0]), "--%.29s", p->option);
	if (p->row->type != OPTION_FLAG)
		q->v[q->n++] = text;
	return 0;
}

static int put_argument(const struct call_argument *a, struct call_value value, struct call_request *q, char **ret_error)
{
	const char *text;
	int r = take_value(a->type, a->name, value, q, &text, ret_error);

	if (r < 0)
		return r;
	if (!text && !a->optional)
		return str_fail(ret_error, -EINVAL, "%s is required", a->name);
	if (text && a->characters && (!*text || text[strspn(text, a->characters)]))
		return str_fail(ret_error, -EINVAL, "invalid %s '%s'; expected %s", a->name, text, a->help);
	if (text)
		q->v[q->n++] = text;
	return 0;
}

int call_request_make(const struct call *call, const struct call_files *files, verb_options_fn options, call_value_fn value, const void *state,
		      struct call_request *ret, char **ret_error)
{
	const struct option_row *rows = options(call->words);
	const char *at = call->options;
	struct parameter p;
	int r = 0;

	*ret = (struct call_request){.call = call};
	put_call(call, files, ret);
	while (r == 0 && ret->n_names < CALL_PARAMETERS_MAX && next_parameter(&at, rows, &p))
		r = p.row ? put_option(&p, value(state, p.name), ret, ret_error) : str_fail(ret_error, -EINVAL, "%s is not an option", p.name);
	if (call->arguments[0].name)
		ret->v[ret->n++] = "--"; /* an argument may begin with a dash */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(call->arguments) && call->arguments[i].name; i++)
		r = put_argument(&call->arguments[i], value(state, call->arguments[i].name), ret, ret_error);
	return r;
}

/* --- the interface, described -------------------------------------------------------------------------------------------- */

static json_t *schema_of(enum option_type type)
{
	return type == OPTION_COUNT ? json_pack("{s:s}", "type", "integer")
	     : type == OPTION_FLAG  ? json_pack("{s:s, s:[i, i]}", "type", "integer", "enum", 0, 1)
				    : json_pack("{s:s}", "type", "string");
}

static json_t *parameter_json(const char *name, const char *help, bool required, enum option_type type)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", name, "in", "query", "description", help, "required", required, "schema", schema_of(type));
}

static void put_property(json_t *properties, json_t *required, const char *name, const char *help, bool is_required, enum option_type type)
{
	json_t *schema = schema_of(type);

	json_object_set_new(schema, "description", json_string(help));
	json_object_set_new(properties, name, schema);
	if (is_required)
		json_array_append_new(required, json_string(name));
}

/* Parameters of a query, or properties of a body. -EINVAL: one is not an option. */
static int describe_parameters(const struct call *c, const struct option_row *rows, json_t *list, json_t *properties, json_t *required, char **ret_error)
{
	const char *at = c->options;
	struct parameter p;

	while (next_parameter(&at, rows, &p)) {
		if (!p.row)
			return str_fail(ret_error, -EINVAL, "%s %s: %s is not an option of '%s'", c->method, c->path, p.name, c->words[0]);
		json_array_append_new(list, parameter_json(p.name, p.row->help, p.required, p.row->type));
		put_property(properties, required, p.name, p.row->help, p.required, p.row->type);
	}
	for (size_t i = 0; i < ARRAY_SIZE(c->arguments) && c->arguments[i].name; i++) {
		const struct call_argument *a = &c->arguments[i];

		json_array_append_new(list, parameter_json(a->name, a->help, !a->optional, a->type));
		put_property(properties, required, a->name, a->help, !a->optional, a->type);
	}
	if (c->resident)
		json_array_append_new(list, parameter_json("freeze", "any word: a new one freezes the flight recorder again, where no mark is given", false,
							   OPTION_TEXT));
	return 0;
}

static json_t *responses_json(const struct call *c)
{
	const char *type = c->type ? c->type : "application/json";
	json_t *content = json_object();

	json_object_set_new(content, STR_TEXT(64, "%.*s", (int)strcspn(type, ";"), type), json_object());
	return json_pack("{s:{s:s, s:o}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}", "200", "description", "the answer (docs/json.md)", "content", content,
			 "400", "description", "an invalid request, in words", "401", "description", "no session or token, or one that has expired",
			 "404", "description", "nothing is recorded there", "503", "description", "too many requests at a time: try again");
}

/* The schema says what a body, or an assistant's call, may hold. Takes the references. */
static json_t *object_schema(json_t *properties, json_t *required)
{
	json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);

	if (json_array_size(required))
		json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

static json_t *describe(const struct call *c, verb_options_fn options, json_t *list, char **ret_error)
{
	json_t *properties = json_object(), *required = json_array();

	if (describe_parameters(c, options(c->words), list, properties, required, ret_error) == 0)
		return object_schema(properties, required);
	json_decref(properties);
	json_decref(required);
	return NULL;
}

static json_t *call_json(const struct call *c, verb_options_fn options, char **ret_error)
{
	json_t *list = json_array(), *schema = describe(c, options, list, ret_error), *o;
	bool post = strcmp(c->method, "POST") == 0;

	if (!schema) {
		json_decref(list);
		return NULL;
	}
	if (post)
		json_array_clear(list);
	o = json_pack("{s:s, s:o, s:o}", "summary", c->help, "parameters", list, "responses", responses_json(c));
	if (post)
		json_object_set_new(o, "requestBody", json_pack("{s:{s:{s:O}}}", "content", "application/json", "schema", schema));
	json_decref(schema);
	return o;
}

json_t *call_schema(const struct call *c, verb_options_fn options, char **ret_error)
{
	json_t *list = json_array(), *schema = describe(c, options, list, ret_error);

	json_decref(list);
	return schema;
}

static json_t *events_json(verb_options_fn options)
{
	const struct call *board = call_find("/api/v1/board", "GET");
	const char *at = "window";
	struct parameter p;

	if (!next_parameter(&at, options(board->words), &p) || !p.row)
		return NULL;
	return json_pack("{s:{s:s, s:[o], s:{s:{s:s, s:{s:{}}}}}}", "get", "summary",
			 "server-sent events: `board` (whyslow.board/1) about once a second, `ended` ({reason}) while no recorder runs, `mark` at each mark",
			 "parameters", parameter_json(p.name, p.row->help, false, p.row->type), "responses", "200", "description", "events", "content",
			 "text/event-stream");
}

static int put_paths(verb_options_fn options, json_t *paths, char **ret_error)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		json_t *path = json_object_get(paths, calls[i].path), *call = call_json(&calls[i], options, ret_error);

		if (!call)
			return -EINVAL;
		if (!path) {
			path = json_object();
			json_object_set_new(paths, calls[i].path, path);
		}
		json_object_set_new(path, strcmp(calls[i].method, "POST") == 0 ? "post" : "get", call);
	}
	json_object_set_new(paths, "/api/v1/events", events_json(options));
	return 0;
}

json_t *calls_openapi(verb_options_fn options, char **ret_error)
{
	json_t *paths = json_object();

	if (put_paths(options, paths, ret_error) < 0) {
		json_decref(paths);
		return NULL;
	}
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:{s:{s:{s:s, s:s}}}, s:[{s:[]}], s:o}", "openapi", "3.0.3",
			 "info", "title", "whyslow", "version", "1", "description",
			 "Every answer is what the verb of the command line prints with --json.", "components", "securitySchemes", "bearer",
			 "type", "http", "scheme", "bearer", "security", "bearer", "paths", paths);
}
