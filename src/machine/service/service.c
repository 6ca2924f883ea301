#include "machine/service/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/vec.h"
#include "lib/system/local-socket.h"
#include "lib/system/urgent.h"
#include "machine/answer-live/process-memory.h"
#include "machine/client/request.h"
#include "machine/recorder/capture.h"
#include "machine/recorder/ending.h"
#include "machine/recorder/reaper.h"
#include "machine/recorder/tick-guard.h"
#include "machine/service/service-answer.h"
#include "machine/service/service-budget.h"

#define STARTING     "socket.starting"
#define ENDING_PATIENCE 5000 /* ms from the end of its descriptors to that of the recorder */
#define LEAVING_MOST 16 /* answers that were ended for others and are still there */
#define RESTART_PAUSE 500 /* ms */
#define FORKS_URGENT 50 /* questions a second up to which this process keeps its real-time priority */

struct service {
	struct service_options options;
	char *run_dir;
	int listen_fd;
	int alive;  /* the answering process ends when the recorder's copy is closed */
	pid_t pid;  /* of the process that starts it; 0 = that could not be started */
	bool opened;
	bool failed; /* that was said */
};

struct running {
	pid_t pid;
	uint32_t uid;
	int64_t since; /* monotonic ns */
	int end;       /* a byte here ends it: this process has no right to signal processes of other users */
	bool leaving;
};

/* The process that forks. */
struct forker {
	const struct service *service;
	struct linger_guard guard;
	struct budget budget;
	VEC(struct running) answers;
	struct reaper reaper;
	int64_t second; /* monotonic ns: when the count began */
	unsigned in_second;
	bool urgent;
};

/* --- the process that forks --- */

static void set_urgent(struct forker *f, bool urgent)
{
	if (f->urgent != urgent && f->service->options.realtime)
		(void)(urgent ? urgent_set_inherited() : urgent_set(false));
	f->urgent = urgent;
}

/* Who asks without end must not have forks at real-time priority for it. */
static void count_question(struct forker *f, int64_t now)
{
	if (now - f->second >= NS_PER_SEC) {
		f->second = now;
		f->in_second = 0;
	}
	set_urgent(f, ++f->in_second <= FORKS_URGENT);
}

static void say_busy(struct forker *f, int connection)
{
	const uint8_t busy = REQUEST_BUSY;

	(void)send(connection, &busy, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	local_socket_close(connection, &f->guard);
}

static void __attribute__((noreturn)) answer(struct forker *f, const struct service_asker *asker)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	reaper_leave(&f->reaper);
	close(f->service->listen_fd);
	for (size_t i = 0; i < f->answers.n; i++)
		close(f->answers.v[i].end);
	service_answer(&f->service->options, asker);
}

/* 0 or -errno: it is not there then. */
static int fork_answer(struct forker *f, struct service_asker *asker)
{
	int ends[2], r = VEC_GROW(f->answers);
	pid_t pid;

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	asker->end = ends[1];
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		answer(f, asker);
	}
	r = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r == 0)
		f->answers.v[f->answers.n++] = (struct running){pid, asker->uid, clock_monotonic(), ends[0], false};
	else
		close(ends[0]);
	return r;
}

static void start_answer(struct forker *f, int connection, const struct ucred *peer, bool urgent)
{
	struct service_asker asker = {connection, -1, peer->uid, peer->gid, peer->pid, urgent && f->service->options.realtime};

	if (fork_answer(f, &asker) < 0) {
		budget_leave(&f->budget, peer->uid);
		say_busy(f, connection);
		return;
	}
	local_socket_close(connection, &f->guard);
}

static struct running *find_oldest(struct forker *f, uint32_t uid)
{
	struct running *oldest = NULL;

	VEC_EACH(one, f->answers)
		if (one->uid == uid && !one->leaving && (!oldest || one->since < oldest->since))
			oldest = one;
	return oldest;
}

static unsigned count_leaving(const struct forker *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->answers.n; i++)
		n += f->answers.v[i].leaving;
	return n;
}

/* The oldest answer of the user who has most of them ends for one who has fewer. */
static bool make_room(struct forker *f, uint32_t uid)
{
	struct running *one;
	uint32_t heaviest;

	if (f->budget.running < BUDGET_ALL || count_leaving(f) >= LEAVING_MOST || !budget_find_heaviest(&f->budget, uid, &heaviest))
		return false;
	one = find_oldest(f, heaviest);
	if (!one || send(one->end, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return false;
	one->leaving = true;
	budget_leave(&f->budget, heaviest);
	return true;
}

static bool may_ask(struct forker *f, uint32_t uid, int64_t now, bool *ret_urgent)
{
	return budget_begin(&f->budget, uid, now, ret_urgent) || (make_room(f, uid) && budget_begin(&f->budget, uid, now, ret_urgent));
}

static void accept_one(struct forker *f)
{
	int connection = local_socket_accept(f->service->listen_fd);
	int64_t now = clock_monotonic();
	struct ucred peer;
	socklen_t length = sizeof(peer);
	bool urgent = false;

	if (connection < 0)
		return;
	count_question(f, now);
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
	    !may_ask(f, peer.uid, now, &urgent))
		say_busy(f, connection);
	else
		start_answer(f, connection, &peer, urgent && f->urgent);
}

static int64_t cpu_of(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NS_PER_SEC +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

static void note_end(struct forker *f, struct running *one, int status, const struct rusage *usage)
{
	int64_t now = clock_monotonic();
	bool late = now - one->since >= ANSWER_TIMEOUT * NS_PER_SEC;

	if (!one->leaving)
		budget_leave(&f->budget, one->uid);
	budget_charge(&f->budget, one->uid, now, cpu_of(usage));
	close(one->end);
	*one = f->answers.v[--f->answers.n];
	if (WIFSIGNALED(status) && service_is_crash(WTERMSIG(status)))
		log_warning("a process that answered a question crashed (%s)", strsignal(WTERMSIG(status)));
	else if (WIFSIGNALED(status) && late)
		log_warning("a process that answered a question was ended after %d s", ANSWER_TIMEOUT);
}

static void reap(struct forker *f, int signals)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	int status;

	(void)!read(signals, &info, sizeof(info));
	for (size_t i = f->answers.n; i > 0; i--)
		if (reaper_look(&f->reaper, f->answers.v[i - 1].pid, false, &status, &usage) == 1)
			note_end(f, &f->answers.v[i - 1], status, &usage);
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	/* who ends all processes of a unit would take away the one that knows how the recorder ended; it ends with it */
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigdelset(&set, SIGTERM);
	/* the recorder is who is stopped from a terminal; this process ends with it */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void prepare(struct forker *f)
{
	const struct service_options *o = &f->service->options;

	capture_inherit(o->capture);
	if (o->lock_memory)
		(void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	reaper_open(&f->reaper);
	set_urgent(f, true);
}

/* The pipe closes a moment before the process has ended; while the recorder lives it kills this process instead. */
static void note_ending(const struct forker *f, pid_t recorder, int pidfd)
{
	struct pollfd ended = {pidfd, POLLIN, 0};

	if (pidfd >= 0 && poll(&ended, 1, ENDING_PATIENCE) == 1)
		ending_note(f->service->run_dir, recorder, pidfd);
}

static void __attribute__((noreturn)) run_forker(const struct service *s, int alive, pid_t recorder)
{
	struct forker f = {.service = s};
	int signals = open_signals(), pidfd = (int)syscall(SYS_pidfd_open, recorder, 0);
	struct pollfd fds[] = {{s->listen_fd, POLLIN, 0}, {alive, POLLIN, 0}, {signals, POLLIN, 0}, {pidfd, POLLIN, 0},
			       {s->options.realtime ? tick_guard_fd(s->options.guard) : -1, POLLIN, 0}};

	prepare(&f);
	if (signals < 0 || linger_guard_open(&f.guard) < 0)
		_exit(EXIT_FAILURE);
	while (poll(fds, ARRAY_SIZE(fds), -1) >= 0 || errno == EINTR) {
		if (fds[1].revents || fds[3].revents)
			break;
		if (fds[2].revents)
			reap(&f, signals);
		if (fds[4].revents)
			tick_guard_act(s->options.guard, recorder);
		if (fds[0].revents)
			accept_one(&f);
	}
	local_socket_close(s->listen_fd, &f.guard); /* questions are refused from now on */
	note_ending(&f, recorder, pidfd);
	_exit(EXIT_SUCCESS);
}

/* --- the process that starts it, again and again --- */

static bool has_ended(int alive, int patience)
{
	struct pollfd end = {alive, POLLIN, 0};

	return poll(&end, 1, patience) == 1;
}

/* A fork of the recorder itself would have the locks that its threads hold at that moment, SQLite's among them, which no thread releases there,
 * and would take the recorder's locks on files for its own. This process is as the recorder was before it had threads. */
static void __attribute__((noreturn)) run_starter(const struct service *s, int alive)
{
	pid_t recorder = getppid();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL); /* as the process that answers, it ends with the recorder alone */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	cleanup_fd(&(int){s->options.close_fd});
	do {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_forker(s, alive, recorder);
		}
		if (pid > 0)
			(void)waitpid(pid, &status, 0);
		if (has_ended(alive, 0))
			break;
		log_warning(pid > 0 ? "the process that answers questions ended (%s): it is started again" : "cannot start the process that answers questions: %s",
			    pid < 0 ? strerror(errno) : WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "by itself");
	} while (!has_ended(alive, RESTART_PAUSE));
	_exit(EXIT_SUCCESS);
}

/* --- the recorder's side --- */

static int start(struct service *s)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	s->pid = fork();
	if (s->pid == 0) {
		process_memory_keep_count();
		close(ends[1]);
		run_starter(s, ends[0]);
	}
	close(ends[0]);
	if (s->pid < 0) {
		int r = -errno;

		s->pid = 0;
		close(ends[1]);
		return r;
	}
	s->alive = ends[1];
	return 0;
}

int service_start(const struct service_options *options, struct service **ret)
{
	struct service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->options = *options;
	s->alive = s->listen_fd = -1;
	s->run_dir = strdup(options->run_dir);
	r = s->run_dir ? 0 : -ENOMEM;
	if (r == 0) {
		s->listen_fd = local_socket_listen(s->run_dir, STARTING, SOCK_SEQPACKET, 0600);
		r = s->listen_fd < 0 ? s->listen_fd : 0;
	}
	r = r ?: start(s);
	if (r < 0) {
		service_stop(s);
		return r;
	}
	*ret = s;
	return 0;
}

int service_open(struct service *s)
{
	_cleanup_free_ char *starting = NULL, *path = NULL;

	if (!s)
		return 0;
	if (asprintf(&starting, "%s/" STARTING, s->run_dir) < 0) {
		starting = NULL;
		return -ENOMEM;
	}
	if (asprintf(&path, "%s/socket", s->run_dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (rename(starting, path) < 0)
		return -errno;
	s->opened = true;
	return 0;
}

void service_tend(struct service *s)
{
	int status, r;

	if (!s || (s->pid && waitpid(s->pid, &status, WNOHANG) == 0))
		return;
	if (s->pid)
		log_warning("the process that starts the one that answers questions ended (%s): both are started again",
			    WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "by itself");
	s->pid = 0;
	cleanup_fd(&s->alive);
	s->alive = -1;
	r = start(s);
	if (r < 0 && !s->failed)
		log_warning("cannot start the process that answers questions: %s; only root gets answers", strerror(-r));
	s->failed = r < 0;
}

void service_stop(struct service *s)
{
	if (!s)
		return;
	if (s->pid > 0) {
		kill(s->pid, SIGKILL); /* and the one that answers with it, before the pipe closes, which says that the recorder has died */
		waitpid(s->pid, NULL, 0);
	}
	cleanup_fd(&s->alive);
	if (s->listen_fd >= 0)
		local_socket_unlink_in(s->run_dir, s->opened ? "socket" : STARTING);
	local_socket_close(s->listen_fd, NULL);
	FREE_ALL(s->run_dir, s);
}
