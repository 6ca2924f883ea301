/* Stands in for a desktop on the session bus, for tests/hotkey: the notification service, the portal's
 * GlobalShortcuts, and RealtimeKit. Says on standard output what it is asked, one line each with the monotonic time in ns:
 *
 *   notify TIME ID REPLACES ACTIONS|SUMMARY|BODY      session TIME      bind TIME SHORTCUT TRIGGER
 *
 * and does what standard input says: "press", "reply ID TEXT", "action ID ACTION". With a NAME it is a service of the session that has this
 * name and offers nothing. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "lib/data/clock.h"

#define NOTIFICATIONS "org.freedesktop.Notifications"
#define PORTAL	      "org.freedesktop.portal.Desktop"
#define PORTAL_PATH   "/org/freedesktop/portal/desktop"
#define SHORTCUTS     "org.freedesktop.portal.GlobalShortcuts"
#define KIT	      "org.freedesktop.RealtimeKit1"
#define SESSION	      PORTAL_PATH "/session/1/whyslow"

static sd_bus *bus;
static uint32_t last;

static int on_capabilities(sd_bus_message *m, void *data, sd_bus_error *e)
{
	const char *reply = getenv("INLINE_REPLY");

	(void)data;
	(void)e;
	return reply ? sd_bus_reply_method_return(m, "as", 2, "actions", "inline-reply")
		     : sd_bus_reply_method_return(m, "as", 1, "actions");
}

static int on_notify(sd_bus_message *m, void *data, sd_bus_error *e)
{
	const char *name, *icon, *summary, *body, *action;
	char actions[256] = "";
	uint32_t replaces;

	(void)data;
	(void)e;
	if (sd_bus_message_read(m, "susss", &name, &replaces, &icon, &summary, &body) < 0 ||
	    sd_bus_message_enter_container(m, 'a', "s") < 0)
		return -EINVAL;
	while (sd_bus_message_read(m, "s", &action) > 0) {
		strncat(actions, action, sizeof(actions) - strlen(actions) - 2);
		strcat(actions, ",");
	}
	last = replaces ? replaces : last + 1;
	printf("notify %lld %u %u %s|%s|%s\n", (long long)clock_monotonic(), last, replaces, actions, summary,
	       body);
	return sd_bus_reply_method_return(m, "u", last);
}

static const sd_bus_vtable notifications[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("GetCapabilities", "", "as", on_capabilities, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Notify", "susssasa{sv}i", "u", on_notify, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_SIGNAL("ActionInvoked", "us", 0),
	SD_BUS_SIGNAL("NotificationReplied", "us", 0),
	SD_BUS_VTABLE_END,
};

/* The option `name` of an a{sv}; "" = not given. */
static void find_option(sd_bus_message *m, const char *name, char *ret, size_t n)
{
	const char *key, *value;

	*ret = '\0';
	if (sd_bus_message_enter_container(m, 'a', "{sv}") < 0)
		return;
	while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
		if (sd_bus_message_read(m, "s", &key) >= 0 && strcmp(key, name) == 0 &&
		    sd_bus_message_read(m, "v", "s", &value) >= 0)
			snprintf(ret, n, "%s", value);
		else
			(void)sd_bus_message_skip(m, "v");
		(void)sd_bus_message_exit_container(m);
	}
	(void)sd_bus_message_exit_container(m);
}

/* As the portal does: the call returns a request's path, and the answer is that request's signal. */
static int answer(sd_bus_message *m, const char *token)
{
	char path[256];
	int r;

	snprintf(path, sizeof(path), PORTAL_PATH "/request/%s/%s", sd_bus_message_get_sender(m) + 1, token);
	for (char *c = path + strlen(PORTAL_PATH "/request/"); *c; c++)
		*c = *c == '.' ? '_' : *c;
	r = sd_bus_reply_method_return(m, "o", path);
	if (r < 0)
		return r;
	return sd_bus_emit_signal(bus, path, "org.freedesktop.portal.Request", "Response", "ua{sv}", 0, 1,
				  "session_handle", "s", SESSION);
}

static int on_create(sd_bus_message *m, void *data, sd_bus_error *e)
{
	char token[64];

	(void)data;
	(void)e;
	find_option(m, "handle_token", token, sizeof(token));
	printf("session %lld\n", (long long)clock_monotonic());
	return answer(m, token);
}

static int on_bind(sd_bus_message *m, void *data, sd_bus_error *e)
{
	const char *session, *id, *parent;
	char trigger[64], token[64];

	(void)data;
	(void)e;
	if (sd_bus_message_read(m, "o", &session) < 0 || strcmp(session, SESSION) != 0 ||
	    sd_bus_message_enter_container(m, 'a', "(sa{sv})") < 0 ||
	    sd_bus_message_enter_container(m, 'r', "sa{sv}") < 0 || sd_bus_message_read(m, "s", &id) < 0)
		return -EINVAL;
	find_option(m, "preferred_trigger", trigger, sizeof(trigger));
	printf("bind %lld %s %s\n", (long long)clock_monotonic(), id, trigger);
	if (sd_bus_message_exit_container(m) < 0 || sd_bus_message_exit_container(m) < 0 ||
	    sd_bus_message_read(m, "s", &parent) < 0)
		return -EINVAL;
	find_option(m, "handle_token", token, sizeof(token));
	return answer(m, token);
}

static const sd_bus_vtable shortcuts[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("CreateSession", "a{sv}", "o", on_create, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("BindShortcuts", "oa(sa{sv})sa{sv}", "o", on_bind, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_SIGNAL("Activated", "osta{sv}", 0),
	SD_BUS_VTABLE_END,
};

static int on_number(sd_bus *b, const char *path, const char *interface, const char *name, sd_bus_message *reply, void *data, sd_bus_error *e)
{
	(void)b;
	(void)path;
	(void)interface;
	(void)data;
	(void)e;
	if (strcmp(name, "MaxRealtimePriority") == 0)
		return sd_bus_message_append(reply, "i", 20);
	return sd_bus_message_append(reply, "x", (int64_t)200000);
}

static int on_realtime(sd_bus_message *m, void *data, sd_bus_error *e)
{
	struct sched_param param = {};
	uint32_t priority;
	uint64_t thread;

	(void)data;
	(void)e;
	if (sd_bus_message_read(m, "tu", &thread, &priority) < 0)
		return -EINVAL;
	param.sched_priority = (int)priority;
	if (sched_setscheduler((pid_t)thread, SCHED_RR | SCHED_RESET_ON_FORK, &param) < 0)
		return -errno;
	printf("realtime %lld %d\n", (long long)clock_monotonic(), (int)priority);
	return sd_bus_reply_method_return(m, "");
}

static const sd_bus_vtable kit[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("MaxRealtimePriority", "i", on_number, 0, 0),
	SD_BUS_PROPERTY("RTTimeUSecMax", "x", on_number, 0, 0),
	SD_BUS_METHOD("MakeThreadRealtime", "tu", "", on_realtime, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static int on_input(sd_event_source *source, int fd, uint32_t events, void *data)
{
	char line[512], text[400];
	unsigned id;

	(void)fd;
	(void)events;
	(void)data;
	if (!fgets(line, sizeof(line), stdin))
		return sd_event_exit(sd_event_source_get_event(source), 0);
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "press") == 0)
		return sd_bus_emit_signal(bus, PORTAL_PATH, SHORTCUTS, "Activated", "osta{sv}", SESSION,
					  "mark", (uint64_t)0, 0);
	if (sscanf(line, "reply %u %399[^\n]", &id, text) == 2)
		return sd_bus_emit_signal(bus, "/org/freedesktop/Notifications", NOTIFICATIONS,
					  "NotificationReplied", "us", id, text);
	if (sscanf(line, "action %u %399s", &id, text) == 2)
		return sd_bus_emit_signal(bus, "/org/freedesktop/Notifications", NOTIFICATIONS,
					  "ActionInvoked", "us", id, text);
	return 0;
}

static int be_service(const char *name, sd_event *event)
{
	if (sd_bus_request_name(bus, name, 0) < 0 || sd_bus_attach_event(bus, event, 0) < 0)
		return 1;
	puts("ready");
	return sd_event_loop(event) < 0;
}

int main(int argc, char **argv)
{
	sd_event *event = NULL;

	setvbuf(stdin, NULL, _IONBF, 0); /* poll() must see what is left */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (sd_event_default(&event) < 0 || sd_bus_open_user(&bus) < 0)
		return 1;
	if (argc > 1)
		return be_service(argv[1], event);
	if (sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/Notifications", NOTIFICATIONS,
				     notifications, NULL) < 0 ||
	    sd_bus_add_object_vtable(bus, NULL, PORTAL_PATH, SHORTCUTS, shortcuts, NULL) < 0 ||
	    sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/RealtimeKit1", KIT, kit, NULL) < 0 ||
	    sd_bus_request_name(bus, KIT, 0) < 0 || sd_bus_request_name(bus, NOTIFICATIONS, 0) < 0 || sd_bus_request_name(bus, PORTAL, 0) < 0 ||
	    sd_bus_attach_event(bus, event, 0) < 0 ||
	    sd_event_add_io(event, NULL, STDIN_FILENO, 1 /* EPOLLIN */, on_input, NULL) < 0)
		return 1;
	puts("ready");
	return sd_event_loop(event) < 0;
}
