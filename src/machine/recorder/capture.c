#include "machine/recorder/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/system/fair-share.h"
#include "lib/system/file-lock.h"
#include "lib/system/helper-thread.h"
#include "lib/system/local-socket.h"
#include "lib/system/locked-memory.h"
#include "lib/system/urgent.h"
#include "machine/recorder/capture-locks.h"
#include "machine/recorder/capture-symbols.h"
#include "machine/recorder/profiler.h"
#include "machine/recorder/reaper.h"
#include "machine/symbol/kernel.h"
#include "machine/trace/capture-client.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-folder.h"

#define AFTER_PRESS  5000 /* ms: what follows a press is kept too */
#define MARKERS_MAX  4096
#define MARKER_AGE   (600ull * NS_PER_SEC) /* then another user's may take its place */
#define PRESS_PATIENCE 1000 /* ms for root's program to say what it wants once it has connected */
#define THREAD_STACK (512 << 10)
#define COPY_BUDGET  200000000 /* ns of CPU at real-time priority in a second: a copy of two million events takes half of it */
#define ASIDE_TIMEOUT 60 /* s */
#define IDLE_BUSY    0.02 /* CPUs' worth of work below which no samples are taken */
#define NS_STALE     (1 * NS_PER_SEC)
#define SAME_MOMENT  (2 * NS_PER_SEC) /* questions so close to each other are about the same */
#define SHARED_PATIENCE (500 * NS_PER_MS) /* for another question's copy; an own one takes about as long */

struct marker {
	uint64_t number; /* in which order they came, from 1 on; 0 = none is here, or it is being written */
	uint64_t time;
	uint32_t thread, uid;
	uint8_t flags;
	char text[CAPTURE_TEXT];
};

/* Shared with the processes that are forked from the recorder. */
struct markers {
	struct marker v[MARKERS_MAX];
	uint64_t frozen;	      /* of the events of the marks that wait; by the process that copied them */
};

/* Questions about now share a file in memory: this, and the events as trace_write() has them. */
struct shared_moment {
	int64_t asked; /* monotonic ns; 0 = none is kept */
	int64_t at;    /* the moment asked about, wall ns */
	int64_t whole; /* the events are there, too */
};

struct capture {
	struct flight *flight;
	struct kernel_names kernel;
	struct profiler *profiler; /* NULL = no profiles are kept */
	struct profiler_options profiles;
	bool keeps_profiles;
	struct helper *helper;	       /* the same; of the process that made it */
	pthread_t press_thread, marker_thread;
	bool has_press_thread, has_marker_thread, realtime;
	struct reaper reaper; /* of the copies */
	int markers_fd, press_fd, shared_fd, stop[2];
	char *run_dir, *store_file, *folder;
	uint64_t disk;
	struct markers *markers;
	uint64_t n_markers;		/* that came; of the thread that takes them, as the next one */
	struct fair_share marker_share; /* places among users */
	bool inherited; /* this is the copy of a forked process */
	struct {
		VEC(int64_t) marks; /* that wait for the same second freeze; the first one's file has the events up to now */
		int64_t due; /* boot ns; 0 = none waits */
	} press;
};

/* --- markers --- */

static bool is_thread_of(uint32_t process, uint32_t thread)
{
	return access(STR_TEXT(64, "/proc/%u/task/%u", process, thread), F_OK) == 0;
}

static void forget_old_markers(struct capture *c, uint64_t now)
{
	for (struct marker *m = c->markers->v; m < c->markers->v + MARKERS_MAX; m++)
		if (m->number && now > m->time + MARKER_AGE) {
			__atomic_store_n(&m->number, 0, __ATOMIC_RELEASE);
			fair_share_release(&c->marker_share, m->uid, 0, 1);
		}
}

static struct marker *find_empty(struct capture *c)
{
	for (struct marker *m = c->markers->v; m < c->markers->v + MARKERS_MAX; m++)
		if (!m->number)
			return m;
	return NULL;
}

static struct marker *find_oldest(const struct capture *c, uint32_t uid)
{
	struct marker *oldest = NULL;

	for (struct marker *m = c->markers->v; m < c->markers->v + MARKERS_MAX; m++)
		if (m->number && m->uid == uid && (!oldest || m->number < oldest->number))
			oldest = m;
	return oldest;
}

static struct marker *take_empty(struct capture *c, uint32_t uid)
{
	struct marker *m = c->n_markers < MARKERS_MAX ? &c->markers->v[c->n_markers] : find_empty(c);

	return m && fair_share_take(&c->marker_share, uid, 0, 1) ? m : NULL;
}

/* Who sends without end replaces markers of that user alone. A user who has none may replace old ones. NULL = none is old enough. */
static struct marker *take_place(struct capture *c, uint32_t uid, uint64_t now)
{
	struct marker *m = take_empty(c, uid);

	m = m ?: find_oldest(c, uid);
	if (m)
		return m;
	forget_old_markers(c, now);
	return take_empty(c, uid);
}

static void take_marker(struct capture *c, const struct capture_message *r, const struct ucred *from)
{
	uint64_t now = (uint64_t)clock_monotonic();
	uint32_t length = r->length < CAPTURE_TEXT ? r->length : CAPTURE_TEXT;
	struct marker *m = take_place(c, from->uid, now);

	if (!m)
		return;
	__atomic_store_n(&m->number, 0, __ATOMIC_RELEASE);
	m->time = r->time && r->time <= now && now - r->time < NS_STALE ? r->time : now;
	m->thread = r->thread && is_thread_of((uint32_t)from->pid, r->thread) ? r->thread : (uint32_t)from->pid;
	m->uid = from->uid;
	m->flags = (uint8_t)r->flags;
	memset(m->text, 0, sizeof(m->text));
	memcpy(m->text, r->text, length);
	__atomic_store_n(&m->number, ++c->n_markers, __ATOMIC_RELEASE);
}

static int add_marker(struct trace *t, const struct marker *m)
{
	struct event e = {.time = m->time, .thread = m->thread, .kind = EVENT_MARKER, .flags = m->flags};
	int r = 0;

	for (size_t at = 0; r == 0 && (at == 0 || (at < CAPTURE_TEXT && m->text[at])); at += EVENT_TEXT) {
		memcpy(e.text, m->text + at, EVENT_TEXT);
		r = trace_add(t, &e);
		e.kind = EVENT_MARKER_TEXT;
	}
	return r;
}

static int add_markers(const struct capture *c, uint64_t since, struct trace *t)
{
	int r = 0;

	for (size_t i = 0; i < MARKERS_MAX && r == 0; i++) {
		bool there = __atomic_load_n(&c->markers->v[i].number, __ATOMIC_ACQUIRE);
		const struct marker m = there ? c->markers->v[i] : (struct marker){};

		if (m.number && m.time > since && m.time >= t->from && m.time <= t->to)
			r = add_marker(t, &m);
	}
	return r < 0 ? r : trace_finish(t);
}

/* --- freezes --- */

/* In the recorder's own process: what answers there has its own budget. */
static void set_urgent(const struct capture *c, bool urgent)
{
	if (!c->inherited && c->realtime)
		(void)urgent_set(urgent);
}

/* Never blocks in another process's memory. */
static int name_addresses(struct capture *c, struct trace *t)
{
	int r = c->helper ? 0 : helper_new(&c->helper);

	(void)kernel_names_get(&c->kernel);
	return r < 0 ? r : capture_symbols(t, "/proc", &c->kernel.symbols, c->helper);
}

static int freeze_quietly(struct capture *c, uint64_t since, size_t most, bool named, int patience, struct trace *ret)
{
	_cleanup_(trace_clear) struct trace t = {};
	int r = flight_freeze_since(c->flight, since, most, &t);

	set_urgent(c, false); /* what is written over in the meantime is copied: the rest has time */
	if (r == 0)
		capture_locks(&t, "/proc", patience);
	if (r == 0 && named)
		r = name_addresses(c, &t);
	r = r ?: add_markers(c, since, &t);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct trace){};
	return 0;
}

static int freeze(struct capture *c, uint64_t since, size_t most, struct trace *ret)
{
	int r = freeze_quietly(c, since, most, true, FILE_LOCKS_PATIENCE, ret);

	if (r < 0)
		log_warning("cannot read the flight recorder: %s", strerror(-r));
	return r;
}

int capture_freeze(struct capture *c, uint64_t since, size_t most, bool named, int patience, struct trace *ret)
{
	_cleanup_free_ char *error = NULL;

	if (!c->inherited)
		return capture_now(c->run_dir, most, patience, ret, &error);
	patience /= 10; /* for who holds which file, of which the asker may do without */
	return freeze_quietly(c, since, most, named, patience < FILE_LOCKS_PATIENCE ? patience : FILE_LOCKS_PATIENCE, ret);
}

void capture_inherit(struct capture *c)
{
	if (!c)
		return;
	c->inherited = flight_inherit(c->flight) == 0;
	c->helper = NULL; /* its threads are not here */
}

/* Who is killed releases it. */
static bool lock_shared(int fd)
{
	const int64_t until = clock_monotonic() + SHARED_PATIENCE;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (clock_monotonic() > until)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 5 * NS_PER_MS}, NULL);
	}
	return true;
}

static bool read_shared(int fd, struct shared_moment *m)
{
	return pread(fd, m, sizeof(*m), 0) == (ssize_t)sizeof(*m) && m->asked && clock_monotonic() - m->asked < SAME_MOMENT;
}

static int write_shared(int fd, const struct shared_moment *m)
{
	return pwrite(fd, m, sizeof(*m), 0) == (ssize_t)sizeof(*m) ? 0 : -EIO;
}

int capture_freeze_now(struct capture *c, uint64_t since, size_t most, int patience, int64_t *at, struct trace *ret)
{
	/* opened once more: no other process moves its position or has its lock */
	_cleanup_close_ int fd = c->inherited ? open(STR_TEXT(40, "/proc/self/fd/%d", c->shared_fd), O_RDWR | O_CLOEXEC) : -1;
	_cleanup_free_ char *error = NULL;
	const bool locked = fd >= 0 && lock_shared(fd);
	struct shared_moment m = {};
	bool keeps;
	int r;

	if (fd >= 0 && read_shared(fd, &m))
		*at = m.at;
	else
		m = (struct shared_moment){clock_monotonic(), *at, false};
	if (locked && m.whole && lseek(fd, sizeof(m), SEEK_SET) > 0 && trace_read(fd, ret, &error) == 0)
		return 0;
	m.whole = false;
	keeps = locked && ftruncate(fd, 0) == 0 && write_shared(fd, &m) == 0; /* the next one shares the moment, whatever becomes of the events */
	r = capture_freeze(c, since, most, false, patience, ret);
	m.whole = true;
	if (r == 0 && keeps && lseek(fd, sizeof(m), SEEK_SET) > 0 && trace_write(ret, fd) == 0)
		(void)write_shared(fd, &m);
	return r;
}

void capture_leave(struct capture *c)
{
	if (!c || !c->inherited)
		return;
	cleanup_fd(&c->shared_fd);
	c->shared_fd = -1;
}

static void forget_old_moment(const struct capture *c)
{
	struct shared_moment m = {};

	if (read_shared(c->shared_fd, &m) || !m.asked || flock(c->shared_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	(void)!ftruncate(c->shared_fd, 0);
	(void)flock(c->shared_fd, LOCK_UN);
}

/* The trace as a file in memory, which goes to the asker: who reads it slowly or not at all holds nothing up here. */
static void answer(struct capture *c, int connection, size_t most)
{
	_cleanup_close_ int fd = memfd_create("trace", MFD_CLOEXEC);
	_cleanup_(trace_clear) struct trace t = {};

	if (fd >= 0 && freeze(c, 0, most, &t) == 0 && trace_write(&t, fd) == 0 && lseek(fd, 0, SEEK_SET) == 0)
		(void)local_socket_send_descriptors(connection, &fd, 1);
}

/* --- what takes much memory --- */

struct copying {
	int connection; /* who asked for the events of now */
	size_t most;
};

static void begin_aside(struct capture *c, bool urgent)
{
	sigset_t alarms;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it has the recorder's locks: the next one waits for them a moment */
	c->helper = NULL; /* its threads are not here */
	reaper_leave(&c->reaper);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(ASIDE_TIMEOUT);
	if (urgent)
		(void)urgent_for(COPY_BUDGET);
	(void)locked_memory_lock(); /* as the recorder: on a machine that crawls the copy must not wait for a disk */
}

/* Runs a step in a process of its own. It has the events of the whole ring in memory, which would otherwise be the recorder's: locked, and
 * never quite given back. It is as urgent as the caller from its first moment. The step's return value, -ECANCELED if it was killed. */
static int run_aside(struct capture *c, int (*step)(struct capture *c, const struct copying *data), const struct copying *data)
{
	const bool urgent = c->realtime && urgent_is();
	int status, r;
	pid_t pid;

	(void)kernel_names_get(&c->kernel); /* here, for all that follow */
	if (urgent)
		(void)urgent_set_inherited();
	pthread_mutex_lock(&c->kernel.lock); /* no other thread holds it in the copy */
	pid = fork();
	pthread_mutex_unlock(&c->kernel.lock);
	if (pid == 0) {
		begin_aside(c, urgent);
		_exit(-step(c, data));
	}
	if (urgent)
		set_urgent(c, true);
	if (pid < 0)
		return -errno;
	r = reaper_look(&c->reaper, pid, true, &status, NULL);
	if (r < 0)
		return r;
	if (WIFEXITED(status))
		return -WEXITSTATUS(status);
	log_warning("the flight recorder was not copied: the process that does it was ended by signal %d", WTERMSIG(status));
	return -ECANCELED;
}

static int answer_aside(struct capture *c, const struct copying *asked)
{
	answer(c, asked->connection, asked->most);
	return 0;
}

/* --- marks --- */

/* Next to its place, then into it: a reader sees the old one or the new one. */
static int write_trace(const struct capture *c, const struct trace *t, int64_t mark)
{
	_cleanup_free_ char *path = trace_file_of(c->folder, mark), *beside = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (!path || asprintf(&beside, "%s.new", path) < 0)
		return -ENOMEM;
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = trace_write(t, fd);
	if (r == 0 && rename(beside, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(beside);
	return r;
}

static int report(const struct capture *c, int64_t mark, int r)
{
	if (r < 0)
		log_warning("the trace of mark %" PRId64 " cannot be saved in %s: %s", mark, c->folder, strerror(-r));
	return r;
}

/* Aside: the events before a press. */
static int copy_before(struct capture *c, const struct copying *unused)
{
	_cleanup_(trace_clear) struct trace t = {};
	int r = freeze(c, 0, 0, &t);

	(void)unused;
	c->markers->frozen = t.frozen;
	return r < 0 ? r : report(c, c->press.marks.v[0], write_trace(c, &t, c->press.marks.v[0]));
}

/* Aside: with those of the seconds after it. */
static int copy_after(struct capture *c, const struct copying *unused)
{
	_cleanup_free_ char *path = trace_file_of(c->folder, c->press.marks.v[0]), *error = NULL;
	_cleanup_(trace_clear) struct trace t = {}, later = {};
	int r = freeze(c, c->markers->frozen, 0, &later);

	(void)unused;
	r = r ?: (path ? trace_read_file(path, &t, &error) : -ENOMEM);
	r = r ?: trace_append(&t, &later);
	for (size_t i = 0; r == 0 && i < c->press.marks.n; i++)
		r = report(c, c->press.marks.v[i], write_trace(c, &t, c->press.marks.v[i]));
	return r;
}

/* A name of the same file: each is replaced, and never changed. */
static int share_file(const struct capture *c, int64_t from, int64_t mark)
{
	_cleanup_free_ char *there = trace_file_of(c->folder, from), *path = trace_file_of(c->folder, mark);

	if (!there || !path)
		return -ENOMEM;
	return link(there, path) < 0 && errno != EEXIST ? -errno : 0;
}

static void trim(const struct capture *c, int64_t mark)
{
	(void)report(c, mark, trace_trim(c->folder, c->disk, mark, c->store_file, c->run_dir));
}

/* Marks pressed while one waits share its trace: the past is the same. It is written at once: it may be asked for before the 5 s are over. */
static void press(struct capture *c, int64_t mark)
{
	for (size_t i = 0; i < c->press.marks.n; i++)
		if (c->press.marks.v[i] == mark)
			return;
	if (VEC_PUSH(c->press.marks, mark) < 0)
		return;
	if (c->press.due) {
		(void)report(c, mark, share_file(c, c->press.marks.v[0], mark));
	} else if (run_aside(c, copy_before, NULL) < 0) { /* which has said why */
		c->press.marks.n = 0;
		return;
	} else {
		c->press.due = clock_boot() + AFTER_PRESS * NS_PER_MS;
	}
	trim(c, mark);
}

static void finish_press(struct capture *c)
{
	if (run_aside(c, copy_after, NULL) == 0)
		trim(c, c->press.marks.v[c->press.marks.n - 1]);
	c->press.marks.n = 0;
	c->press.due = 0;
}

/* --- the thread --- */

/* RUN/ring is for everybody: the kernel says who sent a message. */
static void receive_marker(struct capture *c, struct linger_guard *guard)
{
	struct capture_message r = {};
	struct iovec io = {&r, sizeof(r)};
	struct local_message m = {.parts = &io, .n_parts = 1, .guard = guard};

	if (local_socket_receive(c->markers_fd, &m) != (ssize_t)sizeof(r) || !m.from.pid || r.kind != CAPTURE_MARKER)
		return;
	take_marker(c, &r, &m.from);
}

/* RUN/press is root's, or of the user whose recorder this is. */
static void receive_press(struct capture *c)
{
	_cleanup_close_ int fd = local_socket_accept(c->press_fd);
	struct capture_message r = {};

	if (fd < 0 || local_socket_receive_bytes(fd, &r, sizeof(r), PRESS_PATIENCE, NULL) != (ssize_t)sizeof(r))
		return;
	if (r.kind == CAPTURE_MARK)
		press(c, r.mark);
	else if (r.kind == CAPTURE_FREEZE)
		(void)run_aside(c, answer_aside, &(struct copying){fd, r.mark > 0 ? (size_t)r.mark : 0});
}

static int time_left(const struct capture *c)
{
	int64_t left = c->press.due - clock_boot();

	return !c->press.due ? -1 : left > 0 ? (int)(left / NS_PER_MS) + 1 : 0;
}

static void *listen_for_markers(void *argument)
{
	struct capture *c = argument;
	struct pollfd fds[] = {{c->markers_fd, POLLIN, 0}, {c->stop[0], POLLIN, 0}};
	struct linger_guard guard;
	int r = linger_guard_open(&guard);

	if (r < 0) {
		log_warning("markers are not recorded: cannot make a timer (%s)", strerror(-r));
		return NULL;
	}
	while ((poll(fds, ARRAY_SIZE(fds), -1) >= 0 || errno == EINTR) && !fds[1].revents)
		if (fds[0].revents)
			receive_marker(c, &guard);
	linger_guard_close(&guard);
	return NULL;
}

static void listen_until_stopped(struct capture *c, struct urgent_budget *budget)
{
	struct pollfd fds[] = {{c->press_fd, POLLIN, 0}, {c->stop[0], POLLIN, 0}};

	int64_t renewed = 0;

	for (;;) {
		const int64_t now = clock_monotonic();
		int n;

		if (!renewed || now - renewed >= NS_PER_SEC) {
			urgent_budget_set(budget, COPY_BUDGET);
			renewed = now;
		}
		if (urgent_budget_is_left(budget))
			set_urgent(c, true);
		n = poll(fds, ARRAY_SIZE(fds), time_left(c));
		if ((n < 0 && errno != EINTR) || (n > 0 && fds[1].revents))
			return;
		if (n > 0 && fds[0].revents)
			receive_press(c);
		if (c->press.due && time_left(c) == 0)
			finish_press(c);
	}
}

static void *listen_for_presses(void *argument)
{
	struct capture *c = argument;
	struct urgent_budget budget;
	int r = flight_attach(c->flight);

	if (r < 0)
		log_warning("no flight recorder: cannot attach its programs (%s)", strerror(-r));
	r = urgent_budget_open(&budget, CLOCK_THREAD_CPUTIME_ID);
	if (r < 0) {
		log_warning("events of marks are not saved: cannot make a timer (%s)", strerror(-r));
		return NULL;
	}
	listen_until_stopped(c, &budget);
	urgent_budget_close(&budget);
	if (c->press.due)
		finish_press(c);
	return NULL;
}

/* --- begin and end --- */

static int listen_on(struct capture *c)
{
	c->markers_fd = local_socket_listen(c->run_dir, "ring", SOCK_DGRAM, 0666);
	if (c->markers_fd < 0)
		return c->markers_fd;
	c->press_fd = local_socket_listen(c->run_dir, "press", SOCK_SEQPACKET, 0600);
	if (c->press_fd < 0)
		return c->press_fd;
	if (setsockopt(c->markers_fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) < 0 || pipe2(c->stop, O_CLOEXEC) < 0)
		return -errno;
	return 0;
}

static int tell_maps(struct capture *c)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct ring *ring = flight_ring(c->flight);
	struct ring_shared shared;
	int r = ring ? ring_shares(ring, &shared) : 0;

	if (!ring || r < 0)
		return r;
	if (asprintf(&path, "%s/ring-maps", c->run_dir) < 0)
		return -ENOMEM;
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fchmod(fileno(f), 0600);
	return fprintf(f, "%u %u %u %u %u\n", shared.look, shared.cpus, shared.counts, shared.ended, shared.task_size) < 0 ? -EIO : 0;
}

static int start_thread(struct capture *c, void *(*run)(void *), const char *name, pthread_t *ret)
{
	pthread_attr_t attributes;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	r = -pthread_create(ret, &attributes, run, c);
	pthread_attr_destroy(&attributes);
	if (r == 0)
		pthread_setname_np(*ret, name);
	return r;
}

/* Apart, because markers come from any user, and presses must not wait for them. */
static int start_threads(struct capture *c)
{
	int r;

	reaper_open(&c->reaper);
	r = start_thread(c, listen_for_presses, "whyslow-capture", &c->press_thread); /* its children are known as the recorder's by that */

	c->has_press_thread = r == 0;
	r = r ?: start_thread(c, listen_for_markers, "markers", &c->marker_thread);
	c->has_marker_thread = r == 0;
	return r;
}

int capture_open(const struct config *config, bool without_bpf, struct capture **ret, const char **ret_why)
{
	struct flight_options options = {
		.ring = {.bytes = config->ring_size, .stacks = true, .profile = config->ring_profile,
			 .keep_profile = config->ring_profile && config->ring_keep_profile, .attach_later = true},
		.without_bpf = without_bpf,
	};
	struct capture *c = calloc(1, sizeof(*c));
	const char *why = NULL;
	int r;

	if (!c)
		return -ENOMEM;
	c->markers_fd = c->press_fd = c->stop[0] = c->stop[1] = -1;
	c->shared_fd = memfd_create("moment", MFD_CLOEXEC); /* without it each question has its own moment */
	c->disk = config->ring_disk;
	pthread_mutex_init(&c->kernel.lock, NULL);
	c->keeps_profiles = options.ring.keep_profile;
	c->profiles = (struct profiler_options){.max_age = config->store_max_age, .max_bytes = profiler_share(config->store_max_size)};
	c->realtime = config->record_realtime;
	*ret_why = "its files cannot be made";
	c->markers = mmap(NULL, sizeof(*c->markers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->markers == MAP_FAILED)
		c->markers = NULL;
	c->marker_share.total = MARKERS_MAX;
	c->folder = trace_folder(config->store_file);
	c->run_dir = strdup(config->store_run_dir);
	c->store_file = strdup(config->store_file);
	r = c->markers && c->folder && c->run_dir && c->store_file ? flight_open(&options, &c->flight, &why) : -ENOMEM;
	if (r < 0) {
		*ret_why = why ? why : *ret_why;
		capture_stop(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* Without it everything else is recorded all the same. */
static void start_profiler(struct capture *c)
{
	int r;

	c->profiles.ring = flight_ring(c->flight);
	c->profiles.kernel = &c->kernel;
	c->profiles.store_file = c->store_file;
	r = profiler_start(&c->profiles, &c->profiler);
	if (r < 0)
		log_warning("no profiles are kept: %s", strerror(-r));
}

int capture_start(struct capture *c)
{
	int r = folder_make(c->folder, 0700);

	r = r ?: listen_on(c);
	r = r ?: tell_maps(c);
	r = r ?: start_threads(c);
	if (r == 0 && c->keeps_profiles && flight_ring(c->flight))
		start_profiler(c);
	return r;
}

void capture_stop(struct capture *c)
{
	static const char *const files[] = {"ring", "press", "ring-maps"};

	if (!c)
		return;
	profiler_stop(c->profiler);
	cleanup_fd(&c->stop[1]);
	c->stop[1] = -1;
	if (c->has_press_thread)
		pthread_join(c->press_thread, NULL);
	if (c->has_marker_thread)
		pthread_join(c->marker_thread, NULL);
	reaper_close(&c->reaper);
	for (size_t i = 0; c->run_dir && i < ARRAY_SIZE(files); i++)
		local_socket_unlink_in(c->run_dir, files[i]);
	local_socket_close(c->markers_fd, NULL);
	cleanup_fd(&c->press_fd);
	cleanup_fd(&c->shared_fd);
	cleanup_fd(&c->stop[0]);
	cleanup_fd(&c->stop[1]);
	flight_close(c->flight);
	kernel_symbols_free(c->kernel.symbols);
	pthread_mutex_destroy(&c->kernel.lock);
	helper_free(c->helper);
	VEC_FREE(c->press.marks);
	FREE_ALL(c->run_dir, c->store_file, c->folder);
	fair_share_reset(&c->marker_share);
	if (c->markers)
		munmap(c->markers, sizeof(*c->markers));
	free(c);
}

void capture_tick(struct capture *c, double busy)
{
	if (!c)
		return;
	forget_old_moment(c);
	flight_turn(c->flight);
	flight_profile(c->flight, busy >= IDLE_BUSY);
	profiler_tick(c->profiler, busy >= IDLE_BUSY);
}

struct ring *capture_ring(struct capture *c)
{
	return c ? flight_ring(c->flight) : NULL;
}

/* --- from other processes: see also machine/trace/capture-client.h --- */

int capture_join_sums(const char *run_dir, struct ring **ret)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct ring_shared shared;

	if (asprintf(&path, "%s/ring-maps", run_dir) < 0)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%u %u %u %u %u", &shared.look, &shared.cpus, &shared.counts, &shared.ended, &shared.task_size) != 5)
		return -EBADMSG;
	return ring_join(&shared, ret);
}

int capture_open_sums(const char *run_dir, struct ring **ret, bool *ret_live)
{
	struct ring_options alone = {.sums_only = true};
	const char *why = NULL;
	int r = capture_join_sums(run_dir, ret);

	if (ret_live)
		*ret_live = r == 0;
	if (r < 0)
		r = ring_open(&alone, ret, &why);
	if (r < 0)
		log_error("%s", why ? why : strerror(-r));
	return r;
}
