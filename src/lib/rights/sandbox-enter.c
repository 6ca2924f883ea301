#include "lib/rights/sandbox-enter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/rights/call-filter.h"
#include "lib/rights/fewer-rights.h"
#include "lib/rights/sandbox.h"

#define FILES_MAX 2048 /* descriptors: programs and their debug files, of one that maps a thousand libraries */

/* --- descriptors --- */

static int close_from(int first)
{
	if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	for (int fd = first; fd < sysconf(_SC_OPEN_MAX); fd++) /* before Linux 5.9 */
		close(fd);
	return 0;
}

static int keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd < (SANDBOX_SANITIZED ? STDERR_FILENO : STDERR_FILENO + 1); fd++)
		if (dup2(null, fd) < 0) /* a library's complaint about a hostile file is nothing for a terminal */
			return -errno;
	if (socket != SANDBOX_SOCKET && dup2(socket, SANDBOX_SOCKET) < 0)
		return -errno;
	return close_from(SANDBOX_SOCKET + 1);
}

/* --- bounds --- */

static size_t mapped_now(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;

	return f && fscanf(f, "%lu", &pages) == 1 ? pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static int bound(void)
{
	const struct {
		int resource;
		rlim_t most;
	} bounds[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, FILES_MAX},
		{RLIMIT_CPU, SANDBOX_CPU_SECONDS},
		{RLIMIT_AS, SANDBOX_SANITIZED ? RLIM_INFINITY : mapped_now() + SANDBOX_MEMORY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)bounds[i].resource, &limit) < 0)
			return -errno;
		if (limit.rlim_max > bounds[i].most)
			limit.rlim_max = bounds[i].most;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit((__rlimit_resource_t)bounds[i].resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

/* --- rights --- */

/* For files alone: a process that has one of the other ids may stop it, and a caller that has none of them cannot end it without
 * CAP_KILL. Where ids cannot be changed (a service without CAP_SETUID) all stay: what they may without capabilities and paths and
 * without open() is nothing either. */
static void leave_user(void)
{
	const gid_t nobody = FEWER_RIGHTS_NOBODY;

	if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(nobody, nobody, nobody) == 0)
		(void)setfsuid(FEWER_RIGHTS_NOBODY);
}

/* --- system calls --- */

/* The calls that computing and reading of open files take. Other calls fail with EPERM: a library that tries to find a locale or
 * a debug file continues without it. */
static const struct sock_filter filter[] = {
	FILTER_BEGIN,
	ALLOW_CALL(SYS_recvmsg),
	ALLOW_CALL(SYS_sendmsg),
	ALLOW_CALL(SYS_read),
	ALLOW_CALL(SYS_pread64),
	ALLOW_CALL(SYS_lseek),
	ALLOW_CALL(SYS_close),
	ALLOW_CALL(SYS_fstat),
	ALLOW_CALL(SYS_brk),
	ALLOW_CALL(SYS_munmap),
	ALLOW_CALL(SYS_mremap),
	ALLOW_CALL(SYS_madvise),
	ALLOW_CALL(SYS_futex),
	ALLOW_CALL(SYS_getpid),
	ALLOW_CALL(SYS_gettid),
	ALLOW_CALL(SYS_getrandom),
	ALLOW_CALL(SYS_sched_yield),
	ALLOW_CALL(SYS_clock_gettime),
	ALLOW_CALL(SYS_sysinfo),
	ALLOW_CALL(SYS_restart_syscall),
	ALLOW_CALL(SYS_rt_sigprocmask),
	ALLOW_CALL(SYS_rt_sigreturn),
	ALLOW_CALL(SYS_exit),
	ALLOW_CALL(SYS_exit_group),
#if SANDBOX_SANITIZED
	ALLOW_CALL(SYS_write),
	ALLOW_CALL(SYS_sigaltstack),
#endif
	ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC),
	ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
	ALLOW_WITH(SYS_newfstatat, 3, AT_EMPTY_PATH),
	ALLOW_ONE_OF(SYS_fcntl, 1, F_GETFD, F_GETFL),
	REFUSE,
};

/* --- all of it --- */

static void forget_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)signal(SIGINT, SIG_IGN); /* Ctrl-C is its caller's to obey */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int sandbox_enter(int socket)
{
	const struct fewer_rights no_paths = {};
	pid_t parent = getppid();
	int r;

	(void)prctl(PR_SET_NAME, "whyslow-parse");
	forget_signals();
	r = keep_only(socket);
	if (r == 0)
		r = bound();
	leave_user();
	if (r == 0)
		r = fewer_rights_keep_capabilities(0);
	/* after the user was left, which resets the first two */
	if (r == 0 && (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		r = -errno;
	if (r == 0)
		r = fewer_rights_restrict_paths(&no_paths);
	if (r == 0 && getppid() != parent)
		r = -EPIPE;
	return r == 0 ? call_filter_set(filter, ARRAY_SIZE(filter)) : r;
}
