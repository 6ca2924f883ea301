/* The cost of evaluating the built-in rules, compared with the tick they are evaluated on: watching TICKS
 *
 * Samples everything once a second, as the recorder does, and prints CPU time per tick in ns: "TICK RULES", where TICK is
 * all of the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/recorder/recorder.h"
#include "machine/rule/watch.h"

static int64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

struct observed {
	struct watch *watch;
	int64_t spent;
};

static void observe(const struct tick *tick, void *data)
{
	struct observed *o = data;
	int64_t began = cpu_now();

	watch_tick(o->watch, tick, NULL, NULL);
	o->spent += cpu_now() - began;
}

int main(int argc, char **argv)
{
	struct observed observed = {};
	struct recorder_options options = {
		.source = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true},
		.describe_aside = true,
		.observe = observe,
		.observe_data = &observed,
	};
	int ticks = argc > 1 ? atoi(argv[1]) : 20;
	struct str frame = {};
	struct recorder *r;
	struct rules rules;
	char *error = NULL;
	int64_t began, all = 0;

	if (rules_parse(default_rules, "built-in rules", &rules, &error) < 0 || watch_new(&rules, &observed.watch) < 0 ||
	    recorder_open(&options, &r, &error) < 0) {
		fprintf(stderr, "%s\n", error ? error : "no memory");
		return 1;
	}
	for (int i = -3; i < ticks; i++) { /* the first ones name every process */
		if (i == 0)
			all = observed.spent = 0;
		began = cpu_now();
		str_clear(&frame);
		recorder_tick(r, i == -3, &frame);
		all += cpu_now() - began;
		sleep(1);
	}
	printf("%lld %lld\n", (long long)((all - observed.spent) / ticks), (long long)(observed.spent / ticks));
	watch_free(observed.watch, NULL, NULL);
	recorder_close(r);
	rules_free(&rules);
	str_free(&frame);
	return 0;
}
