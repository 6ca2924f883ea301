/* How an unprivileged user asks the daemon: one message over RUN/socket, answered by a process of its own.
 *
 * The client sends its words (NUL-separated, argv[0] left out) together with its standard output and error as
 * descriptors. The daemon starts `whyslow --viewer UID WORDS...` writing to them and returns the exit status. The uid is
 * the kernel's word (SO_PEERCRED). No answer is computed in the daemon itself.
 */
#pragma once

#include <stdint.h>

#define REQUEST_MAX 4096 /* bytes of words: options and a note */

struct server;

/* Listens on RUN/socket, for everybody, in a thread of its own that sleeps until somebody asks. `store_file` and
 * `run_dir` are handed to the answering process. 0 or -errno. */
int server_start(const char *run_dir, const char *store_file, struct server **ret);
void server_stop(struct server *s);

/* Client: sends the words, and where the answer's output and errors shall go. The connection (>= 0), or -errno: -ENOENT /
 * -ECONNREFUSED when no daemon listens. */
int request_begin(const char *run_dir, int n_words, char *const *words, const int fds[2]);
/* Waits for the answer's end and closes the connection. The exit status, or -ECONNRESET. */
int request_end(int connection);
