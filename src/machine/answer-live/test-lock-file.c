/* Real processes that sleep between attempts to make a lock file. */
#include "lib/data/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/answer-live/lock-file.h"
#include "machine/answer-live/process-memory.h"

static char folder[64], path[96];

static void begin_folder(void)
{
#ifdef __SANITIZE_THREAD__
	skip(); /* the name is looked for in the memory of a sleeper, of which this sanitizer takes more than is read */
#endif
	snprintf(folder, sizeof(folder), "/tmp/test-lock-file-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/inbox.lock", folder);
}

static void end_folder(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* Its text is a name in its own memory, which no other process has. */
static pid_t begin_retries(void)
{
	pid_t pid = fork();
	char *name;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir("/") < 0 || asprintf(&name, "%s/%s", folder, "inbox.lock") < 0)
		_exit(1);
	memset(path, 0, sizeof(path));
	while (mkdir(name, 0700) < 0)
		usleep(200000);
	_exit(0);
}

static pid_t begin_holder(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	for (;;)
		pause();
}

static pid_t begin_neighbour(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(folder) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool find_now(pid_t pid, struct lock_file *ret)
{
	_cleanup_(file_locks_free) struct file_locks locks = {.proc_root = "/proc", .patience = FILE_LOCKS_PATIENCE};
	_cleanup_(process_memory_free) struct process_memory memory = {};
	struct live_thread t;

	if (live_thread_read("/proc", (unsigned)pid, (unsigned)pid, &t) < 0)
		return false;
	t.memory = &memory;
	return lock_file_find(&locks, &t, 2 * NS_PER_SEC, ret);
}

/* Until it sleeps and the file is old enough. */
static bool find(pid_t pid, struct lock_file *ret)
{
	for (int i = 0; i < 200; i++) {
		if (find_now(pid, ret))
			return true;
		usleep(50000);
	}
	return false;
}

static bool find_at_once(pid_t pid, struct lock_file *ret)
{
	usleep(1200000); /* old enough */
	return find_now(pid, ret);
}

static void write_number(unsigned number)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fprintf(f, "%u\n", number);
	fclose(f);
}

static void who_has_it_open(void **state)
{
	struct lock_file found;
	pid_t holder, client;

	begin_folder();
	holder = begin_holder();
	while (access(path, F_OK) < 0)
		usleep(1000);
	client = begin_retries();
	assert_true(find(client, &found));
	assert_string_equal(found.path, path);
	assert_int_equal(found.holder, holder);
	assert_string_equal(found.role, "which has it open");
	end_process(client);
	end_process(holder);
	end_folder();
}

static void whose_number_stands_in_it(void **state)
{
	struct lock_file found;
	pid_t client;

	begin_folder();
	write_number((unsigned)getpid());
	client = begin_retries();
	assert_true(find(client, &found));
	assert_int_equal(found.holder, getpid());
	end_process(client);
	end_folder();
}

/* Who owns the file may write any number: of processes of others it is not believed. */
static void a_number_of_another_s_process(void **state)
{
	struct lock_file found;
	pid_t client;

	if (getuid())
		skip();
	begin_folder();
	write_number((unsigned)getpid());
	assert_int_equal(lchown(path, 65534, 65534), 0);
	client = begin_retries();
	assert_false(find_at_once(client, &found));
	write_number(99999999);
	assert_true(find(client, &found)); /* it was looked at */
	end_process(client);
	end_folder();
}

static void of_one_that_is_gone(void **state)
{
	struct lock_file found;
	pid_t client;

	begin_folder();
	write_number(99999999);
	client = begin_retries();
	assert_true(find(client, &found));
	assert_int_equal(found.holder, 0);
	assert_int_equal(found.gone, 99999999);
	end_process(client);
	end_folder();
}

/* A file that is held by none, and one that is the sleeper's own. */
static void what_is_no_lock_of_another(void **state)
{
	struct lock_file found;
	pid_t client;

	begin_folder();
	write_number(0);
	client = begin_retries();
	assert_false(find_at_once(client, &found));
	write_number((unsigned)client);
	assert_false(find_at_once(client, &found));
	end_process(client);
	end_folder();
}

/* The other process has it not open, and only works in its folder. */
static void what_is_longer_than_a_note(void **state)
{
	struct lock_file found;
	pid_t neighbour, client;

	begin_folder();
	neighbour = begin_neighbour();
	write_number(0);
	assert_int_equal(truncate(path, 65), 0);
	client = begin_retries();
	assert_false(find_at_once(client, &found));
	assert_int_equal(truncate(path, 0), 0);
	assert_true(find(client, &found));
	assert_int_equal(found.holder, neighbour);
	end_process(client);
	end_process(neighbour);
	end_folder();
}

static bool lock_whole(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &lock) == 0;
}

/* Tries each tenth of a second; `keeps` the file open between its attempts, or opens it for each as apt does. */
static pid_t begin_attempts(const char *name, bool keeps)
{
	pid_t pid = fork();
	char *own = NULL;
	int fd = -1;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (asprintf(&own, "%s/%s", folder, name) < 0)
		_exit(1);
	for (;;) {
		if (fd < 0)
			fd = open(own, O_RDWR);
		if (lock_whole(fd))
			pause();
		if (!keeps) {
			close(fd);
			fd = -1;
		}
		usleep(100000);
	}
}

static void finds_who_locked(const char *name, bool keeps)
{
	struct lock_file found;
	pid_t client;
	int fd;

	begin_folder();
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(lock_whole(fd));
	client = begin_attempts(name, keeps);
	assert_true(find(client, &found));
	assert_string_equal(found.path, path);
	assert_true(found.locked);
	assert_int_equal(found.holder, getpid());
	end_process(client);
	close(fd);
	end_folder();
}

static void who_has_locked_it(void **state)
{
	finds_who_locked("lock-frontend", false);
	finds_who_locked("accounts.dat", true);
}

/* A file that is open, and locked by no other process. */
static void what_no_other_process_has_locked(void **state)
{
	struct lock_file found;
	pid_t client;
	int fd;

	begin_folder();
	snprintf(path, sizeof(path), "%s/accounts.dat", folder);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	client = begin_retries();
	assert_false(find_at_once(client, &found));
	end_process(client);
	close(fd);
	end_folder();
}

/* Who sleeps for long, until a time or for one, does not try again. */
static void who_sleeps_for_long(void **state)
{
	struct lock_file found;
	pid_t sleepers[2];

	begin_folder();
	write_number((unsigned)getpid());
	for (int until = 0; until < 2; until++) {
		struct timespec request = {.tv_sec = 1000};

		sleepers[until] = fork();
		if (sleepers[until])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (until)
			clock_gettime(CLOCK_MONOTONIC, &request);
		request.tv_sec += until ? 1000 : 0;
		clock_nanosleep(CLOCK_MONOTONIC, until ? TIMER_ABSTIME : 0, &request, NULL);
		_exit(0);
	}
	for (int i = 0; i < 2; i++) {
		assert_false(find_at_once(sleepers[i], &found));
		end_process(sleepers[i]);
	}
	end_folder();
}

RUN_TESTS(cmocka_unit_test(who_has_it_open), cmocka_unit_test(whose_number_stands_in_it), cmocka_unit_test(a_number_of_another_s_process), cmocka_unit_test(of_one_that_is_gone),
	  cmocka_unit_test(what_is_no_lock_of_another), cmocka_unit_test(what_is_longer_than_a_note), cmocka_unit_test(who_has_locked_it),
	  cmocka_unit_test(what_no_other_process_has_locked), cmocka_unit_test(who_sleeps_for_long))
