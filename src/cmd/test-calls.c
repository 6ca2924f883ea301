/* HTTP requests as command lines, checked by the verbs' own tables of options. */
#include "lib/data/test.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/verb/verb.h"
#include "web/calls.h"

static struct call_value value(const void *state, const char *name)
{
	const json_t *v = json_object_get(state, name);

	return json_is_integer(v) ? (struct call_value){.is_number = true, .number = json_integer_value(v)}
				  : (struct call_value){.text = json_string_value(v)};
}

/* The words with a blank between them, or "error: ..."; "hosts" is served, a fleet "f.db", calls "c". */
static void expect(const char *method, const char *path, const char *values, const char *expected)
{
	const struct call_files files = {"f.db", strstr(values, "no hosts") ? NULL : "h", strstr(values, "no calls") ? NULL : "c"};
	const struct call *call = call_find(path, method);
	json_t *state = json_loads(values, 0, NULL);
	_cleanup_free_ char *error = NULL;
	_cleanup_str_ struct str text = {};
	struct call_request q;

	assert_non_null(call);
	assert_non_null(state);
	if (call_request_make(call, &files, verb_options_of, value, state, &q, &error) < 0)
		str_printf(&text, "error: %s", error);
	else
		for (size_t i = 0; i < q.n; i++)
			str_printf(&text, "%s%s", i ? " " : "", q.v[i]);
	assert_string_equal(text.data, expected);
	json_decref(state);
}

static void parameters_become_options_of_the_verb(void **state)
{
	expect("GET", "/api/v1/why", "{\"at\": \"-5min\", \"window\": \"4h\", \"unknown\": \"x\"}", "why --json --at -5min --window 4h");
	expect("GET", "/api/v1/timeline", "{\"points\": \"100\", \"order_since\": \"14:00\", \"pid\": \"7\"}",
	       "threads --json --points 100 --order-since 14:00 --chosen 7");
	expect("GET", "/api/v1/compare", "{\"a\": \"-1h\", \"b\": \"--json\"}", "compare --json -- -1h --json");
	expect("GET", "/api/v1/spans/why", "{\"trace\": \"ab\"}", "spans why --json --hosts h --trace ab");
	expect("GET", "/api/v1/spans/why", "{\"where\": \"no hosts\"}", "spans why --json --where no hosts");
	expect("GET", "/api/v1/fleet/why", "{\"symptom\": \"x\"}", "fleet why f.db --json --calls c --symptom x");
	expect("GET", "/api/v1/fleet/why", "{\"symptom\": \"no calls\"}", "fleet why f.db --json --symptom no calls");
	expect("GET", "/api/v1/fleet/rank", "{\"top\": \"0\", \"from\": \"-2h\", \"to\": \"-1h\"}", "fleet rank f.db --json --from -2h --to -1h --top 0");
}

static void a_flag_is_0_or_1(void **state)
{
	expect("GET", "/api/v1/blame", "{\"all\": \"1\"}", "waits --json --matrix --all");
	expect("GET", "/api/v1/blame", "{\"all\": 1}", "waits --json --matrix --all");
	expect("GET", "/api/v1/blame", "{\"all\": 2}", "error: invalid all '2'; expected 0 or 1");
	expect("GET", "/api/v1/blame", "{\"all\": \"0\"}", "waits --json --matrix");
	expect("GET", "/api/v1/blame", "{\"all\": \"yes\"}", "error: invalid all 'yes'; expected 0 or 1");
}

static void a_wrong_value_is_refused_before_the_verb_is_asked(void **state)
{
	expect("GET", "/api/v1/why", "{\"window\": \"soon\"}", "error: invalid window 'soon'; expected a span such as 90s, 5min or 4h");
	expect("GET", "/api/v1/history", "{\"points\": \"-1\"}", "error: invalid points '-1'; expected a whole number");
	expect("GET", "/api/v1/timeline", "{\"mark\": \"1\"}", "error: points is required");
	expect("GET", "/api/v1/incident", "{}", "error: id is required");
}

static void a_body_has_numbers_where_numbers_are_expected(void **state)
{
	expect("POST", "/api/v1/marks", "{}", "mark --json --");
	expect("POST", "/api/v1/marks", "{\"note\": \"-x\"}", "mark --json -- -x");
	expect("POST", "/api/v1/notes", "{\"id\": 3, \"note\": \"a\"}", "mark --id 3 -- a");
	expect("POST", "/api/v1/notes", "{\"id\": -3, \"note\": \"a\"}", "error: invalid id '-3'; expected a whole number");
	expect("POST", "/api/v1/notes", "{\"note\": \"a\"}", "error: id is required");
	expect("POST", "/api/v1/feedback", "{\"id\": 3, \"feedback\": \"right\"}", "feedback -- 3 right");
	expect("POST", "/api/v1/confirm", "{\"pids\": \"7,8\", \"short\": \"cpu\"}", "confirm --json --short cpu -- 7,8");
	expect("POST", "/api/v1/confirm", "{\"pids\": 1}", "error: invalid pids 1; expected a text");
	expect("POST", "/api/v1/confirm", "{\"pids\": \"-1\"}",
	       "error: invalid pids '-1'; expected the processes' numbers, separated by commas: held back together");
}

static const char *find_parameter_help(const json_t *document, const char *path, const char *name)
{
	json_t *list = json_object_get(json_object_get(json_object_get(json_object_get(document, "paths"), path), "get"), "parameters"), *p;
	size_t i;

	json_array_foreach(list, i, p)
		if (strcmp(json_string_value(json_object_get(p, "name")), name) == 0)
			return json_string_value(json_object_get(p, "description"));
	return NULL;
}

static void the_document_says_what_help_says(void **state)
{
	const char *words[] = {"history", NULL};
	const struct option_row *row = verb_options_of(words);
	_cleanup_free_ char *error = NULL;
	json_t *document = calls_openapi(verb_options_of, &error);

	assert_non_null(document); /* all parameters are options */
	while (strcmp(row->name, "points"))
		row++;
	assert_string_equal(find_parameter_help(document, "/api/v1/history", "points"), row->help);
	json_decref(document);
}

static const struct option_row *no_options(const char *const *words)
{
	(void)words;
	return NULL;
}

static void an_unknown_parameter_is_found(void **state)
{
	_cleanup_free_ char *error = NULL;

	assert_null(calls_openapi(no_options, &error));
	assert_string_equal(error, "GET /api/v1/why: at is not an option of 'why'");
}

RUN_TESTS(cmocka_unit_test(parameters_become_options_of_the_verb), cmocka_unit_test(a_flag_is_0_or_1),
	  cmocka_unit_test(a_wrong_value_is_refused_before_the_verb_is_asked), cmocka_unit_test(a_body_has_numbers_where_numbers_are_expected),
	  cmocka_unit_test(the_document_says_what_help_says), cmocka_unit_test(an_unknown_parameter_is_found))
