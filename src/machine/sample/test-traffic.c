/* Live: whose bytes went through sockets, also where numbers of processes agree in the bits by which the programs keep them. Needs
 * root. */
#include "lib/data/test.h"

#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/sample/source.h"

#define PIECE 100
#define THREADS 4
#define SLOTS 8192 /* as EXTRA_SLOTS in machine/bpf/task-extra.h */

static pid_t fork_as(pid_t wanted)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void *send_to_itself(void *pieces)
{
	char bytes[PIECE] = {};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		_exit(1);
	for (int i = 0; i < *(int *)pieces; i++)
		if (send(ends[0], bytes, PIECE, 0) != PIECE || recv(ends[1], bytes, PIECE, MSG_WAITALL) != PIECE)
			_exit(1);
	return NULL;
}

/* Sends pieces to itself, by so many threads at the same time, says so, and sleeps. */
static void talk(int threads, int pieces, int done)
{
	pthread_t others[THREADS];

	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, send_to_itself, &pieces) != 0)
			_exit(1);
	send_to_itself(&pieces);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	if (write(done, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A number of its own choice with `wanted` 0; 0 when that number is taken. */
static pid_t start_talker(pid_t wanted, int threads, int pieces)
{
	int done[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(done), 0);
	pid = wanted ? fork_as(wanted) : fork();
	if (pid == 0)
		talk(threads, pieces, done[1]);
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

static void *open_source(void)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true};
	const char *why = NULL;
	void *source;

	if (source_task.open(&options, &source, &why) < 0)
		fail_msg("%s", why);
	return source;
}

static void threads_that_send_at_the_same_time_are_all_counted(void **state)
{
	void *source = open_source();
	struct tick tick = {};
	pid_t talker = start_talker(0, THREADS, 100000);

	(void)state;
	check(source, &tick, talker, THREADS * 100000);
	end_talker(talker);
	source_task.close(source);
	tick_free(&tick);
}

static void each_process_has_its_own_traffic(void **state)
{
	pid_t first, second = 0, third;
	void *source = open_source();
	struct tick tick = {};

	(void)state;
	first = start_talker(0, 1, 3);
	for (int i = 1; !second && i < 4; i++)
		second = start_talker(first + i * SLOTS, 1, 5);
	check(source, &tick, first, 3);
	if (second)
		check(source, &tick, second, 5);
	end_talker(first);
	third = start_talker(first, 1, 7); /* begins at nothing, with the same number */
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

RUN_TESTS(cmocka_unit_test(each_process_has_its_own_traffic), cmocka_unit_test(threads_that_send_at_the_same_time_are_all_counted))
