/* Prints a recording's values, for comparison: recorded STORE RUN_DIR pid PID | name NAME
 *
 * pid: a line a tick with wall time (s) and what the process had done by then: CPU time (ns), bytes written for
 * storage, page faults. name: how many processes of that name there were, those that no sweep saw included. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/recording/store.h"

static double so_far(const struct dataset *d, const struct subject *s, size_t feature, uint32_t tick)
{
	return subject_growth(d, s, feature, s->first, tick);
}

static void print_process(const struct dataset *d, uint32_t pid)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind != ENTITY_PROCESS || s->info.pid != pid)
			continue;
		for (uint32_t t = s->first; t <= s->last && t < d->ticks.n; t++)
			printf("%.3f %.0f %.0f %.0f\n", (double)d->ticks.v[t].wall / 1e9, so_far(d, s, FEATURE_CPU_TIME, t),
			       so_far(d, s, FEATURE_IO_WRITE_BYTES, t), so_far(d, s, FEATURE_FAULTS_MINOR, t));
	}
}

static void print_count(const struct dataset *d, const char *name)
{
	double n = 0;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (strcmp(s->info.name, name) != 0)
			continue;
		if (s->info.kind == ENTITY_PROCESS)
			n++;
		else if (s->info.kind == ENTITY_SHORT_LIVED)
			n += subject_growth(d, s, FEATURE_CHILDREN_SHORT, s->first, s->last);
	}
	printf("%.0f\n", n);
}

int main(int argc, char **argv)
{
	struct dataset d = {};
	struct store *store;
	unsigned damaged;
	char *error;

	if (argc != 5) {
		fprintf(stderr, "usage: recorded STORE RUN_DIR pid PID | name NAME\n");
		return 2;
	}
	if (store_open(&(struct store_paths){argv[1], argv[2]}, STORE_READ, &store, &error) < 0 ||
	    store_load(store, 0, INT64_MAX, &d, &damaged) < 0) {
		fprintf(stderr, "cannot read %s\n", argv[1]);
		return 1;
	}
	dataset_finish(&d);
	if (strcmp(argv[3], "pid") == 0)
		print_process(&d, (uint32_t)atoi(argv[4]));
	else
		print_count(&d, argv[4]);
	store_close(store);
	dataset_free(&d);
	return 0;
}
