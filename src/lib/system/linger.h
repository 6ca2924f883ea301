/* Closing what a stranger sent must not take the stranger's time.
 *
 * The last close of a TCP socket with SO_LINGER waits in the kernel for as long as its owner set, and a message that carries
 * such a socket hands that wait to the one that receives or drops the message. A signal ends the wait: a guard sends one to its thread
 * every LINGER_MOST ms until it is told that the thread is through. (Since Linux 6.16 SO_PASSRIGHTS refuses such messages; see
 * linger_refuse().)
 */
#pragma once

#include <time.h>

#define LINGER_MOST 20 /* ms */

struct linger_guard {
	timer_t timer;
};

/* For the calling thread, which must not block LINGER_SIGNAL. 0 or -errno. */
int linger_guard_open(struct linger_guard *ret);
void linger_guard_close(struct linger_guard *g);
/* Around each call that may drop a descriptor of a stranger's: the calls in between may fail with EINTR. */
void linger_guard_begin(struct linger_guard *g);
void linger_guard_end(struct linger_guard *g);

/* No message to this socket, or to one it accepts, may carry descriptors. Without effect before Linux 6.16. */
void linger_refuse(int fd);
