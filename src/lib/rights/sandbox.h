/* A process without rights, for what parses bytes that other users wrote: programs, debug files, lists.
 *
 * The caller forks. The child gives up its user for files (for none, where it may), groups, capabilities, paths, descriptors
 * and nearly all system calls: it can compute, read the files handed to it, and answer over one socket. It opens
 * nothing: its caller opens files, with the checks of lib/rights/outside.h, and hands the descriptors over.
 * For signals its user stays its caller's, so no other user can stop it or change its priority, and the kernel ends it with the
 * thread that started it. A child that dies, stalls or answers nonsense is ended; that costs an answer, never the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/system/local-socket.h"

#define SANDBOX_FILES_MAX   DESCRIPTORS_MAX    /* with one request */
#define SANDBOX_MESSAGE_MAX 65536	       /* bytes of a request or an answer: below any socket buffer's default */
#define SANDBOX_MEMORY	    ((size_t)512 << 20) /* address space beyond what the caller had mapped */
#define SANDBOX_CPU_SECONDS 60

struct sandbox {
	pid_t pid; /* 0 = none runs */
	int socket;
};

struct sandbox_request {
	struct reader bytes;
	int files[SANDBOX_FILES_MAX]; /* those the handler leaves here are closed after it */
	size_t n_files;
};

/* In the child: answers one request. `data` is the child's copy of what the caller had at the fork. */
typedef void (*sandbox_handler)(void *data, struct sandbox_request *request, struct str *answer);
/* In the caller, during a call: opens the file that the child asks for. The question is the child's: believe
 * nothing of it. A descriptor, which is closed after it was handed over, or -errno. */
typedef int (*sandbox_provider)(void *data, struct reader *question);

/* 0 or -errno: -EPERM and others where the machine does not allow to give up rights; then nothing runs. */
int sandbox_start(sandbox_handler handler, void *data, struct sandbox *ret);
void sandbox_stop(struct sandbox *s); /* also of one that does not run; at most 2 s */

struct sandbox_call {
	const struct str *request;
	const int *files; /* stay the caller's */
	size_t n_files;
	sandbox_provider provider; /* NULL: every question is answered with no file */
	void *data;
	int64_t patience; /* ns for the whole call */
};
/* Writes to *answer (cleared before). 0; -EPIPE: it died; -ETIMEDOUT; -EPROTO: it does not keep to the protocol;
 * -E2BIG: the request is too long. After all but the last the sandbox is stopped. */
int sandbox_call(struct sandbox *s, const struct sandbox_call *call, struct str *answer);

/* In the child, while it handles a request: a descriptor from the caller's provider, or -errno. */
int sandbox_ask(const struct str *question);
