#include "machine/verb/help.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/subverb.h"
#include "machine/verb/verb.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/fold.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/rights/memory-budget.h"
#include "lib/store/page-sums.h"
#include "machine/client/request.h"
#include "machine/recorder/capture.h"
#include "machine/recorder/ending.h"
#include "machine/recorder/hook.h"
#include "machine/recorder/recorder.h"
#include "machine/recording/run-dir.h"
#include "machine/service/access.h"
#include "machine/service/record.h"

#define SHARED_FOR_CLIENTS 4 /* of the shared options a client may give only those from --json on */

extern const struct verb
	verb_why, verb_mark, verb_list, verb_history, verb_show, verb_top, verb_open, verb_cpu, verb_threads, verb_waits,
	verb_flame, verb_inspect, verb_compare, verb_confirm, verb_calm, verb_export, verb_ship, verb_fleet, verb_spans, verb_record,
	verb_serve, verb_mcp, verb_agent, verb_run, verb_demo, verb_feedback, verb_doctor, verb_config, verb_features,
	verb_help;

const struct verb *const verbs[] = {
	&verb_why, &verb_mark, &verb_list, &verb_history, &verb_show, &verb_top, &verb_open, &verb_cpu, &verb_threads, &verb_waits,
	&verb_flame, &verb_inspect, &verb_compare, &verb_confirm, &verb_calm, &verb_export,
#ifdef WITH_FLEET
	&verb_ship, &verb_fleet,
#endif
#ifdef WITH_SPANS
	&verb_spans,
#endif
	&verb_record, &verb_serve, &verb_mcp, &verb_agent, &verb_run, &verb_demo, &verb_feedback, &verb_doctor, &verb_config,
	&verb_features, &verb_help, NULL,
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

int verb_unknown(const char *said_by, const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (str_is_misspelled(name, verbs[i]->name))
			return verb_usage_error(said_by, "there is no verb '%s'; did you mean '%s'?", name, verbs[i]->name);
	return verb_usage_error(said_by, "there is no verb '%s'; 'whyslow help' lists them", name);
}

const struct option_row *verb_options_of(const char *const *words)
{
	const struct verb *verb = words[0] ? verb_find(words[0]) : NULL;

	if (!verb || !verb->subverbs)
		return verb ? verb->options : NULL;
	for (size_t i = 0; words[1] && verb->subverbs->list[i]; i++)
		if (strcmp(verb->subverbs->list[i]->name, words[1]) == 0)
			return verb->subverbs->list[i]->options;
	return NULL;
}

const struct option_row *verb_shared_options(const struct verb *verb, const struct option_row *shared)
{
	static struct option_row taken[16];
	size_t n = 0;

	for (size_t i = 0; shared[i].name && n < ARRAY_SIZE(taken) - 1; i++)
		if (!verb->text_only || strcmp(shared[i].name, "json") != 0)
			taken[n++] = shared[i];
	taken[n] = (struct option_row){};
	return taken;
}

int verb_usage_error(const char *verb, const char *format, ...)
{
	struct fold out = {.fd = STDERR_FILENO};
	_cleanup_str_ struct str text = {};
	va_list args;

	str_printf(&text, "whyslow %s: ", verb);
	va_start(args, format);
	str_vprintf(&text, format, args);
	va_end(args);
	str_putc(&text, '\n');
	str_make_lines_printable(text.data);
	if (text.data)
		(void)fold_write(&out, text.data, strlen(text.data));
	fold_free(&out);
	return EXIT_USAGE;
}

/* Marks are written there: what another user may have put in place is not touched. */
static int check_run_dir(const char *run_dir)
{
	int r = folder_check_owner(run_dir);

	if (r == -EPERM)
		log_error("cannot use %s: it is a link, belongs to another user, or others may write there; remove it, or pass --run-dir",
			  run_dir);
	return r == -EPERM ? r : 0;
}

/* The recorder decides where it records; every other verb, asked about a run directory, means the recording that it belongs to. */
static char *file_of_run_dir(const struct common *c, const struct verb *verb)
{
	return c->run_dir && !c->config_file && strcmp(verb->name, "record") != 0 ? run_dir_recording_file(c->run_dir) : NULL;
}

static int read_config(struct common *c, const struct verb *verb)
{
	char *file;
	_cleanup_free_ char *error = NULL;
	int r = config_load(&c->config, c->config_file, &error);

	if (r < 0) {
		if (error)
			log_error("%s", error);
		else
			log_error("cannot read the settings in %s: %s", c->config_file ? c->config_file : CONFIG_FILE, strerror(-r));
		return r;
	}
	if (c->store_file || c->from_file) {
		free(c->config.store_file);
		c->config.store_file = strdup(c->from_file ? c->from_file : c->store_file);
	}
	if (c->run_dir) {
		free(c->config.store_run_dir);
		c->config.store_run_dir = strdup(c->run_dir);
	}
	if (!c->config.store_file || !c->config.store_run_dir)
		return -ENOMEM;
	if (c->from_file || c->for_client)
		return 0;
	r = check_run_dir(c->config.store_run_dir);
	file = r == 0 && !c->store_file ? file_of_run_dir(c, verb) : NULL;
	if (file) {
		free(c->config.store_file);
		c->config.store_file = file;
	}
	return r;
}

/* Where a recorder listens that knows what is asked about: also root asks it, as it answers on a machine that crawls. */
static const char *recorder_of(const struct common *c)
{
	if (c->for_client || c->store_file || c->from_file || c->config_file)
		return NULL;
	return c->run_dir ? c->run_dir : SYSTEM_RUN_DIR;
}

static void say_how_it_ended(const char *run_dir)
{
	struct ending ending;

	if (ending_read(run_dir, &ending) == 0)
		log_warning("the recorder ended at %s: %s; start it again ('whyslow record', or 'systemctl start whyslow')",
			    CLOCK_LOCAL(ending.wall), ending.reason);
}

static bool reads_own_file(const struct verb *verb)
{
	return verb->own_file && *verb->own_file;
}

/* A question goes to the recorder, if one listens; -ENOENT or the like if none does. */
static int ask_daemon(const struct common *c, const struct verb *verb, int argc, char **argv)
{
	const char *run_dir = verb->remote && !reads_own_file(verb) && (request_is_urgent(verb->name) || geteuid() != 0) ? recorder_of(c) : NULL;

	int r = !run_dir ? -EOPNOTSUPP : c->asked ? c->asked : request_send(run_dir, argc, argv, STDOUT_FILENO);

	if (run_dir && (r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET))
		say_how_it_ended(run_dir);
	return r;
}

static const struct verb *choose(int *argc, char ***argv)
{
	static char *const bare = (char *)"why";

	if (*argc <= 1 || (*argv)[1][0] == '-')
		return verb_find(bare);
	(*argc)--;
	(*argv)++;
	return verb_find((*argv)[0]);
}

/* The recorder that is asked knows where its files are. argv is NULL-terminated. Returns the new count. */
static int without_run_dir(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--run-dir") == 0)
			i++;
		else if (!str_starts(argv[i], "--run-dir="))
			argv[n++] = argv[i];
	}
	argv[n] = NULL;
	return n;
}

/* For whom the daemon has this process answer, and whether it is to answer at all. */
static int know_client(struct common *c)
{
	int r = c->for_client ? access_viewer(&c->config, ACCESS_MOUNTS, c->viewer.uid, &c->viewer) : 0;

	if (r < 0)
		log_warning("other users' processes are not shown: %s", r == -ENOENT ? "socket.group or /proc is not there" : strerror(-r));
	if (!c->for_client || access_is_allowed(&c->config, &c->viewer))
		return 0;
	return log_failure(-EACCES, "permission denied: only root%s%s may ask this recorder (socket.mode)", c->config.socket_mode & 060 ? " and group " : "",
		  c->config.socket_mode & 060 ? c->config.socket_group : "");
}

static int run_with_rights(struct common *c, const struct verb *verb, int argc, char **argv)
{
	const unsigned failed = page_sums_failed();
	int status = verb->rights == RIGHTS_GIVEN_UP ? client_give_up_rights(c, 0) : 0;

	if (!verb->runs_programs) {
		memory_budget_bound_question();
		memory_budget_keep_freed();
	}
	if (status == 0)
		status = verb->run(c, argc, argv);
	if (page_sums_failed() != failed)
		log_warning("a file that was read is damaged (checksums of its pages differ): what was on these pages is missing here");
	if ((status != EXIT_ANSWERED && status != EXIT_NOTHING_FOUND) || !client_has_rights_left(c))
		return status;
	return log_failure(EXIT_CANNOT, "'%s' was answered with root's rights, which is a bug in whyslow", verb->name);
}

static int run_verb(struct common *c, const struct verb *verb, const struct option_row *shared, int argc, char **argv)
{
	/* options are taken out of argv, and the daemon wants all of them */
	_cleanup_free_ char **given = calloc((size_t)argc + 1, sizeof(*given));
	_cleanup_free_ char *error = NULL;
	int words, status;

	if (!given)
		return EXIT_CANNOT;
	memcpy(given, argv, (size_t)argc * sizeof(*given));
	words = options_parse(verb->options, verb_shared_options(verb, shared), verb->takes_command, argc, argv, &error);
	if (words < 0)
		return verb_usage_error(verb->name, "%s", error ? error : "bad options");
	if (c->help) {
		help_verb(verb, shared);
		return EXIT_ANSWERED;
	}
	if (c->for_client && reads_own_file(verb))
		return verb_usage_error(verb->name, "a recorder reads no files for those who ask it");
	given[0] = (char *)verb->name;
	status = ask_daemon(c, verb, without_run_dir(argc, given), given);
	if (status >= 0)
		return status;
	if (status == -E2BIG) { /* an own recording is not a place for it */
		return log_failure(EXIT_USAGE, "too long: the recorder accepts %d bytes of options and note", REQUEST_MAX);
	}
	if (read_config(c, verb) < 0)
		return EXIT_USAGE;
	if (know_client(c) < 0) {
		config_free(&c->config);
		return EXIT_CANNOT;
	}
	if (!c->for_client)
		c->colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	status = run_with_rights(c, verb, words, argv);
	client_close(c);
	config_free(&c->config);
	return status;
}

/* The options that all verbs take, into *c. */
#define SHARED_OPTIONS(c)                                                                                                \
	{                                                                                                                \
		{OPTION_TEXT, 0, "store", "FILE", &(c)->store_file, "the recording (default: see 'whyslow config')"},    \
		{OPTION_TEXT, 0, "from", "FILE", &(c)->from_file, "an exported recording, of any machine"},              \
		{OPTION_TEXT, 0, "run-dir", "DIR", &(c)->run_dir, "where the recorder keeps its journal and socket; verbs mean its recording, unless --store names one"},    \
		{OPTION_TEXT, 0, "config", "FILE", &(c)->config_file, "configuration (default: " CONFIG_FILE ")"},       \
		{OPTION_FLAG, 0, "json", NULL, &(c)->json, "JSON, for programs"},                                        \
		{OPTION_FLAG, 'h', "help", NULL, &(c)->help, "this text"},                                               \
		{},                                                                                                      \
	}

static int choose_and_run(struct common *common, int argc, char **argv)
{
	const struct option_row shared[] = SHARED_OPTIONS(common);
	const struct verb *verb = choose(&argc, &argv);

	common->shared_options = shared;
	if (!verb || (common->for_client && !verb->remote && !verb->for_clients))
		return verb_unknown(argv[0], argv[0]);
	return run_verb(common, verb, common->for_client ? shared + SHARED_FOR_CLIENTS : shared, argc, argv);
}

static const struct recorder_calls recorder_calls = {recorder_look, capture_freeze, capture_freeze_now, capture_leave};

int verbs_answer(const struct service_question *q, const void *data)
{
	const struct record_options *recorder = data;
	struct common common = {
		.viewer.uid = q->uid,
		.client_gid = q->gid,
		.for_client = true,
		.colour = q->colour,
		.recorder = &recorder_calls,
		.capture = q->capture,
		.config_file = recorder->config_file,
		.run_dir = recorder->config->store_run_dir,
		.store_file = recorder->config->store_file,
	};
	_cleanup_free_ char **argv = calloc((size_t)q->n_words + 2, sizeof(*argv));

	if (!argv)
		return EXIT_CANNOT;
	argv[0] = (char *)"whyslow";
	memcpy(argv + 1, q->words, (size_t)q->n_words * sizeof(*argv));
	return choose_and_run(&common, q->n_words + 1, argv);
}

int verbs_main(int argc, char **argv, int asked)
{
	struct common common = {.viewer.uid = geteuid(), .asked = asked, .recorder = &recorder_calls};

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fold_stdout();
		help_overview();
		return EXIT_ANSWERED;
	}
	if (argc == 2 && strcmp(argv[1], "--post") == 0)
		return hook_post_from_input() < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("whyslow " WHYSLOW_VERSION);
		return EXIT_ANSWERED;
	}
	fold_stdout();
	return choose_and_run(&common, argc, argv);
}
