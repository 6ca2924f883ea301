#include "machine/agent/notification.h"

#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"

static int send_it(struct notification *n);

static int on_sent(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct notification *n = data;
	const sd_bus_error *e = sd_bus_message_get_error(m);

	(void)error;
	n->sent = false;
	if (e)
		log_warning("cannot notify: %s", e->message ? e->message : e->name);
	else
		(void)sd_bus_message_read(m, "u", &n->id);
	if (n->again) {
		n->again = false;
		(void)send_it(n);
	}
	return 0;
}

static int add_actions(sd_bus_message *m, const struct notification *n)
{
	int r = sd_bus_message_open_container(m, 'a', "s");

	if (r >= 0 && n->actions & ACTION_LOOK)
		r = sd_bus_message_append(m, "ss", "look", "Why?");
	if (r >= 0 && n->actions & ACTION_NOTE)
		r = sd_bus_message_append(m, "ss", n->inline_reply ? "inline-reply" : "note", "Add a note");
	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* Names of programs and notes are in it: a link or an image of a stranger's is none. */
static int add_body(sd_bus_message *m, const struct notification *n)
{
	_cleanup_str_ struct str body = {};
	int r = n->plain ? str_puts(&body, n->body) : str_puts_xml(&body, n->body);

	return r < 0 ? r : sd_bus_message_append(m, "s", body.data ? body.data : "");
}

static int send_it(struct notification *n)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(n->bus, &m, NOTIFICATIONS, NOTIFICATIONS_OBJECT, NOTIFICATIONS,
					       "Notify");

	if (r >= 0)
		r = sd_bus_message_append(m, "suss", "whyslow", n->id, "dialog-information", n->summary);
	if (r >= 0)
		r = add_body(m, n);
	if (r >= 0)
		r = add_actions(m, n);
	if (r >= 0)
		r = sd_bus_message_append(m, "a{sv}i", 0, -1);
	if (r >= 0)
		r = sd_bus_call_async(n->bus, NULL, m, on_sent, n, 0);
	sd_bus_message_unref(m);
	if (r < 0) {
		log_warning("cannot notify: %s", strerror(-r));
		return r;
	}
	n->sent = true;
	/* now, not when the loop comes round to it */
	return sd_bus_flush(n->bus);
}

int notification_show(struct notification *n, sd_bus *bus, const char *summary, const char *body,
		      unsigned actions)
{
	char *s = strdup(summary), *b = strdup(body);

	if (!s || !b) {
		FREE_ALL(s, b);
		return -ENOMEM;
	}
	FREE_ALL(n->summary, n->body);
	n->summary = s;
	n->body = b;
	n->bus = bus;
	n->actions = actions;
	n->again = n->sent; /* without its number it cannot be replaced */
	return n->sent ? 0 : send_it(n);
}

static int on_capabilities(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct notification *n = data;
	const char *word;

	(void)error;
	if (sd_bus_message_get_error(m) || sd_bus_message_enter_container(m, 'a', "s") < 0)
		return 0;
	n->plain = true;
	while (sd_bus_message_read(m, "s", &word) > 0) {
		n->inline_reply |= strcmp(word, "inline-reply") == 0;
		n->plain &= strcmp(word, "body-markup") != 0;
	}
	return 0;
}

int notification_ask_service(struct notification *n, sd_bus *bus)
{
	return sd_bus_call_method_async(bus, NULL, NOTIFICATIONS, NOTIFICATIONS_OBJECT, NOTIFICATIONS, "GetCapabilities", on_capabilities, n, "");
}

void notification_forget(struct notification *n)
{
	n->id = 0;
}
