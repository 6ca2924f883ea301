/* What was unusual in all of a fleet's data, without a question: stretches of servers' counters, those of the same time together. */
#pragma once

#include "answer/fleet/fleet-window.h"

#define FLEET_EPISODE_MEMBERS 8 /* that are told by name */

/* The most unusual stretch of a time, and what else was unusual then. */
struct fleet_episode {
	struct fleet_stretch first;
	double value, normal; /* of it: medians of the stretch, and of the rest of the data */
	struct fleet_stretch members[FLEET_EPISODE_MEMBERS]; /* the next most unusual ones */
	uint32_t n_members, n_servers; /* all of them; servers, the first's included */
};

struct fleet_history {
	struct fleet_span span; /* of the data that was looked at */
	VEC(struct fleet_episode) list; /* the most unusual first */
};

/* q: its window, server and counter choose what is looked at. 0 or -ENOMEM. */
int fleet_history_make(const struct fleet_question *q, struct fleet_history *ret);
void fleet_history_free(struct fleet_history *h);
