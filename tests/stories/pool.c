/* Threads of a pool wait for work, at a condition variable and at a semaphore: none of them waits for a lock. "pool forever": until it is
 * ended, without any work. */
#include "story.h"

#define WORKERS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static sem_t items;
static volatile bool stop;

static void *wait_for_work(void *name)
{
	be(name ? name : "worker", -1);
	pthread_mutex_lock(&lock);
	while (!stop)
		pthread_cond_wait(&work, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *wait_for_items(void *unused)
{
	be("worker", -1);
	while (!stop)
		sem_wait(&items);
	return unused;
}

int main(int argc, char **argv)
{
	bool forever = argc > 1 && strcmp(argv[1], "forever") == 0;

	sem_init(&items, 0, 0);
	start(wait_for_work, "victim");
	for (int i = 1; i < WORKERS; i++)
		start(i % 2 ? wait_for_items : wait_for_work, NULL);
	if (forever)
		pause();
	for (int64_t end = now() + SPAN; now() < end;) {
		rest(100 * MS);
		pthread_mutex_lock(&lock);
		pthread_cond_signal(&work);
		pthread_mutex_unlock(&lock);
		sem_post(&items);
	}
	truth("idle", "idle", "", SPAN, SPAN);
	return 0;
}
