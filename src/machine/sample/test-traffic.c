/* Live: whose bytes went through sockets, also where numbers of processes agree in the bits by which the programs keep them. Needs
 * root. */
#include "lib/data/test.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/sample/source.h"

#define PIECE 100
#define SLOTS 8192 /* as EXTRA_SLOTS in machine/bpf/task-extra.h */

static pid_t fork_as(pid_t wanted)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Sends pieces to itself, says so, and sleeps. */
static void talk(int pieces, int done)
{
	char bytes[PIECE] = {};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		_exit(1);
	for (int i = 0; i < pieces; i++)
		if (send(ends[0], bytes, PIECE, 0) != PIECE || recv(ends[1], bytes, PIECE, MSG_WAITALL) != PIECE)
			_exit(1);
	if (write(done, bytes, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A number of its own choice with `wanted` 0; 0 when that number is taken. */
static pid_t start_talker(pid_t wanted, int pieces)
{
	int done[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(done), 0);
	pid = wanted ? fork_as(wanted) : fork();
	if (pid == 0)
		talk(pieces, done[1]);
	close(done[1]);
	if (pid > 0)
		assert_int_equal(read(done[0], &byte, 1), 1);
	close(done[0]);
	return pid > 0 ? pid : 0;
}

static void end_talker(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const struct sample *look_for(void *source, struct tick *tick, pid_t pid)
{
	const struct sample *found = NULL;

	tick_begin(tick, clock_boot(), clock_wall());
	source_task.sample(source, tick);
	for (size_t i = 0; i < tick->samples.n; i++) {
		const struct sample *s = &tick->samples.v[i];

		if (s->entity->info.kind == ENTITY_PROCESS && s->entity->info.pid == (uint32_t)pid && s->values[FEATURE_THREADS])
			found = s;
	}
	assert_non_null(found);
	return found;
}

static void check(void *source, struct tick *tick, pid_t pid, int pieces)
{
	const struct sample *s = look_for(source, tick, pid);

	if (!(s->present >> FEATURE_NET_TX_BYTES & 1))
		skip(); /* before kernel 6.3 */
	assert_int_equal(s->values[FEATURE_NET_TX_BYTES], pieces * PIECE);
	assert_int_equal(s->values[FEATURE_NET_RX_BYTES], pieces * PIECE);
	assert_int_equal(s->values[FEATURE_NET_TX_CALLS], pieces);
}

static void each_process_has_its_own_traffic(void **state)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true};
	pid_t first, second = 0, third;
	struct tick tick = {};
	const char *why = NULL;
	void *source;

	(void)state;
	if (source_task.open(&options, &source, &why) < 0)
		fail_msg("%s", why);
	first = start_talker(0, 3);
	for (int i = 1; !second && i < 4; i++)
		second = start_talker(first + i * SLOTS, 5);
	check(source, &tick, first, 3);
	if (second)
		check(source, &tick, second, 5);
	end_talker(first);
	third = start_talker(first, 7); /* begins at nothing, with the same number */
	assert_int_equal(third, first);
	check(source, &tick, third, 7);
	if (second) /* and takes over no slot that has become free */
		check(source, &tick, second, 5);
	end_talker(third);
	if (second)
		end_talker(second);
	source_task.close(source);
	tick_free(&tick);
}

RUN_TESTS(cmocka_unit_test(each_process_has_its_own_traffic))
