#include "machine/flight/pulse.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"

#define EVERY (10 * NS_PER_MS)

struct pulse {
	pthread_t thread;
	pthread_mutex_t lock;
	bool stop;
	int64_t due; /* monotonic ns: when it wants to run next */
	double late; /* ns, sum */
	unsigned n;
};

static void sleep_until(int64_t moment)
{
	struct timespec ts = {moment / NS_PER_SEC, moment % NS_PER_SEC};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		continue;
}

static void *beat(void *argument)
{
	struct pulse *p = argument;
	bool stop = false;

	/* the one that started us may have a priority that people's programs do not have */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 0);
	while (!stop) {
		int64_t now;

		sleep_until(p->due); /* nothing else writes it */
		now = clock_monotonic();
		pthread_mutex_lock(&p->lock);
		p->late += (double)(now - p->due);
		p->n++;
		p->due = now + EVERY;
		stop = p->stop;
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

int pulse_start(struct pulse **ret)
{
	struct pulse *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->due = clock_monotonic() + EVERY;
	r = -pthread_create(&p->thread, NULL, beat, p);
	if (r < 0) {
		free(p);
		return r;
	}
	pthread_setname_np(p->thread, "pulse");
	*ret = p;
	return 0;
}

void pulse_stop(struct pulse *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	free(p);
}

double pulse_take(struct pulse *p)
{
	int64_t now = clock_monotonic();
	double late;

	pthread_mutex_lock(&p->lock);
	if (now > p->due + EVERY) {
		p->late += (double)(now - p->due);
		p->n++;
	}
	late = p->n ? p->late / p->n : NAN;
	p->late = 0;
	p->n = 0;
	pthread_mutex_unlock(&p->lock);
	return late;
}
