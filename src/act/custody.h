/* One target in our hands: held back, let go, held back again, and in the end given back, whatever happens
 * to us.
 *
 * A hold watchdog, a process of its own, waits for the end of this one. Killed, crashed or standing still for
 * CUSTODY_PATIENCE: the hold watchdog undoes what RUN/held says. Killed together with it: the recorder undoes it
 * (daemon/keeper.h), or the next start of a recorder, of `confirm` or `calm`.
 */
#pragma once

#include "act/hold.h"

#define CUSTODY_PATIENCE 4000 /* ms without a sign of life from the one that holds */

struct custody;

/* Takes the one hold there is of this user, makes sure that the process can be held back (it is, for a
 * moment), and starts the hold watchdog. *ret_words (the caller frees): how it will be held back, or why not. 0;
 * -EBUSY: it, or another one of the same user, is being held (root takes over what a user holds); errors of hold_plan(). */
int custody_begin(const struct hold_request *q, const struct target *t, struct custody **ret,
		  char **ret_words);
/* While it is let go: who has joined the target belongs to it from the next hold on. 0 or -ENOMEM. */
int custody_join(struct custody *c, const struct target *t);
/* 0; -EOWNERDEAD: the hold watchdog is gone, or root has taken over, and the process was given back. */
int custody_hold(struct custody *c);
int custody_let_go(struct custody *c);
/* To be called at least once a second: a sign of life. -EOWNERDEAD as above. */
int custody_alive(struct custody *c);
/* Gives it back for good; with `keep` it stays as it is, for `calm`. 0 or -errno: the recorder will try
 * again. */
int custody_end(struct custody *c, bool keep);
const struct hold *custody_of(const struct custody *c);

/* Gives back what `calm` keeps: this process with those held together with it, or (0) all; of others than `viewer`'s own only for root.
 * *ret_n = how many holds. 0 or -errno. */
int custody_release(const char *proc_root, const char *run_dir, uint32_t pid, uint32_t viewer, size_t *ret_n);
