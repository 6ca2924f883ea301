/* The HTTP interface: which verb answers a path, and which of its options are parameters. The type and the help of a parameter are those
 * of the verb's own table of options, so that a request is checked before a process is started for it, and the OpenAPI document says
 * what --help says. */
#pragma once

#include <jansson.h>

#include "lib/data/options.h"

#define CALL_PARAMETERS_MAX 16
#define CALL_WORDS_MAX	    8

/* An argument of the verb that is not an option. */
struct call_argument {
	const char *name, *help;
	enum option_type type; /* OPTION_TEXT or OPTION_COUNT */
	bool optional;
	const char *characters; /* of which alone it may consist; NULL = any */
};

struct call {
	const char *path, *method, *help;
	const char *type; /* media type; NULL = JSON */
	const char *words[CALL_WORDS_MAX]; /* CALL_FLEET, CALL_HOSTS and CALL_GRAPH stand for files that are served */
	/* "at since pid=chosen points!": parameters that are options of the verb; '=' where the option has another name ("_" is "-" of
	 * an option), '!' where it must be given. */
	const char *options;
	struct call_argument arguments[2];
	const char *tool; /* its name as an assistant's tool (mcp.h); NULL = it is none */
	bool gate;     /* exit status 0 = pass, 1 = regression, 3 = cannot tell, each with an answer: a POST has statuses of its own for them */
	bool resident; /* it is about saved events: a process that has read them answers (reader-pool.h) */
};

/* The files that are served; NULL = there is none. */
#define CALL_FLEET "FLEET"
#define CALL_HOSTS "HOSTS" /* this and the next are left out, with the option before them, where there is none */
#define CALL_GRAPH "CALLS"
struct call_files {
	const char *fleet, *hosts, *graph;
};

/* The table of options of the verb (and subverb) that begins these words; NULL = there is none. */
typedef const struct option_row *(*verb_options_fn)(const char *const *words);

/* A value of the request by the parameter's name: *ret NULL = it is not given. A number of a JSON body is *ret_number. */
struct call_value {
	const char *text; /* NULL = not given, or a number */
	bool is_number;
	long long number;
};
typedef struct call_value (*call_value_fn)(const void *state, const char *name);

/* The words of a command line, borrowed from the call, the files and the values. */
struct call_request {
	const struct call *call;
	const char *v[CALL_WORDS_MAX + 2 * CALL_PARAMETERS_MAX + 1];
	size_t n;
	char names[CALL_PARAMETERS_MAX][32], numbers[CALL_PARAMETERS_MAX][24];
	size_t n_names, n_numbers;
};

const struct call *call_find(const char *path, const char *method);
/* The next call that is a tool; NULL: begin, and: there is none left. */
const struct call *call_next_tool(const struct call *before);
bool call_is_about(const struct call *call, const char *verb);
/* *ret must stay where it is. 0, or -EINVAL with *ret_error (caller frees) that names the parameter. */
int call_request_make(const struct call *call, const struct call_files *files, verb_options_fn options, call_value_fn value, const void *state,
		      struct call_request *ret, char **ret_error);
/* A call's values as a JSON Schema of an object; the caller's reference. NULL with *ret_error (caller frees): a parameter is not an option. */
json_t *call_schema(const struct call *call, verb_options_fn options, char **ret_error);
/* All paths as the OpenAPI document has them; the caller's reference. NULL with *ret_error (caller frees): a parameter is not an option. */
json_t *calls_openapi(verb_options_fn options, char **ret_error);
