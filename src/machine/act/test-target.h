#pragma once

#include "lib/data/cleanup.h"
#include "machine/act/target.h"

/* One process and its descendants as they are now. 0, -ESRCH, -ENOMEM. */
static int target_find(const char *proc_root, uint32_t pid, struct target *ret)
{
	_cleanup_(processes_free) struct processes heads = {};
	struct process head;
	int r = process_read(proc_root, pid, &head);

	r = r ?: VEC_PUSH(heads.list, head);
	return r < 0 ? r : target_of(proc_root, &heads, false, ret);
}
