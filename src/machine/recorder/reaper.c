#include "machine/recorder/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/system/urgent.h"

#define STACK (64 << 10) /* it makes three calls */

/* Until it hears of process 0: a fork may keep the pipe open. */
static void *reap(void *argument)
{
	const int fd = (int)(intptr_t)argument;
	pid_t pid;

	(void)urgent_set(false);
	while (read(fd, &pid, sizeof(pid)) == sizeof(pid) && pid)
		(void)waitpid(pid, NULL, 0);
	close(fd);
	return NULL;
}

void reaper_open(struct reaper *ret)
{
	pthread_attr_t attributes;
	int ends[2];

	*ret = (struct reaper){.fd = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK > PTHREAD_STACK_MIN ? STACK : PTHREAD_STACK_MIN);
	ret->has_thread = pthread_create(&ret->thread, &attributes, reap, (void *)(intptr_t)ends[0]) == 0;
	pthread_attr_destroy(&attributes);
	if (!ret->has_thread) {
		close(ends[0]);
		close(ends[1]);
		return;
	}
	pthread_setname_np(ret->thread, "reaper");
	ret->fd = ends[1];
}

static bool tell(struct reaper *r, pid_t pid)
{
	return r->has_thread && write(r->fd, &pid, sizeof(pid)) == sizeof(pid);
}

void reaper_leave(struct reaper *r)
{
	if (r->has_thread)
		close(r->fd);
	*r = (struct reaper){.fd = -1};
}

void reaper_close(struct reaper *r)
{
	if (!r->has_thread)
		return;
	if (tell(r, 0))
		pthread_join(r->thread, NULL);
	reaper_leave(r);
}

/* As waitpid(2) has it (<bits/waitstatus.h>). */
static int status_of(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED ? W_EXITCODE(info->si_status, 0) : W_EXITCODE(0, info->si_status) | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

int reaper_look(struct reaper *r, pid_t pid, bool wait, int *ret_status, struct rusage *ret_usage)
{
	siginfo_t info = {};

	/* waitid(3) has no place for the usage */
	while (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT | (wait ? 0 : WNOHANG), ret_usage) < 0)
		if (errno != EINTR)
			return -errno;
	if (!info.si_pid)
		return 0;
	*ret_status = status_of(&info);
	if (!tell(r, pid))
		(void)waitpid(pid, NULL, 0);
	return 1;
}
