/* The key, grabbed from the X server: no other program sees it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/system/x-server.h"
#include "machine/agent/hotkey.h"

struct x11 {
	struct x_server x;
	sd_event_source *source;
	void (*pressed)(void *data);
	void *data;
	KeyCode code;
	bool down; /* a key that is held down repeats */
};

static unsigned x_modifiers(unsigned modifiers)
{
	return (modifiers & KEY_WITH_SHIFT ? ShiftMask : 0) |
	       (modifiers & KEY_WITH_CONTROL ? ControlMask : 0) | (modifiers & KEY_WITH_ALT ? Mod1Mask : 0) |
	       (modifiers & KEY_WITH_SUPER ? Mod4Mask : 0);
}

/* Whatever locks are on: Caps, Num (Mod2) and Scroll (Mod3 or Mod5) Lock are modifiers to the server. */
static int grab(struct x11 *s, unsigned modifiers)
{
	static const unsigned locks[] = {LockMask, Mod2Mask, Mod3Mask, Mod5Mask};
	unsigned errors = x_server_errors();

	for (unsigned set = 0; set < 1u << ARRAY_SIZE(locks); set++) {
		unsigned mask = x_modifiers(modifiers);

		for (size_t i = 0; i < ARRAY_SIZE(locks); i++)
			mask |= set >> i & 1 ? locks[i] : 0;
		s->x.XGrabKey(s->x.display, s->code, mask, s->x.root, False,
			      GrabModeAsync, GrabModeAsync);
	}
	s->x.XSync(s->x.display, False);
	return x_server_errors() != errors ? -EBUSY : 0;
}

static int on_events(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct x11 *s = data;

	(void)fd;
	/* Xlib would end the process over a server that is gone */
	if (events & (EPOLLHUP | EPOLLERR))
		return sd_event_exit(sd_event_source_get_event(source), -ECONNRESET);
	while (s->x.XPending(s->x.display)) {
		XEvent e;

		s->x.XNextEvent(s->x.display, &e);
		if (e.type == KeyRelease)
			s->down = false;
		if (e.type != KeyPress || e.xkey.keycode != s->code || s->down)
			continue;
		s->down = true;
		s->pressed(s->data);
	}
	return 0;
}

static void x11_close(void *state)
{
	struct x11 *s = state;

	sd_event_source_disable_unref(s->source);
	x_server_close(&s->x);
	free(s);
}

static int connect_to_server(struct x11 *s, const struct hotkey_options *o, char **ret_why)
{
	struct key_name key;
	int r = x_server_open(&s->x, ret_why);

	if (r < 0)
		return r;
	(void)hotkey_parse(o->key, &key);
	s->code = s->x.XKeysymToKeycode(s->x.display, s->x.XStringToKeysym(key.name));
	if (!s->code)
		return str_fail(ret_why, -EINVAL, "this keyboard has no key '%s' ('xev' prints the names)",
				 key.name);
	(void)s->x.XkbSetDetectableAutoRepeat(s->x.display, True, NULL);
	r = grab(s, key.modifiers);
	if (r < 0)
		return str_fail(ret_why, r, "another program has %s: choose another key (agent.key)",
				 o->key);
	return sd_event_add_io(o->event, &s->source, s->x.XConnectionNumber(s->x.display), EPOLLIN, on_events,
			       s);
}

static int x11_open(const struct hotkey_options *o, void **ret, char **ret_why)
{
	struct x11 *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->pressed = o->pressed;
	s->data = o->data;
	r = connect_to_server(s, o, ret_why);
	if (r < 0) {
		x11_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

const struct hotkey_way hotkey_x11 = {"x11", "grabbed from the X server", x11_open, x11_close};
