/* A thread as /proc tells of it at this moment. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define LIVE_ARGUMENTS	3
#define LIVE_FILES_MAX	32 /* of one poll or epoll: an event loop that has more open waits for no certain one */
#define LIVE_PATH	512
#define LIVE_THREADS_MAX 512 /* of one process that are looked at */

struct process_memory;

struct live_thread {
	struct process_memory *memory; /* who reads its process's for what follows; NULL = none is read */
	unsigned pid, tid, parent;
	char comm[20];
	char state;	  /* R S D T Z */
	const char *call; /* system call; NULL = none, or not to be read */
	unsigned long long arguments[LIVE_ARGUMENTS];
	unsigned long long stack; /* its pointer; 0 = not to be read */
	char waits_in[48]; /* the kernel's function; "" */
	unsigned long long times; /* it has had a CPU */
};

/* The next process of a folder like /proc; 0 = there is no more, or `proc` is NULL. */
unsigned live_next_process(DIR *proc);
/* 0; -ESRCH: gone. `memory` is NULL then. */
int live_thread_read(const char *proc_root, unsigned pid, unsigned tid, struct live_thread *ret);
/* Copies a file of the process's folder ("cmdline"), cut to the buffer, with a NUL behind it. How many bytes; 0 = it is empty, or not to be read. */
size_t live_file(const char *proc_root, unsigned pid, const char *name, char *buf, size_t size);
/* The number of a thread as its own namespace of process ids has it, as a server inside a container does. 0 = it has ended. */
unsigned live_inner_number(const char *proc_root, unsigned pid, unsigned tid);
/* Where a link in the process's folder leads ("cwd", "fd/3"), cut to the buffer. False: it is not there, or not to be read. */
bool live_link(const char *proc_root, unsigned pid, const char *name, char *buf, size_t size);
/* Where a descriptor leads: as live_link(). */
bool live_fd_link(const char *proc_root, unsigned pid, unsigned long long fd, char *buf, size_t size);
/* Thread numbers of a process, the main thread first; how many. */
size_t live_threads(const char *proc_root, unsigned pid, unsigned *ret, size_t max);
/* Copies from its process's memory. False: not all of it is there, or it is not to be read. */
bool live_thread_memory(const char *proc_root, const struct live_thread *t, unsigned long long address, void *buf, size_t n);
/* Whether the process has this very file open. */
bool live_has_open(const char *proc_root, unsigned pid, const struct stat *file);
/* The descriptors that a poll, select or epoll call waits for; how many. */
size_t live_thread_files(const char *proc_root, const struct live_thread *t, unsigned *ret, size_t max);
/* The thread that holds the glibc mutex this one waits for in a futex call; 0 = it is none, or not known. */
unsigned live_thread_lock_owner(const char *proc_root, const struct live_thread *t);
/* Children of all threads of a process; how many. */
size_t live_children(const char *proc_root, unsigned pid, unsigned *ret, size_t max);
/* The only child, or the one that a wait4 names; 0 = there are several, or none. */
unsigned live_thread_child(const char *proc_root, const struct live_thread *t);
/* Whether a system call names a file by its path; the others that are about one have its descriptor first. */
bool live_call_has_path(const char *call);
/* The path that the thread's call names, from the root on. False: it names none, or it is not to be read, or longer than the buffer. */
bool live_thread_path(const char *proc_root, const struct live_thread *t, char *buf, size_t size);
