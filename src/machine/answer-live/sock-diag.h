/* Questions to the kernel about sockets (sock_diag(7)), of the caller's network namespace. */
#pragma once

#include <linux/netlink.h>

/* One answer; 0 = the next one, too. */
typedef int (*sock_diag_look)(void *state, const struct nlmsghdr *answer);

/* Sends `question`, a header with its request behind it, and shows each answer to `look` until that does not return 0. Returns what it
 * returned, 0 = all were shown, or -errno. An answer is valid until `look` returns. */
int sock_diag_ask(const struct nlmsghdr *question, sock_diag_look look, void *state);
