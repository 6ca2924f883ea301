#include "web/mcp.h"

#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/view/json.h"

#define DIGITS	   7 /* of a number in a document */
#define ANSWER_MAX 65536 /* bytes: some 20,000 tokens, of which an assistant still can read several */

/* https://www.jsonrpc.org/specification#error_object */
enum { NOT_JSON = -32700, BAD_REQUEST = -32600, NO_METHOD = -32601, BAD_VALUES = -32602 };

#define INSTRUCTIONS                                                                                                                         \
	"whyslow records what every process of this machine does and answers why it is, or was, slow. Begin with `why` (now, or `at` a past "  \
	"time); `why_program` says what one program waits for and who makes it wait; `history` and `incidents` say when it was slow. Times are " \
	"written as now, -5min, 14:32, or '2026-11-20 14:32:07'. Nothing here changes the machine."

/* --- messages --- */

static json_t *reply(json_t *id, const char *key, json_t *value)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, key, value);
}

static json_t *fail(json_t *id, int code, const char *why)
{
	return reply(id, "error", json_pack("{s:i, s:s}", "code", code, "message", why));
}

static json_t *text_content(const char *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", json_text(text));
}

/* --- tools --- */

static json_t *describe(const struct call_asker *a, const struct call *call)
{
	_cleanup_free_ char *error = NULL;
	json_t *schema = call_schema(call, a->verb_options, &error);

	json_object_set_new(json_object_get(schema, "properties"), "json",
			    json_pack("{s:s, s:s}", "type", "boolean", "description", "the answer as JSON, with all its figures, instead of text"));
	json_object_set_new(schema, "additionalProperties", json_false());
	return json_pack("{s:s, s:s, s:o, s:{s:b, s:b}}", "name", call->tool, "description", call->help, "inputSchema", schema, "annotations",
			 "readOnlyHint", true, "openWorldHint", false);
}

/* Nothing is served that the questions about a fleet could be asked of. */
static bool is_offered(const struct call_asker *a, const struct call *call)
{
	return a->files.fleet || !call_is_about(call, "fleet");
}

static json_t *list_tools(const struct call_asker *a)
{
	json_t *tools = json_array();

	for (const struct call *call = NULL; (call = call_next_tool(call));)
		if (is_offered(a, call))
			json_array_append_new(tools, describe(a, call));
	return json_pack("{s:o}", "tools", tools);
}

static const struct call *find_tool(const struct call_asker *a, const char *name)
{
	for (const struct call *call = NULL; name && (call = call_next_tool(call));)
		if (strcmp(call->tool, name) == 0 && is_offered(a, call))
			return call;
	return NULL;
}

static struct call_value value_of(const void *values, const char *name)
{
	const json_t *v = json_object_get(values, name);

	if (json_is_boolean(v))
		return (struct call_value){.text = json_is_true(v) ? "1" : "0"};
	return json_is_integer(v) ? (struct call_value){.is_number = true, .number = json_integer_value(v)}
				  : (struct call_value){.text = json_string_value(v)};
}

/* A value that the tool does not know is refused: who left it out would answer another question than was asked. */
static int check_names(const struct call_asker *a, const struct call *call, json_t *values, char **ret_error)
{
	json_t *tool = describe(a, call), *known = json_object_get(json_object_get(tool, "inputSchema"), "properties"), *value;
	const char *name;
	int r = 0;

	json_object_foreach(values, name, value)
		if (r == 0 && !json_object_get(known, name))
			r = str_fail(ret_error, -EINVAL, "there is no value '%s'; tools/list says which there are", name);
		else if (r == 0 && (json_is_real(value) || json_is_object(value) || json_is_array(value)))
			r = str_fail(ret_error, -EINVAL, "invalid %s; expected a text, a whole number, true or false", name);
	json_decref(tool);
	return r;
}

/* The verb's own text, which people read, unless JSON is wanted. */
static void leave_out_json(struct call_request *q)
{
	size_t n = 0;
	bool words = false;

	for (size_t i = 0; i < q->n; i++) {
		words |= strcmp(q->v[i], "--") == 0;
		if (words || strcmp(q->v[i], "--json") != 0)
			q->v[n++] = q->v[i];
	}
	q->n = n;
}

/* Whole lines of a text that is too long, and how much is missing. */
static json_t *shortened(const struct str *text)
{
	_cleanup_str_ struct str kept = {};
	size_t n = ANSWER_MAX;

	while (n && text->data[n - 1] != '\n')
		n--;
	str_append(&kept, text->data, n);
	str_printf(&kept, "[%zu more bytes were left out: ask for less time, or a smaller top]\n", text->len - n);
	return text_content(kept.data);
}

/* A document without the blanks and digits that only a file of it needs: an answer on a busy machine would be too long with them. */
static void make_compact(struct str *text)
{
	json_t *document = json_loadb(text->data, text->len, 0, NULL);
	_cleanup_free_ char *compact = json_is_object(document) ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) : NULL;

	json_decref(document);
	if (!compact)
		return;
	text->len = 0;
	str_puts(text, compact);
}

static json_t *answered(struct str *text, const struct str *errors, bool as_json)
{
	json_t *content = json_array(), *document = NULL, *result;

	if (as_json)
		make_compact(text);
	if (as_json && text->len <= ANSWER_MAX)
		document = json_loadb(text->data, text->len, 0, NULL);
	json_array_append_new(content, text->len > ANSWER_MAX ? shortened(text) : text_content(text->data));
	if (errors->len)
		json_array_append_new(content, text_content(errors->data));
	result = json_pack("{s:o, s:b}", "content", content, "isError", false);
	if (json_is_object(document))
		json_object_set(result, "structuredContent", document);
	json_decref(document);
	return result;
}

static json_t *not_answered(const char *why)
{
	return json_pack("{s:[o], s:b}", "content", text_content(why), "isError", true);
}

static json_t *ask(const struct call_asker *a, const struct call_request *q, bool as_json, const struct ask_bounds *bounds)
{
	_cleanup_str_ struct str text = {}, errors = {};
	int status = call_asker_ask(a, q, bounds, &text, &errors);

	if ((status == 0 || status == 1) && text.len)
		return answered(&text, &errors, as_json);
	return not_answered(status < 0 ? call_asker_failure(a, q->call, status) : errors.len ? errors.data : "there is no answer");
}

static json_t *call_tool(const struct call_asker *a, json_t *id, const json_t *params, const struct ask_bounds *bounds)
{
	const struct call *call = find_tool(a, json_string_value(json_object_get(params, "name")));
	json_t *values = json_object_get(params, "arguments");
	bool as_json = json_is_true(json_object_get(values, "json"));
	_cleanup_free_ char *error = NULL;
	struct call_request q;

	if (!call)
		return fail(id, BAD_VALUES, "there is no such tool; tools/list says which there are");
	if ((values && !json_is_object(values)) || check_names(a, call, values, &error) < 0 ||
	    call_request_make(call, &a->files, a->verb_options, value_of, values, &q, &error) < 0)
		return fail(id, BAD_VALUES, error ? error : "invalid arguments; expected an object");
	if (!as_json)
		leave_out_json(&q);
	return reply(id, "result", ask(a, &q, as_json, bounds));
}

/* --- the protocol --- */

/* The newest version first; what is used here is the same in all of them. */
static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

static json_t *initialize(const json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion")), *version = versions[0];

	for (size_t i = 0; wanted && i < ARRAY_SIZE(versions); i++)
		if (strcmp(versions[i], wanted) == 0)
			version = versions[i];
	return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version, "capabilities", "tools", "serverInfo", "name", "whyslow",
			 "version", WHYSLOW_VERSION, "instructions", INSTRUCTIONS);
}

static json_t *answer(const struct call_asker *a, json_t *message, json_t *id, const struct ask_bounds *bounds)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");

	if (strcmp(method, "initialize") == 0)
		return reply(id, "result", initialize(params));
	if (strcmp(method, "ping") == 0)
		return reply(id, "result", json_object());
	if (strcmp(method, "tools/list") == 0)
		return reply(id, "result", list_tools(a));
	if (strcmp(method, "tools/call") == 0)
		return call_tool(a, id, params, bounds);
	return fail(id, NO_METHOD, "there is no such method here: initialize, ping, tools/list, tools/call");
}

json_t *mcp_answer(const struct call_asker *a, const char *bytes, size_t n, const struct ask_bounds *bounds)
{
	json_t *message = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, NULL), *id = json_object_get(message, "id"), *said = NULL;

	if (!message)
		said = fail(json_null(), NOT_JSON, "the message is not JSON");
	else if (!json_is_object(message) || (!json_object_get(message, "result") && !json_object_get(message, "error") &&
					      !json_is_string(json_object_get(message, "method"))))
		said = fail(json_null(), BAD_REQUEST, "a message is an object with \"jsonrpc\", \"id\" and \"method\"");
	else if (id && json_is_string(json_object_get(message, "method")))
		said = answer(a, message, id, bounds);
	json_decref(message);
	return said;
}
