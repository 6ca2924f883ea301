#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "lib/rights/outside.h"
#include "machine/events/calls.h"
#include "machine/events/futex.h"
#include "machine/process/proc.h"
#include "machine/tracefs/trace-words.h"

#define WORD " 0x%" SCNx64 /* of /proc/PID/syscall */
#define FILE_MOST	4096
#define POLICY_FIFO	1
#define POLICY_RR	2
#define POLICY_DEADLINE 6
#define PRIO_NORMAL	120 /* nice 0 */
#define PRIO_REAL_TIME	98  /* which exactly the records tell */

/* One process's folder; what its threads share. */
struct listed {
	const char *task; /* "/proc/4711/task" */
	struct trace_thread shared;
};

static uint8_t state_of_letter(char letter)
{
	switch (letter) {
	case 'R':
		return TASK_STATE_RUNNABLE;
	case 'D':
		return TASK_STATE_BLOCKED;
	case 'I':
		return TASK_STATE_BLOCKED | TASK_STATE_NO_LOAD;
	case 'T':
		return TASK_STATE_STOPPED;
	case 't':
		return TASK_STATE_TRACED;
	case 'Z':
	case 'X':
		return TASK_STATE_ENDED;
	case 'P':
		return TASK_STATE_PARKED;
	}
	return TASK_STATE_SLEEPS;
}

/* "202 0x7f12 0x80 0x2 ... 0x7ffd 0x7f12": the call and its arguments, the stack's pointer, the instruction's; "-1 0x7ffd 0x7f12":
 * in none; "running" */
static void take_call(const char *text, struct trace_thread *t)
{
	long long number;
	event_u64 arguments[7] = {}; /* six, and the stack's pointer */

	t->syscall = EVENT_NO_SYSCALL;
	if (t->flags & THREAD_IS_KERNEL) {
		t->facts.call = CALL_NONE;
		return;
	}
	if (sscanf(text, "%lld" WORD WORD WORD WORD WORD WORD WORD, &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3],
		   &arguments[4], &arguments[5], &arguments[6]) < 1)
		return;
	t->syscall = (int16_t)number;
	t->facts.call = trace_call(number);
	if (t->facts.call == CALL_BY_FILE)
		t->facts.call = CALL_OTHER;
	else if (number == CALL_NUMBER_FUTEX || number == CALL_NUMBER_RESTART)
		t->facts.call = futex_refine_call(t->facts.call, number == CALL_NUMBER_RESTART, arguments, arguments[6]);
	if (t->facts.call == CALL_FUTEX || t->facts.call == CALL_LOCK || t->facts.call == CALL_CONDITION)
		t->object = arguments[0];
}

static int32_t prio_of(const struct proc_stat *s)
{
	if (s->policy == POLICY_DEADLINE)
		return -1;
	return s->policy == POLICY_FIFO || s->policy == POLICY_RR ? PRIO_REAL_TIME : PRIO_NORMAL + (int32_t)s->nice;
}

static bool read_whole(const char *folder, const char *file, char *buf)
{
	_cleanup_close_ int fd = text_attribute_open(folder, file);

	return fd >= 0 && text_attribute_read(fd, buf, FILE_MOST) > 0;
}

static bool take_text(const struct listed *l, const char *tid, const char *file, char *buf)
{
	return read_whole(l->task, STR_TEXT(300, "%s/%s", tid, file), buf);
}

/* A thread that ends in the meantime is left out. */
static int take_thread(const struct listed *l, const char *tid, int64_t boot_offset, struct trace *t)
{
	struct trace_thread thread = l->shared;
	char text[FILE_MOST];
	struct proc_stat stat;
	int64_t times[3];
	uint64_t number;

	if (str_parse_u64(tid, &number) < 0 || !take_text(l, tid, "stat", text) || proc_parse_stat(text, &stat) < 0)
		return 0;
	thread.tid = (uint32_t)number;
	thread.prio = prio_of(&stat);
	thread.start = (int64_t)stat.start > boot_offset ? stat.start - (uint64_t)boot_offset : 1;
	memcpy(thread.comm, stat.comm, strnlen(stat.comm, TRACE_COMM));
	thread.facts.state = state_of_letter(stat.state);
	if (thread.tid != thread.tgid && take_text(l, tid, "status", text))
		thread.ns_tid = proc_inner_number(text);
	if (take_text(l, tid, "schedstat", text) && proc_parse_schedstat(text, times) == 0) {
		thread.cpu_time = (uint64_t)times[0];
		thread.run_delay = (uint64_t)times[1];
	}
	if (take_text(l, tid, "syscall", text))
		take_call(text, &thread);
	thread.state = (uint8_t)(thread.facts.state ? classify(thread.facts) : STATE_RUNNABLE);
	return trace_add_thread(t, &thread);
}

static void take_shared(const char *process, uint32_t pid, struct trace_thread *ret)
{
	char text[FILE_MOST];
	struct proc_stat process_stat;
	struct stat namespace;

	*ret = (struct trace_thread){.tgid = pid, .ns_tgid = pid, .ns_tid = pid, .syscall = EVENT_NO_SYSCALL};
	if (read_whole(process, "stat", text) && proc_parse_stat(text, &process_stat) == 0) {
		ret->parent = process_stat.parent;
		ret->flags = process_stat.flags & PF_KTHREAD ? THREAD_IS_KERNEL : 0;
	}
	if (pid == (uint32_t)getpid())
		ret->flags |= THREAD_IS_SELF;
	if (read_whole(process, "status", text)) {
		ret->uid = outside_owner_parse(text);
		ret->ns_tgid = ret->ns_tid = proc_inner_number(text);
	}
	if (stat(STR_TEXT(300, "%s/ns/pid", process), &namespace) == 0)
		ret->pid_ns = (uint32_t)namespace.st_ino;
}

static int take_process(const char *proc_root, uint32_t pid, int64_t boot_offset, struct trace *t)
{
	DIR *folder;
	char process[200], task[220];
	struct listed l = {.task = task};
	int r = 0;

	snprintf(process, sizeof(process), "%s/%u", proc_root, pid);
	snprintf(task, sizeof(task), "%s/task", process);
	folder = opendir(task);
	if (!folder)
		return 0;
	take_shared(process, pid, &l.shared);
	FOLDER_EACH(entry, folder)
		r = r ?: take_thread(&l, entry.name, boot_offset, t);
	return r;
}

int trace_list_threads(const char *proc_root, int64_t boot_offset, struct trace *t)
{
	DIR *folder = opendir(proc_root);
	int r = 0;

	if (!folder)
		return -errno;
	FOLDER_EACH(entry, folder) {
		uint64_t pid;

		if (r == 0 && str_parse_u64(entry.name, &pid) == 0 && pid <= UINT32_MAX)
			r = take_process(proc_root, (uint32_t)pid, boot_offset, t);
	}
	return r;
}
