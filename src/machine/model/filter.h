/* The part of a recording that is wanted. */
#pragma once

#include "machine/model/entity.h"

struct load_filter {
	/* The features wanted of an entity, as a mask; 0 = not the entity either. Asked once for each of its
	 * definitions; NULL wants everything. */
	feature_set (*features)(const struct entity_info *info, void *data);
	void *data;
	/* By kind of entity (ENTITY_KIND_END of them), the most that may be wanted of any: what is not among them is not even
	 * looked for, though an entity of which something is wanted is there. NULL = anything. Of one feature of many
	 * chunks this is most of the time. */
	const feature_set *most;
};
