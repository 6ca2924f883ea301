/* Starts another program. It gets an empty signal mask and the default action of SIGPIPE, whatever the caller (a daemon that
 * ignores SIGPIPE and blocks signals) has. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define SPAWN_INHERIT (-1) /* the caller's descriptor of that number */
#define SPAWN_NULL    (-2) /* /dev/null */

#define SPAWN_SAME    {SPAWN_INHERIT, SPAWN_INHERIT, SPAWN_INHERIT}

#define SELF_PROGRAM "/proc/self/exe" /* this program */

struct spawn {
	const char *program; /* a path; PATH is not searched */
	char *const *argv, *const *environment; /* NULL-terminated */
	int fds[3]; /* standard input, output, error: a descriptor, SPAWN_INHERIT or SPAWN_NULL */
};

/* 0 or -errno. The caller waits for *ret. */
int spawn_start(const struct spawn *s, pid_t *ret);
/* A bound (RLIMIT_...) of a process that the caller started and that is the same user's; 0 = this one. What it starts itself gets it, too. */
void spawn_limit(pid_t process, int resource, uint64_t most);
#define OOM_SURVIVES (-900) /* for what must outlive a shortage of memory: a hold watchdog */
/* How willingly the OOM killer takes this process (-1000 to 1000) and what it starts; nothing happens where that is not allowed. */
void spawn_oom_adjust(int adjust);
