/* One target in our hands: held back, let go, held back again, and in the end given back, whatever happens
 * to us.
 *
 * A hold watchdog, a process of its own, waits for the end of this one. Killed, crashed or standing still for
 * HOLD_WATCHDOG_PATIENCE: the hold watchdog undoes what RUN/held says. Killed together with it: the recorder undoes it
 * (machine/recorder/hold-release.h), or the next start of a recorder, of `confirm` or `calm`.
 */
#pragma once

#include "machine/act/hold.h"

#define HOLD_WATCHDOG_PATIENCE 4000 /* ms without a sign of life from the one that holds */

struct guarded_hold;

#define HOLDS_OF_ONE 64 /* that `calm` keeps for a user: each is a file that the recorder reads again and again */

/* Takes the one hold there is of this user, makes sure that the process can be held back (it is, for a
 * moment), and starts the hold watchdog. *ret_words (the caller frees): how it will be held back, or why not. 0;
 * -EBUSY: it, or another one of the same user, is being held (root takes over what a user holds); -EDQUOT: the user keeps HOLDS_OF_ONE;
 * errors of hold_plan(). */
int guarded_hold_begin(const struct hold_request *q, const struct target *t, struct guarded_hold **ret,
		  char **ret_words);
/* While it is let go: who has joined the target belongs to it from the next hold on. 0 or -ENOMEM. */
int guarded_hold_join(struct guarded_hold *c, const struct target *t);
/* 0; -EOWNERDEAD: the hold watchdog is gone, or root has taken over, and the process was given back. */
int guarded_hold_apply(struct guarded_hold *c);
int guarded_hold_let_go(struct guarded_hold *c);
/* To be called at least once a second: a sign of life. -EOWNERDEAD as above. */
int guarded_hold_alive(struct guarded_hold *c);
/* Gives it back for good; with `keep` it stays as it is, for `calm`. 0; -EOWNERDEAD: it was to be kept, and was given back, as above;
 * -errno: the recorder will try again. */
int guarded_hold_end(struct guarded_hold *c, bool keep);
const struct hold *guarded_hold_of(const struct guarded_hold *c);

/* Gives back what `calm` keeps: this process with those held together with it, or (0) all; of others than `viewer`'s own only for root.
 * *ret_n = how many holds. 0 or -errno. */
int guarded_hold_release(const char *proc_root, const char *run_dir, uint32_t pid, uint32_t viewer, size_t *ret_n);
