/* The key, grabbed from the X server: no other program sees it. */
#include <X11/XKBlib.h>
#include <X11/Xlib.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/system/library.h"
#include "machine/agent/hotkey.h"

struct xlib {
	LIBRARY_CALL(XOpenDisplay);
	LIBRARY_CALL(XCloseDisplay);
	LIBRARY_CALL(XConnectionNumber);
	LIBRARY_CALL(XDefaultRootWindow);
	LIBRARY_CALL(XStringToKeysym);
	LIBRARY_CALL(XKeysymToKeycode);
	LIBRARY_CALL(XGrabKey);
	LIBRARY_CALL(XSetErrorHandler);
	LIBRARY_CALL(XSync);
	LIBRARY_CALL(XPending);
	LIBRARY_CALL(XNextEvent);
	LIBRARY_CALL(XkbSetDetectableAutoRepeat);
};

static const struct library_symbol symbols[] = {
	LIBRARY_SYMBOL(struct xlib, XOpenDisplay),
	LIBRARY_SYMBOL(struct xlib, XCloseDisplay),
	LIBRARY_SYMBOL(struct xlib, XConnectionNumber),
	LIBRARY_SYMBOL(struct xlib, XDefaultRootWindow),
	LIBRARY_SYMBOL(struct xlib, XStringToKeysym),
	LIBRARY_SYMBOL(struct xlib, XKeysymToKeycode),
	LIBRARY_SYMBOL(struct xlib, XGrabKey),
	LIBRARY_SYMBOL(struct xlib, XSetErrorHandler),
	LIBRARY_SYMBOL(struct xlib, XSync),
	LIBRARY_SYMBOL(struct xlib, XPending),
	LIBRARY_SYMBOL(struct xlib, XNextEvent),
	LIBRARY_SYMBOL(struct xlib, XkbSetDetectableAutoRepeat),
};
static const struct library library = {"libX11.so.6", "libx11-6", symbols, ARRAY_SIZE(symbols)};

struct x11 {
	struct xlib x;
	Display *display;
	sd_event_source *source;
	void (*pressed)(void *data);
	void *data;
	KeyCode code;
	bool down; /* a key that is held down repeats */
};

/* Xlib has one handler for the whole process, and its own ends it. */
static bool refused;

static int take_error(Display *display, XErrorEvent *e)
{
	(void)display;
	(void)e;
	refused = true;
	return 0;
}

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

	refused = false;
	s->x.XSetErrorHandler(take_error);
	for (unsigned set = 0; set < 1u << ARRAY_SIZE(locks); set++) {
		unsigned mask = x_modifiers(modifiers);

		for (size_t i = 0; i < ARRAY_SIZE(locks); i++)
			mask |= set >> i & 1 ? locks[i] : 0;
		s->x.XGrabKey(s->display, s->code, mask, s->x.XDefaultRootWindow(s->display), False,
			      GrabModeAsync, GrabModeAsync);
	}
	s->x.XSync(s->display, False);
	return refused ? -EBUSY : 0;
}

static int on_events(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct x11 *s = data;

	(void)fd;
	/* Xlib would end the process over a server that is gone */
	if (events & (EPOLLHUP | EPOLLERR))
		return sd_event_exit(sd_event_source_get_event(source), -ECONNRESET);
	while (s->x.XPending(s->display)) {
		XEvent e;

		s->x.XNextEvent(s->display, &e);
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
	if (s->display)
		s->x.XCloseDisplay(s->display);
	free(s);
}

static int connect_to_server(struct x11 *s, const struct hotkey_options *o, char **ret_why)
{
	struct key_name key;
	int r = library_load(&library, &s->x, ret_why);

	if (r < 0)
		return r;
	s->display = s->x.XOpenDisplay(NULL);
	if (!s->display)
		return str_fail(ret_why, -ECONNREFUSED, "the X server %s does not answer",
				 getenv("DISPLAY") ? getenv("DISPLAY") : "(DISPLAY is not set)");
	(void)hotkey_parse(o->key, &key);
	s->code = s->x.XKeysymToKeycode(s->display, s->x.XStringToKeysym(key.name));
	if (!s->code)
		return str_fail(ret_why, -EINVAL, "this keyboard has no key '%s' ('xev' prints the names)",
				 key.name);
	(void)s->x.XkbSetDetectableAutoRepeat(s->display, True, NULL);
	r = grab(s, key.modifiers);
	if (r < 0)
		return str_fail(ret_why, r, "another program has %s: choose another key (agent.key)",
				 o->key);
	return sd_event_add_io(o->event, &s->source, s->x.XConnectionNumber(s->display), EPOLLIN, on_events,
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
