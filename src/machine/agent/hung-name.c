#include "machine/agent/hung-name.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define ROUND_US	2000000
#define ROUNDS_OF_TURN	15 /* in which each name is asked once: twice a minute */
#define UNANSWERED_US	4000000
#define ASKED_AGAIN_US	2000000 /* this process or the bus may have been late itself: the answer may be here, and sd-bus looks at the time first */
#define NAMES_MAX	500 /* asked; a session has some dozens */
#define BUS		"org.freedesktop.DBus"
#define BUS_OBJECT	"/org/freedesktop/DBus"

struct name {
	struct hung_names *all;
	char *name;
	char *owner; /* the connection that answered last; NULL = none has yet */
	sd_bus_slot *asked; /* NULL = no question is open */
	bool hung, doubted; /* doubted: asked again */
	bool listed; /* in the list that came last */
};

struct hung_names {
	sd_bus *user;
	VEC(struct name *) names; /* each stays where it is while it is asked */
	size_t next;
	unsigned round;
	sd_bus_slot *listing, *asking_pid;
	struct name *late; /* whose process is asked for */
	sd_event_source *rounds;
	void (*hangs)(uint32_t pid, const char *how, void *data);
	void *data;
};

static void free_name(struct name *n)
{
	sd_bus_slot_unref(n->asked);
	FREE_ALL(n->name, n->owner, n);
}

/* --- one name --- */

static int on_pid(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct hung_names *h = data;
	struct name *n = TAKE(h->late);
	uint32_t pid;

	(void)error;
	h->asking_pid = sd_bus_slot_unref(h->asking_pid);
	/* a connection that has ended has no process any more: it did not hang, it left */
	if (!n || sd_bus_message_is_method_error(m, NULL) || sd_bus_message_read(m, "u", &pid) < 0)
		return 0;
	n->hung = true;
	h->hangs(pid, STR_TEXT(320, "does not answer on the session bus as %s", n->name), h->data);
	return 0;
}

static void report(struct name *n)
{
	struct hung_names *h = n->all;

	if (n->hung || h->late)
		return; /* another one is being reported: this one in its next turn */
	h->late = n;
	if (sd_bus_call_method_async(h->user, &h->asking_pid, BUS, BUS_OBJECT, BUS, "GetConnectionUnixProcessID", on_pid, h, "s", n->owner) < 0)
		h->late = NULL;
}

static void ask(struct name *n);

static int on_answer(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct name *n = data;
	bool again = n->doubted;
	const char *sender = sd_bus_message_get_sender(m);

	(void)error;
	n->asked = sd_bus_slot_unref(n->asked);
	n->doubted = false;
	/* sd-bus makes this error itself when the time is over; an answer that says no is one, too */
	if (!sd_bus_message_is_method_error(m, SD_BUS_ERROR_NO_REPLY)) {
		free(n->owner);
		n->owner = sender && strcmp(sender, BUS) != 0 ? strdup(sender) : NULL; /* the bus itself says that there is no such name */
		n->hung = false;
	} else if (n->owner && again) {
		report(n);
	} else if (n->owner && !n->hung) {
		n->doubted = true;
		ask(n);
	}
	return 0;
}

static void ask(struct name *n)
{
	sd_bus_message *m = NULL;

	if (n->asked || sd_bus_message_new_method_call(n->all->user, &m, n->name, "/", "org.freedesktop.DBus.Peer", "Ping") < 0)
		return;
	if (sd_bus_message_set_auto_start(m, false) >= 0)
		(void)sd_bus_call_async(n->all->user, &n->asked, m, on_answer, n, n->doubted ? ASKED_AGAIN_US : UNANSWERED_US);
	sd_bus_message_unref(m);
}

/* --- all of them --- */

/* Connections have numbers, and those that offer something have names. */
static bool is_service(const char *name)
{
	return name[0] != ':' && strcmp(name, BUS) != 0;
}

static void take(struct hung_names *h, const char *name)
{
	_cleanup_free_ char *copy = NULL;
	struct name *n;

	VEC_EACH(known, h->names)
		if (strcmp((*known)->name, name) == 0) {
			(*known)->listed = true;
			return;
		}
	copy = strdup(name);
	n = h->names.n < NAMES_MAX ? calloc(1, sizeof(*n)) : NULL;
	if (!n || !copy || VEC_PUSH(h->names, n) < 0) {
		free(n);
		return;
	}
	*n = (struct name){.all = h, .name = TAKE(copy), .listed = true};
}

static void drop_unlisted(struct hung_names *h)
{
	size_t kept = 0;

	VEC_EACH(n, h->names) {
		if ((*n)->listed) {
			h->names.v[kept++] = *n;
			continue;
		}
		if (h->late == *n) {
			h->late = NULL;
			h->asking_pid = sd_bus_slot_unref(h->asking_pid);
		}
		free_name(*n);
	}
	h->names.n = kept;
}

static int on_list(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct hung_names *h = data;
	const char *name;

	(void)error;
	h->listing = sd_bus_slot_unref(h->listing);
	if (sd_bus_message_is_method_error(m, NULL) || sd_bus_message_enter_container(m, 'a', "s") < 0)
		return 0;
	VEC_EACH(n, h->names)
		(*n)->listed = false;
	while (sd_bus_message_read(m, "s", &name) > 0)
		if (is_service(name))
			take(h, name);
	drop_unlisted(h);
	return 0;
}

static int on_round(sd_event_source *source, uint64_t now, void *data)
{
	struct hung_names *h = data;

	for (size_t n = (h->names.n + ROUNDS_OF_TURN - 1) / ROUNDS_OF_TURN; n && h->next < h->names.n; n--)
		ask(h->names.v[h->next++]);
	if (h->round++ % ROUNDS_OF_TURN == 0 && !h->listing) {
		h->next = 0;
		(void)sd_bus_call_method_async(h->user, &h->listing, BUS, BUS_OBJECT, BUS, "ListNames", on_list, h, NULL);
	}
	sd_event_source_set_time(source, now + ROUND_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int hung_names_open(sd_event *event, sd_bus *user, void (*found)(uint32_t pid, const char *how, void *data), void *data, struct hung_names **ret)
{
	struct hung_names *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	*h = (struct hung_names){.user = user, .hangs = found, .data = data};
	r = sd_event_add_time_relative(event, &h->rounds, CLOCK_MONOTONIC, 0, 0, on_round, h);
	if (r < 0)
		hung_names_close(h);
	else
		*ret = h;
	return r < 0 ? r : 0;
}

void hung_names_close(struct hung_names *h)
{
	if (!h)
		return;
	sd_event_source_disable_unref(h->rounds);
	sd_bus_slot_unref(h->listing);
	sd_bus_slot_unref(h->asking_pid);
	VEC_EACH(n, h->names)
		free_name(*n);
	free(h->names.v);
	free(h);
}
