/* TCP sockets of this network namespace that have come to a limit, or whose packets are delayed here (sock_diag(7)): one pass over all of them, and only where /proc/net says that it
 * may be worth it. */
#pragma once

#include <stdint.h>

#include "machine/answer-live/tcp-delay.h"

struct tcp_pressure {
	/* The fullest queue of connections that are not yet accepted; queue_limit 0 = none has more than a few. */
	uint32_t queue, queue_limit, queue_port, queue_pid;
	/* Ports of the range for clients that are in use, TIME_WAIT included, towards one address and port; ports_limit 0 = few are. */
	uint64_t ports, ports_limit;
	char ports_to[72];
	struct tcp_delay delay;
};

/* 0 or -errno. */
int tcp_pressure_find(const char *proc_root, struct tcp_pressure *ret);
/* The process that has most connections, *ret_n of them; 0 = not known. */
uint32_t tcp_most_connections(struct open_files *files, uint64_t *ret_n);
/* Processes whose connections are tried again because no answer comes, `but` left out. */
void tcp_connects_in_vain(struct open_files *files, uint32_t but, struct tcp_waits *ret);
