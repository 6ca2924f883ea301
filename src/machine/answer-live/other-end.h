/* Who is at the other end of a pipe, a POSIX message queue, a pseudoterminal, a local socket, a TCP connection or a connected UDP socket of this machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "machine/answer-live/fuse-mount.h"
#include "machine/answer-live/open-files.h"

#define OTHER_ENDS_MAX 8 /* processes: a pipe that more have open says nothing of any */

enum end_kind { END_PIPE, END_QUEUE, END_TERMINAL, END_LOCAL_SOCKET, END_TCP, END_UDP };

struct other_end {
	enum end_kind kind;
	unsigned pids[OTHER_ENDS_MAX]; /* who has it open; none: another machine's, the kernel's, or not known */
	size_t n;
	bool remote;   /* of TCP and UDP: no socket of this machine is its other end */
	bool accepted; /* false: those at the other end listen, and have not yet taken the connection */
	bool own;      /* of pipes and queues: the process has the other end open itself, too, for another thread or not closed after a fork */
	bool both_ways; /* of pipes: by the same descriptor, as one takes and puts back what is in it, a token */
	char place[72]; /* of TCP and UDP: "192.0.2.7:5432"; else "" */
	bool serves;   /* of TCP and local sockets: it was connected to, and so mostly is asked and does not ask */
	bool unread;   /* of TCP and local sockets: what it sent lies in the other end's queue */
	/* For TCP in this network namespace (tcp_info), else 0: */
	unsigned asked_ms;    /* of who connected, or tries to: so long ago, at least, it last sent something, and has received nothing since */
	unsigned owed_ms;     /* of who serves: so long ago it last received something, and has sent nothing since */
	unsigned retransmits; /* of what was sent last, in vain */
	unsigned queue_ms;    /* so much longer than it can take takes the way: a queue on it is full */
	bool held;	      /* the other end keeps part of its answer until what it sent before is confirmed (no TCP_NODELAY) */
};

/* The other end of a process's descriptor, its own processes left out. Of a pipe or queue it is the one that has it open for the opposite, of a
 * pseudoterminal who shows it (has its master open).
 * Local sockets are those of the network namespace of the caller (sock_diag(7)). 0; -ENOENT: the descriptor is none of these, or is not
 * connected; -ENOMEM. */
int other_end_find(struct open_files *files, unsigned pid, unsigned long long fd, struct other_end *ret);
bool other_end_has(const struct other_end *e, unsigned pid);
/* Whether what the process sent over a local socket lies unread at the other end: one question to the kernel, without a look at who that is. */
bool other_end_has_unread(const char *proc_root, unsigned pid, unsigned long long fd);
/* Whether others connect to the descriptor, a socket of TCP or a local one. */
bool other_end_listens(const char *proc_root, unsigned pid, unsigned long long fd);
/* A process that has the socket with this inode open; 0 = none, or it is not to be seen. */
unsigned other_end_socket_owner(struct open_files *files, unsigned long inode);
/* Who is asked before files are opened (has an fanotify(7) descriptor), as above. */
void other_end_scanners(struct open_files *files, unsigned but, struct other_end *ret);
/* Who serves that file system in user space (has /dev/fuse open), as above; all who serve one, where it is not known which (`mount` NULL). */
void other_end_fuse_servers(struct open_files *files, unsigned but, const struct fuse_mount *mount, struct other_end *ret);
