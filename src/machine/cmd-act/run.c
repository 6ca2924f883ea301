/* whyslow run CMD: runs a command, watches it, and says where its time went. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/answer-inspect/account.h"
#include "machine/recorder/recorder.h"
#include "machine/verb/verb.h"

#define TICK_MS	   200
#define FRAMES_MAX ((size_t)128 << 20) /* a day of watching; then only what came before is reported */

static const struct option_row options[] = {{}};

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* The command starts only after the first sample, so that its whole life is seen: when it is asked to on *ret_go, which
 * says a byte where it cannot be run, and closes where it is. */
static pid_t spawn_waiting(char **argv, int *ret_go)
{
	int go[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(127);
		execvp(argv[0], argv);
		log_error("cannot run %s: %s", argv[0], strerror(errno));
		(void)!write(go[0], "f", 1);
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid < 0 ? -errno : pid;
}

/* Samples until the command ends; it is reaped only after the last sample. Returns its wall time. */
static int64_t watch(struct recorder *recorder, pid_t pid, int go, struct str *frames)
{
	_cleanup_close_ int fd = pidfd_of(pid);
	struct pollfd ended = {fd, POLLIN, 0};
	int64_t start, end;

	recorder_tick(recorder, true, frames);
	start = clock_boot();
	(void)!write(go, "g", 1);
	while (poll(&ended, 1, TICK_MS) <= 0)
		(void)recorder_tick(recorder, false, frames);
	end = clock_boot();
	(void)recorder_tick(recorder, false, frames);
	poll(NULL, 0, 10);
	(void)recorder_tick(recorder, false, frames); /* last words that arrived while that one was taken */
	return end - start;
}

static void put_part(const char *what, double ns, double wall)
{
	if (isnan(ns))
		printf("  %-36s not measured (see 'whyslow doctor')\n", what);
	else if (ns > 0.001 * wall)
		printf("  %-36s %8.3f s  %3.0f %% of the time\n", what, ns / 1e9, 100 * ns / wall);
}

static const char *verdict(enum bottleneck b)
{
	switch (b) {
	case BOTTLENECK_SELF:
		return "it computed: the program itself";
	case BOTTLENECK_CPU:
		return "it waited for a CPU that others used";
	case BOTTLENECK_DISK:
		return "it waited for the disk";
	case BOTTLENECK_MEMORY:
		return "it waited for memory";
	case BOTTLENECK_QUOTA:
		return "its control group's CPU quota held it back";
	default:
		return "it waited for something outside: time, a lock, the network, another process";
	}
}

static void print_text(const struct account *a, const char *name)
{
	printf("\n%s took %.3f s: %s.\n", name, a->wall / 1e9, verdict(a->bottleneck));
	put_part("on a CPU", a->cpu, a->wall);
	put_part("ready, but every CPU was busy", a->run_delay, a->wall);
	put_part("waiting for the disk", a->block, a->wall);
	put_part("waiting for memory", a->memory, a->wall);
	put_part("held back by a CPU quota", a->throttled, a->wall);
	put_part("waiting for something else", a->other, a->wall);
	if (a->processes > 1)
		printf("  (added up over %u processes)\n", a->processes);
	if (a->competitor) {
		_cleanup_free_ char *label = entity_label(&a->competitor->info);

		if (a->competitor->info.pid)
			printf("Largest other user: %s (pid %u)", label, a->competitor->info.pid);
		else
			printf("Largest other user: %s, in short-lived processes", label);
		printf(", with %.0f %% of what all programs used.\n", 100 * a->competitor_share);
	}
}

static void print_json(const struct account *a, int status)
{
	json_t *root = json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "schema",
				 "whyslow.run/1", "status", status, "bottleneck", bottleneck_name(a->bottleneck), "wall_ns",
				 json_number(a->wall), "cpu_ns", json_number(a->cpu), "run_delay_ns", json_number(a->run_delay), "block_ns",
				 json_number(a->block), "memory_ns", json_number(a->memory), "throttled_ns", json_number(a->throttled),
				 "other_ns", json_number(a->other), "read_bytes", json_number(a->read_bytes), "write_bytes",
				 json_number(a->write_bytes), "processes", (int)a->processes);

	if (a->competitor)
		json_object_set_new(root, "competitor",
				    json_pack("{s:I, s:s?, s:o}", "pid", (json_int_t)a->competitor->info.pid, "name",
					      a->competitor->info.name, "share", json_number(a->competitor_share)));
	json_print(root, JSON_INDENT(1), stdout);
}

static int run(struct common *common, int argc, char **argv)
{
	struct recorder_options look = {.source = {"/proc", "/sys", false, false, 0}};
	_cleanup_str_ struct str frames = {.max = FRAMES_MAX};
	_cleanup_free_ char *error = NULL;
	struct recorder *recorder;
	struct account account = {};
	_cleanup_(dataset_free) struct dataset d = {};
	_cleanup_close_ int go = -1;
	bool cannot_run;
	int64_t wall;
	int status;
	size_t used;
	pid_t pid;
	char byte;

	if (argc < 2)
		return verb_usage_error("run", "expected a command: whyslow run -- make -j2");
	if (recorder_open(&look, &recorder, &error) < 0)
		return log_failure(EXIT_CANNOT, "%s", error ? error : "cannot watch processes");
	pid = spawn_waiting(argv + 1, &go);
	if (pid < 0) {
		log_error("cannot start a process: %s", strerror(-pid));
		recorder_close(recorder);
		return EXIT_CANNOT;
	}
	signal(SIGINT, SIG_IGN); /* the command gets it; its end is ours */
	wall = watch(recorder, pid, go, &frames);
	waitpid(pid, &status, 0);
	cannot_run = read(go, &byte, 1) == 1;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	(void)frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used);
	dataset_finish(&d);
	account_tree(&d, (uint32_t)pid, wall, &account);
	if (common->json)
		print_json(&account, status);
	else if (!cannot_run)
		print_text(&account, argv[1]);
	recorder_close(recorder);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.group = "Administration",
	.words = "CMD... ",
	.help = "run a command and say why it was slow; the exit status is the command's",
	.about = "Runs a command and says afterwards what it waited for and who made it wait. The command's words begin at the first that is no "
		 "option.",
	.examples = (const struct example[]){
		{"whyslow run make -j4", "why does the build take so long?"},
		{"whyslow run -- sh -c 'sort big | uniq'", "a command line of its own"},
		{}},
	.options = options,
	.takes_command = true,
	.runs_programs = true,
	.run = run,
};
