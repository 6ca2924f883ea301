#include "lib/system/helper-thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/system/urgent.h"

#define STACK (512 << 10)

/* Outlives the helper while threads are left. */
struct tally {
	unsigned users; /* the helper, and threads */
	unsigned left;	/* threads whose job did not come back */
};

/* One thread and its caller; the thread frees it. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void (*work)(void *job), (*release)(void *job);
	void *job;  /* NULL = none */
	bool done;  /* the job is the caller's again */
	bool alone; /* the caller has gone */
	struct tally *tally;
};

struct helper {
	struct worker *worker; /* NULL = none runs */
	struct tally *tally;
	bool as_caller; /* the threads' priority */
};

static void tally_leave(struct tally *t)
{
	if (__atomic_sub_fetch(&t->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(t);
}

static void worker_free(struct worker *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	tally_leave(w->tally);
	free(w);
}

/* With the lock held, and again when it returns. */
static void do_job(struct worker *w)
{
	void *job = w->job;

	pthread_mutex_unlock(&w->lock);
	w->work(job);
	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_signal(&w->changed);
}

static void *do_jobs(void *argument)
{
	struct worker *w = argument;

	pthread_mutex_lock(&w->lock);
	while (!w->alone || (w->job && !w->done)) {
		if (w->job && !w->done)
			do_job(w);
		else
			pthread_cond_wait(&w->changed, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	if (w->job) {
		w->release(w->job);
		__atomic_sub_fetch(&w->tally->left, 1, __ATOMIC_ACQ_REL);
	}
	worker_free(w);
	return NULL;
}

static int start_thread(struct worker *w, bool as_caller)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (as_caller)
		urgent_threads_too(&attributes);
	r = -pthread_create(&thread, &attributes, do_jobs, w);
	pthread_attr_destroy(&attributes);
	if (r == -EPERM && as_caller)
		return start_thread(w, false);
	if (r == 0)
		pthread_setname_np(thread, "whyslow-helper");
	return r;
}

static int worker_start(struct tally *tally, bool as_caller, struct worker **ret)
{
	struct worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;

	if (!w)
		return -ENOMEM;
	w->tally = tally;
	__atomic_add_fetch(&tally->users, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (start_thread(w, as_caller) < 0) {
		worker_free(w);
		return -EAGAIN;
	}
	*ret = w;
	return 0;
}

int helper_new(struct helper **ret)
{
	struct helper *h = calloc(1, sizeof(*h));
	struct tally *tally = calloc(1, sizeof(*tally));

	if (!h || !tally) {
		FREE_ALL(h, tally);
		return -ENOMEM;
	}
	tally->users = 1;
	h->tally = tally;
	*ret = h;
	return 0;
}

int helper_new_as_caller(struct helper **ret)
{
	int r = helper_new(ret);

	if (r == 0)
		(*ret)->as_caller = true;
	return r;
}

/* With the lock held: whether the job came back. */
static bool wait_for_job(struct worker *w, int64_t patience)
{
	const int64_t until = clock_monotonic() + patience;
	const struct timespec at = {until / NS_PER_SEC, until % NS_PER_SEC};

	while (!w->done)
		if (pthread_cond_timedwait(&w->changed, &w->lock, &at) == ETIMEDOUT)
			break;
	return w->done;
}

static void leave_alone(struct helper *h)
{
	struct worker *w = h->worker;

	h->worker = NULL;
	w->alone = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

int helper_do(struct helper *h, void (*work)(void *job), void (*release)(void *job), void *job, int64_t patience)
{
	struct worker *w;

	if (!h->worker && __atomic_load_n(&h->tally->left, __ATOMIC_ACQUIRE) >= HELPERS_LEFT_MAX)
		return -EBUSY;
	if (!h->worker && worker_start(h->tally, h->as_caller, &h->worker) < 0)
		return -EAGAIN;
	w = h->worker;
	pthread_mutex_lock(&w->lock);
	w->work = work;
	w->release = release;
	w->job = job;
	w->done = false;
	pthread_cond_signal(&w->changed);
	if (!wait_for_job(w, patience)) {
		__atomic_add_fetch(&h->tally->left, 1, __ATOMIC_ACQ_REL);
		leave_alone(h);
		return -ETIMEDOUT;
	}
	w->job = NULL;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

void helper_free(struct helper *h)
{
	if (!h)
		return;
	if (h->worker) {
		pthread_mutex_lock(&h->worker->lock);
		leave_alone(h);
	}
	tally_leave(h->tally);
	free(h);
}
