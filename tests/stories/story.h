/* What the stories share. Each is a small program in which one thread waits for another, knows how long and whose doing it
 * was, and prints that as one line of JSON; tests/stories/tell compares it with what whyslow says. Threads are distinguished
 * by their names. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS   1000000ll
#define SPAN (2000 * MS)

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static inline int64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Of the calling thread. */
static inline int64_t cpu_time(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* How long the calling thread has stood in run queues, ever: so much of what it takes for waiting was the CPU's. */
static inline int64_t run_delay(void)
{
	char path[64], line[64] = {};
	long long ran, delay = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", gettid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0 || sscanf(line, "%lld %lld", &ran, &delay) != 2)
		delay = 0;
	if (fd >= 0)
		close(fd);
	return delay;
}

static inline void compute(int64_t ns)
{
	for (int64_t end = cpu_time() + ns; cpu_time() < end;)
		continue;
}

static inline void rest(int64_t ns)
{
	nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static inline void be(const char *name, int cpu)
{
	cpu_set_t set;

	prctl(PR_SET_NAME, name);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu >= 0)
		sched_setaffinity(0, sizeof(set), &set);
}

static inline void become_real_time(int priority)
{
	struct sched_param p = {.sched_priority = priority};

	if (sched_setscheduler(0, SCHED_FIFO, &p) < 0) {
		fprintf(stderr, "real-time priority is not to be had: %s\n", strerror(errno));
		exit(77);
	}
}

static inline pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, argument) != 0)
		abort();
	return t;
}

/* A lock that another thread takes, says so (`locked`), keeps for a while, and gives back: for as long as it is not to stop, and each
 * time after the victim is `done`. */
struct contest {
	pthread_mutex_t lock;
	sem_t locked, done;
	volatile bool stop;
	int64_t waited; /* by the victim; what it waited for a CPU once it was woken is not the lock's */
};

static inline void contest_init(struct contest *c)
{
	pthread_mutex_init(&c->lock, NULL);
	sem_init(&c->locked, 0, 0);
	sem_init(&c->done, 0, 0);
}

/* The victim's side, for so long. */
static inline void contest_lose(struct contest *c, int64_t span)
{
	int64_t end = now() + span, began, queued;

	while (!c->stop) {
		sem_wait(&c->locked);
		queued = run_delay();
		began = now();
		pthread_mutex_lock(&c->lock);
		c->waited += now() - began;
		c->waited -= run_delay() - queued;
		pthread_mutex_unlock(&c->lock);
		c->stop = now() >= end;
		sem_post(&c->done);
	}
}

/* The victim "victim" waited so long for this, so much of it because of `culprit` ("kind" task). */
static inline void truth(const char *wait, const char *kind, const char *culprit, int64_t waited, int64_t because)
{
	printf("{\"wait\":\"%s\",\"kind\":\"%s\",\"culprit\":\"%s\",\"waited\":%lld,\"share\":%.4f}\n", wait, kind, culprit,
	       (long long)waited, waited ? (double)because / (double)waited : 0);
}
