#include "machine/cmd-why/why.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/answer-history/answer-history.h"
#include "machine/answer-history/boot-late.h"
#include "machine/answer-history/boot.h"
#include "machine/answer-why/why.h"
#include "machine/cmd-why/why-program.h"
#include "machine/cmd-why/why-query.h"
#include "machine/process/start-record.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/save-answers.h"
#include "machine/view-why/why.h"

#define HOUR	     (3600 * NS_PER_SEC)
#define WEEK	     (7 * 24 * HOUR)
#define LISTED	     5
#define LOOK_TICKS   6 /* without a recording: five seconds between six samples */
#define FRESH_ENOUGH (10 * NS_PER_SEC)
#define URGENT	     (-20) /* nice; of who may */
#define FIRST_LINE   (250 * NS_PER_MS) /* into a question: a person sees something by then */

struct why_args why_args;

static const struct option_row options[] = {
	WHY_OPTIONS,
	{OPTION_TEXT, 0, "elsewhere", "PATH", &why_args.elsewhere,
	 "normal is also what the same programs do on other machines: a recording of one, or a folder of them as 'whyslow ship' leaves it; read with your own rights"},
	{},
};

static int print_facts(const struct facts *facts)
{
	_cleanup_str_ struct str text = {};

	facts_write(facts, &text);
	fputs(text.data ? text.data : "", stdout);
	return EXIT_ANSWERED;
}

static int print(struct common *common, const struct answer *a, const struct facts *facts)
{
	struct why_text_options text = {common->colour, why_args.top ? (unsigned)why_args.top : LISTED, why_args.all ? 64 : 5, why_args.evidence};

	if (facts)
		return print_facts(facts);
	if (common->json)
		return why_json(a, stdout) < 0 ? EXIT_CANNOT : a->slow ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	why_text(a, &text, stdout);
	fflush(stdout); /* what is left to do must not hold up the last lines */
	return a->slow ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int finish(struct common *common, int r, const struct why_request *request, struct answer *a, struct store *store)
{
	int status;

	if (r == -ENODATA)
		return log_failure(EXIT_CANNOT, "nothing is recorded around that moment: was the recorder running? ('whyslow list' shows marks)");
	if (r < 0)
		return log_failure(EXIT_CANNOT, "cannot answer: %s", why_reason(store, r));
	status = print(common, a, request->ret_facts);
	answer_free(a);
	return status;
}

/* --for names one: is it there at all? */
static int check_who(const struct dataset *d)
{
	for (size_t i = 0; why_args.who && i < d->subjects.n; i++)
		if (entity_matches(&d->subjects.v[i]->info, why_args.who))
			return 0;
	return why_args.who ? log_failure(EXIT_ABSENT, "no program '%s' existed ('whyslow show' lists them)", why_args.who) : 0;
}

/* No recording: look for five seconds, and say that there is no past. */
static int look_now(struct common *common, struct why_request *request)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_(dataset_free) struct dataset d = {};
	struct answer a;
	int status = client_give_up_rights(common, 0), r;

	if (status)
		return status;
	fputs("No recorder is running ('whyslow record' starts one): watching for 5 seconds ...\n", stderr);
	r = common->recorder->look(LOOK_TICKS, 1000, &d, NULL, &error);
	if (r < 0) {
		status = log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r));
	} else {
		dataset_finish(&d);
		request->at = d.ticks.v[d.ticks.n - 1].wall;
		status = check_who(&d);
		r = status ? -ESRCH : why_answer(&d, request, &a);
		status = status ? status : finish(common, r, request, &a, NULL);
	}
	return status;
}

/* A start is short: all of it is read. */
static int boot_from_store(struct store *store, const struct why_request *request, struct why_data *data, struct answer *ret)
{
	struct why_request settled = *request;
	int r = why_settle(store, &settled, data);

	r = r ?: store_load(store, request->at - request->window, request->at, &data->first, &data->damaged);
	return r < 0 ? r : boot_answer(&data->first, &settled, ret);
}

/* Those of earlier marks that were like it; and it is kept itself, where this user may write. */
static void compare_with_earlier(struct common *common, struct store *store, int64_t mark, struct answer *a)
{
	const struct answer_sink *sink;
	struct mark *marks;
	size_t n;

	if (store_marks(store, INT64_MIN, a->at, &marks, &n) < 0)
		return;
	(void)saved_answer_find_similar(store, marks, n, mark, &common->viewer, a);
	saved_answer_calibrate(store, marks, n, &common->viewer, a);
	marks_free(marks, n);
	sink = mark && !why_args.who && !why_args.model && !why_args.since ? save_answers(common) : NULL;
	if (sink)
		(void)saved_answer_save(sink, mark, a);
}

static void end_first_look(struct why_query *asked)
{
	if (asked->first_look <= 0)
		return;
	kill(asked->first_look, SIGKILL);
	(void)waitpid(asked->first_look, NULL, 0);
	asked->first_look = 0;
}

static int answer_from(struct common *common, struct store *store, struct why_query *asked)
{
	const struct why_request *request = &asked->request;
	_cleanup_(why_data_free) struct why_data data = {};
	struct answer a;
	int status = client_give_up_rights(common, 0), r;

	if (status)
		return status;
	r = why_args.boot ? boot_from_store(store, request, &data, &a) : why_query_answer(common, store, asked, &data, &a);
	end_first_look(asked);
	if (r == 0 && !why_args.boot)
		compare_with_earlier(common, store, asked->mark, &a);
	if (r == 0 && check_who(&data.first)) {
		answer_free(&a);
		status = EXIT_ABSENT;
	} else {
		status = finish(common, r, request, &a, store);
	}
	if (r == 0)
		verb_warn_of_damage(store);
	return status;
}

/* Where none is named the window is what is compared with. */
static int parse_baseline(const char *verb, struct why_request *request)
{
	const char *which = why_args.baseline;

	if (!which)
		return EXIT_ANSWERED;
	if (strcmp(which, "last-hour") == 0) {
		request->window = HOUR;
	} else if (strcmp(which, "same-hour") == 0) {
		request->baseline = BASELINE_SAME_HOUR;
		request->window = (why_args.window ? why_args.window : WEEK) + HOUR / 2;
	} else if (strcmp(which, "upgrade") == 0 || strncmp(which, "upgrade=", 8) == 0) {
		request->baseline = BASELINE_UPGRADE;
		request->package = which[7] ? which + 8 : NULL;
	} else {
		return verb_usage_error(verb, "unknown baseline '%s'; expected last-hour, same-hour, upgrade or upgrade=PACKAGE", which);
	}
	request->recorded = false;
	return request->block || why_args.boot ? verb_usage_error(verb, "--baseline cannot be combined with --window-mode block or --boot") : EXIT_ANSWERED;
}

int why_parse_model(const char *verb, int64_t window, struct why_request *request)
{
	const char *mode = why_args.window_mode;

	request->method = why_args.model ? method_find(why_args.model) : NULL;
	if (why_args.model && !request->method)
		return verb_usage_error(verb, "unknown model '%s'; expected blame, gaussian or unusual", why_args.model);
	if (mode && strcmp(mode, "block") != 0 && strcmp(mode, "past") != 0)
		return verb_usage_error(verb, "invalid --window-mode '%s'; expected past or block", mode);
	request->block = mode && *mode == 'b';
	request->window = why_args.window ? why_args.window : window;
	return parse_baseline(verb, request);
}

static int prepare(struct common *common, struct why_query *asked)
{
	struct why_request *request = &asked->request;
	int r;

	/* who asks does so because the machine is slow, and the answer is a moment's work */
	(void)setpriority(PRIO_PROCESS, 0, URGENT);
	request->recorded = (!why_args.window || why_args.window == common->config.answer_window) && !why_args.boot;
	request->only = why_args.who;
	request->viewer = common->viewer;
	r = why_query_parse_since("why", why_args.since, asked);
	if (r)
		return r;
	r = why_parse_model("why", common->config.answer_window, request);
	if (r)
		return r;
	request->elsewhere = why_args.elsewhere;
	if (request->elsewhere && (why_args.boot || (request->method && !request->method->features)))
		return verb_usage_error("why", "--elsewhere goes with --model blame alone, and not with --boot");
	if (request->elsewhere && access(request->elsewhere, R_OK) < 0)
		return log_failure(EXIT_CANNOT, "cannot read --elsewhere %s: %s", request->elsewhere, strerror(errno));
	request->ret_facts = why_args.facts ? &asked->facts : NULL;
	return why_query_load_causes(asked);
}

/* *now becomes what is recorded by then: what is recorded later must not change what this moment is. */
static bool recording_is_fresh(struct store *store, int64_t *now)
{
	int64_t from, to, asked = *now;

	if (store_extent(store, &from, &to) < 0)
		return false;
	*now = to < asked ? to : asked;
	return asked - to < FRESH_ENOUGH;
}

static void find_events(const struct common *common, struct why_query *asked)
{
	if (!asked->request.method || asked->request.method == &method_blame)
		why_query_find_events(common, asked);
}

/* The sentence from counters alone, which are at hand at once. Runs in a process of its own, which gives up its rights and is ended when the whole
 * answer is there. */
static void show_first_look(struct common *common, const struct why_query *asked, int64_t due)
{
	struct store_paths paths = common_paths(common);
	struct why_query quick = {.request = asked->request};
	_cleanup_free_ char *error = NULL;
	struct why_data data = {};
	struct store *store;
	struct timespec rest;
	struct answer a;
	int64_t left;

	quick.request.ret_facts = NULL;
	quick.request.elsewhere = NULL; /* they take their time */
	if (client_give_up_rights(common, 0) || store_open(&paths, STORE_READ, &store, &error) < 0 || why_from_store(store, &quick.request, &data, &a) < 0)
		return;
	left = due - clock_monotonic();
	rest = (struct timespec){.tv_sec = left / NS_PER_SEC, .tv_nsec = left % NS_PER_SEC};
	if (left > 0)
		nanosleep(&rest, NULL);
	printf("First look, from counters alone: %s\n", a.summary);
	fflush(stdout);
}

/* Where a person reads along. 0 = no one does, or it cannot be done. */
static pid_t begin_first_look(struct common *common, const struct why_query *asked)
{
	int64_t due = clock_monotonic() + FIRST_LINE;
	pid_t pid;

	if (!common->colour || common->json || why_args.facts || why_args.wait)
		return 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		show_first_look(common, asked, due);
		_exit(0);
	}
	return pid > 0 ? pid : 0;
}

static int answer_moment(struct common *common, struct why_query *asked)
{
	struct store *store;
	int status = prepare(common, asked);

	if (status)
		return status;
	find_events(common, asked);
	status = client_give_up_rights(common, asked->mark ? CLIENT_SAVES_ANSWERS : 0);
	if (status)
		return status;
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	status = answer_from(common, store, asked);
	store_close(store);
	return status;
}

int why_at(struct common *common, int64_t wall, int64_t mark)
{
	_cleanup_why_query_ struct why_query asked = {.request = {.at = wall, .marked = mark != 0}, .mark = mark};

	return answer_moment(common, &asked);
}

static int why_now(struct common *common)
{
	struct store_paths paths = common_paths(common);
	_cleanup_why_query_ struct why_query asked = {.waits = why_args.wait, .request = {.at = clock_wall(), .now = true, .proc_root = "/proc"}};
	_cleanup_free_ char *error = NULL;
	struct store *store;
	int status = prepare(common, &asked), r;

	if (status)
		return status;
	asked.first_look = begin_first_look(common, &asked);
	r = store_open(&paths, STORE_READ, &store, &error);
	if (r < 0 && common->store_file && !common->for_client) { /* the one that is meant, and no other answer in its place */
		end_first_look(&asked);
		return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r));
	}
	if (r == 0) {
		bool fresh = recording_is_fresh(store, &asked.request.at);

		if (fresh) {
			find_events(common, &asked);
			status = answer_from(common, store, &asked);
			end_first_look(&asked);
		}
		store_close(store);
		if (fresh)
			return status;
	}
	end_first_look(&asked);
	return look_now(common, &asked.request);
}

static bool start_is_recorded(struct store *store, int64_t start)
{
	_cleanup_(dataset_free) struct dataset d = {};
	unsigned damaged;
	bool recorded = store_load(store, start, start + BOOT_RECORDED_BY, &d, &damaged) == 0 && d.ticks.n;

	return recorded;
}

/* Nothing recorded the start: what this machine keeps of it itself. */
static int boot_unrecorded(struct common *common, int64_t start)
{
	_cleanup_(start_record_free) struct start_record kept = {};
	struct answer a;
	int r = start_record_read("/proc", &common->viewer, &kept), status = client_give_up_rights(common, 0);

	if (status)
		return status;
	r = r ?: boot_late_answer(&kept, start, &a);
	if (r == 0) {
		status = print(common, &a, NULL);
		answer_free(&a);
		return status;
	}
	return log_failure(EXIT_CANNOT, r == -ENODATA ? "nothing is known of this machine's start: no recorder ran, and it keeps no times of its own" : "out of memory");
}

/* A recording of another machine says nothing of this one's start. */
static bool boot_is_unrecorded(struct common *common, int64_t start)
{
	struct store_paths paths = common_paths(common);
	_cleanup_free_ char *error = NULL;
	_cleanup_store_ struct store *store = NULL;
	bool recorded;

	if (common->from_file)
		return false;
	if (store_open(&paths, STORE_READ, &store, &error) < 0)
		return true;
	recorded = start_is_recorded(store, start);
	return !recorded;
}

/* From the machine's start to now, or to ten minutes after it. */
static int why_boot(struct common *common)
{
	int64_t now = clock_wall(), start = now - clock_boot();
	_cleanup_why_query_ struct why_query asked = {.request = {.at = now < start + BOOT_LONGEST ? now : start + BOOT_LONGEST}};
	struct store *store;
	int status = prepare(common, &asked);

	if (status)
		return status;
	if (boot_is_unrecorded(common, start))
		return boot_unrecorded(common, start);
	asked.request.since = start;
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	asked.request.window = BOOT_LONGEST;
	status = answer_from(common, store, &asked);
	store_close(store);
	return status;
}

/* Answers for now where no --at is given: with what is recorded, if anything is. */
static int why_one(struct common *common, const char *who)
{
	struct store_paths paths = {common->config.store_file, common->config.store_run_dir};
	_cleanup_why_query_ struct why_query asked = {.waits = why_args.wait, .request = {.at = clock_wall(), .proc_root = common->from_file ? NULL : "/proc"}};
	_cleanup_free_ char *error = NULL;
	struct store *store = NULL;
	int r, status;

	if (why_args.at) {
		asked.request.proc_root = NULL;
		r = why_query_parse(common, why_args.at, &asked);
		if (r < 0)
			return why_query_wrong_time("why", why_args.at, r);
	}
	status = why_query_parse_since("why", why_args.since, &asked) ?: why_parse_model("why", common->config.answer_window, &asked.request);
	if (status)
		return status;
	why_query_find_events(common, &asked);
	why_query_find_past_events(common, &asked);
	if (common->from_file || why_args.at) {
		store = common_open_store(common, STORE_READ);
		if (!store)
			return EXIT_CANNOT;
	} else if (store_open(&paths, STORE_READ, &store, &error) < 0) {
		store = NULL;
	}
	status = why_program(common, who, store, &asked);
	if (store)
		store_close(store);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_why_query_ struct why_query asked = {};
	int r;

	if (argc > 2 || (argc == 2 && (why_args.boot || why_args.who)))
		return verb_usage_error("why", "expected one WHO (a pid, unit or name), or none: 'whyslow why postgres'");
	if (argc == 2 && common->from_file && !why_args.at)
		return verb_usage_error("why", "--from needs --at TIME: a recording has no 'now'");
	if (argc == 2 && why_args.elsewhere)
		return verb_usage_error("why", "--elsewhere is of the whole machine: without WHO");
	if (argc == 2)
		return why_one(common, argv[1]);
	if (why_args.boot)
		return why_boot(common);
	if (!why_args.at && !common->from_file)
		return why_now(common);
	if (!why_args.at)
		return verb_usage_error("why", "--from needs --at TIME: a recording has no 'now'");
	r = why_query_parse(common, why_args.at, &asked);
	return r < 0 ? why_query_wrong_time("why", why_args.at, r) : answer_moment(common, &asked);
}

const struct verb verb_why = {
	.name = "why",
	.group = "Daily use",
	.words = "[WHO] ",
	.help = "say why it is (or was) slow: which program, which resource, how unusual; or why WHO is slow: what it waits for",
	.about = "Compares what every process did in the last seconds with what it normally does, follows who waits for whom, and names the "
		 "program that is most likely the cause, with its confidence, the programs that it makes wait, and what you can do.\n"
		 "With WHO (a process ID, or any word of a program's name, script, path, unit, container or pod) it says instead what that "
		 "program waits for, and leads along the chain of waits to its end.\n"
		 "The recorder keeps the past: the same question is answered for any moment that is recorded.",
	.examples = (const struct example[]){
		{"whyslow why", "why is the machine slow now?"},
		{"whyslow why --at 03:10", "what slowed it down at ten past three?"},
		{"whyslow why --at 7", "the same for incident 7 of 'whyslow list'"},
		{"whyslow why postgres", "what does postgres wait for?"},
		{"whyslow why --baseline same-hour", "compare with this hour of the days before: a nightly backup is normal then"},
		{"whyslow why --elsewhere /srv/recordings", "also with what the same programs do on machines that ship their recordings there"},
		{"whyslow why --boot", "why did the machine's last start take so long?"},
		{}},
	.options = options,
	.own_file = &why_args.elsewhere,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
