/* How a process of root's that works for another user gives up what it does not need.
 *
 * One that answers takes the user's ids for files (effective and file system); its real and saved user stay root, so that no user
 * can stop or trace it. It keeps the right to read any file (CAP_DAC_READ_SEARCH), and the kernel restricts that
 * to the paths named here (Landlock, since Linux 5.13) and to system calls that compute, read, and answer (seccomp). It cannot write to
 * a path, execute a program, send a signal, load into the kernel, or get rights back. What is open already stays open.
 *
 * One that changes something (uid 0) stays root by number: it owns root's files, and has no other right than those its work needs.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define FEWER_RIGHTS_NOBODY 65534

/* Work that needs more than to read and answer. */
enum fewer_rights_work {
	WORK_READS_MAPS = 1, /* keeps CAP_BPF, to read open BPF maps before Linux 5.19; the calls are restricted to that */
	WORK_WRITES = 2,     /* makes, changes and removes files below `writable`; keeps CAP_SYS_NICE, for the lock that urgent threads take */
	WORK_HOLDS = 4,	     /* moves processes to control groups and classes: CAP_SYS_NICE, CAP_SYS_RESOURCE, CAP_IPC_LOCK, CAP_SYS_PTRACE */
};

struct fewer_rights {
	uid_t uid; /* 0: the ids stay */
	gid_t gid;
	const char *const *readable; /* files, and folders with all below them; one that is not there is left out */
	size_t n_readable;
	const char *const *writable; /* the same */
	size_t n_writable;
	unsigned work; /* enum fewer_rights_work */
};

/* For the whole process, which has one thread. 0; -errno: some rights may be left, and the process is to end. Where the ids cannot be
 * changed (no CAP_SETUID, or a namespace without that user) root's stay, without any capability but those above: that is not an error. */
int fewer_rights_take(const struct fewer_rights *to);
/* The paths alone, for good; needs PR_SET_NO_NEW_PRIVS. A kernel without Landlock leaves what the ids and capabilities allow. 0 or -errno. */
int fewer_rights_restrict_paths(const struct fewer_rights *to);
/* The capabilities alone, as fewer_rights_take_daemon() keeps them; of work 0 none. 0 or -errno. */
int fewer_rights_keep_capabilities(unsigned work);

/* Daemons of root's keep different rights. */
enum fewer_rights_daemon {
	DAEMON_RECORDS = 8, /* next to enum fewer_rights_work */
	DAEMON_SERVES = 16,   /* may become a user; root's pages and views ask and do what root's questions do */
	DAEMON_RECEIVES = 32, /* has root's files, and no rights beyond them */
	DAEMON_SHIPS = 64,
	DAEMON_WATCHES = 128, /* has root's files */
};

/* For a daemon of root's, and all that it starts: what its unit grants (CapabilityBoundingSet=, NoNewPrivileges=, SystemCallFilter=), also where
 * no unit does, as in a container or when it is started by hand. Of the capabilities that it has, those stay that it works with; calls that load
 * into the kernel, mount, trace, set the clock or make namespaces fail with EPERM. For the whole process, which has one thread.
 * Without effect unless root calls it. 0 or -errno. */
int fewer_rights_take_daemon(enum fewer_rights_daemon work);
