/* Questions to the kernel about sockets (sock_diag(7)) and queues of interfaces (rtnetlink(7)), of the caller's network namespace. */
#pragma once

#include <linux/netlink.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stdint.h>

/* net/tcp_states.h */
#define SOCK_DIAG_ESTABLISHED (1u << 1)
#define SOCK_DIAG_CONNECTING  (1u << 2)
#define SOCK_DIAG_LISTENING   (1u << 10)

/* One answer; 0 = the next one, too. */
typedef int (*sock_diag_look)(void *state, const struct nlmsghdr *answer);

/* Sends `question` over NETLINK_SOCK_DIAG or another protocol of netlink(7), a header with its request behind it, and shows each answer to `look` until that does not return 0. Returns what it
 * returned, 0 = all were shown, or -errno. An answer is valid until `look` returns. */
int sock_diag_ask(int protocol, const struct nlmsghdr *question, sock_diag_look look, void *state);
/* Shows all TCP sockets of AF_INET or AF_INET6 in one of `states`, each an inet_diag_msg; what it returns is as above. */
int sock_diag_tcp(uint8_t family, uint32_t states, sock_diag_look look, void *state);
/* The kernel's measurements of the socket that the answer is about, as far as this kernel has them. False: there are none. */
bool sock_diag_tcp_info(const struct nlmsghdr *answer, struct tcp_info *ret);
/* us that the round trip takes longer than it can, where that is far longer; else 0. */
uint32_t sock_diag_delay(const struct tcp_info *info);
/* A packet that is not full waits until the one before it is confirmed (RFC 896), and there is room for it on the way. */
bool sock_diag_holds_back(const struct tcp_info *info);
