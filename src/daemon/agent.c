#include "daemon/agent.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/announce.h"

#define SERVICE	    "org.freedesktop.Notifications"
#define OBJECT	    "/org/freedesktop/Notifications"
#define AT_MOST_ONE (30 * NS_PER_SEC) /* of different incidents; the end of one replaces its beginning */
#define LOOK	    "look"

extern char **environ;

struct agent {
	sd_event *event;
	sd_bus *system, *user;
	int64_t shown_at;  /* boot ns */
	int64_t incident;  /* the one shown last */
	uint32_t shown_as; /* its notification */
};

/* Anybody may send signals on the system bus: only the recorder of root, or one of our own, is believed. */
static bool is_trusted(sd_bus_message *m)
{
	sd_bus_creds *creds = NULL;
	uid_t uid = (uid_t)-1;

	if (sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID | SD_BUS_CREDS_AUGMENT, &creds) >= 0)
		(void)sd_bus_creds_get_euid(creds, &uid);
	sd_bus_creds_unref(creds);
	return uid == 0 || uid == geteuid();
}

static int show(struct agent *a, uint32_t replaces, const char *summary, const char *body)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	int r = sd_bus_call_method(a->user, SERVICE, OBJECT, SERVICE, "Notify", &error, &reply,
				   "susssasa{sv}i", "whyslow", replaces, "dialog-information", summary, body,
				   2, LOOK, "Why?", 0, -1);

	if (r >= 0)
		r = sd_bus_message_read(reply, "u", &a->shown_as);
	else
		log_warning("cannot notify: %s", error.message ? error.message : strerror(-r));
	sd_bus_message_unref(reply);
	sd_bus_error_free(&error);
	return r;
}

static int on_caught(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct agent *a = data;
	const char *event, *note;
	int64_t id;
	bool known;

	(void)error;
	if (!is_trusted(m) || sd_bus_message_read(m, "xss", &id, &event, &note) < 0)
		return 0;
	known = a->shown_as && id == a->incident;
	if (!known && a->shown_at && boot_now() - a->shown_at < AT_MOST_ONE)
		return 0;
	if (show(a, known ? a->shown_as : 0, strcmp(event, "end") == 0 ? "It was slow" : "It is slow", note) <
	    0)
		return 0;
	a->incident = id;
	a->shown_at = boot_now();
	return 0;
}

/* "Why?" opens the incident in the browser. */
static int on_action(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct agent *a = data;
	char id[24];
	char *argv[] = {(char *)"whyslow", (char *)"open", id, NULL};
	const char *action;
	uint32_t shown;
	pid_t pid;

	(void)error;
	if (sd_bus_message_read(m, "us", &shown, &action) < 0 || shown != a->shown_as ||
	    strcmp(action, LOOK) != 0)
		return 0;
	snprintf(id, sizeof(id), "%lld", (long long)a->incident);
	(void)posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	return 0;
}

static int connect_buses(struct agent *a)
{
	int r = sd_bus_open_system(&a->system);

	if (r < 0) {
		log_error("there is no system bus to hear the recorder on: %s", strerror(-r));
		return r;
	}
	r = sd_bus_open_user(&a->user);
	if (r < 0) {
		log_error("there is no session to show notifications in: %s", strerror(-r));
		return r;
	}
	r = sd_bus_match_signal(a->system, NULL, NULL, ANNOUNCE_PATH, ANNOUNCE_INTERFACE, ANNOUNCE_SIGNAL,
				on_caught, a);
	if (r >= 0)
		r = sd_bus_match_signal(a->user, NULL, SERVICE, OBJECT, SERVICE, "ActionInvoked", on_action,
					a);
	if (r >= 0)
		r = sd_bus_attach_event(a->system, a->event, SD_EVENT_PRIORITY_NORMAL);
	return r < 0 ? r : sd_bus_attach_event(a->user, a->event, SD_EVENT_PRIORITY_NORMAL);
}

int agent_run(void)
{
	struct agent a = {};
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGCHLD, SIG_IGN); /* nobody waits for a browser */
	r = sd_event_default(&a.event);
	if (r >= 0)
		r = connect_buses(&a);
	if (r >= 0)
		r = sd_event_add_signal(a.event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(a.event, NULL, SIGINT, NULL, NULL);
	if (r >= 0) {
		log_info("notifications are shown when something is caught");
		r = sd_event_loop(a.event);
	}
	sd_bus_flush_close_unref(a.system);
	sd_bus_flush_close_unref(a.user);
	sd_event_unref(a.event);
	return r < 0 ? r : 0;
}
