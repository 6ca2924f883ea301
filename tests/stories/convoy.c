/* Four threads want one lock, and one of them holds it four times as long as the others: it is to blame for most. In between
 * they rest, so that who holds the lock has a CPU. What the victim waits for a CPU once it was woken is not the lock's. */
#include "story.h"

#define THREADS 4
#define HOLDS	20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t end;

struct hold {
	int64_t from, to;
};
static struct hold holds[THREADS][HOLDS];
static struct hold waits[HOLDS]; /* of the victim */
static size_t n_holds[THREADS], n_waits;

static void *run(void *argument)
{
	size_t me = (size_t)argument;
	static const char *const names[] = {"victim", "second", "third", "culprit"};

	be(names[me], -1);
	while (now() < end && n_holds[me] < HOLDS) {
		int64_t asked = now(), queued = me == 0 ? run_delay() : 0;

		pthread_mutex_lock(&lock);
		holds[me][n_holds[me]].from = now();
		if (me == 0)
			waits[n_waits++] = (struct hold){asked, now() - (run_delay() - queued)};
		compute((me == 3 ? 4 : 1) * MS / 2);
		holds[me][n_holds[me]++].to = now();
		pthread_mutex_unlock(&lock);
		rest(MS / 10);
	}
	return NULL;
}

int main(void)
{
	int64_t waited = 0, because = 0;
	pthread_t threads[THREADS];

	end = now() + SPAN;
	for (size_t i = 0; i < THREADS; i++)
		threads[i] = start(run, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t w = 0; w < n_waits; w++) {
		waited += waits[w].to - waits[w].from;
		for (size_t h = 0; h < n_holds[3]; h++) {
			int64_t from = holds[3][h].from > waits[w].from ? holds[3][h].from : waits[w].from;
			int64_t to = holds[3][h].to < waits[w].to ? holds[3][h].to : waits[w].to;

			because += to > from ? to - from : 0;
		}
	}
	/* the one that holds it may itself want for a CPU, so "via" counts as well */
	truth("lock", "via", "culprit", waited, because);
	return 0;
}
