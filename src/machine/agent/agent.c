#include "machine/agent/agent.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/agent/button.h"
#include "machine/agent/hotkey.h"
#include "machine/agent/hung-name.h"
#include "machine/agent/hung-terminal.h"
#include "machine/agent/hung-window.h"
#include "machine/agent/notification.h"
#include "machine/agent/priority-guard.h"
#include "machine/agent/realtime-kit.h"
#include "machine/client/ask.h"
#include "machine/recorder/announce.h"

#define AT_MOST_ONE (30 * NS_PER_SEC) /* of different incidents; the end of one replaces its beginning */

/* The recorder said that there is an incident; what it is, it says to who may ask. */
struct news {
	int64_t id;
	bool over;
	struct inquiry inquiry;
	sd_event_source *reading; /* NULL = none is asked about */
};

struct agent {
	const struct asker *asker;
	struct news news;
	sd_event *event;
	sd_bus *system, *user;
	int64_t shown_at; /* boot ns; 0 = nothing yet */
	int64_t incident; /* the one shown last */
	struct notification shown;
	struct button_presses *presses;
	struct hotkey *hotkey;
	struct hung_windows *windows;
	struct hung_terminals *terminals;
	struct hung_names *names;
	struct priority_guard *guard;
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

static void show(struct agent *a, const char *note)
{
	if (!a->shown_at || a->news.id != a->incident)
		notification_forget(&a->shown);
	if (notification_show(&a->shown, a->user, a->news.over ? "It was slow" : "It is slow", note, ACTION_LOOK) < 0)
		return;
	a->incident = a->news.id;
	a->shown_at = clock_boot();
}

static const char *find_note(const json_t *list, int64_t id)
{
	const json_t *mark;
	size_t i;

	json_array_foreach(json_object_get(list, "marks"), i, mark)
		if (json_integer_value(json_object_get(mark, "id")) == id)
			return json_string_value(json_object_get(mark, "note"));
	return NULL;
}

static void drop_news(struct agent *a)
{
	a->news.reading = sd_event_source_disable_unref(a->news.reading);
	ask_end(&a->news.inquiry);
}

/* A user who may not ask sees nothing. */
static int on_answer(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct agent *a = data;
	const char *note;
	_cleanup_(json_decrefp) json_t *list = NULL;

	(void)source, (void)fd, (void)events;
	if (ask_read(&a->news.inquiry) > 0)
		return 0;
	list = a->news.inquiry.text.len ? json_loadb(a->news.inquiry.text.data, a->news.inquiry.text.len, 0, NULL) : NULL;
	note = find_note(list, a->news.id);
	if (note)
		show(a, note);
	drop_news(a);
	return 0;
}

static int on_caught(sd_bus_message *m, void *data, sd_bus_error *error)
{
	static const char *const words[] = {"list", "--json"};
	struct agent *a = data;
	const char *event;
	int64_t id;

	(void)error;
	if (!is_trusted(m) || sd_bus_message_read(m, "xs", &id, &event) < 0)
		return 0;
	if (a->shown_at && id != a->incident && clock_boot() - a->shown_at < AT_MOST_ONE)
		return 0;
	drop_news(a);
	a->news.id = id;
	a->news.over = strcmp(event, "end") == 0;
	if (ask_begin(a->asker, ARRAY_SIZE(words), words, &a->news.inquiry) < 0 ||
	    sd_event_add_io(a->event, &a->news.reading, a->news.inquiry.fd, EPOLLIN, on_answer, a) < 0)
		drop_news(a);
	return 0;
}

static int on_action(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct agent *a = data;
	const char *action;
	uint32_t shown;

	(void)error;
	if (sd_bus_message_read(m, "us", &shown, &action) >= 0 && shown == a->shown.id &&
	    strcmp(action, "look") == 0)
		button_show_mark(a->incident);
	return 0;
}

static int connect_buses(struct agent *a)
{
	int r = sd_bus_open_system(&a->system);

	if (r < 0)
		return log_failure(r, "no system bus to receive the recorder's messages: %s", strerror(-r));
	r = sd_bus_open_user(&a->user);
	if (r < 0)
		return log_failure(r, "no session to show notifications in: %s", strerror(-r));
	r = sd_bus_match_signal(a->system, NULL, NULL, ANNOUNCE_PATH, ANNOUNCE_INTERFACE, ANNOUNCE_SIGNAL,
				on_caught, a);
	if (r >= 0)
		r = sd_bus_match_signal(a->user, NULL, NOTIFICATIONS, NOTIFICATIONS_OBJECT, NOTIFICATIONS,
					"ActionInvoked", on_action, a);
	if (r >= 0)
		r = notification_ask_service(&a->shown, a->user);
	if (r >= 0)
		r = sd_bus_attach_event(a->system, a->event, SD_EVENT_PRIORITY_NORMAL);
	return r < 0 ? r : sd_bus_attach_event(a->user, a->event, SD_EVENT_PRIORITY_NORMAL);
}

/* It was taken away because it was too low to help: there may be a time in which it is not. */
static void on_pressed(void *data)
{
	struct agent *a = data;

	button_press(a->presses);
	if (priority_guard_acted(a->guard))
		(void)realtime_kit_ask(a->system);
}

/* The button is pressed when other programs take every CPU. */
static const char *become_urgent(struct agent *a)
{
	int r = realtime_kit_ask(a->system);

	if (r >= 0 && priority_guard_start(sd_event_get_fd(a->event), &a->guard) < 0)
		log_warning("cannot start a thread: a press is late while real-time programs take every CPU");
	if (r < 0)
		log_debug("RealtimeKit grants no real-time priority: %s", strerror(-r));
	return r < 0 ? "; without real-time priority, a press may be late on a busy machine: the package rtkit grants it" : ", at real-time priority";
}

static void on_hung(uint32_t pid, const char *how, void *data)
{
	struct agent *a = data;

	button_program_hangs(a->presses, pid, how);
}

/* Some of it may not be possible, as without an X server; the button matters more. */
static void watch_programs(struct agent *a)
{
	(void)hung_windows_open(a->event, on_hung, a, &a->windows);
	a->terminals = hung_terminals_new("/proc", on_hung, a);
	if (a->terminals)
		(void)hung_terminals_attach(a->terminals, a->event);
	(void)hung_names_open(a->event, a->user, on_hung, a, &a->names);
}

/* Without the key the rest is there all the same. */
static int listen_for_key(struct agent *a, const struct agent_options *o)
{
	struct hotkey_options key = {.key = o->key,
				     .way = o->way,
				     .device = o->device,
				     .event = a->event,
				     .user = a->user,
				     .pressed = on_pressed,
				     .data = a};
	_cleanup_free_ char *words = NULL;
	int r = button_open(a->event, a->user, &o->asker, &a->presses);

	if (r >= 0 && o->hangs)
		watch_programs(a);
	if (r < 0 || strcmp(o->key, "none") == 0)
		return r;
	r = hotkey_open(&key, &a->hotkey, &words);
	if (r < 0)
		log_warning("no keyboard button: %s", words ? words : strerror(-r));
	else
		log_info("the button: %s%s", words, become_urgent(a));
	return o->way ? r : 0; /* who named a way wants that one */
}

int agent_run(const struct agent_options *options)
{
	struct agent a = {.asker = &options->asker};
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGCHLD, SIG_IGN); /* no one waits for a browser */
	r = sd_event_default(&a.event);
	if (r >= 0)
		r = connect_buses(&a);
	if (r >= 0)
		r = listen_for_key(&a, options);
	if (r >= 0)
		r = sd_event_add_signal(a.event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(a.event, NULL, SIGINT, NULL, NULL);
	if (r >= 0) {
		(void)mlockall(
			MCL_CURRENT | MCL_FUTURE |
			MCL_ONFAULT); /* where it is granted: a press is answered when memory is short */
		log_info("notifications appear for each incident");
		r = sd_event_loop(a.event);
	}
	drop_news(&a);
	priority_guard_stop(a.guard);
	hung_names_close(a.names);
	hung_terminals_free(a.terminals);
	hung_windows_close(a.windows);
	hotkey_close(a.hotkey);
	button_close(a.presses);
	FREE_ALL(a.shown.summary, a.shown.body);
	sd_bus_flush_close_unref(a.system);
	sd_bus_flush_close_unref(a.user);
	sd_event_unref(a.event);
	return r < 0 ? r : 0;
}
