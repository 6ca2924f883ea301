/* whyslow threads [PID]: how threads spent their time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <poll.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/blame/wait-report.h"
#include "machine/cmd-waits/name-stacks.h"
#include "machine/cmd-waits/threads-draw.h"
#include "machine/cmd-waits/trace-open.h"
#include "machine/threads/state.h"
#include "machine/view-waits/waits.h"

#define QUESTION_WORDS 48
#define PATIENCE       300000 /* ms without a question, after which the recording is let go */

static struct trace_request arg_what;
static struct threads_draw arg_draw;
static uint64_t arg_top = 30;
static bool arg_questions, arg_json;

static const struct option_row options[] = {
	TRACE_OPTIONS(arg_what),
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "how many to list (default 30)"},
	DRAW_OPTIONS(arg_draw),
	{OPTION_FLAG, 0, "questions", NULL, &arg_questions, "read questions from standard input: a line each, a JSON array of this verb's words"},
	{},
};

/* The rows of threads, from the first that is wanted on; those that were not there in the window are left out. */
static int print(const struct common *common, const struct opened_trace *r, const struct thread_rows *rows)
{
	struct waits_options o = {common->colour, true, (unsigned)(arg_draw.rows ? arg_draw.rows : arg_top), r->asked, false};
	_cleanup_free_ struct wait_report *reports = calloc(rows->threads.n + 1, sizeof(*reports));
	_cleanup_free_ uint32_t *threads = calloc(rows->threads.n + 1, sizeof(*threads));
	size_t n = 0, skip = arg_draw.first;

	if (!reports || !threads)
		return EXIT_CANNOT;
	for (size_t i = 0; i < rows->threads.n; i++) {
		wait_report_init(&reports[n], r->from, r->to);
		wait_report_add(&reports[n], &r->timeline.threads.v[rows->threads.v[i]]);
		threads[n] = rows->threads.v[i];
		if (reports[n].alive && skip)
			skip--;
		else
			n += reports[n].alive != 0;
	}
	if (common->json)
		return waits_threads_json(&r->timeline, threads, reports, arg_draw.rows && arg_draw.rows < n ? arg_draw.rows : n, stdout) < 0 ? EXIT_CANNOT
																	 : EXIT_ANSWERED;
	waits_threads_text(&r->timeline, threads, reports, n, &o, stdout);
	return EXIT_ANSWERED;
}

static int parse_number(const struct common *common, int argc, char **argv, uint32_t *ret)
{
	*ret = 0;
	if (argc > 2)
		return verb_usage_error("threads", "expected one process or thread, or none: 'whyslow threads 812', 'whyslow threads nginx'");
	return argc == 2 ? verb_find_process(common, argv[1], ret) : EXIT_ANSWERED;
}

static int list(const struct common *common, const struct opened_trace *r, uint32_t pid)
{
	_cleanup_(rows_free) struct thread_rows rows = {};
	int status = threads_draw_rows(r, &arg_draw, (uint32_t)pid, &rows);

	if (status == EXIT_ANSWERED && rows.threads.n)
		return print(common, r, &rows);
	if (status == EXIT_ANSWERED)
		log_error(pid ? "no process or thread %u is known at that time" : "no thread is left", (unsigned)pid);
	return EXIT_CANNOT;
}

static int answer(const struct common *common, const struct opened_trace *r, uint32_t pid, struct draw_cache **cache)
{
	if (!threads_draw_is_used(&arg_draw))
		return list(common, r, pid);
	if (!common->json)
		return verb_usage_error("threads", "--points and --at require --json");
	return threads_draw(r, &arg_draw, (uint32_t)pid, cache);
}

/* --- many questions about one recording --- */

static int take_words(const json_t *line, char **argv)
{
	size_t n = json_array_size(line);

	argv[0] = (char *)"threads";
	if (n >= QUESTION_WORDS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (!(argv[i + 1] = (char *)json_string_value(json_array_get(line, i))))
			return -EINVAL;
	argv[n + 1] = NULL;
	return (int)n + 1;
}

static int answer_question(const struct common *common, struct opened_trace *r, const char *text, struct draw_cache **cache)
{
	static const struct option_row json[] = {{OPTION_FLAG, 0, "json", NULL, &arg_json, ""}, {}};
	json_t *line = json_loads(text, 0, NULL);
	_cleanup_free_ char *error = NULL;
	char *argv[QUESTION_WORDS + 1];
	int argc = take_words(line, argv), status;
	uint32_t pid;

	argc = argc < 0 ? argc : options_parse(options, json, false, argc, argv, &error);
	if (argc < 0)
		status = verb_usage_error("threads", "%s",
					  error ? error : "a question is a JSON array of words");
	else
		status = parse_number(common, argc, argv, &pid);
	if (status == EXIT_ANSWERED)
		status = trace_open_window(&arg_what, "threads", r);
	if (status == EXIT_ANSWERED)
		status = answer(common, r, pid, cache);
	json_decref(line);
	return status;
}

static bool somebody_asks(void)
{
	struct pollfd in = {STDIN_FILENO, POLLIN, 0};

	return poll(&in, 1, PATIENCE) > 0;
}

/* Views pan and zoom: the recording is read and analyzed once, not at each step. What cannot be answered is told on
 * standard error, and here by its exit status. */
static int answer_questions(const struct common *common, struct opened_trace *r, struct draw_cache **cache)
{
	const struct trace_request what = arg_what;
	const struct threads_draw draw = arg_draw;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	setvbuf(stdin, NULL, _IONBF, 0); /* or poll() would not see what was read ahead */
	while (somebody_asks() && getline(&text, &size, stdin) > 0) {
		int status;

		arg_what = what;
		arg_draw = draw;
		status = answer_question(common, r, text, cache);
		if (status != EXIT_ANSWERED)
			printf("{\"schema\":\"whyslow.refusal/1\",\"status\":%d}\n", status);
		fflush(stdout);
	}
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	struct draw_cache *cache = NULL;
	struct opened_trace r;
	uint32_t pid;
	int status = parse_number(common, argc, argv, &pid);

	if (arg_questions && !common->json)
		return verb_usage_error("threads", "--questions requires --json");
	if (status == EXIT_ANSWERED)
		status = trace_open(common, "threads", &arg_what, &r);
	if (status != EXIT_ANSWERED)
		return status;
	if (arg_questions || arg_draw.at)
		(void)name_stacks(&r.trace); /* what has no name is shown as it is */
	status = arg_questions ? answer_questions(common, &r, &cache) : answer(common, &r, pid, &cache);
	draw_cache_free(cache);
	opened_trace_free(&r);
	return status;
}

const struct verb verb_threads = {
	.name = "threads",
	.group = "Details",
	.words = "[WHO] ",
	.help = "how each thread spent its time: running, and each kind of waiting",
	.options = options,
	.run = run,
};
