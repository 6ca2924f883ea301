/* What each user has running, and how much real-time CPU a user's questions may still take. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_USERS   64 /* users with questions at a time; more are told to try again */
#define BUDGET_RUNNING 8  /* questions of one user at a time; of root ROOT_RUNNING */
#define ROOT_RUNNING   16
#define BUDGET_ALL     40 /* questions of all users at a time; root may always ask */
#define BUDGET_QUESTION 1000000000LL /* ns of real-time CPU for one question: one with events takes up to 0.5 s next to a storm */
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
	uint32_t running;
};

/* May this user ask one more question now? Then it counts as running, and *ret_urgent says whether it may be at real-time
 * priority. */
bool budget_begin(struct budget *b, uint32_t uid, int64_t now, bool *ret_urgent);
/* It has ended and took so much CPU. */
void budget_end(struct budget *b, uint32_t uid, int64_t now, int64_t cpu);
