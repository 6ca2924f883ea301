#include "lib/net/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/net/peer.h"
#include "lib/net/sessions.h"

#define LEAVING_MAX  64	  /* ended, and not yet closed by the library */
#define SWEEP_MS     1000 /* how often deadlines are looked at */
#define PAUSE_MS     5	  /* until some of those have been closed */
#define BURST	     32	  /* connections taken between two looks at the rest */

struct owner {
	uint32_t uid; /* PEER_UNKNOWN: an address */
	uint8_t address[8];
};

struct gate_place {
	int fd; /* -1 = free */
	struct owner owner;
	int64_t since; /* boot ns: taken in, or the last request began or ended */
	bool trusted, answering, leaving;
};

struct gate {
	struct gate_options options;
	pthread_t thread;
	bool running;
	int stop_fd[2];
	pthread_mutex_t lock;
	uint64_t evicted;
	unsigned n_all;
	struct gate_place *all;
};

/* --- places --- */

struct gate_place *gate_find(struct gate *g, int fd)
{
	struct gate_place *found = NULL;

	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < g->n_all && !found; i++)
		if (g->all[i].fd == fd)
			found = &g->all[i];
	pthread_mutex_unlock(&g->lock);
	return found;
}

void gate_leave(struct gate *g, struct gate_place *place)
{
	if (!place)
		return;
	pthread_mutex_lock(&g->lock);
	*place = (struct gate_place){.fd = -1};
	pthread_mutex_unlock(&g->lock);
}

static void set_answering(struct gate *g, struct gate_place *place, bool answering)
{
	if (!place)
		return;
	pthread_mutex_lock(&g->lock);
	place->answering = answering;
	place->since = clock_boot();
	pthread_mutex_unlock(&g->lock);
}

void gate_began(struct gate *g, struct gate_place *place)
{
	set_answering(g, place, true);
}

void gate_ended(struct gate *g, struct gate_place *place)
{
	set_answering(g, place, false);
}

void gate_trust(struct gate *g, struct gate_place *place)
{
	if (!place)
		return;
	pthread_mutex_lock(&g->lock);
	place->trusted = true;
	pthread_mutex_unlock(&g->lock);
}

uint32_t gate_peer(const struct gate_place *place)
{
	return place ? place->owner.uid : PEER_UNKNOWN;
}

uint64_t gate_evicted(struct gate *g)
{
	uint64_t n;

	pthread_mutex_lock(&g->lock);
	n = g->evicted;
	pthread_mutex_unlock(&g->lock);
	return n;
}

/* --- who makes room --- */

static void end_place(struct gate *g, struct gate_place *p)
{
	p->leaving = true;
	g->evicted++;
	shutdown(p->fd, SHUT_RDWR); /* its thread wakes, closes it and leaves */
}

static bool is_same_owner(const struct owner *a, const struct owner *b)
{
	return a->uid == b->uid && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* trusted: of those that are trusted, one that waits for its next request; a client opens another one. */
static bool may_go(const struct gate_place *p, bool trusted)
{
	return p->fd >= 0 && !p->leaving && p->trusted == trusted && !(trusted && p->answering);
}

static unsigned count_of(const struct gate *g, const struct owner *owner, bool trusted)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->n_all; i++)
		n += may_go(&g->all[i], trusted) && is_same_owner(&g->all[i].owner, owner);
	return n;
}

static struct gate_place *choose_victim(struct gate *g, bool trusted)
{
	struct gate_place *victim = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < g->n_all; i++) {
		struct gate_place *p = &g->all[i];
		unsigned n = may_go(p, trusted) ? count_of(g, &p->owner, trusted) : 0;

		if (n > most || (n && n == most && p->since < victim->since)) {
			victim = p;
			most = n;
		}
	}
	return victim;
}

static void end_slow(struct gate *g)
{
	int64_t header_time = g->options.header_time ? g->options.header_time : GATE_HEADER_TIME, now = clock_boot();

	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < g->n_all; i++) {
		struct gate_place *p = &g->all[i];

		if (may_go(p, false) && now - p->since > (p->answering ? GATE_ANSWER_TIME : header_time))
			end_place(g, p);
	}
	pthread_mutex_unlock(&g->lock);
}

/* --- taking in --- */

static struct owner owner_of(int fd, const struct sockaddr_storage *address)
{
	struct owner o = {.uid = PEER_UNKNOWN};

	if (peer_uid(fd, &o.uid) == 0)
		return o;
	o.uid = PEER_UNKNOWN;
	if (address->ss_family == AF_INET6)
		memcpy(o.address, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(o.address));
	else
		memcpy(o.address, &((const struct sockaddr_in *)address)->sin_addr, 4);
	return o;
}

/* A place for the connection; NULL: over all others trusted requests are being answered. */
static struct gate_place *take_place(struct gate *g, int fd, const struct owner *owner)
{
	struct gate_place *free_one = NULL, *victim;
	unsigned n = 0;

	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < g->n_all; i++)
		if (g->all[i].fd < 0)
			free_one = &g->all[i];
		else
			n += !g->all[i].leaving;
	if (free_one)
		*free_one = (struct gate_place){.fd = fd, .owner = *owner, .since = clock_boot()};
	if (free_one && n >= g->options.places) {
		victim = choose_victim(g, false);
		if (victim == free_one) /* the youngest of all: the others are trusted */
			victim = choose_victim(g, true);
		if (victim) {
			end_place(g, victim);
		} else {
			*free_one = (struct gate_place){.fd = -1};
			free_one = NULL;
		}
	}
	pthread_mutex_unlock(&g->lock);
	return free_one;
}

static bool has_room(struct gate *g)
{
	bool room = false;

	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < g->n_all && !room; i++)
		room = g->all[i].fd < 0;
	pthread_mutex_unlock(&g->lock);
	return room;
}

/* 0, or -errno of accept4(). */
static int take_one(struct gate *g)
{
	struct sockaddr_storage address = {};
	socklen_t n = sizeof(address);
	int fd = accept4(g->options.fd, (struct sockaddr *)&address, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct gate_place *place;
	struct owner owner;

	if (fd < 0)
		return -errno;
	owner = owner_of(fd, &address);
	place = take_place(g, fd, &owner);
	if (!place)
		close(fd);
	else if (!g->options.admit(g->options.data, fd, (struct sockaddr *)&address, n))
		gate_leave(g, place);
	return 0;
}

static void *take_all(void *argument)
{
	struct gate *g = argument;
	struct pollfd fds[] = {{g->stop_fd[0], POLLIN, 0}, {g->options.fd, POLLIN, 0}};
	int64_t swept = 0;

	for (;;) {
		bool room = has_room(g);

		fds[1].revents = 0;
		poll(fds, room ? 2 : 1, room ? SWEEP_MS : PAUSE_MS);
		if (fds[0].revents)
			return NULL;
		if (clock_boot() - swept > SWEEP_MS * NS_PER_MS) {
			end_slow(g);
			swept = clock_boot();
		}
		for (int i = 0, r = 0; fds[1].revents && i < BURST && r == 0 && has_room(g); i++) {
			r = take_one(g);
			if (r == -EMFILE || r == -ENFILE || r == -ENOBUFS || r == -ENOMEM)
				poll(fds, 1, PAUSE_MS);
		}
	}
}

int gate_start(const struct gate_options *options, struct gate **ret)
{
	struct gate *g = calloc(1, sizeof(*g));
	int r;

	if (!g) {
		close(options->fd);
		return -ENOMEM;
	}
	*g = (struct gate){.options = *options, .stop_fd = {-1, -1}, .n_all = options->places + LEAVING_MAX};
	pthread_mutex_init(&g->lock, NULL);
	g->all = calloc(g->n_all, sizeof(*g->all));
	for (unsigned i = 0; g->all && i < g->n_all; i++)
		g->all[i].fd = -1;
	*ret = g; /* the thread's first connection finds it */
	r = !g->all ? -ENOMEM : pipe2(g->stop_fd, O_CLOEXEC) < 0 ? -errno : -pthread_create(&g->thread, NULL, take_all, g);
	g->running = r == 0;
	if (r < 0) {
		*ret = NULL;
		gate_free(g);
	}
	return r;
}

void gate_stop(struct gate *g)
{
	if (!g || !g->running)
		return;
	(void)!write(g->stop_fd[1], "", 1);
	pthread_join(g->thread, NULL);
	g->running = false;
	cleanup_fd(&g->options.fd);
	g->options.fd = -1;
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	gate_stop(g);
	cleanup_fd(&g->options.fd);
	cleanup_fd(&g->stop_fd[0]);
	cleanup_fd(&g->stop_fd[1]);
	pthread_mutex_destroy(&g->lock);
	FREE_ALL(g->all, g);
}
