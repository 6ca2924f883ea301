#include "machine/flight/steps.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"

#define SPIN 200000 /* ns: a step takes 5 us; one that takes longer is a system call, or waits for a CPU */
#define NAP  500000

#if defined(__x86_64__)
#define PLACE(r) ((r).rip)
#elif defined(__aarch64__)
#define PLACE(r) ((r).pc)
#endif

void steps_free(struct steps *s)
{
	free(s->addresses);
	*s = (struct steps){};
}

/* "815 (name) R ..." */
static bool runs(const char *proc_root, uint32_t pid, const char *tid)
{
	char text[256];
	const char *end;

	if (!file_first_line(STR_TEXT(PATH_MAX, "%s/%u/task/%s/stat", proc_root, pid, tid), text, sizeof(text)))
		return false;
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'R';
}

static int choose_thread(const char *proc_root, uint32_t pid, uint32_t *ret)
{
	DIR *dir = opendir(STR_TEXT(PATH_MAX, "%s/%u/task", proc_root, pid));

	if (!dir)
		return -ESRCH;
	*ret = pid;
	FOLDER_EACH(entry, dir)
		if (runs(proc_root, pid, entry.name)) {
			*ret = (uint32_t)strtoul(entry.name, NULL, 10);
			break;
		}
	return 0;
}

/* 1: it stopped, with *ret_status; 0: not until the deadline; -ESRCH: it has ended. */
static int wait_stop(pid_t tid, int64_t deadline, int *ret_status)
{
	int64_t began = clock_monotonic(), now = began;
	pid_t got;

	while ((got = waitpid(tid, ret_status, __WALL | WNOHANG)) == 0) {
		now = clock_monotonic();
		if (now >= deadline)
			return 0;
		if (now - began > SPIN)
			nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
	}
	return got == tid && WIFSTOPPED(*ret_status) ? 1 : -ESRCH;
}

static int read_place(pid_t tid, uint64_t *ret)
{
	struct user_regs_struct registers;
	struct iovec io = {&registers, sizeof(registers)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0)
		return -errno;
	*ret = PLACE(registers);
	return 0;
}

/* The signal that a stop brings and that the thread is to get; 0: the stop is the step's own. */
static int signal_of(int status)
{
	if (status >> 16 || WSTOPSIG(status) == SIGTRAP)
		return 0;
	return WSTOPSIG(status);
}

static bool is_stopped_by_user(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
}

/* From a stop on. 0: the thread stands still, and is to be let go; -ESRCH: it has ended; -EAGAIN: it is still in a step. */
static int step(pid_t tid, uint64_t most, int64_t deadline, int *status, struct steps *s)
{
	while (s->n < most && clock_monotonic() < deadline && !is_stopped_by_user(*status)) {
		int r = read_place(tid, &s->addresses[s->n]);

		if (r < 0)
			return r;
		s->n++;
		if (ptrace(PTRACE_SINGLESTEP, tid, 0, (long)signal_of(*status)) < 0)
			return -errno;
		r = wait_stop(tid, deadline, status);
		if (r <= 0)
			return r < 0 ? r : -EAGAIN;
	}
	return 0;
}

/* It must stand still to be let go: else it keeps the flag that stops it at each instruction. */
static void let_go(pid_t tid, bool stands, int status)
{
	if (!stands) {
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return;
	}
	ptrace(PTRACE_DETACH, tid, 0, (long)signal_of(status));
}

static int take(pid_t tid, uint64_t most, int64_t longest, struct steps *s)
{
	int64_t began = clock_monotonic(), deadline = began + longest;
	int status = 0, r;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return errno == EPERM && kill(tid, 0) == 0 ? -EBUSY : -errno;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	r = wait_stop(tid, deadline, &status);
	if (r > 0)
		r = step(tid, most, deadline, &status, s);
	else if (r == 0)
		r = -EAGAIN;
	if (r != -ESRCH)
		let_go(tid, r == 0, status);
	s->took = clock_monotonic() - began;
	return s->n ? 0 : r == -EAGAIN ? -ETIMEDOUT : r;
}

int steps_take(const char *proc_root, uint32_t pid, uint64_t most, int64_t longest, struct steps *ret)
{
	struct steps s = {};
	int r = choose_thread(proc_root, pid, &s.tid);

	if (r < 0)
		return r;
	most = most < STEPS_MAX ? most : STEPS_MAX;
	s.addresses = calloc(most, sizeof(*s.addresses));
	if (!s.addresses)
		return -ENOMEM;
	r = take((pid_t)s.tid, most, longest, &s);
	if (r < 0) {
		steps_free(&s);
		return r;
	}
	*ret = s;
	return 0;
}
