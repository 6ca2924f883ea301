#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/rights/fewer-rights.h"
#include "lib/rights/sandbox-enter.h"
#include "lib/rights/sandbox.h"

static int64_t error_of(int64_t r)
{
	return r < 0 ? -errno : 0;
}

/* Each tries what a program that was taken over would, and says with which error it failed; 0 = it could. */
static int64_t opens(void)
{
	return error_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int64_t connects(void)
{
	return error_of(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int64_t forks(void)
{
	return error_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int64_t executes(void)
{
	char *words[] = {"/bin/true", NULL};

	return error_of(execv(words[0], words));
}

static int64_t signals(void)
{
	return error_of(kill(getpid(), 0));
}

static int64_t maps_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -errno : 0;
}

static int64_t looks_up(void)
{
	struct stat st;

	return error_of(stat("/etc/passwd", &st));
}

static int64_t becomes_root(void)
{
	return error_of(setresuid(0, 0, 0));
}

static int64_t raises_limits(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	return error_of(setrlimit(RLIMIT_AS, &limit));
}

static int64_t has_other_files(void)
{
	for (int fd = 4; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	return -EBADF;
}

static int64_t takes_memory(void)
{
	size_t n = SANDBOX_MEMORY + ((size_t)64 << 20);
	void *p = SANDBOX_SANITIZED ? MAP_FAILED : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -ENOMEM : 0;
}

static int64_t (*const attempts[])(void) = {opens,	  connects,	 forks,		executes,	 signals,      maps_code,
					    looks_up, becomes_root, raises_limits, has_other_files, takes_memory};

static void try_all(void *data, struct sandbox_request *request, struct str *answer)
{
	(void)data, (void)request;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		(void)str_put_svarint(answer, attempts[i]());
}

static struct reader answer_of(const struct str *s)
{
	return (struct reader){(const uint8_t *)s->data, (const uint8_t *)s->data + s->len, false};
}

static struct sandbox start(sandbox_handler handler)
{
	struct sandbox s;

	assert_int_equal(sandbox_start(handler, NULL, &s), 0);
	return s;
}

static void it_may_do_nothing(void **state)
{
	struct sandbox s = start(try_all);
	struct str request = {}, answer = {};
	const struct sandbox_call call = {.request = &request, .patience = 10 * NS_PER_SEC};
	struct reader in;

	assert_int_equal(sandbox_call(&s, &call, &answer), 0);
	in = answer_of(&answer);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		int64_t r = reader_svarint(&in);

		if (r == 0)
			fail_msg("attempt %zu succeeded", i);
	}
	assert_false(in.bad);
	sandbox_stop(&s);
	str_free(&answer);
}

static void status_of(pid_t pid, const char *field, char *ret, size_t n)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	*ret = '\0';
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, field, strlen(field)) == 0)
			snprintf(ret, n, "%s", line + strlen(field));
	fclose(f);
}

static void the_kernel_says_that_it_has_no_rights(void **state)
{
	struct sandbox s = start(try_all);
	char text[128];

	status_of(s.pid, "CapEff:", text, sizeof(text));
	assert_int_equal(strtoull(text, NULL, 16), 0);
	status_of(s.pid, "CapPrm:", text, sizeof(text));
	assert_int_equal(strtoull(text, NULL, 16), 0);
	status_of(s.pid, "NoNewPrivs:", text, sizeof(text));
	assert_int_equal(atoi(text), 1);
	status_of(s.pid, "Seccomp:", text, sizeof(text));
	assert_int_equal(atoi(text), 2);
	if (geteuid() == 0) {
		status_of(s.pid, "Uid:", text, sizeof(text));
		assert_string_equal(text, "\t0\t0\t0\t65534\n");
		status_of(s.pid, "Groups:", text, sizeof(text));
		assert_int_equal(strspn(text, "\t \n"), strlen(text));
	}
	sandbox_stop(&s);
}

static void dies(void *data, struct sandbox_request *request, struct str *answer)
{
	(void)data, (void)request, (void)answer;
	__builtin_trap();
}

static void stalls(void *data, struct sandbox_request *request, struct str *answer)
{
	(void)data, (void)request, (void)answer;
	for (volatile int forever = 1; forever;)
		;
}

static void asks_for_ever(void *data, struct sandbox_request *request, struct str *answer)
{
	struct str question = {};

	(void)data, (void)request, (void)answer;
	str_puts(&question, "more");
	for (;;)
		(void)sandbox_ask(&question);
}

static void hostile(sandbox_handler handler, int expected)
{
	struct sandbox s = start(handler);
	struct str request = {}, answer = {};
	const struct sandbox_call call = {.request = &request, .patience = NS_PER_SEC / 2};
	pid_t pid = s.pid;

	assert_int_equal(sandbox_call(&s, &call, &answer), expected);
	assert_int_equal(s.pid, 0);
	assert_int_equal(kill(pid, 0), -1); /* reaped, too */
	assert_int_equal(sandbox_call(&s, &call, &answer), -EPIPE);
	sandbox_stop(&s);
	str_free(&answer);
}

static void one_that_dies_costs_an_answer(void **state)
{
	hostile(dies, -EPIPE);
}

static void one_that_stalls_is_ended(void **state)
{
	hostile(stalls, -ETIMEDOUT);
}

static void one_that_asks_for_ever_is_ended(void **state)
{
	hostile(asks_for_ever, -EPROTO);
}

/* The recorder in its unit has no CAP_KILL. */
static void set_right_to_kill(bool may)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	sets[0].effective &= ~(1u << CAP_KILL);
	if (may)
		sets[0].effective |= sets[0].permitted & 1u << CAP_KILL;
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

static void one_that_is_stopped_is_ended_also_without_the_right(void **state)
{
	struct sandbox s = start(try_all);
	struct str request = {}, answer = {};
	const struct sandbox_call call = {.request = &request, .patience = NS_PER_SEC / 2};
	pid_t pid = s.pid;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	set_right_to_kill(false);
	assert_int_equal(sandbox_call(&s, &call, &answer), -ETIMEDOUT);
	set_right_to_kill(true);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	str_free(&answer);
}

static bool is_refused(long r)
{
	return r < 0 && (errno == EPERM || errno == EACCES);
}

/* Whether it can hold the process back by no means that its user would have. */
static bool user_may_do_nothing_to(uid_t user, pid_t pid)
{
	const struct sched_param none = {};
	const struct rlimit limit = {};
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 && is_refused(kill(pid, SIGSTOP)) &&
	       is_refused(setpriority(PRIO_PROCESS, (id_t)pid, 19)) && is_refused(sched_setscheduler(pid, SCHED_IDLE, &none)) &&
	       is_refused(sched_setaffinity(pid, sizeof(cpus), &cpus)) && is_refused(syscall(SYS_ioprio_set, 1, pid, 3 << 13)) &&
	       is_refused(prlimit(pid, RLIMIT_CPU, &limit, NULL)) && is_refused(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
}

static void no_user_holds_it_back(void **state)
{
	static const uid_t users[] = {FEWER_RIGHTS_NOBODY, 1, 12345};
	struct sandbox s;

	if (geteuid() != 0)
		skip(); /* it has its caller's user */
	s = start(try_all);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		pid_t attacker = fork();
		int status;

		if (attacker == 0)
			_exit(!user_may_do_nothing_to(users[i], s.pid));
		assert_int_equal(waitpid(attacker, &status, 0), attacker);
		assert_int_equal(status, 0);
	}
	sandbox_stop(&s);
}

static void leave_one_stopped(int told)
{
	struct sandbox s = start(try_all);

	if (kill(s.pid, SIGSTOP) == 0)
		set_right_to_kill(false);
	_exit(write(told, &s.pid, sizeof(s.pid)) != (ssize_t)sizeof(s.pid));
}

static bool is_gone_soon(pid_t pid)
{
	for (int i = 0; i < 1000; i++, usleep(10000))
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
	kill(pid, SIGKILL);
	return false;
}

static void one_that_is_stopped_ends_with_its_caller(void **state)
{
	pid_t caller, left;
	int ends[2];

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* so that it becomes our child */
	assert_int_equal(pipe(ends), 0);
	caller = fork();
	if (caller == 0)
		leave_one_stopped(ends[1]);
	assert_int_equal(read(ends[0], &left, sizeof(left)), sizeof(left));
	assert_int_equal(waitpid(caller, NULL, 0), caller);
	assert_true(is_gone_soon(left));
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	close(ends[0]);
	close(ends[1]);
}

static void sums_files(void *data, struct sandbox_request *request, struct str *answer)
{
	struct str question = {};
	uint64_t sum = 0;
	int fd;

	(void)data;
	for (size_t i = 0; i < request->n_files; i++) {
		char c = 0;

		assert_int_equal(pread(request->files[i], &c, 1, 0), 1);
		sum += (uint64_t)c;
	}
	str_puts(&question, "one more");
	fd = sandbox_ask(&question);
	(void)str_put_varint(answer, sum);
	(void)str_put_varint(answer, fd >= 0);
}

static int memory_file(char c)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, &c, 1), 1);
	return fd;
}

static int provide(void *data, struct reader *question)
{
	assert_int_equal(question->end - question->at, 8);
	++*(unsigned *)data;
	return memory_file('x');
}

static void files_are_handed_over(void **state)
{
	struct sandbox s = start(sums_files);
	int files[SANDBOX_FILES_MAX];
	struct str request = {}, answer = {};
	unsigned provided = 0;
	const struct sandbox_call call = {.request = &request, .files = files, .n_files = SANDBOX_FILES_MAX, .provider = provide,
					  .data = &provided, .patience = 10 * NS_PER_SEC};
	struct reader in;

	for (int i = 0; i < SANDBOX_FILES_MAX; i++)
		files[i] = memory_file((char)(1 + i));
	/* more of them than it may have open at a time: it closes what it was handed */
	for (unsigned round = 0; round < 200; round++) {
		assert_int_equal(sandbox_call(&s, &call, &answer), 0);
		in = answer_of(&answer);
		assert_int_equal(reader_varint(&in), SANDBOX_FILES_MAX * (SANDBOX_FILES_MAX + 1) / 2);
		assert_int_equal(reader_varint(&in), 1);
	}
	assert_int_equal(provided, 200);
	for (int i = 0; i < SANDBOX_FILES_MAX; i++)
		close(files[i]);
	sandbox_stop(&s);
	str_free(&answer);
}

static void a_request_that_is_too_long_is_refused(void **state)
{
	static char bytes[SANDBOX_MESSAGE_MAX];
	struct sandbox s = start(try_all);
	struct str request = {}, answer = {};
	const struct sandbox_call call = {.request = &request, .patience = NS_PER_SEC};

	str_append(&request, bytes, sizeof(bytes));
	assert_int_equal(sandbox_call(&s, &call, &answer), -E2BIG);
	assert_true(s.pid > 0);
	sandbox_stop(&s);
	str_free(&request);
	str_free(&answer);
}

RUN_TESTS(cmocka_unit_test(it_may_do_nothing), cmocka_unit_test(the_kernel_says_that_it_has_no_rights),
	  cmocka_unit_test(one_that_dies_costs_an_answer), cmocka_unit_test(one_that_stalls_is_ended),
	  cmocka_unit_test(one_that_asks_for_ever_is_ended), cmocka_unit_test(files_are_handed_over),
	  cmocka_unit_test(one_that_is_stopped_is_ended_also_without_the_right),
	  cmocka_unit_test(no_user_holds_it_back), cmocka_unit_test(one_that_is_stopped_ends_with_its_caller),
	  cmocka_unit_test(a_request_that_is_too_long_is_refused))
