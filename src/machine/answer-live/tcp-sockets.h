/* TCP sockets of this network namespace that have come to a limit, or share a line that one of them fills (sock_diag(7)): one pass over all of them, and only where /proc/net says that it
 * may be worth it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tcp_pressure {
	/* The fullest queue of connections that are not yet accepted; queue_limit 0 = none has more than a few. */
	uint32_t queue, queue_limit, queue_port, queue_pid;
	/* Ports of the range for clients that are in use, TIME_WAIT included, towards one address and port; ports_limit 0 = few are. */
	uint64_t ports, ports_limit;
	char ports_to[72];
	/* One process moves so much that all that leaves by an interface, or comes in there, waits so much longer than the path takes (round trip
	 * against its minimum): more than one connection says so. line_delay 0 = none does. */
	int64_t line_delay; /* ns */
	bool line_is_out;
	uint32_t line_pid;
	char line_of[16];
};

/* 0 or -errno. */
int tcp_pressure_find(const char *proc_root, struct tcp_pressure *ret);
