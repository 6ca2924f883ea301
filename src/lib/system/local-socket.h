/* Unix sockets by a name in a folder, and descriptors over them. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Listens on FOLDER/NAME (a datagram socket is bound), in place of what lies there. type: SOCK_. A descriptor or -errno. */
int local_socket_listen(const char *folder, const char *name, int type, mode_t mode);
/* A descriptor, or -errno: -ENOENT or -ECONNREFUSED where nothing listens. */
int local_socket_connect(const char *folder, const char *name, int type);

/* A descriptor or -errno. Where descriptors or memory have run out it waits for a moment: poll() would say at once that a connection
 * is there, without end and at the caller's priority. */
int local_socket_accept(int fd);

#define DESCRIPTORS_MAX 4 /* of one message */

/* One message of one byte with these descriptors. 0 or -errno. */
int local_socket_send_descriptors(int connection, const int *fds, size_t n);
/* Exactly so many, with close-on-exec. 0; -ENODATA: the other end closed the connection; -EPROTO: another number, which is closed. */
int local_socket_receive_descriptors(int connection, int *ret_fds, size_t n);

/* Removes FOLDER/NAME if it is there. */
void local_socket_unlink_in(const char *folder, const char *name);
