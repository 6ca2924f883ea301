/* whyslow threads [PID]: how threads spent their time. */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/blame/path.h"
#include "machine/blame/wait-report.h"
#include "machine/cmd-waits/trace-open.h"
#include "machine/symbol/name-stacks.h"
#include "machine/threads/draw.h"
#include "machine/threads/rows.h"
#include "machine/threads/state.h"
#include "machine/view-waits/waits.h"

#define QUESTION_WORDS 48
#define PATIENCE       300000 /* ms without a question, after which the recording is let go */

struct threads_draw {
	uint64_t points, first, rows;		     /* rows 0 = all */
	const char *order, *filter, *hidden, *folded, *chosen; /* as given; NULL = not */
	const char *path, *at, *order_since, *order_until;
};

#define DRAW_OPTIONS(d)                                                                                                            \
	{OPTION_COUNT, 0, "points", "N", &(d).points, "states over the window in this many points, for drawing; with --json"},       \
	{OPTION_COUNT, 0, "first", "N", &(d).first, "first row (0 is the first)"},                                      \
	{OPTION_COUNT, 0, "rows", "N", &(d).rows, "number of rows (default: all)"},                                              \
	{OPTION_TEXT, 0, "order", "BY", &(d).order, "waited (default), ran, name or pid"},                                         \
	{OPTION_TEXT, 0, "order-since", "TIME", &(d).order_since, "start of the time that decides the order (default: as recorded)"},     \
	{OPTION_TEXT, 0, "order-until", "TIME", &(d).order_until, "up to here"},                                                   \
	{OPTION_TEXT, 0, "filter", "TEXT", &(d).filter, "only threads with this in their name or unit, or with this number"},      \
	{OPTION_TEXT, 0, "hide", "TEXT,...", &(d).hidden, "leave out threads with one of these in their name or unit, or with this number"}, \
	{OPTION_TEXT, 0, "folded", "PID,...", &(d).folded, "with --points: one row for all threads of these; 0 = the kernel's"},    \
	{OPTION_TEXT, 0, "chosen", "PID", &(d).chosen, "process that comes first; in a drawing its CPU use is shown separately"},     \
	{OPTION_TEXT, 0, "path", "TID", &(d).path, "with --points: this thread's critical path, whose threads come first"},        \
	{OPTION_TEXT, 0, "at", "TIME", &(d).at, "what the thread was doing then, where, what ended it; with --json"}

struct draw_cache;

#define PATH_ROWS  40	 /* threads of a critical path that come before all others */
#define POINTS_MAX 16384 /* twice the widest screen there is */
#define NUMBERS_MAX 256

struct draw_cache {
	struct str key; /* what the rows depend on */
	struct thread_rows rows;
};

static void draw_cache_free(struct draw_cache *c)
{
	if (!c)
		return;
	str_free(&c->key);
	rows_free(&c->rows);
	free(c);
}

static bool threads_draw_is_used(const struct threads_draw *d)
{
	return d->points || d->at;
}

static int cannot(int r)
{
	return log_failure(EXIT_CANNOT, "%s", strerror(-r));
}

/* --- what is asked --- */

static int parse_order(const char *text, enum row_order *ret)
{
	*ret = ORDER_WAITED;
	if (!text)
		return 0;
	for (int i = 0; i < ROW_ORDERS; i++)
		if (strcmp(text, row_order_names[i]) == 0) {
			*ret = (enum row_order)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_numbers(const char *text, uint32_t *ret, size_t *ret_n)
{
	*ret_n = 0;
	while (text && *text) {
		char *end;
		unsigned long value = strtoul(text, &end, 10);

		if (end == text || (*end && *end != ',') || value > UINT32_MAX || *ret_n >= NUMBERS_MAX)
			return -EINVAL;
		ret[(*ret_n)++] = (uint32_t)value;
		text = *end ? end + 1 : end;
	}
	return 0;
}

/* The thread of this number that something is known of at that time, else any of it. */
static uint32_t find_thread(const struct timeline *t, uint32_t number, int64_t at)
{
	uint32_t found = NOBODY;

	for (uint32_t i = 0; i < t->threads.n; i++) {
		const struct thread_line *line = &t->threads.v[i];
		size_t place;

		if (line->tid != number || !line->intervals.n)
			continue;
		place = interval_find(line, at);
		if (place < line->intervals.n && line->intervals.v[place].start <= at)
			return i;
		found = i;
	}
	return found;
}

static int parse_thread(const struct opened_trace *r, const char *text, uint32_t *ret)
{
	uint64_t number;

	*ret = NOBODY;
	if (!text)
		return 0;
	if (str_parse_u64(text, &number) < 0 || !number || number > UINT32_MAX)
		return -EINVAL;
	*ret = find_thread(&r->timeline, (uint32_t)number, r->from + (r->to - r->from) / 2);
	return *ret == NOBODY ? -ESRCH : 0;
}

/* --- rows --- */

/* The threads of the path, the one with the largest part first, after the one asked about. */
static int path_threads(const struct opened_trace *r, uint32_t thread, uint32_t *ret, size_t *ret_n)
{
	_cleanup_(path_free) struct critical_path path = {};
	_cleanup_free_ struct path_share *shares = NULL;
	size_t n = 0;
	int status = path_build(&r->timeline, thread, r->from, r->to, &path);

	if (status == 0)
		status = path_shares(&path, &shares, &n);
	if (status < 0)
		return status;
	ret[0] = thread;
	*ret_n = 1;
	for (size_t i = 0; i < n && *ret_n < PATH_ROWS; i++) {
		size_t k = 0;

		while (k < *ret_n && ret[k] != shares[i].thread)
			k++;
		if (k == *ret_n)
			ret[(*ret_n)++] = shares[i].thread;
	}
	return 0;
}

static int build_rows(const struct opened_trace *r, const struct row_question *asked, uint32_t path, struct draw_cache *cache)
{
	struct row_question q = *asked;
	uint32_t first[PATH_ROWS];
	int status = path == NOBODY ? 0 : path_threads(r, path, first, &q.n_first);

	q.first = first;
	rows_free(&cache->rows);
	return status < 0 ? status : rows_build(&r->timeline, &q, &cache->rows);
}

/* Ordering looks at everything that was recorded: it is done once for all questions that pan and zoom. */
static int find_rows(const struct opened_trace *r, const struct threads_draw *d, const struct row_question *q, uint32_t path,
		     struct draw_cache *cache)
{
	_cleanup_str_ struct str key = {};
	int status;

	str_printf(&key, "%lld %lld %d '%s' '%s' '%s' %u", (long long)q->from, (long long)q->to, (int)q->order, q->filter ? q->filter : "",
		   q->hidden ? q->hidden : "", d->folded ? d->folded : "", path);
	if (path != NOBODY)
		str_printf(&key, " %lld %lld", (long long)r->from, (long long)r->to);
	if (key.error)
		return key.error;
	if (cache->key.len && strcmp(cache->key.data, key.data) == 0)
		return 0;
	str_clear(&cache->key);
	status = build_rows(r, q, path, cache);
	return status < 0 ? status : str_puts(&cache->key, key.data);
}

/* --- answers --- */

static int answer_instant(const struct opened_trace *r, const struct threads_draw *d, uint32_t number)
{
	_cleanup_(instant_free) struct instant m = {};
	uint32_t thread;
	int64_t at;
	int status;

	if (!number)
		return verb_usage_error("threads", "--at requires a thread: 'whyslow threads 812 --at 14:32:07 --json'");
	if (trace_open_time(&r->trace, d->at, r->timeline.end, &at) < 0)
		return verb_usage_error("threads", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", d->at);
	thread = find_thread(&r->timeline, number, at);
	status = thread == NOBODY ? -ENODATA : draw_instant(&r->timeline, thread, at, &m);
	if (status == -ENODATA)
		return log_failure(EXIT_CANNOT, "nothing is known of thread %u at that time", number);
	return status < 0 || waits_instant_json(&r->timeline, &m, stdout) < 0 ? cannot(status) : EXIT_ANSWERED;
}

/* Who is chosen, and what decides the order; q has the time that decides it by default. */
static int parse_rows(const struct opened_trace *r, const struct threads_draw *d, struct row_question *q, uint64_t *ret_chosen)
{
	*ret_chosen = 0;
	q->filter = d->filter;
	q->hidden = d->hidden;
	if (parse_order(d->order, &q->order) < 0)
		return verb_usage_error("threads", "invalid --order '%s'; expected waited, ran, name or pid", d->order);
	if (d->chosen && (str_parse_u64(d->chosen, ret_chosen) < 0 || *ret_chosen > UINT32_MAX))
		return verb_usage_error("threads", "--chosen expects a PID");
	if (trace_open_time(&r->trace, d->order_since, q->from, &q->from) < 0 || trace_open_time(&r->trace, d->order_until, q->to, &q->to) < 0)
		return verb_usage_error("threads", "--order-since and --order-until expect a TIME");
	return EXIT_ANSWERED;
}

/* The rows that were asked for, without a drawing: the threads of `number` alone, or all (0). The caller frees *ret. The exit status. */
static int threads_draw_rows(const struct opened_trace *r, const struct threads_draw *d, uint32_t number, struct thread_rows *ret)
{
	struct row_question q = {.from = r->from, .to = r->to, .only = number};
	_cleanup_free_ uint32_t *first = NULL;
	uint64_t chosen;
	int n = 0, status = d->folded || d->path ? verb_usage_error("threads", "--folded and --path require --points and --json") : parse_rows(r, d, &q, &chosen);

	if (status == EXIT_ANSWERED && chosen)
		n = timeline_find(&r->timeline, (uint32_t)chosen, &first);
	if (status != EXIT_ANSWERED)
		return status;
	q.first = first;
	q.n_first = n > 0 ? (size_t)n : 0;
	n = n < 0 ? n : rows_build(&r->timeline, &q, ret);
	return n < 0 ? cannot(n) : EXIT_ANSWERED;
}

static int answer_drawing(const struct opened_trace *r, const struct threads_draw *d, struct draw_cache *cache)
{
	_cleanup_(drawing_free) struct drawing drawing = {};
	uint32_t folded[NUMBERS_MAX];
	struct row_question rows = {.from = r->timeline.start, .to = r->timeline.end, .folded = folded};
	struct draw_question q = {.from = r->from, .to = r->to, .points = (uint32_t)d->points, .first = d->first,
				  .count = d->rows ? d->rows : SIZE_MAX / 2};
	uint64_t chosen;
	int status;

	if (d->points > POINTS_MAX)
		return verb_usage_error("threads", "invalid --points; expected at most %d", POINTS_MAX);
	if (parse_numbers(d->folded, folded, &rows.n_folded) < 0)
		return verb_usage_error("threads", "--folded expects PIDs with commas between them");
	status = parse_rows(r, d, &rows, &chosen);
	if (status != EXIT_ANSWERED)
		return status;
	q.chosen = (uint32_t)chosen;
	if (parse_thread(r, d->path, &q.path) < 0)
		return log_failure(EXIT_CANNOT, "no thread '%s' is known at that time", d->path);
	status = find_rows(r, d, &rows, q.path, cache);
	if (status == 0)
		status = draw_timeline(&r->timeline, &cache->rows, &q, &drawing);
	if (status == 0)
		status = waits_timeline_json(&r->timeline, &drawing, stdout);
	return status < 0 ? cannot(status) : EXIT_ANSWERED;
}

/* Answers on standard output, in one line. `number`: the thread of --at; 0 = none was given. The exit status. */
static int threads_draw(const struct opened_trace *r, const struct threads_draw *d, uint32_t number, struct draw_cache **cache)
{
	if (!*cache)
		*cache = calloc(1, sizeof(**cache));
	if (!*cache)
		return cannot(-ENOMEM);
	return d->at ? answer_instant(r, d, number) : answer_drawing(r, d, *cache);
}

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
	_cleanup_(json_decrefp) json_t *line = json_loads(text, 0, NULL);
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
	return status;
}

static bool somebody_asks(void)
{
	struct pollfd in = {STDIN_FILENO, POLLIN, 0};

	return poll(&in, 1, PATIENCE) > 0;
}

/* Views pan and zoom: the recording is read and analyzed once, not at each step. Failures are reported on
 * standard error, and here by the exit status. */
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
	.about = "Divides the time of each thread among running, waiting for a CPU, for the disk, for a lock, and so on, by the events that the "
		 "flight recorder has kept.",
	.examples = (const struct example[]){
		{"whyslow threads", "the threads that waited most in the last seconds"},
		{"whyslow threads firefox", "those of one program"},
		{"whyslow threads --mark 7 --order ran", "at incident 7, by how long they ran"},
		{}},
	.options = options,
	.run = run,
};
