/* Desktop notifications, by D-Bus (org.freedesktop.Notifications). Sending does not wait: what answers the
 * call, on a starved machine, may be late. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#define NOTIFICATIONS	     "org.freedesktop.Notifications"
#define NOTIFICATIONS_OBJECT "/org/freedesktop/Notifications"

enum notification_actions { ACTION_LOOK = 1, ACTION_NOTE = 2 };

/* One notification that is shown and replaced. Zeroed = none yet. The object must live as long as its bus. */
struct notification {
	uint32_t id;	   /* the service's; 0 = not known yet */
	bool sent;	   /* its number is being waited for */
	bool again;	   /* what follows is to be sent when it comes */
	bool inline_reply; /* the service has a line to write in */
	bool plain;	   /* it shows markup as it stands; until it has said so texts are written as XML */
	unsigned actions;
	char *summary, *body; /* the latest */
	sd_bus *bus;
};

/* Shows or replaces. 0 or -errno. */
int notification_show(struct notification *n, sd_bus *bus, const char *summary, const char *body,
		      unsigned actions);
/* Learns what the service can do. 0 or -errno. */
int notification_ask_service(struct notification *n, sd_bus *bus);
/* The next one is another. */
void notification_forget(struct notification *n);
