#include "machine/agent/hung-window.h"

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/system/library.h"

#define ROUND	    (2 * NS_PER_SEC)
#define HUNG_ROUNDS 3 /* with the question unanswered */

struct xlib {
	LIBRARY_CALL(XOpenDisplay);
	LIBRARY_CALL(XCloseDisplay);
	LIBRARY_CALL(XConnectionNumber);
	LIBRARY_CALL(XDefaultRootWindow);
	LIBRARY_CALL(XInternAtom);
	LIBRARY_CALL(XGetWindowProperty);
	LIBRARY_CALL(XFree);
	LIBRARY_CALL(XSelectInput);
	LIBRARY_CALL(XSendEvent);
	LIBRARY_CALL(XSetErrorHandler);
	LIBRARY_CALL(XPending);
	LIBRARY_CALL(XNextEvent);
	LIBRARY_CALL(XFlush);
};

static const struct library_symbol symbols[] = {
	LIBRARY_SYMBOL(struct xlib, XOpenDisplay),
	LIBRARY_SYMBOL(struct xlib, XCloseDisplay),
	LIBRARY_SYMBOL(struct xlib, XConnectionNumber),
	LIBRARY_SYMBOL(struct xlib, XDefaultRootWindow),
	LIBRARY_SYMBOL(struct xlib, XInternAtom),
	LIBRARY_SYMBOL(struct xlib, XGetWindowProperty),
	LIBRARY_SYMBOL(struct xlib, XFree),
	LIBRARY_SYMBOL(struct xlib, XSelectInput),
	LIBRARY_SYMBOL(struct xlib, XSendEvent),
	LIBRARY_SYMBOL(struct xlib, XSetErrorHandler),
	LIBRARY_SYMBOL(struct xlib, XPending),
	LIBRARY_SYMBOL(struct xlib, XNextEvent),
	LIBRARY_SYMBOL(struct xlib, XFlush),
};
static const struct library library = {"libX11.so.6", "libx11-6", symbols, ARRAY_SIZE(symbols)};

enum { ATOM_ACTIVE, ATOM_PID, ATOM_PING, ATOM_PROTOCOLS, ATOM_COUNT };
static const char *const atom_names[ATOM_COUNT] = {"_NET_ACTIVE_WINDOW", "_NET_WM_PID", "_NET_WM_PING", "WM_PROTOCOLS"};

struct hung_windows {
	struct xlib x;
	Display *display;
	Window root;
	Atom atoms[ATOM_COUNT];
	sd_event_source *answers, *rounds;
	Window asked;	 /* 0 = none */
	bool waits;	 /* the last question to it is not answered */
	unsigned missed; /* rounds since then */
	Window hung;	 /* reported, and not answering yet; 0 = none */
	void (*hangs)(uint32_t pid, void *data);
	void *data;
};

/* A window may be closed between two questions; Xlib's own handler would end this process. */
static int ignore(Display *display, XErrorEvent *e)
{
	(void)display, (void)e;
	return 0;
}

/* A property's values, at most `most`, each as a long; how many there are. */
static unsigned long get_values(struct hung_windows *h, Window window, Atom name, Atom type, unsigned long *values, unsigned long most)
{
	unsigned char *found = NULL;
	unsigned long n = 0, left;
	Atom actual;
	int format;

	if (h->x.XGetWindowProperty(h->display, window, name, 0, (long)most, False, type, &actual, &format, &n, &left, &found) != Success || !found ||
	    format != 32)
		n = 0;
	memcpy(values, found ? found : (unsigned char *)"", n * sizeof(*values));
	if (found)
		h->x.XFree(found);
	return n;
}

/* A program of another machine has a number that means nothing here. */
static bool is_of_this_machine(struct hung_windows *h, Window window)
{
	char here[HOST_NAME_MAX + 1] = "";
	unsigned char *found = NULL;
	unsigned long n = 0, left;
	bool is = true;
	Atom actual;
	int format;

	if (h->x.XGetWindowProperty(h->display, window, XA_WM_CLIENT_MACHINE, 0, HOST_NAME_MAX, False, XA_STRING, &actual, &format, &n, &left, &found) ==
		    Success &&
	    found && n && gethostname(here, sizeof(here) - 1) == 0)
		is = strcmp((char *)found, here) == 0;
	if (found)
		h->x.XFree(found);
	return is;
}

static bool answers_questions(struct hung_windows *h, Window window)
{
	unsigned long protocols[32];
	unsigned long n = get_values(h, window, h->atoms[ATOM_PROTOCOLS], XA_ATOM, protocols, ARRAY_SIZE(protocols));

	for (unsigned long i = 0; i < n; i++)
		if (protocols[i] == h->atoms[ATOM_PING])
			return is_of_this_machine(h, window);
	return false;
}

static void ask(struct hung_windows *h)
{
	XEvent e = {.xclient = {.type = ClientMessage, .window = h->asked, .message_type = h->atoms[ATOM_PROTOCOLS], .format = 32}};

	e.xclient.data.l[0] = (long)h->atoms[ATOM_PING];
	e.xclient.data.l[1] = (long)(uint32_t)(clock_boot() / (NS_PER_SEC / 1000)); /* window managers know their own questions by it */
	e.xclient.data.l[2] = (long)h->asked;
	h->x.XSendEvent(h->display, h->asked, False, NoEventMask, &e);
	h->x.XFlush(h->display);
	h->waits = true;
	h->missed = 0;
}

static void take_answers(struct hung_windows *h)
{
	while (h->x.XPending(h->display)) {
		XEvent e;

		h->x.XNextEvent(h->display, &e);
		if (e.type != ClientMessage || e.xclient.message_type != h->atoms[ATOM_PROTOCOLS] || (Atom)e.xclient.data.l[0] != h->atoms[ATOM_PING])
			continue;
		if ((Window)e.xclient.data.l[2] == h->asked)
			h->waits = false;
		if ((Window)e.xclient.data.l[2] == h->hung)
			h->hung = 0;
	}
}

static void report(struct hung_windows *h)
{
	unsigned long pid;

	h->hung = h->asked;
	if (get_values(h, h->asked, h->atoms[ATOM_PID], XA_CARDINAL, &pid, 1) == 1 && pid)
		h->hangs((uint32_t)pid, h->data);
}

static int on_round(sd_event_source *source, uint64_t now, void *data)
{
	struct hung_windows *h = data;
	unsigned long active = 0;

	if (get_values(h, h->root, h->atoms[ATOM_ACTIVE], XA_WINDOW, &active, 1) != 1)
		active = 0;
	take_answers(h);
	if (active != h->asked || !h->waits) {
		h->asked = active && answers_questions(h, active) ? active : 0;
		h->waits = false;
		if (h->asked)
			ask(h);
	} else if (++h->missed == HUNG_ROUNDS && h->hung != h->asked) {
		report(h);
	}
	sd_event_source_set_time(source, now + ROUND / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_answers(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct hung_windows *h = data;

	(void)fd;
	if (!(events & (EPOLLHUP | EPOLLERR))) {
		take_answers(h);
		return 0;
	}
	/* Xlib would end the process over a server that is gone: it is not called again, not even to close the connection. */
	h->display = NULL;
	sd_event_source_set_enabled(h->rounds, SD_EVENT_OFF);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int connect_to_server(struct hung_windows *h, sd_event *event)
{
	_cleanup_free_ char *error = NULL;
	uint64_t now;
	int r;

	if (!getenv("DISPLAY") || library_load(&library, &h->x, &error) < 0)
		return -ENOENT;
	h->display = h->x.XOpenDisplay(NULL);
	if (!h->display)
		return -ENOENT;
	h->x.XSetErrorHandler(ignore);
	h->root = h->x.XDefaultRootWindow(h->display);
	for (int i = 0; i < ATOM_COUNT; i++)
		h->atoms[i] = h->x.XInternAtom(h->display, atom_names[i], False);
	h->x.XSelectInput(h->display, h->root, SubstructureNotifyMask); /* answers go to the root window */
	h->x.XFlush(h->display);
	r = sd_event_now(event, CLOCK_MONOTONIC, &now);
	if (r >= 0)
		r = sd_event_add_io(event, &h->answers, h->x.XConnectionNumber(h->display), EPOLLIN, on_answers, h);
	return r < 0 ? r : sd_event_add_time(event, &h->rounds, CLOCK_MONOTONIC, now + ROUND / 1000, 0, on_round, h);
}

int hung_windows_open(sd_event *event, void (*hangs)(uint32_t pid, void *data), void *data, struct hung_windows **ret)
{
	struct hung_windows *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->hangs = hangs;
	h->data = data;
	r = connect_to_server(h, event);
	if (r < 0)
		hung_windows_close(h);
	else
		*ret = h;
	return r < 0 ? r : 0;
}

void hung_windows_close(struct hung_windows *h)
{
	if (!h)
		return;
	sd_event_source_disable_unref(h->answers);
	sd_event_source_disable_unref(h->rounds);
	if (h->display)
		h->x.XCloseDisplay(h->display);
	free(h);
}
