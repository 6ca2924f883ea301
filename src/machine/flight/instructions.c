#include "machine/flight/instructions.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)
#define DECODING_MAX  "60" /* seconds */

extern char **environ;

static bool is_there(const char *program)
{
	static const char *const folders[] = {"/usr/bin", "/usr/local/bin", "/bin"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (access(STR_TEXT(128, "%s/%s", folders[i], program), X_OK) == 0)
			return true;
	}
	return false;
}

const char *instructions_missing(const char *sys_root)
{
	if (access(STR_TEXT(256, "%s/bus/event_source/devices/intel_pt/type", sys_root), F_OK) < 0)
		return "every instruction: this machine has no Intel PT (other CPUs, and most virtual machines, have none)";
	return is_there("perf") ? NULL : "every instruction: the CPU can trace them, but perf is not here (apt-get install linux-perf)";
}

/* Its standard output is the pipe's end, or nowhere; what it complains of is no one's business here. */
static int start(char **argv, int output, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	int r;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (output >= 0)
		posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawnp(ret, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

static int record(uint32_t pid, int64_t span, char *file)
{
	char number[16], seconds[32];
	char *argv[] = {(char *)"perf", (char *)"record", (char *)"-q",	 (char *)"-e", (char *)"intel_pt//u", (char *)"-p", number,
			(char *)"-o",	file,		  (char *)"--", (char *)"sleep", seconds, NULL};
	int status = 0, r;
	pid_t child;

	snprintf(number, sizeof(number), "%u", pid);
	snprintf(seconds, sizeof(seconds), "%.3f", (double)span / 1e9);
	r = start(argv, -1, &child);
	if (r < 0)
		return r;
	if (waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ENOENT;
}

uint64_t instructions_read(FILE *from, instructions_each each, void *data)
{
	unsigned long long address;
	uint64_t n = 0;
	unsigned tid;
	char line[256];

	while (fgets(line, sizeof(line), from)) {
		if (sscanf(line, " %u %llx", &tid, &address) != 2 || !address)
			continue;
		each(tid, address, data);
		n++;
	}
	return n;
}

static int decode(char *file, instructions_each each, void *data)
{
	char *argv[] = {(char *)"timeout", (char *)DECODING_MAX, (char *)"perf", (char *)"script", (char *)"-i", file,
			(char *)"--itrace=i" STRINGIFY(INSTRUCTIONS_EACH) "i", (char *)"-F", (char *)"tid,ip", NULL};
	_cleanup_fclose_ FILE *from = NULL;
	int ends[2], r;
	uint64_t n = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, ends[1], &child);
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (!from)
		close(ends[0]);
	else if (r == 0)
		n = instructions_read(from, each, data);
	if (r == 0)
		(void)waitpid(child, NULL, 0);
	return r < 0 ? r : n ? 0 : -ENOENT;
}

int instructions_trace(uint32_t pid, int64_t span, instructions_each each, void *data)
{
	char file[] = "/tmp/whyslow-instructions-XXXXXX", old[sizeof(file) + 4];
	int fd = mkstemp(file), r;

	if (fd < 0)
		return -errno;
	close(fd);
	r = record(pid, span, file);
	r = r ?: decode(file, each, data);
	unlink(file);
	snprintf(old, sizeof(old), "%s.old", file); /* perf moves what was there aside */
	unlink(old);
	return r;
}
