#include "machine/answer-live/waits.h"

#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/system/file-lock.h"
#include "machine/answer-live/live-thread.h"

static const char *const names[] = {
#include "syscall-names.h"
};

enum object { OBJECT_NONE, OBJECT_FILE /* the call's first argument */, OBJECT_LOCK /* ... which someone has locked */ };

static const struct {
	const char *call, *words;
	enum object object;
} calls[] = {
	{"futex", "a lock, or another thread's signal", OBJECT_NONE},
	{"futex_wait", "a lock, or another thread's signal", OBJECT_NONE},
	{"futex_waitv", "a lock, or another thread's signal", OBJECT_NONE},
	{"nanosleep", "a timer", OBJECT_NONE},
	{"clock_nanosleep", "a timer", OBJECT_NONE},
	{"epoll_wait", "events", OBJECT_NONE},
	{"epoll_pwait", "events", OBJECT_NONE},
	{"epoll_pwait2", "events", OBJECT_NONE},
	{"poll", "events", OBJECT_NONE},
	{"ppoll", "events", OBJECT_NONE},
	{"select", "events", OBJECT_NONE},
	{"pselect6", "events", OBJECT_NONE},
	{"io_getevents", "disk I/O it began earlier", OBJECT_NONE},
	{"io_uring_enter", "I/O it began earlier", OBJECT_NONE},
	{"read", "data from", OBJECT_FILE},
	{"pread64", "data from", OBJECT_FILE},
	{"readv", "data from", OBJECT_FILE},
	{"preadv", "data from", OBJECT_FILE},
	{"recvfrom", "data from", OBJECT_FILE},
	{"recvmsg", "data from", OBJECT_FILE},
	{"recvmmsg", "data from", OBJECT_FILE},
	{"accept", "a connection on", OBJECT_FILE},
	{"accept4", "a connection on", OBJECT_FILE},
	{"connect", "an answer from the other side of", OBJECT_FILE},
	{"write", "room to write to", OBJECT_FILE},
	{"pwrite64", "room to write to", OBJECT_FILE},
	{"writev", "room to write to", OBJECT_FILE},
	{"sendto", "room to write to", OBJECT_FILE},
	{"sendmsg", "room to write to", OBJECT_FILE},
	{"mq_timedreceive", "data from", OBJECT_FILE},
	{"mq_timedsend", "room to write to", OBJECT_FILE},
	{"fsync", "the disk, to write", OBJECT_FILE},
	{"fdatasync", "the disk, to write", OBJECT_FILE},
	{"sync_file_range", "the disk, to write", OBJECT_FILE},
	{"flock", "a lock on", OBJECT_LOCK},
	{"fcntl", "a lock on", OBJECT_LOCK}, /* nothing else of it waits */
	{"getdents64", "the folder", OBJECT_FILE},
	{"wait4", "a child", OBJECT_NONE},
	{"waitid", "a child", OBJECT_NONE},
	{"pause", "a signal", OBJECT_NONE},
	{"rt_sigsuspend", "a signal", OBJECT_NONE},
	{"rt_sigtimedwait", "a signal", OBJECT_NONE},
	{"sync", "the disk, to write everything", OBJECT_NONE},
};

const char *wait_call_name(int number)
{
	return number >= 0 && (size_t)number < ARRAY_SIZE(names) ? names[number] : NULL;
}

static int find_call(int number)
{
	const char *name = wait_call_name(number);

	for (size_t i = 0; name && i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].call, name) == 0)
			return (int)i;
	return -1;
}

static void write_file(const char *proc_root, unsigned pid, unsigned long long fd, struct str *out)
{
	char target[1024];

	if (!live_fd_link(proc_root, pid, fd, target, sizeof(target)))
		str_printf(out, "file %llu", fd);
	else if (strncmp(target, "pipe:", 5) == 0 || strncmp(target, "socket:", 7) == 0)
		str_printf(out, "a %.*s", (int)strcspn(target, ":"),
			   target); /* its number says nothing to people */
	else
		str_puts(out, target);
}

static void write_holder(const char *proc_root, unsigned pid, struct str *out)
{
	struct file_locks locks = {.proc_root = proc_root, .patience = FILE_LOCKS_PATIENCE};
	unsigned holder = file_locks_holder(&locks, pid);
	char name[64];

	file_locks_free(&locks);
	if (!holder)
		return;
	str_printf(out, ", held by %s pid %u",
		   file_first_line(STR_TEXT(512, "%s/%u/comm", proc_root, holder), name, sizeof(name)) ? name : "a process that has ended,", holder);
}

void wait_words(const char *proc_root, unsigned pid, const struct capture_thread *t, struct str *out)
{
	const char *name = wait_call_name(t->syscall);
	int call = find_call(t->syscall);

	if (t->state == CAPTURE_STOPPED) {
		str_puts(out, "being continued (it is stopped)");
	} else if (call >= 0) {
		str_puts(out, calls[call].words);
		if (calls[call].object != OBJECT_NONE) {
			str_putc(out, ' ');
			write_file(proc_root, pid, t->argument, out);
		}
		if (calls[call].object == OBJECT_LOCK)
			write_holder(proc_root, pid, out);
	} else if (name) {
		str_printf(out, "the system call %s", name);
	} else if (t->waits_in[0]) {
		str_printf(out, "%s of the kernel", t->waits_in);
	} else {
		str_puts(out, t->has_registers ? "a page of memory" : "work (it is a thread of the kernel)");
	}
}
