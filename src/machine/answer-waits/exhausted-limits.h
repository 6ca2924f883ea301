/* Limits that are reached, or nearly: what needs one more of it fails or waits, though the machine is idle.
 *
 * Read when a question is asked, from the recording (file systems) and from /proc of this moment: file handles of the machine and of each process,
 * watches and instances of inotify(7) by user, tasks of control groups and of the machine, pseudo terminals, asynchronous I/O (aio), entries of the
 * connection table (conntrack), ports towards one address and queues of listening TCP sockets (sock_diag(7), this network namespace), keys
 * (keyrings(7)), lines of the network that one process fills, and packets that a program's connection holds back. Memory limits of control groups and swap are judged elsewhere (share/causes): a cache may fill them. Since Linux 5.18
 * entropy cannot run out.
 */
#pragma once

#include "lib/data/str.h"
#include "machine/answer-live/tcp-delay.h"
#include "machine/model/dataset.h"
#include "machine/model/visibility.h"

#define USED_UP_TOLD 3 /* the fullest */

struct exhausted_limit {
	const char *what;	/* "file handles" */
	char of[128];		/* whose limit: "uid 1000", "/user.slice"; "" = the machine's, or the process's */
	uint64_t used, limit;
	uint32_t pid;		/* who has most of it; 0 = not known */
	char comm[20];
	uint64_t has;		/* so many; 0 = not known */
	const char *says;	/* of packets that are delayed in `of`: what it does to it, and "%s" for how long they wait; NULL = it is a number that is used up */
	int64_t delay;		/* ns: so long */
	struct tcp_waits waits;	/* who waits for it, as far as that is known */
	const char *next;	/* what helps: a command, or what can be done */
};

struct exhausted_limits {
	VEC(struct exhausted_limit) list; /* the fullest first */
};

/* At tick `at`; `proc_root` "/proc" or a test's, `group_root` "/sys/fs/cgroup". Of processes that the viewer may not see there is
 * neither pid nor name. Where there are so many processes that counting what they have takes until `until` (monotonic ns), limits of the
 * machine and of groups alone are looked at, without who has most. 0 or -ENOMEM. */
int exhausted_limits_find(const struct dataset *d, uint32_t at, const char *proc_root, const char *group_root, const struct viewer *viewer, int64_t until,
		 struct exhausted_limits *ret);
/* File handles of one process. False: it is gone, or not to be seen. */
bool exhausted_limits_files(const char *proc_root, uint32_t pid, uint64_t *ret_used, uint64_t *ret_limit);
void exhausted_limits_free(struct exhausted_limits *l);
/* The predicate of the process that has most of it: "has 8000 of 8192 inotify watches of uid 1000", "fills the uplink of eth0: what goes out there waits 700 ms" */
void exhausted_limits_deed(const struct exhausted_limit *u, struct str *out);
/* "inotify watches of uid 1000 are used up: 8192 of 8192; code (pid 4711) has 8000 of them" */
void exhausted_limits_claim(const struct exhausted_limit *u, struct str *out);
/* "inotify watches of uid 1000 are used up: 8192 of 8192; code (pid 4711) has 8000 of them. ..." */
void exhausted_limits_words(const struct exhausted_limit *u, struct str *out);
