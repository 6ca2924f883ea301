#include "machine/recorder/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/system/local-socket.h"

#define RECORD_MAX	8192  /* CONSOLE_EXT_LOG_MAX */
#define RECORDS_MAX	20000 /* of the kernel's log: its buffer is as long */
#define REAPED_PATIENCE 2000  /* ms until its parent has asked for its status */
#define REAPED_EVERY	10

/* --- the reason --- */

/* Linux 6.15: the status of a process that was reaped (include/uapi/linux/pidfd.h). */
#define PIDFD_INFO_HAS_STATUS (1u << 3)
struct pidfd_status {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t status;
};
#define PIDFD_ASK _IOWR(0xFF, 11, struct pidfd_status)

static bool read_status(int pidfd, int *ret)
{
	for (int waited = 0; waited < REAPED_PATIENCE; waited += REAPED_EVERY) {
		struct pidfd_status s = {.mask = PIDFD_INFO_HAS_STATUS};

		if (ioctl(pidfd, PIDFD_ASK, &s) < 0)
			return false;
		if (s.mask & PIDFD_INFO_HAS_STATUS) {
			*ret = s.status;
			return true;
		}
		poll(NULL, 0, REAPED_EVERY);
	}
	return false;
}

void ending_of_status(int status, char *ret, size_t n)
{
	if (WIFSIGNALED(status))
		snprintf(ret, n, "it %s signal %d (%s)", WCOREDUMP(status) ? "crashed by" : "was killed by", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(ret, n, "it ended with status %d: its log has the reason", WEXITSTATUS(status));
}

/* "Memory cgroup out of memory: Killed process 123 (whyslow) total-vm:..." */
const char *ending_of_message(const char *message, pid_t pid)
{
	const char *killed = strstr(message, "Killed process ");

	if (!killed || strtol(killed + strlen("Killed process "), NULL, 10) != pid)
		return NULL;
	return strstr(message, "cgroup") ? "it was killed: the memory limit of its unit or container was reached" :
					   "it was killed: the machine was out of memory";
}

static const char *find_in_kernel_log(pid_t pid)
{
	_cleanup_close_ int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	const char *found = NULL;
	char record[RECORD_MAX + 1];

	for (int i = 0; fd >= 0 && i < RECORDS_MAX; i++) {
		ssize_t n = read(fd, record, RECORD_MAX);

		if (n < 0 && errno == EPIPE) /* overwritten in the meantime */
			continue;
		if (n <= 0)
			break;
		record[n] = '\0';
		found = ending_of_message(record, pid) ?: found;
	}
	return found;
}

/* --- the file --- */

static void write_ending(const char *run_dir, int64_t wall, const char *reason)
{
	_cleanup_free_ char *path = NULL, *beside = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	if (asprintf(&path, "%s/ended", run_dir) < 0)
		path = NULL;
	if (asprintf(&beside, "%s/ended.new", run_dir) < 0)
		beside = NULL;
	f = path && beside ? fopen(beside, "we") : NULL;
	if (!f)
		return;
	(void)fchmod(fileno(f), 0644); /* all who ask may know */
	if (fprintf(f, "%" PRId64 " %s\n", wall, reason) > 0 && fflush(f) == 0)
		(void)rename(beside, path);
}

void ending_note_reason(const char *run_dir, const char *reason)
{
	write_ending(run_dir, clock_wall(), reason);
}

void ending_note(const char *run_dir, pid_t pid, int pidfd)
{
	char reason[ENDING_TEXT] = "it was killed or crashed: its log has the reason";
	int64_t wall = clock_wall();
	struct ending noted;
	const char *memory;
	int status;

	write_ending(run_dir, wall, reason); /* at once: who ends all processes of a unit has no patience */
	if (read_status(pidfd, &status))
		ending_of_status(status, reason, sizeof(reason));
	memory = find_in_kernel_log(pid);
	if (ending_read(run_dir, &noted) == 0 && noted.wall == wall) /* the next recorder has not taken it yet */
		write_ending(run_dir, wall, memory ? memory : reason);
}

int ending_read(const char *run_dir, struct ending *ret)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct ending e;

	if (asprintf(&path, "%s/ended", run_dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%" SCNd64 " %159[^\n]", &e.wall, e.reason) != 2)
		return -EBADMSG;
	str_make_printable(e.reason);
	*ret = e;
	return 0;
}

void ending_forget(const char *run_dir)
{
	local_socket_unlink_in(run_dir, "ended");
}
