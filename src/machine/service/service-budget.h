/* What each user has running, and how much real-time CPU a user's questions may still take. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/client/request.h"

#define BUDGET_USERS   64 /* users that are remembered: more than can have questions at a time, those that are being ended included */
#define BUDGET_RUNNING 8  /* questions of one user at a time; of root ROOT_RUNNING */
#define ROOT_RUNNING   16
#define BUDGET_ALL     40 /* questions of all users but root at a time */
#define BUDGET_SAVED	(3 * BUDGET_QUESTION)  /* ns: how much a user that was quiet may take at once */
#define BUDGET_SHARE	5 /* a fifth of one CPU comes back to each user */

struct budget_user {
	uint32_t uid, running;
	int64_t spent; /* ns of real-time CPU, less what came back since */
	int64_t at;    /* monotonic ns: when `spent` was right */
};

struct budget {
	struct budget_user users[BUDGET_USERS];
	size_t n;
	uint32_t running; /* of all users but root */
};

/* May this user ask one more question now? Then it counts as running, and *ret_urgent says whether it may be at real-time
 * priority. */
bool budget_begin(struct budget *b, uint32_t uid, int64_t now, bool *ret_urgent);
/* Where the places of all users are taken: whose question is to end so that this user can ask (*ret). False: there is no such user, as
 * the one who asks has as many questions as all others, or as many as one user may. */
bool budget_find_heaviest(const struct budget *b, uint32_t uid, uint32_t *ret);
/* A question no longer counts as running. */
void budget_leave(struct budget *b, uint32_t uid);
/* It took so much CPU. */
void budget_charge(struct budget *b, uint32_t uid, int64_t now, int64_t cpu);
