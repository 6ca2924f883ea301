/* Who is logged in to the web view. Everything here ends with the process: a code or session that leaks is worth nothing to the
 * program that listens on the port later.
 *
 * A login code is good for one login within minutes. It is exchanged for a session, which the page sends as a bearer token, and which
 * ends after hours, when it is not used, or when it is told to. A session that began on this machine is of the user whose socket asked
 * for it: from another user's process it is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/clock.h"
#include "lib/net/users.h"

#define SESSION_LIFE  (12 * 3600 * NS_PER_SEC)
#define SESSION_IDLE  (2 * 3600 * NS_PER_SEC)
#define SESSIONS_MAX  64 /* the one that was unused for longest ends for the next */
#define CODES_MAX     16 /* not yet used; the oldest ends for the next */
#define PEER_UNKNOWN  UINT32_MAX /* of another machine, or not to be found out */

struct sessions;

/* clock: boot ns; NULL = clock_boot(). NULL without memory. */
struct sessions *sessions_new(int64_t (*clock)(void));
void sessions_free(struct sessions *s);

/* A code for one login of this user within `life` ns. 0 or -EIO. */
int sessions_make_code(struct sessions *s, const struct user *user, int64_t life, char ret_code[SECRET_TEXT]);
/* Whether it waits to be used. */
bool sessions_code_waits(struct sessions *s, const char *code);
/* Uses a code up: 0 and whose it is, or -EACCES: unknown, used or too old. */
int sessions_use_code(struct sessions *s, const char *code, struct user *ret);

/* Begins a session; `peer`: the uid at the other end of the connection. 0 or -EIO. */
int sessions_begin(struct sessions *s, const struct user *user, uint32_t peer, char ret_session[SECRET_TEXT]);
/* 0 and whose it is, and it counts as used; -ETIME: it has ended; -EACCES: unknown, or of another peer. */
int sessions_check(struct sessions *s, const char *session, uint32_t peer, struct user *ret);
/* 0 or -ENOENT. */
int sessions_end(struct sessions *s, const char *session);

struct listed_session {
	uint64_t number; /* since the start */
	const struct user *user;
	uint32_t peer;
	int64_t age, idle, left; /* ns */
};
void sessions_each(struct sessions *s, void (*each)(void *data, const struct listed_session *session), void *data);
/* Ends the session of that number, or with 0 all of them, and takes back all codes. How many ended. */
unsigned sessions_end_number(struct sessions *s, uint64_t number);
