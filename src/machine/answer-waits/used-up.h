/* Limits that are reached, or nearly: what needs one more of it fails or waits, though the machine is idle.
 *
 * Read when a question is asked, from the recording (file systems) and from /proc of this moment: file handles of the machine and of each process,
 * watches and instances of inotify(7) by user, tasks of control groups and of the machine, pseudo terminals, asynchronous I/O (aio), entries of the
 * connection table (conntrack), ports towards one address and queues of listening TCP sockets (sock_diag(7), this network namespace), keys
 * (keyrings(7)). Memory limits of control groups and swap are judged elsewhere (share/causes): a cache may fill them. Since Linux 5.18
 * entropy cannot run out.
 */
#pragma once

#include "lib/data/str.h"
#include "machine/model/dataset.h"
#include "machine/model/visibility.h"

#define USED_UP_TOLD 3 /* the fullest */

struct used_up {
	const char *what;	/* "file handles" */
	char of[128];		/* whose limit: "uid 1000", "/user.slice"; "" = the machine's, or the process's */
	uint64_t used, limit;
	uint32_t pid;		/* who has most of it; 0 = not known */
	char comm[20];
	uint64_t has;		/* so many; 0 = not known */
	const char *next;	/* what helps: a command, or what can be done */
};

struct used_up_list {
	VEC(struct used_up) list; /* the fullest first */
};

/* At tick `at`; `proc_root` "/proc" or a test's, `group_root` "/sys/fs/cgroup". Of processes that the viewer may not see there is
 * neither pid nor name. Where there are so many processes that counting what they have takes until `until` (monotonic ns), limits of the
 * machine and of groups alone are looked at, without who has most. 0 or -ENOMEM. */
int used_up_find(const struct dataset *d, uint32_t at, const char *proc_root, const char *group_root, const struct viewer *viewer, int64_t until,
		 struct used_up_list *ret);
/* File handles of one process. False: it is gone, or not to be seen. */
bool used_up_files(const char *proc_root, uint32_t pid, uint64_t *ret_used, uint64_t *ret_limit);
void used_up_free(struct used_up_list *l);
/* "inotify watches of uid 1000 are used up: 8192 of 8192; code (pid 4711) has 8000 of them" */
void used_up_claim(const struct used_up *u, struct str *out);
/* "inotify watches of uid 1000 are used up: 8192 of 8192; code (pid 4711) has 8000 of them. ..." */
void used_up_words(const struct used_up *u, struct str *out);
