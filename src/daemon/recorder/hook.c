#include "daemon/recorder/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "base/system/spawn.h"
#include "net/webhook.h"

static char *variable(const char *name, const char *value)
{
	char *line;

	return asprintf(&line, "%s=%s", name, value) < 0 ? NULL : line;
}

int hook_run(const char *command, const struct hook_event *event, pid_t *ret)
{
	char number[24];
	_cleanup_free_ char *text = strdup(command), *rule = variable("WHYSLOW_RULE", event->rule),
			    *note = variable("WHYSLOW_NOTE", event->note),
			    *what = variable("WHYSLOW_EVENT", event->over ? "end" : "begin"), *id = NULL;
	char *argv[] = {(char *)"sh", (char *)"-c", text, NULL};

	snprintf(number, sizeof(number), "%lld", (long long)event->id);
	id = variable("WHYSLOW_ID", number);
	if (!text || !rule || !note || !what || !id)
		return -ENOMEM;
	char *environment[] = {
		rule, note, what, id, (char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};

	return spawn_start(&(struct spawn){.program = "/bin/sh", .argv = argv, .environment = environment, .fds = SPAWN_SAME}, ret);
}

static char *to_json(const struct hook_event *e)
{
	char here[256] = "", at[40];
	const char *host = e->host ? e->host : here;
	json_t *event;
	char *text;

	(void)gethostname(here, sizeof(here) - 1);
	/* "text" is what chat servers show */
	event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:o}", "schema", "whyslow.event/1", "event",
			  e->over ? "end" : "begin", "host", host, "at", clock_format_rfc3339(e->wall, at, sizeof(at)), "rule",
			  e->rule, "id", (json_int_t)e->id, "note", e->note, "text",
			  json_sprintf("%s: %s%s", host, e->note, e->over ? " (over)" : ""));
	text = event ? json_dumps(event, 0) : NULL;
	json_decref(event);
	return text;
}

int hook_post(const char *url, const struct hook_event *event, pid_t *ret)
{
	_cleanup_free_ char *json = to_json(event), *input = NULL;
	char *argv[] = {(char *)"whyslow", (char *)"--post", NULL}, *environment[] = {NULL};
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
		r = spawn_start(&(struct spawn){.program = SELF_PROGRAM,
						.argv = argv,
						.environment = environment,
						.fds = {ends[0], SPAWN_INHERIT, SPAWN_INHERIT}},
				ret);
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

int hook_inspect(uint32_t pid, int64_t id, unsigned phase, const char *store_file, const char *run_dir, pid_t *ret)
{
	char process[16], incident[24], number[16];
	_cleanup_free_ char *store = strdup(store_file), *run = strdup(run_dir);
	char *argv[] = {(char *)"whyslow", (char *)"inspect", process,	     (char *)"--seconds", (char *)"5s",
			(char *)"--keep",  incident,	      (char *)"--phase", number,	  (char *)"--store",
			store,		   (char *)"--run-dir", run,	     NULL};
	char *environment[] = {NULL};

	if (!store || !run)
		return -ENOMEM;
	snprintf(process, sizeof(process), "%u", pid);
	snprintf(incident, sizeof(incident), "%lld", (long long)id);
	snprintf(number, sizeof(number), "%u", phase);
	return spawn_start(&(struct spawn){.program = SELF_PROGRAM, .argv = argv, .environment = environment, .fds = SPAWN_SAME}, ret);
}
