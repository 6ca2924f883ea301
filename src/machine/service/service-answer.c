#include "machine/service/service-answer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/system/local-socket.h"
#include "lib/system/spawn.h"
#include "lib/system/urgent.h"
#include "machine/client/request.h"
#include "machine/service/service-budget.h"
#include "machine/service/service.h"

#define QUESTION_TIMEOUT 5000 /* ms for a client to say what it wants */
#define OOM_ADJUST	 500 /* half of the memory there is counts as its own */
#define ZONE_MAX	 64
#define FILES_MOST	 512 /* the flight recorder has 100, and an answer opens some at a time */

/* --- priority --- */

/* Once its budget is used up the answer competes as its asker does. */
static void take_nice_of(const struct service_asker *asker)
{
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)asker->pid);
	(void)setpriority(PRIO_PROCESS, 0, errno ? 0 : asker->uid != 0 && nice < 0 ? 0 : nice);
}

/* From the first moment on: an answer that has the usual priority until the question has come would wait for a CPU twice. */
static void take_priority(const struct service_asker *asker)
{
	if (!asker->urgent || urgent_for(BUDGET_QUESTION) < 0)
		(void)urgent_set(false);
	take_nice_of(asker);
}

/* --- surroundings --- */

static void bound_resources(const struct service_asker *asker)
{
	/* memory that questions use up is taken from them, and not from the recorder, which has the same limit (MemoryMax of the unit) */
	spawn_oom_adjust(OOM_ADJUST);
	spawn_limit(0, RLIMIT_CORE, 0);
	spawn_limit(0, RLIMIT_CPU, ANSWER_TIMEOUT);
	if (asker->uid != 0)
		spawn_limit(0, RLIMIT_AS, ANSWER_MEMORY);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)alarm(ANSWER_TIMEOUT);
}

static void default_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

bool service_is_crash(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGILL || number == SIGFPE || number == SIGSYS;
}

/* A zone's name, not a file of the asker's choice. */
static bool is_zone(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/,.<>";

	return strlen(text) <= ZONE_MAX && strspn(text, letters) == strlen(text) && text[0] != '/' && !strstr(text, "..");
}

static bool take_setting(const char *word, struct service_question *q)
{
	if (str_starts(word, "TZ=") && is_zone(word + 3))
		setenv("TZ", word + 3, 1);
	else if (strcmp(word, "COLOR=1") == 0)
		q->colour = true;
	return strchr(word, '=') && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == (size_t)(strchr(word, '=') - word);
}

static void set_environment(void)
{
	clearenv();
	setenv("PATH", "/usr/bin:/bin", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	log_setup(false, LOG_LEVEL_INFO); /* to the asker, not to the journal */
}

/* --- the question --- */

/* A wait that the asker sent along is cut short, too: who asks holds a place. */
static ssize_t read_question(int connection, char *bytes)
{
	struct linger_guard guard;
	ssize_t n = linger_guard_open(&guard);

	if (n < 0)
		return n;
	n = local_socket_receive_bytes(connection, bytes, REQUEST_MAX, QUESTION_TIMEOUT, &guard);
	linger_guard_close(&guard);
	return n > 0 && bytes[n - 1] == '\0' ? n : -EPROTO;
}

/* words: REQUEST_WORDS + 1 of them, NULL at the end. */
static int split(char *bytes, size_t n, char **words, struct service_question *q)
{
	size_t at = 0;

	q->words = words;
	while (at < n && take_setting(bytes + at, q))
		at += strlen(bytes + at) + 1;
	for (; at < n; at += strlen(bytes + at) + 1) {
		if (q->n_words == REQUEST_WORDS)
			return -E2BIG;
		words[q->n_words++] = bytes + at;
	}
	words[q->n_words] = NULL;
	return q->n_words > 0 ? 0 : -EPROTO;
}

/* The asker gets the ends to read from; the answer is written as standard output and error. */
static int open_output(int connection)
{
	int output[2], errors[2], nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), r;

	(void)dup2(nothing, STDIN_FILENO);
	if (pipe2(output, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
		return -errno;
	r = local_socket_send_descriptors(connection, (const int[]){output[0], errors[0]}, 2);
	if (r == 0 && (dup2(output[1], STDOUT_FILENO) < 0 || dup2(errors[1], STDERR_FILENO) < 0))
		r = -errno;
	close(output[0]);
	close(output[1]);
	close(errors[0]);
	close(errors[1]);
	return r;
}

/* An asker that goes away, or a byte of the process that forks the answers, ends the answer: by SIGIO, which nothing handles. */
static void end_with(int fd)
{
	(void)fcntl(fd, F_SETOWN, getpid());
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

static void say_status(int connection, int status)
{
	const uint8_t byte = (uint8_t)status;

	fflush(NULL);
	(void)fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_ASYNC);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	(void)send(connection, &byte, 1, MSG_NOSIGNAL);
}

void service_answer(const struct service_options *options, const struct service_asker *asker)
{
	char bytes[REQUEST_MAX], *words[REQUEST_WORDS + 1];
	struct service_question q = {.uid = asker->uid, .gid = asker->gid, .capture = options->capture};
	ssize_t n;

	default_signals();
	end_with(asker->end);
	urgent_reserve_files(FILES_MOST);
	bound_resources(asker);
	set_environment();
	take_priority(asker);
	n = read_question(asker->connection, bytes);
	if (n < 0)
		_exit(STATUS_CANNOT);
	if (open_output(asker->connection) < 0)
		_exit(STATUS_CANNOT);
	end_with(asker->connection);
	if (split(bytes, (size_t)n, words, &q) < 0) {
		fprintf(stderr, "whyslow: a question has at most %d words\n", REQUEST_WORDS);
		say_status(asker->connection, STATUS_CANNOT);
		_exit(STATUS_CANNOT);
	}
	say_status(asker->connection, options->answer(&q, options->data));
	_exit(EXIT_SUCCESS);
}
