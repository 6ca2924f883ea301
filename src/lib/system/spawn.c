#include "lib/system/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

static int pass_descriptor(posix_spawn_file_actions_t *actions, int fd, int target)
{
	if (fd == SPAWN_INHERIT)
		return 0;
	if (fd == SPAWN_NULL)
		return posix_spawn_file_actions_addopen(actions, target, "/dev/null", O_RDWR, 0);
	return posix_spawn_file_actions_adddup2(actions, fd, target);
}

static int pass_descriptors(const struct spawn *s, posix_spawn_file_actions_t *actions)
{
	int r = 0;

	for (int i = 0; i < 3 && r == 0; i++)
		r = pass_descriptor(actions, s->fds[i], i);
	return r;
}

static void default_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, defaults;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &defaults);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

int spawn_start(const struct spawn *s, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	default_signals(&attributes);
	r = pass_descriptors(s, &actions);
	r = r ?: posix_spawn(ret, s->program, &actions, &attributes, s->argv, s->environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

void spawn_limit(pid_t process, int resource, uint64_t most)
{
	const struct rlimit value = {most, most};

	(void)prlimit(process, (__rlimit_resource_t)resource, &value, NULL);
}

void spawn_oom_adjust(int adjust)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		dprintf(fd, "%d", adjust);
}
