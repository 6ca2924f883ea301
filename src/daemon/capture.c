#include "daemon/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/log.h"
#include "daemon/capture-symbols.h"
#include "store/trace-file.h"
#include "store/trace-folder.h"
#include "symbol/kernel.h"

#define FREEZE_PATIENCE 20000 /* ms: a machine that starves; a recorder that does not answer for longer is stuck */
#define URGENT	     (-20) /* nice */
#define AFTER_PRESS  5000 /* ms: what follows a press is kept too */
#define MARKERS_MAX  4096
#define MARKER_TEXT  96
#define THREAD_STACK (512 << 10)
#define IDLE_BUSY    0.02 /* CPUs' worth of work below which no samples are taken */
#define NS_STALE     (1 * NS_PER_SEC)

enum request_kind { REQUEST_MARKER = 1, REQUEST_FREEZE = 2, REQUEST_MARK = 3 };

/* One datagram. include/whyslow-marker.h writes the same. */
struct request {
	uint32_t kind, flags;
	int64_t mark;
	uint64_t time; /* CLOCK_MONOTONIC; 0 = when it arrives */
	uint32_t thread;
	uint32_t length; /* of the text */
	char text[MARKER_TEXT];
};

struct marker {
	uint64_t time;
	uint32_t thread;
	uint8_t flags;
	char text[MARKER_TEXT];
};

struct capture {
	struct flight *flight;
	struct kernel_symbols *kernel; /* NULL until a trace needs them */
	pthread_t thread;
	bool running;
	int fd, stop[2];
	char *socket_path, *maps_path, *folder;
	uint64_t disk;
	struct marker *markers; /* MARKERS_MAX of them */
	uint64_t n_markers;
	struct {
		VEC(int64_t) marks; /* that wait for the same second freeze */
		struct trace before;
		int64_t due; /* boot ns; 0 = none waits */
	} press;
};

/* --- markers --- */

static bool is_thread_of(uint32_t process, uint32_t thread)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", process, thread);
	return access(path, F_OK) == 0;
}

static void take_marker(struct capture *c, const struct request *r, const struct ucred *from)
{
	struct marker *m = &c->markers[c->n_markers++ % MARKERS_MAX];
	uint64_t now = (uint64_t)monotonic_now();
	uint32_t length = r->length < MARKER_TEXT ? r->length : MARKER_TEXT;

	m->time = r->time && r->time <= now && now - r->time < NS_STALE ? r->time : now;
	m->thread = r->thread && is_thread_of((uint32_t)from->pid, r->thread) ? r->thread : (uint32_t)from->pid;
	m->flags = (uint8_t)r->flags;
	memset(m->text, 0, sizeof(m->text));
	memcpy(m->text, r->text, length);
}

static int add_marker(struct trace *t, const struct marker *m)
{
	struct event e = {.time = m->time, .thread = m->thread, .kind = EVENT_MARKER, .flags = m->flags};
	int r = 0;

	for (size_t at = 0; r == 0 && (at == 0 || (at < MARKER_TEXT && m->text[at])); at += EVENT_TEXT) {
		memcpy(e.text, m->text + at, EVENT_TEXT);
		r = trace_add(t, &e);
		e.kind = EVENT_MARKER_TEXT;
	}
	return r;
}

static int add_markers(const struct capture *c, uint64_t since, struct trace *t)
{
	uint64_t first = c->n_markers > MARKERS_MAX ? c->n_markers - MARKERS_MAX : 0;
	int r = 0;

	for (uint64_t i = first; i < c->n_markers && r == 0; i++) {
		const struct marker *m = &c->markers[i % MARKERS_MAX];

		if (m->time > since && m->time >= t->from && m->time <= t->to)
			r = add_marker(t, m);
	}
	return r < 0 ? r : trace_finish(t);
}

/* --- freezes --- */

static int freeze(struct capture *c, uint64_t since, struct trace *ret)
{
	_cleanup_(trace_clear) struct trace t = {};
	int r = flight_freeze_since(c->flight, since, &t);

	if (r == 0)
		r = capture_symbols(&t, &c->kernel);
	if (r == 0)
		r = add_markers(c, since, &t);
	if (r < 0) {
		log_warning("the flight recorder could not be read: %s", strerror(-r));
		return r;
	}
	*ret = t;
	t = (struct trace){};
	return 0;
}

static void answer(struct capture *c, int fd)
{
	_cleanup_(trace_clear) struct trace t = {};

	if (freeze(c, 0, &t) == 0)
		(void)trace_write(&t, fd);
}

/* Beside its place, then into it: a reader sees the old one or the new one. */
static int keep(const struct capture *c, const struct trace *t, int64_t mark)
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
	return r < 0 ? r : trace_trim(c->folder, c->disk, mark);
}

static void keep_all(struct capture *c, const struct trace *t)
{
	for (size_t i = 0; i < c->press.marks.n; i++) {
		int r = keep(c, t, c->press.marks.v[i]);

		if (r < 0)
			log_warning("the trace of mark %" PRId64 " is not kept in %s: %s", c->press.marks.v[i], c->folder,
				    strerror(-r));
	}
}

/* Marks pressed while one waits share its trace: the past is the same. */
static void press(struct capture *c, int64_t mark)
{
	for (size_t i = 0; i < c->press.marks.n; i++)
		if (c->press.marks.v[i] == mark)
			return;
	if (VEC_PUSH(c->press.marks, mark) < 0)
		return;
	if (!c->press.due) {
		if (freeze(c, 0, &c->press.before) < 0) {
			c->press.marks.n = 0;
			return;
		}
		c->press.due = boot_now() + AFTER_PRESS * NS_PER_MS;
	}
	keep_all(c, &c->press.before); /* at once: it may be asked for before the 5 s are over */
}

static void finish_press(struct capture *c)
{
	struct trace later = {};

	if (freeze(c, c->press.before.frozen, &later) == 0 && trace_append(&c->press.before, &later) == 0)
		keep_all(c, &c->press.before);
	trace_clear(&c->press.before);
	c->press.marks.n = 0;
	c->press.due = 0;
}

/* --- the thread --- */

static void serve(struct capture *c, const struct request *r, const struct ucred *from, int fd)
{
	if (r->kind == REQUEST_MARKER)
		take_marker(c, r, from);
	else if (from->uid != 0)
		return;
	else if (r->kind == REQUEST_MARK)
		press(c, r->mark);
	else if (r->kind == REQUEST_FREEZE && fd >= 0)
		answer(c, fd);
}

static void receive(struct capture *c)
{
	char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] = {};
	struct request r = {};
	struct iovec io = {&r, sizeof(r)};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct ucred from = {.uid = (uid_t)-1};
	_cleanup_close_ int fd = -1;
	ssize_t n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0)
		return;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level != SOL_SOCKET)
			continue;
		if (h->cmsg_type == SCM_CREDENTIALS)
			memcpy(&from, CMSG_DATA(h), sizeof(from));
		else if (h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	}
	if (n == (ssize_t)sizeof(r))
		serve(c, &r, &from, fd);
}

static int time_left(const struct capture *c)
{
	int64_t left = c->press.due - boot_now();

	return !c->press.due ? -1 : left > 0 ? (int)(left / NS_PER_MS) + 1 : 0;
}

static void *listen_always(void *argument)
{
	struct capture *c = argument;
	struct pollfd fds[] = {{c->fd, POLLIN, 0}, {c->stop[0], POLLIN, 0}};
	int r = flight_attach(c->flight);

	/* who asks does so because the machine is slow; of this thread alone, and after the start, which may take its time */
	(void)setpriority(PRIO_PROCESS, 0, URGENT);
	if (r < 0)
		log_warning("no flight recorder: its programs cannot be attached (%s)", strerror(-r));
	for (;;) {
		int n = poll(fds, ARRAY_SIZE(fds), time_left(c));

		if ((n < 0 && errno != EINTR) || fds[1].revents)
			break;
		if (n > 0 && fds[0].revents)
			receive(c);
		if (c->press.due && time_left(c) == 0)
			finish_press(c);
	}
	if (c->press.due)
		finish_press(c);
	return NULL;
}

/* --- begin and end --- */

static int socket_address(const char *run_dir, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((size_t)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/ring", run_dir) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	return 0;
}

static int listen_on(struct capture *c, const char *run_dir)
{
	struct sockaddr_un address;
	int r = socket_address(run_dir, &address);

	if (r < 0)
		return r;
	c->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	unlink(address.sun_path); /* the lock in RUN says that nobody else listens */
	if (bind(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(address.sun_path, 0666) < 0 ||
	    setsockopt(c->fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) < 0 || pipe2(c->stop, O_CLOEXEC) < 0)
		return -errno;
	c->socket_path = strdup(address.sun_path);
	return c->socket_path ? 0 : -ENOMEM;
}

static int tell_maps(struct capture *c, const char *run_dir)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct ring *ring = flight_ring(c->flight);
	struct ring_maps maps;
	int r = ring ? ring_maps(ring, &maps) : 0;

	if (!ring || r < 0)
		return r;
	if (asprintf(&c->maps_path, "%s/ring-maps", run_dir) < 0) {
		c->maps_path = NULL;
		return -ENOMEM;
	}
	f = fopen(c->maps_path, "we");
	if (!f)
		return -errno;
	fchmod(fileno(f), 0600);
	return fprintf(f, "%u %u %u %u %u\n", maps.threads, maps.thread_slots, maps.cpus, maps.counts, maps.ended) < 0 ? -EIO : 0;
}

static int start_thread(struct capture *c)
{
	pthread_attr_t attributes;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	r = -pthread_create(&c->thread, &attributes, listen_always, c);
	pthread_attr_destroy(&attributes);
	c->running = r == 0;
	if (r == 0)
		pthread_setname_np(c->thread, "capture");
	return r;
}

int capture_start(const struct config *config, bool without_bpf, struct capture **ret, const char **ret_why)
{
	struct flight_options options = {
		.ring = {.bytes = config->ring_size, .stacks = true, .profile = config->ring_profile, .attach_later = true},
		.without_bpf = without_bpf,
	};
	struct capture *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->fd = c->stop[0] = c->stop[1] = -1;
	c->disk = config->ring_disk;
	*ret_why = "its files cannot be made";
	c->markers = calloc(MARKERS_MAX, sizeof(*c->markers));
	c->folder = trace_folder(config->store_file);
	r = c->markers && c->folder ? flight_open(&options, &c->flight, ret_why) : -ENOMEM;
	if (r == 0)
		r = make_folders(c->folder, 0700);
	if (r == 0)
		r = listen_on(c, config->store_run_dir);
	if (r == 0)
		r = tell_maps(c, config->store_run_dir);
	if (r == 0)
		r = start_thread(c);
	if (r < 0) {
		capture_stop(c);
		return r;
	}
	*ret = c;
	return 0;
}

void capture_stop(struct capture *c)
{
	if (!c)
		return;
	if (c->running) {
		close(c->stop[1]);
		c->stop[1] = -1;
		pthread_join(c->thread, NULL);
	}
	if (c->socket_path)
		unlink(c->socket_path);
	if (c->maps_path)
		unlink(c->maps_path);
	close_fd(&c->fd);
	close_fd(&c->stop[0]);
	close_fd(&c->stop[1]);
	flight_close(c->flight);
	kernel_symbols_free(c->kernel);
	trace_clear(&c->press.before);
	VEC_FREE(c->press.marks);
	free(c->socket_path);
	free(c->maps_path);
	free(c->folder);
	free(c->markers);
	free(c);
}

void capture_tick(struct capture *c, double busy)
{
	if (!c)
		return;
	flight_turn(c->flight);
	flight_profile(c->flight, busy >= IDLE_BUSY);
}

struct ring *capture_ring(struct capture *c)
{
	return c ? flight_ring(c->flight) : NULL;
}

/* --- from other processes --- */

static int send_request(const char *run_dir, const struct request *r, int pass)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec io = {(void *)r, sizeof(*r)};
	struct sockaddr_un address;
	struct msghdr m = {.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &io, .msg_iovlen = 1};
	int result = socket_address(run_dir, &address);

	if (result < 0 || fd < 0)
		return result < 0 ? result : -errno;
	if (pass >= 0) {
		struct cmsghdr *h;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &pass, sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int capture_mark(const char *run_dir, int64_t mark)
{
	struct request r = {.kind = REQUEST_MARK, .mark = mark};

	return send_request(run_dir, &r, -1);
}

int capture_now(const char *run_dir, struct trace *ret, char **ret_error)
{
	struct request request = {.kind = REQUEST_FREEZE};
	int ends[2], r;

	*ret_error = NULL;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = send_request(run_dir, &request, ends[1]);
	close(ends[1]); /* the daemon has the other copy: when it is done the pipe ends */
	if (r == 0 && poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, FREEZE_PATIENCE) == 0)
		r = -ETIMEDOUT;
	if (r == 0)
		r = trace_read(ends[0], ret, ret_error);
	close(ends[0]);
	return r;
}

int capture_marker(const char *run_dir, unsigned flags, const char *text)
{
	struct request r = {.kind = REQUEST_MARKER, .flags = flags, .time = (uint64_t)monotonic_now(), .thread = (uint32_t)gettid()};

	r.length = (uint32_t)strnlen(text, MARKER_TEXT);
	memcpy(r.text, text, r.length);
	return send_request(run_dir, &r, -1);
}

/* -ENOENT without a daemon, or with one that adds nothing up. */
static int join_sums(const char *run_dir, struct ring **ret, const char **ret_why)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct ring_maps maps;

	*ret_why = "no recorder with a flight recorder is running";
	if (asprintf(&path, "%s/ring-maps", run_dir) < 0)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%u %u %u %u %u", &maps.threads, &maps.thread_slots, &maps.cpus, &maps.counts, &maps.ended) != 5)
		return -EBADMSG;
	return ring_join(&maps, ret, ret_why);
}

int capture_open_sums(const char *run_dir, struct ring **ret, bool *ret_live)
{
	struct ring_options alone = {.sums_only = true};
	const char *why = NULL;
	int r = join_sums(run_dir, ret, &why);

	if (ret_live)
		*ret_live = r == 0;
	if (r < 0)
		r = ring_open(&alone, ret, &why);
	if (r < 0)
		log_error("%s", why ? why : strerror(-r));
	return r;
}
