/* The machine as one entity: pressure, run queue, memory, swap, reclaim, TCP. */
#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "machine/sample/source.h"
#include "machine/sample/system.h"

static const struct system_reader *const readers[] = {
	&psi_reader, &stat_reader, &meminfo_reader, &vmstat_reader, &snmp_reader, &connect_reader, &probe_reader,
};

struct system_source {
	struct entity *entity;
	void *state[ARRAY_SIZE(readers)]; /* NULL = could not be opened */
	int64_t values[SYSTEM_FEATURE_COUNT];
};

static void system_close(void *state)
{
	struct system_source *src = state;

	if (!src)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (src->state[i])
			readers[i]->close(src->state[i]);
	entity_free(src->entity);
	free(src);
}

static int system_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct system_source *src = calloc(1, sizeof(*src));

	if (!src)
		return -ENOMEM;
	src->entity = entity_new(ENTITY_SYSTEM, "machine");
	if (!src->entity) {
		free(src);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i]->open(options, &src->state[i]) < 0 && !*ret_why)
			*ret_why = readers[i]->missing;
	*ret_state = src;
	return 0;
}

/* The source of processes was sampled before: what it saw in this tick is counted here. */
static void count_tasks(const struct tick *tick, int64_t *values, feature_set *present)
{
	int64_t processes = tick->asleep, threads = tick->asleep_threads;

	VEC_EACH(s, tick->samples) {
		if (s->entity->info.kind != ENTITY_PROCESS || !(s->present >> FEATURE_THREADS & 1))
			continue;
		processes += s->values[FEATURE_THREADS] > 0; /* the last sample of one that ended has none */
		threads += s->values[FEATURE_THREADS];
	}
	if (tick->hears_exits) {
		values[FEATURE_SYS_LOST_EXITS] = tick->lost_exits;
		*present |= FEATURE_BIT(FEATURE_SYS_LOST_EXITS);
	}
	values[FEATURE_SYS_FOLDED_NAMES] = tick->folded_names;
	*present |= FEATURE_BIT(FEATURE_SYS_FOLDED_NAMES);
	if (!processes)
		return;
	values[FEATURE_SYS_PROCESSES] = processes;
	values[FEATURE_SYS_THREADS] = threads;
	*present |= FEATURE_BIT(FEATURE_SYS_PROCESSES) | FEATURE_BIT(FEATURE_SYS_THREADS);
}

static void system_sample(void *state, struct tick *tick)
{
	struct system_source *src = state;
	feature_set present = 0;

	count_tasks(tick, src->values, &present);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (src->state[i])
			readers[i]->read(src->state[i], tick, src->values, &present);
	tick_put(tick, src->entity, src->values, present);
}

static const struct source source_system = {
	.name = "system",
	.help = "pressure, run queue, memory, swap, reclaim and TCP of the machine, its CPUs and interrupts",
	.open = system_open,
	.sample = system_sample,
	.close = system_close,
};

const struct source *const system_sources[] = {
	&source_system, &source_disk, &source_filesystem, &source_interface, &source_cgroup,
	&source_sensor, &source_kmsg, &source_packages,	  &source_boot,	     NULL,
};
