/* What of a recording is wanted. */
#pragma once

#include "model/entity.h"

struct load_filter {
	/* The features wanted of an entity, as a mask; 0 = not the entity either. Asked once for each of its
	 * definitions; NULL wants everything. */
	uint64_t (*features)(const struct entity_info *info, void *data);
	void *data;
};
