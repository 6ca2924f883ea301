/* The key, bound by the desktop's portal (org.freedesktop.portal.GlobalShortcuts): a session is created, the
 * shortcut is bound in it, and the portal says when it is activated. Each call is answered by a signal of a
 * request object whose path is known beforehand: /org/freedesktop/portal/desktop/request/SENDER/TOKEN. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/agent/hotkey.h"

#define SERVICE	  "org.freedesktop.portal.Desktop"
#define OBJECT	  "/org/freedesktop/portal/desktop"
#define INTERFACE "org.freedesktop.portal.GlobalShortcuts"
#define REQUEST	  "org.freedesktop.portal.Request"
#define SHORTCUT  "mark"

struct portal {
	struct hotkey_options o;
	char *session; /* object path */
	char *trigger; /* "CTRL+Scroll_Lock", as the portal writes it */
	sd_bus_slot *created, *bound, *activated;
};

static void cannot(const char *what)
{
	log_warning("the desktop's portal does not bind the key (%s): bind 'whyslow mark' to a key in the "
		    "desktop's settings",
		    what);
}

/* Hears the answer to a call before it is made. */
static int expect(struct portal *p, const char *token, sd_bus_message_handler_t answer, sd_bus_slot **ret)
{
	_cleanup_free_ char *path = NULL, *sender = NULL;
	const char *name;
	int r = sd_bus_get_unique_name(p->o.user, &name);

	if (r < 0)
		return r;
	sender = strdup(name + (*name == ':'));
	if (!sender || asprintf(&path, OBJECT "/request/%s/%s", sender, token) < 0)
		return -ENOMEM;
	for (char *c = path + strlen(OBJECT "/request/"); *c; c++)
		*c = *c == '.' ? '_' : *c;
	return sd_bus_match_signal(p->o.user, ret, NULL, path, REQUEST, "Response", answer, p);
}

static int on_error(sd_bus_message *m, void *data, sd_bus_error *error)
{
	const sd_bus_error *e = sd_bus_message_get_error(m);

	(void)data;
	(void)error;
	if (e)
		cannot(e->message ? e->message : e->name);
	return 0;
}

static int on_bound(sd_bus_message *m, void *data, sd_bus_error *error)
{
	uint32_t status;

	(void)data;
	(void)error;
	if (sd_bus_message_read(m, "u", &status) >= 0 && status != 0)
		cannot("it was refused");
	return 0;
}

static int bind_key(struct portal *p)
{
	int r = expect(p, "whyslow_bind", on_bound, &p->bound);

	return r < 0 ? r
		     : sd_bus_call_method_async(
			       p->o.user, NULL, SERVICE, OBJECT, INTERFACE, "BindShortcuts", on_error, p,
			       "oa(sa{sv})sa{sv}", p->session, 1, SHORTCUT, 2, "description", "s",
			       "It is slow now: mark the moment, and find out why", "preferred_trigger", "s",
			       p->trigger, "", 1, "handle_token", "s", "whyslow_bind");
}

/* (u, a{sv}) with the session's path under "session_handle". */
static int read_session(sd_bus_message *m, char **ret)
{
	const char *key, *value;
	uint32_t status;
	int r = sd_bus_message_read(m, "u", &status);

	if (r >= 0 && status != 0)
		return -EACCES;
	if (r >= 0)
		r = sd_bus_message_enter_container(m, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = sd_bus_message_read(m, "s", &key);
		if (r >= 0 && strcmp(key, "session_handle") == 0) {
			r = sd_bus_message_read(m, "v", "s", &value);
			if (r < 0)
				return r;
			*ret = strdup(value);
			return *ret ? 0 : -ENOMEM;
		}
		if (r >= 0)
			r = sd_bus_message_skip(m, "v");
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : -EBADMSG;
}

static int on_created(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct portal *p = data;
	int r;

	(void)error;
	if (p->session)
		return 0;
	r = read_session(m, &p->session);
	if (r >= 0)
		r = bind_key(p);
	if (r < 0)
		cannot(strerror(-r));
	return 0;
}

static int on_activated(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct portal *p = data;
	const char *session, *id;

	(void)error;
	if (sd_bus_message_read(m, "os", &session, &id) >= 0 && p->session &&
	    strcmp(session, p->session) == 0 && strcmp(id, SHORTCUT) == 0)
		p->o.pressed(p->o.data);
	return 0;
}

static char *write_trigger(const char *text)
{
	static const char *const names[] = {"SHIFT+", "CTRL+", "ALT+", "LOGO+"};
	_cleanup_str_ struct str out = {};
	struct key_name key;

	(void)hotkey_parse(text, &key);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (key.modifiers >> i & 1)
			str_puts(&out, names[i]);
	str_puts(&out, key.name);
	return TAKE(out.data);
}

static void portal_close(void *state)
{
	struct portal *p = state;

	sd_bus_slot_unref(p->created);
	sd_bus_slot_unref(p->bound);
	sd_bus_slot_unref(p->activated);
	FREE_ALL(p->session, p->trigger, p);
}

static int portal_open(const struct hotkey_options *o, void **ret, char **ret_why)
{
	struct portal *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->trigger = write_trigger(o->key);
	r = p->trigger ? expect(p, "whyslow_create", on_created, &p->created) : -ENOMEM;
	if (r >= 0)
		r = sd_bus_match_signal(o->user, &p->activated, SERVICE, OBJECT, INTERFACE, "Activated",
					on_activated, p);
	if (r >= 0)
		r = sd_bus_call_method_async(o->user, NULL, SERVICE, OBJECT, INTERFACE, "CreateSession",
					     on_error, p, "a{sv}", 2, "handle_token", "s", "whyslow_create",
					     "session_handle_token", "s", "whyslow");
	if (r < 0) {
		portal_close(p);
		return str_fail(ret_why, r, "the desktop's portal cannot be asked: %s", strerror(-r));
	}
	*ret = p;
	return 0;
}

const struct hotkey_way hotkey_portal = {"portal", "bound by the desktop's portal", portal_open,
					 portal_close};
