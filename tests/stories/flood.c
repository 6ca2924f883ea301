/* Figure 3, with network work in the place of interrupts: packets sent on one CPU are received on another (rps_cpus of lo),
 * which takes the time of the one that runs there: the holder of the victim's lock. Each packet goes to many sockets, so that
 * receiving it takes long: in a virtual machine the interrupt that begins it costs the holder some us more, which are the
 * hypervisor's, and no program within sees them. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "story.h"

static struct contest contest;
static int64_t held, stolen;

/* It does nothing but look at the clock: where that jumps, the CPU was another one's. */
static void hold_and_watch(int64_t span)
{
	int64_t last = now(), end = last + span, at;

	for (; last < end; last = at) {
		at = now();
		held += at - last;
		stolen += at - last > 1000 ? at - last : 0;
	}
}

#define PORT	  47913
#define SOCKETS 900

/* Everybody on this port hears what is sent to all of the loopback network. */
static void listen_all(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int in, yes = 1, least = 1;

	for (int i = 0; i < SOCKETS; i++) {
		in = socket(AF_INET, SOCK_DGRAM, 0);
		setsockopt(in, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		setsockopt(in, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
		if (bind(in, (struct sockaddr *)&to, sizeof(to)) < 0)
			exit(77);
	}
}

static void *run_flood(void *unused)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(0x7fffffff)};
	int out = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;
	char packet[64] = {};

	(void)unused;
	be("sender", 0);
	setsockopt(out, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
	while (!contest.stop) {
		if (sendto(out, packet, sizeof(packet), MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) < 0)
			exit(77);
		compute(MS / 3);
	}
	return NULL;
}

static void *run_holder(void *unused)
{
	(void)unused;
	be("holder", 1);
	while (!contest.stop) {
		pthread_mutex_lock(&contest.lock);
		sem_post(&contest.locked);
		hold_and_watch(20 * MS);
		pthread_mutex_unlock(&contest.lock);
		sem_wait(&contest.done);
	}
	return NULL;
}

int main(void)
{
	pthread_t flood, holder;

	contest_init(&contest);
	be("victim", 0);
	listen_all();
	flood = start(run_flood, NULL);
	holder = start(run_holder, NULL);
	contest_lose(&contest, SPAN);
	pthread_join(flood, NULL);
	pthread_join(holder, NULL);
	truth("lock", "stolen", "holder", contest.waited, (int64_t)((double)contest.waited * (double)stolen / (double)held));
	return 0;
}
