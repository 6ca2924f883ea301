/* Who is at the other end of a TCP connection of this machine, by the kernel's word (sock_diag). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An address of this machine alone: 127.0.0.0/8 or ::1. */
bool peer_is_loopback(const struct sockaddr *address);
/* The uid that owns the other end of a connection over loopback. 0; -ENOENT: the other end is on another machine, in another network
 * namespace, or closed; -errno where the kernel has no tcp_diag. */
int peer_uid(int fd, uint32_t *ret_uid);
