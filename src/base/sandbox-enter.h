/* How a process gives up its rights, for good. */
#pragma once

#define SANDBOX_SOCKET 3 /* where a sandbox's socket is, in its child */

/* Keeps `socket` as descriptor 3 and closes all others. 0 or -errno; after an error the process is to end. */
int sandbox_enter(int socket);
