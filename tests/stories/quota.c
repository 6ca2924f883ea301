/* A group may use a fifth of a CPU, and its thread wants all: most of its time it is throttled. $1 = the group's folder. */

#include "story.h"

static int64_t throttled_ns(const char *group)
{
	char path[512], line[128];
	long long ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "throttled_usec %lld", &ns) == 1)
			ns *= 1000;
		else
			sscanf(line, "throttled_time %lld", &ns); /* cgroup v1 */
	if (f)
		fclose(f);
	return ns;
}

int main(int argc, char **argv)
{
	char path[512];
	int64_t began, throttled;
	FILE *f;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s/cgroup.procs", argv[1]);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f) != 0)
		return 77;
	be("victim", -1);
	throttled = throttled_ns(argv[1]);
	for (began = now(); now() - began < SPAN;)
		compute(MS);
	throttled = throttled_ns(argv[1]) - throttled;
	truth("quota", "quota", "", throttled, throttled);
	return 0;
}
