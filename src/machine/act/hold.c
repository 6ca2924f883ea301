#include "machine/act/hold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine/act/unit.h"

const char *const hold_short_names[SHORT_COUNT] = {"cpu", "disk", "memory"};
const char *const hold_way_names[WAY_COUNT] = {"unit", "limit", "freeze", "class"};

void hold_free(struct hold *h)
{
	VEC_FREE_EACH(h->steps, free(each->path); free(each->value); free(each->before));
	processes_free(&h->heads);
	VEC_FREE(h->threads);
	*h = (struct hold){};
}

static int do_step(const char *proc_root, struct hold *h, const struct hold_step *s)
{
	switch (s->kind) {
	case STEP_WRITE:
		return hold_group_write(s->path, s->value);
	case STEP_MOVE:
		return hold_group_move_in(proc_root, h, s);
	case STEP_PROPERTY:
		return unit_set(s->path, s->value);
	case STEP_FREEZE_UNIT:
		return unit_freeze(s->path);
	case STEP_CLASS:
		return hold_class_lower(proc_root, h);
	}
	return -EINVAL;
}

/* A process that is gone in the meantime needs no undoing. */
static int undo_step(const char *proc_root, struct hold *h, const struct hold_step *s)
{
	int r;

	switch (s->kind) {
	case STEP_WRITE:
		r = hold_group_write(s->path, s->before);
		return r == -ENOENT || r == -ENODEV ? 0 : r;
	case STEP_MOVE:
		return hold_group_move_back(s);
	case STEP_PROPERTY:
		return unit_set(s->path, s->before);
	case STEP_FREEZE_UNIT:
		return unit_thaw(s->path);
	case STEP_CLASS:
		return hold_class_restore(proc_root, h);
	}
	return -EINVAL;
}

void hold_name(struct hold *h, const struct process *head, uint32_t uid)
{
	int n = snprintf(h->id, sizeof(h->id), "%u-%" PRIu64, head->pid, head->start);

	if (uid && n > 0 && (size_t)n < sizeof(h->id))
		snprintf(h->id + n, sizeof(h->id) - (size_t)n, "-u%u", uid);
}

int hold_do(const char *proc_root, struct hold *h)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->steps.n; i++)
		r = do_step(proc_root, h, &h->steps.v[i]);
	return r == 0 ? hold_group_check(proc_root, h) : r;
}

int hold_undo(const char *proc_root, struct hold *h)
{
	int first = 0;

	for (size_t i = h->steps.n; i-- > 0;) {
		int r = undo_step(proc_root, h, &h->steps.v[i]);

		first = r < 0 && first == 0 ? r : first;
	}
	return first;
}
