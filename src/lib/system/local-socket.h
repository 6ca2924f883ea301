/* Unix sockets by a name in a folder, and messages over them.
 *
 * Every message of a Unix socket is received by local_socket_receive(): another process may attach descriptors to any, and the last close of
 * a TCP socket with SO_LINGER waits in the kernel for as long as its owner set. A message that carries such a socket hands that wait to the one
 * that receives or drops it, also by closing a connection. So no message may bring descriptors but where some are expected (since Linux 6.16
 * the kernel refuses them, SO_PASSRIGHTS), and where strangers send, a guard ends such a wait: it sends a signal to its thread every LINGER_MOST ms
 * until the call is through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/* Listens on FOLDER/NAME (a datagram socket is bound), in place of what lies there. type: SOCK_. No message to it, or to what it accepts, may
 * bring descriptors. A descriptor or -errno. */
int local_socket_listen(const char *folder, const char *name, int type, mode_t mode);
/* A descriptor, or -errno: -ENOENT or -ECONNREFUSED where nothing listens. */
int local_socket_connect(const char *folder, const char *name, int type);
/* No message to this end may bring descriptors. Without effect before Linux 6.16. */
void local_socket_refuse_descriptors(int socket);

/* A descriptor or -errno. Where descriptors or memory have run out it waits for a moment: poll() would say at once that a connection
 * is there, without end and at the caller's priority. */
int local_socket_accept(int fd);

#define LINGER_MOST 20 /* ms */

struct linger_guard {
	timer_t timer;
};

/* For the calling thread, which must not block SIGRTMIN. 0 or -errno. */
int linger_guard_open(struct linger_guard *ret);
void linger_guard_close(struct linger_guard *g);

#define DESCRIPTORS_MAX 16 /* of one message */

struct local_message {
	struct iovec *parts; /* where its bytes go */
	size_t n_parts;
	int patience; /* ms; -1 = until it comes */
	struct linger_guard *guard; /* of this thread, where strangers send; NULL: the other end is trusted not to make us wait */
	int *files;	   /* room for those that are expected, with close-on-exec; NULL = none */
	size_t files_most; /* at most DESCRIPTORS_MAX */

	/* what came */
	size_t n_files;
	struct ucred from; /* who sent it, if the socket has SO_PASSCRED; else pid 0 */
};

/* How many bytes came; 0: the other end closed the connection. -EPROTO: the message brought descriptors beyond those that are expected, which are
 * closed, or is longer than its room; -EAGAIN: none came in time; -errno. */
ssize_t local_socket_receive(int socket, struct local_message *m);
/* The same without descriptors. */
ssize_t local_socket_receive_bytes(int socket, void *bytes, size_t n, int patience, struct linger_guard *guard);
/* Closes a connection to a stranger, or what listens to strangers: what was sent and not read is dropped with it. Without a guard one is made
 * for the call. */
void local_socket_close(int socket, struct linger_guard *guard);

/* One message of one byte with these descriptors. 0 or -errno. */
int local_socket_send_descriptors(int connection, const int *fds, size_t n);
/* Exactly so many, with close-on-exec. 0; -ENODATA: the other end closed the connection; -EPROTO: another number, which is closed. */
int local_socket_receive_descriptors(int connection, int *ret_fds, size_t n);

/* Removes FOLDER/NAME if it is there. */
void local_socket_unlink_in(const char *folder, const char *name);
