#include "machine/recorder/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/net/webhook.h"
#include "lib/system/spawn.h"
#include "machine/act/unit.h"

/* --- units --- */

/* The unit of the recorder has neither the network nor users' folders. There the service manager starts what rules ask for, each in a unit
 * of its own (whyslow-hook-NUMBER.service); elsewhere it is a child of the recorder. */
#define OWN_UNIT    "whyslow.service"
#define SYSTEMD_RUN "/usr/bin/systemd-run"
#define WORDS_MAX   48

struct words {
	char *v[WORDS_MAX + 1];
	size_t n;
	bool failed; /* no memory */
};

static void free_words(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
}

static void add_word(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_word(struct words *w, const char *format, ...)
{
	va_list args;
	int n;

	if (w->n == WORDS_MAX) {
		w->failed = true;
		return;
	}
	va_start(args, format);
	n = vasprintf(&w->v[w->n], format, args);
	va_end(args);
	if (n < 0)
		w->v[w->n] = NULL;
	w->failed |= n < 0;
	w->n += n >= 0;
}

/* Both have these: most of what the recorder's unit denies. */
static const char *const bounds[] = {
	"NoNewPrivileges=yes",
	"ProtectSystem=strict",
	"ProtectClock=yes",
	"ProtectKernelTunables=yes",
	"ProtectKernelModules=yes",
	"ProtectHostname=yes",
	"PrivateDevices=yes",
	"PrivateTmp=yes",
	"RestrictNamespaces=yes",
	"RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET AF_INET6",
	"RestrictSUIDSGID=yes",
	"LockPersonality=yes",
	"MemoryDenyWriteExecute=yes",
	"SystemCallArchitectures=native",
	"SystemCallFilter=@system-service",
	"SystemCallErrorNumber=EPERM",
	"UMask=0077",
	"MemoryMax=1G",
	NULL,
};
/* An administrator's command, which may ask whyslow. */
static const char *const command_bounds[] = {
	"CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_SETUID CAP_SETGID",
	"ProtectHome=read-only",
	"ReadWritePaths=-/run/whyslow -/var/lib/whyslow",
	NULL,
};
static const char *const post_bounds[] = {
	"CapabilityBoundingSet=", "DynamicUser=yes", "ProtectHome=yes", "ProtectControlGroups=yes", "ProtectKernelLogs=yes",
	"ProtectProc=invisible",  NULL,
};

static bool is_unit(void)
{
	char unit[UNIT_NAME];

	return unit_of((uint32_t)getpid(), unit) == 0 && strcmp(unit, OWN_UNIT) == 0 && access(SYSTEMD_RUN, X_OK) == 0;
}

static void add_bounds(struct words *w, const char *const *all)
{
	for (; *all; all++)
		add_word(w, "--property=%s", *all);
}

/* It ends when the unit does. */
static void begin_unit(struct words *w, const char *const *more)
{
	add_word(w, "systemd-run");
	add_word(w, "--quiet");
	add_word(w, "--collect");
	add_word(w, "--no-ask-password");
	add_word(w, "--unit=whyslow-hook-%" PRId64, clock_monotonic());
	add_bounds(w, bounds);
	add_bounds(w, more);
}

static int start_unit(const struct words *w, int input, pid_t *ret)
{
	char *environment[] = {NULL};

	if (w->failed)
		return -ENOMEM;
	return spawn_start(&(struct spawn){.program = SYSTEMD_RUN,
					   .argv = w->v,
					   .environment = environment,
					   .fds = {input, SPAWN_INHERIT, SPAWN_INHERIT}},
			   ret);
}

/* --- a command --- */

static void add_variables(struct words *w, const char *before, const struct hook_event *event)
{
	add_word(w, "%sWHYSLOW_RULE=%s", before, event->rule);
	add_word(w, "%sWHYSLOW_NOTE=%s", before, event->note);
	add_word(w, "%sWHYSLOW_EVENT=%s", before, event->over ? "end" : "begin");
	add_word(w, "%sWHYSLOW_ID=%" PRId64, before, event->id);
	add_word(w, "%sPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", before);
}

/* The manager replaces $NAME in words before the shell sees them, by text that others choose: "$$" is a "$". */
static void add_literal(struct words *w, const char *text)
{
	_cleanup_str_ struct str literal = {};

	for (; *text; text++)
		str_puts(&literal, *text == '$' ? "$$" : (const char[]){*text, '\0'});
	w->failed |= literal.error != 0;
	add_word(w, "%s", literal.data ? literal.data : "");
}

static int run_as_unit(const char *command, const struct hook_event *event, pid_t *ret)
{
	_cleanup_(free_words) struct words w = {};
	size_t first;

	begin_unit(&w, command_bounds);
	add_word(&w, "--wait");
	first = w.n;
	add_variables(&w, "--setenv=", event);
	for (size_t i = first; i < w.n; i++)
		str_make_printable(w.v[i]); /* the manager takes no other */
	add_word(&w, "/bin/sh");
	add_word(&w, "-c");
	add_literal(&w, command);
	return start_unit(&w, SPAWN_NULL, ret);
}

int hook_run(const char *command, const struct hook_event *event, pid_t *ret)
{
	_cleanup_(free_words) struct words environment = {};
	_cleanup_free_ char *text = strdup(command);
	char *argv[] = {(char *)"sh", (char *)"-c", text, NULL};

	if (is_unit())
		return run_as_unit(command, event, ret);
	add_variables(&environment, "", event);
	if (!text || environment.failed)
		return -ENOMEM;
	return spawn_start(&(struct spawn){.program = "/bin/sh", .argv = argv, .environment = environment.v, .fds = SPAWN_SAME}, ret);
}

/* --- a POST --- */

static char *to_json(const struct hook_event *e)
{
	char here[256] = "", at[40];
	const char *host = e->host ? e->host : here;
	_cleanup_(json_decrefp) json_t *event = NULL;
	char *text;

	(void)gethostname(here, sizeof(here) - 1);
	/* "text" is what chat servers show */
	event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:o}", "schema", "whyslow.event/1", "event",
			  e->over ? "end" : "begin", "host", host, "at", clock_format_rfc3339(e->wall, at, sizeof(at)), "rule",
			  e->rule, "id", (json_int_t)e->id, "note", e->note, "text",
			  json_sprintf("%s: %s%s", host, e->note, e->over ? " (over)" : ""));
	text = event ? json_dumps(event, 0) : NULL;
	return text;
}

static int post_as_child(int input, pid_t *ret)
{
	char *argv[] = {(char *)"whyslow", (char *)"--post", NULL}, *environment[] = {NULL};

	return spawn_start(&(struct spawn){.program = SELF_PROGRAM,
					   .argv = argv,
					   .environment = environment,
					   .fds = {input, SPAWN_INHERIT, SPAWN_INHERIT}},
			   ret);
}

/* An update may have put another one in its place. */
static int find_program(char ret[PATH_MAX])
{
	static const char gone[] = " (deleted)";
	ssize_t n = readlink(SELF_PROGRAM, ret, PATH_MAX - 1);
	size_t end = sizeof(gone) - 1;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	if ((size_t)n > end && strcmp(ret + n - end, gone) == 0)
		ret[(size_t)n - end] = '\0';
	return 0;
}

/* The address comes by the pipe: words of a command line are for all to see. */
static int post_as_unit(int input, pid_t *ret)
{
	_cleanup_(free_words) struct words w = {};
	char program[PATH_MAX];
	int r = find_program(program);

	if (r < 0)
		return r;
	begin_unit(&w, post_bounds);
	add_word(&w, "--pipe");
	add_literal(&w, program);
	add_word(&w, "--post");
	return start_unit(&w, input, ret);
}

int hook_post(const char *url, const struct hook_event *event, pid_t *ret)
{
	_cleanup_free_ char *json = to_json(event), *input = NULL;
	int ends[2], r = 0;

	if (!json || asprintf(&input, "%s\n%s", url, json) < 0)
		return -ENOMEM;
	if (strlen(input) > PIPE_BUF)
		return -E2BIG;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (write(ends[1], input, strlen(input)) < 0)
		r = -errno;
	if (r == 0)
		r = is_unit() ? post_as_unit(ends[0], ret) : post_as_child(ends[0], ret);
	close(ends[0]);
	close(ends[1]);
	return r;
}

int hook_post_from_input(void)
{
	_cleanup_free_ char *error = NULL;
	char input[PIPE_BUF + 1];
	ssize_t n = read(STDIN_FILENO, input, PIPE_BUF);
	char *body;
	int r;

	input[n > 0 ? n : 0] = '\0';
	body = strchr(input, '\n');
	if (!body)
		return -EINVAL;
	*body++ = '\0';
	r = webhook_post(input, body, &error);
	if (r < 0)
		log_warning("cannot post an incident: %s", error ? error : strerror(-r));
	return r;
}

/* --- an inspection --- */

#define INSPECT_WORDS	  13
#define INSTRUCTIONS_KEPT "20ms" /* some ten million instructions: what decoding them costs is bounded by it */

int hook_inspect(uint32_t pid, int64_t id, unsigned phase, enum rule_action actions, const char *store_file, const char *run_dir, pid_t *ret)
{
	char process[16], incident[24], number[16];
	size_t n = INSPECT_WORDS;
	_cleanup_free_ char *store = strdup(store_file), *run = strdup(run_dir);
	char *argv[INSPECT_WORDS + 4] = {(char *)"whyslow", (char *)"inspect", process,	     (char *)"--seconds", (char *)"5s",
			(char *)"--keep",  incident,	      (char *)"--phase", number,	  (char *)"--store",
			store,		   (char *)"--run-dir", run};
	char *environment[] = {NULL};

	if (!store || !run)
		return -ENOMEM;
	if (actions & ACTION_MEMORY)
		argv[n++] = (char *)"--memory";
	if (actions & ACTION_INSTRUCTIONS) {
		argv[n++] = (char *)"--instructions";
		argv[n++] = (char *)INSTRUCTIONS_KEPT;
	}
	snprintf(process, sizeof(process), "%u", pid);
	snprintf(incident, sizeof(incident), "%lld", (long long)id);
	snprintf(number, sizeof(number), "%u", phase);
	return spawn_start(&(struct spawn){.program = SELF_PROGRAM, .argv = argv, .environment = environment, .fds = SPAWN_SAME}, ret);
}
