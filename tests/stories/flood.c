/* Figure 3, with network work in the place of interrupts: packets sent on one CPU are received on another (rps_cpus of lo),
 * which takes the time of whoever runs there: the holder of the victim's lock. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "story.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked, done;
static volatile bool stop;
static int64_t waited, held, stolen;

/* It does nothing but look at the clock: where that jumps, the CPU was somebody else's. */
static void hold_and_watch(int64_t span)
{
	int64_t last = now(), end = last + span, at;

	for (; last < end; last = at) {
		at = now();
		held += at - last;
		stolen += at - last > 1000 ? at - last : 0;
	}
}

static void *run_flood(void *unused)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof(to);
	char packet[64] = {};

	(void)unused;
	be("sender", 0);
	to.sin_port = 0;
	bind(in, (struct sockaddr *)&to, sizeof(to));
	getsockname(in, (struct sockaddr *)&to, &length);
	connect(out, (struct sockaddr *)&to, sizeof(to));
	while (!stop)
		(void)!send(out, packet, sizeof(packet), MSG_DONTWAIT);
	return NULL;
}

static void *run_holder(void *unused)
{
	(void)unused;
	be("holder", 1);
	while (!stop) {
		pthread_mutex_lock(&lock);
		sem_post(&locked);
		hold_and_watch(20 * MS);
		pthread_mutex_unlock(&lock);
		sem_wait(&done);
	}
	return NULL;
}

int main(void)
{
	pthread_t flood, holder;
	int64_t end = now() + SPAN, began;

	sem_init(&locked, 0, 0);
	sem_init(&done, 0, 0);
	be("victim", 0);
	flood = start(run_flood, NULL);
	holder = start(run_holder, NULL);
	while (now() < end) {
		sem_wait(&locked);
		began = now();
		pthread_mutex_lock(&lock);
		waited += now() - began;
		pthread_mutex_unlock(&lock);
		stop = now() >= end;
		sem_post(&done);
	}
	pthread_join(flood, NULL);
	pthread_join(holder, NULL);
	truth("lock", "stolen", "holder", waited, (int64_t)((double)waited * (double)stolen / (double)held));
	return 0;
}
