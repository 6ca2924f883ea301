/* The victim waits for a lock whose holder is kept from its CPU by a third thread of a higher class: the blame ends at that
 * one. "holder inversion": the victim is of the highest class itself, on the same CPU. "holder namespace": all in a pid
 * namespace of their own, where threads have other numbers. */
#include "story.h"

static struct contest contest;
static sem_t intrude;
static int64_t intruded;
static bool inversion;

static void *run_holder(void *unused)
{
	(void)unused;
	be("holder", 1);
	while (!contest.stop) {
		pthread_mutex_lock(&contest.lock);
		sem_post(&contest.locked);
		compute(4 * MS); /* the victim blocks in the meantime */
		sem_post(&intrude);
		compute(4 * MS);
		pthread_mutex_unlock(&contest.lock);
		sem_wait(&contest.done);
	}
	return NULL;
}

static void *run_intruder(void *unused)
{
	int64_t cpu;

	(void)unused;
	be("culprit", 1);
	become_real_time(2);
	for (;;) {
		sem_wait(&intrude);
		if (contest.stop)
			return NULL;
		cpu = cpu_time();
		compute(16 * MS);
		intruded += cpu_time() - cpu;
	}
}

static void *run_victim(void *unused)
{
	(void)unused;
	be("victim", inversion ? 1 : 0);
	if (inversion)
		become_real_time(3);
	contest_lose(&contest, SPAN);
	return NULL;
}

static int play(void)
{
	pthread_t victim, holder, intruder;

	contest_init(&contest);
	sem_init(&intrude, 0, 0);
	intruder = start(run_intruder, NULL);
	holder = start(run_holder, NULL);
	victim = start(run_victim, NULL);
	pthread_join(victim, NULL);
	pthread_join(holder, NULL);
	contest.stop = true;
	sem_post(&intrude);
	pthread_join(intruder, NULL);
	truth("lock", "task", "culprit", contest.waited, intruded);
	return 0;
}

int main(int argc, char **argv)
{
	int status;

	inversion = argc > 1 && strcmp(argv[1], "inversion") == 0;
	if (argc < 2 || strcmp(argv[1], "namespace") != 0)
		return play();
	if (unshare(CLONE_NEWPID) < 0)
		return 77;
	fflush(stdout);
	if (fork() == 0) {
		status = play();
		fflush(stdout);
		_exit(status);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
