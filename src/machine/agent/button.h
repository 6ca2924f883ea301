/* The button's work: the moment is marked (which freezes the flight recorder's ring), a notification says
 * so at once, and is replaced by the answer when there is one; a note can be added from it. */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "machine/client/ask.h"

struct button_presses;

/* Both buses' objects stay the caller's. 0 or -errno. */
int button_open(sd_event *event, sd_bus *user, const struct asker *asker, struct button_presses **ret);
void button_close(struct button_presses *p);
/* The button was pressed. Does not wait for anybody. */
void button_press(struct button_presses *p);
/* This process does not answer, and how ("does not answer in its window"): marked, and looked into, as if the button was pressed in it. */
void button_program_hangs(struct button_presses *p, uint32_t pid, const char *how);
/* A notification's "Why?": opens the incident in the browser. */
void button_show_mark(int64_t mark);
