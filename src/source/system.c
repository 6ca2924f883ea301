/* The machine as one entity: pressure, run queue, memory, swap, reclaim, TCP. */
#include <errno.h>
#include <stdlib.h>

#include "source/source.h"
#include "source/system.h"

struct system_source {
	struct entity *entity;
	struct psi_files *psi;
	int64_t values[SYSTEM_FEATURE_COUNT];
};

static void system_close(void *state)
{
	struct system_source *src = state;

	if (!src)
		return;
	psi_close(src->psi);
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
	if (psi_open(options->proc_root, &src->psi) < 0)
		*ret_why = "no pressure stall information: boot with psi=1 for sharper answers";
	*ret_state = src;
	return 0;
}

static void system_sample(void *state, struct tick *tick)
{
	struct system_source *src = state;
	uint64_t present = 0;

	if (src->psi)
		psi_read(src->psi, src->values, &present);
	tick_put(tick, src->entity, src->values, present);
}

static const struct source source_system = {
	.name = "system",
	.help = "pressure, run queue, memory, swap, reclaim and TCP of the machine",
	.open = system_open,
	.sample = system_sample,
	.close = system_close,
};

const struct source *const system_sources[] = {
	&source_system,
	NULL,
};
