/* Locks of which the kernel's list of them (/proc/locks) does not say all: those of open file descriptions, which have no process; those of
 * SQLite, whose writers sleep and try again; semaphores and mutexes in memory that processes share, or of System V; and those that PostgreSQL keeps for its
 * transactions. All of them from /proc of this moment (`proc_root`, or a test's). */
#pragma once

#include "lib/system/file-lock.h"
#include "machine/answer-live/live-thread.h"

#define HIDDEN_PATH 256

/* Who may hold it. */
struct hidden_lock {
	unsigned holder;	/* 0 = several could, or it is not known */
	char place[HIDDEN_PATH]; /* the file */
};

/* A file that the process has open is an SQLite database that another one is writing to (its lock bytes: sqlite.org/lockingv3.html; of a
 * write-ahead log those of the -shm file: sqlite.org/walformat.html). */
bool hidden_lock_of_sqlite(struct file_locks *locks, unsigned pid, struct hidden_lock *ret);
/* The word that a futex call waits for lies in a file that is mapped and shared. The holder is who it says (a glibc mutex), or else the only
 * other process that has mapped it and does not wait for a futex itself (a semaphore does not say who took it). */
bool hidden_lock_of_thread(const char *proc_root, const struct live_thread *t, struct hidden_lock *ret);

/* The process that last took or released the semaphore of System V that the thread's call waits for (semctl(2), GETPID): the thread that waits has not.
 * 0 = that one has ended or is the thread's own, or it is not known: of another namespace, or not to be read. */
unsigned hidden_lock_semaphore_user(const char *proc_root, const struct live_thread *t);

/* Who has a lock of an open file description (fcntl(2), F_OFD_SETLK) on the file that is the process's descriptor `fd`; of several that share
 * it one. 0 = not known. */
unsigned hidden_lock_ofd_holder(const char *proc_root, unsigned pid, unsigned long long fd);

/* A backend of PostgreSQL writes this into its title (update_process_title, on by default). */
struct postgres_backend {
	char database[64], activity[64]; /* "UPDATE waiting", "idle in transaction" */
	bool waits;			 /* for a lock of a transaction */
	bool in_transaction;		 /* it may hold such locks: it executes something, or waits for its client in between */
};

/* False: the process is not a backend. */
bool postgres_backend_read(const char *proc_root, unsigned pid, struct postgres_backend *ret);
/* The backend of the same server and database whose transaction is open while this one waits: the one that is idle in between, else the only
 * one that executes something. 0 = several could be. */
unsigned postgres_backend_blocker(const char *proc_root, const struct live_thread *backend);
/* The backend that its server calls by that number (pg_stat_activity.pid: live_inner_number()), of the same server as that one; 0 = there is none. */
unsigned postgres_backend_numbered(const char *proc_root, const struct live_thread *of, unsigned number);
