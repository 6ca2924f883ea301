/* Living processes that a person means by a word, for verbs that take a process. */
#pragma once

#include "lib/data/vec.h"
#include "machine/model/entity.h"

struct who_hits {
	VEC(struct entity_info) list;
};

/* Those that entity_matches() holds of, as the viewer may see them, by number; not the asker itself. 0 or -errno; who_hits_free(). */
int who_find(const char *proc_root, const char *who, const struct viewer *v, struct who_hits *ret);
void who_hits_free(struct who_hits *hits);
