/* Figure 4: two threads on one CPU; each one's slice ends, and the other one runs instead. */
#include "story.h"

static volatile bool stop;
static int64_t other;

static void *run_other(void *unused)
{
	(void)unused;
	be("culprit", 1);
	while (!stop)
		compute(MS);
	other = cpu_time();
	return NULL;
}

int main(void)
{
	int64_t began, cpu;
	pthread_t t;

	be("victim", 1);
	t = start(run_other, NULL);
	began = now();
	cpu = cpu_time();
	while (now() - began < SPAN)
		compute(MS);
	began = now() - began - (cpu_time() - cpu);
	stop = true;
	pthread_join(t, NULL);
	truth("cpu", "task", "culprit", began, other < began ? other : began);
	return 0;
}
