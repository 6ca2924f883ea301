/* A bounded supply that users share, so that none of them can use it up for the others.
 *
 * A taker gets something as long as it has less than what is left: alone it gets half of the supply, and there is always
 * as much left for the next one as it has itself (the dynamic threshold of Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", IEEE/ACM ToN 6(2), 1998). The same holds among the parents of one user:
 * one parent process gets at most half of what its user may have. Ordinary users together leave a quarter to the system's:
 * one person may have 65,536 subordinate uids.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/hmap.h"

#define FIRST_ORDINARY_UID 1000 /* Debian's and systemd's; below it only root can start a process */

struct fair_share {
	uint32_t total;		/* set by the owner */
	uint32_t used, by_users; /* by all; of these, by ordinary users */
	struct hmap takers;	/* (uid, 0 or 1 + parent) -> how much; no more entries than twice what is used */
};

/* Takes `amount` (1 or more) on a user's account, and a parent's where that is not 0. False: it is refused, and nothing was taken. */
bool fair_share_take(struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount);
/* Charges what cannot be refused; what is left never falls below 0. */
void fair_share_charge(struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount);
/* Gives back what was taken with the same uid and parent. */
void fair_share_release(struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount);
/* All is there again. Keeps `total`. */
void fair_share_reset(struct fair_share *s);
