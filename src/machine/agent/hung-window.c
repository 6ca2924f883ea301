#include "machine/agent/hung-window.h"

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
#include "lib/system/x-server.h"

#define ROUND	    (2 * NS_PER_SEC)
#define HUNG_ROUNDS 3 /* with the question unanswered */

enum { ATOM_ACTIVE, ATOM_PID, ATOM_PING, ATOM_PROTOCOLS, ATOM_COUNT };
static const char *const atom_names[ATOM_COUNT] = {"_NET_ACTIVE_WINDOW", "_NET_WM_PID", "_NET_WM_PING", "WM_PROTOCOLS"};

struct hung_windows {
	struct x_server x;
	Atom atoms[ATOM_COUNT];
	sd_event_source *answers, *rounds;
	Window asked;	 /* 0 = none */
	bool waits;	 /* the last question to it is not answered */
	unsigned missed; /* rounds since then */
	Window hung;	 /* reported, and not answering yet; 0 = none */
	void (*hangs)(uint32_t pid, const char *how, void *data);
	void *data;
};

/* A program of another machine has a number that means nothing here. */
static bool is_of_this_machine(struct hung_windows *h, Window window)
{
	char here[HOST_NAME_MAX + 1] = "";
	unsigned char *found = NULL;
	unsigned long n = 0, left;
	bool is = true;
	Atom actual;
	int format;

	if (h->x.XGetWindowProperty(h->x.display, window, XA_WM_CLIENT_MACHINE, 0, HOST_NAME_MAX, False, XA_STRING, &actual, &format, &n, &left, &found) ==
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
	unsigned long n = x_server_values(&h->x, window, h->atoms[ATOM_PROTOCOLS], XA_ATOM, protocols, ARRAY_SIZE(protocols));

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
	h->x.XSendEvent(h->x.display, h->asked, False, NoEventMask, &e);
	h->x.XFlush(h->x.display);
	h->waits = true;
	h->missed = 0;
}

static void take_answers(struct hung_windows *h)
{
	while (h->x.XPending(h->x.display)) {
		XEvent e;

		h->x.XNextEvent(h->x.display, &e);
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
	if (x_server_values(&h->x, h->asked, h->atoms[ATOM_PID], XA_CARDINAL, &pid, 1) == 1 && pid)
		h->hangs((uint32_t)pid, "does not answer in its window", h->data);
}

static int on_round(sd_event_source *source, uint64_t now, void *data)
{
	struct hung_windows *h = data;
	unsigned long active = 0;

	if (x_server_values(&h->x, h->x.root, h->atoms[ATOM_ACTIVE], XA_WINDOW, &active, 1) != 1)
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
	h->x.display = NULL;
	sd_event_source_set_enabled(h->rounds, SD_EVENT_OFF);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int connect_to_server(struct hung_windows *h, sd_event *event)
{
	_cleanup_free_ char *error = NULL;
	uint64_t now;
	int r;

	if (x_server_open(&h->x, &error) < 0)
		return -ENOENT;
	for (int i = 0; i < ATOM_COUNT; i++)
		h->atoms[i] = h->x.XInternAtom(h->x.display, atom_names[i], False);
	h->x.XSelectInput(h->x.display, h->x.root, SubstructureNotifyMask); /* answers go to the root window */
	h->x.XFlush(h->x.display);
	r = sd_event_now(event, CLOCK_MONOTONIC, &now);
	if (r >= 0)
		r = sd_event_add_io(event, &h->answers, h->x.XConnectionNumber(h->x.display), EPOLLIN, on_answers, h);
	return r < 0 ? r : sd_event_add_time(event, &h->rounds, CLOCK_MONOTONIC, now + ROUND / 1000, 0, on_round, h);
}

int hung_windows_open(sd_event *event, void (*hangs)(uint32_t pid, const char *how, void *data), void *data, struct hung_windows **ret)
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
	x_server_close(&h->x);
	free(h);
}
