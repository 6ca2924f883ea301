#include "machine/model/tick.h"

#include <stdarg.h>
#include <stdio.h>

static void drop_notes(struct tick *t)
{
	for (size_t i = 0; i < t->notes.n; i++)
		free(t->notes.v[i].text);
	t->notes.n = 0;
}

void tick_begin(struct tick *t, int64_t boot, int64_t wall)
{
	t->previous_boot = t->boot;
	t->boot = boot;
	t->wall = wall;
	t->brief = t->hears_exits = false;
	t->asleep = t->asleep_threads = 0;
	t->asleep_values = 0;
	t->samples.n = t->ended.n = t->unnamed.n = 0;
	drop_notes(t);
}

int tick_put(struct tick *t, struct entity *e, const int64_t *values, feature_set present)
{
	return VEC_PUSH(t->samples, (struct sample){e, values, present, false});
}

int tick_put_same(struct tick *t, struct entity *e, const int64_t *values, feature_set present)
{
	return VEC_PUSH(t->samples, (struct sample){e, values, present, true});
}

int tick_note(struct tick *t, enum note_kind kind, int64_t wall, const char *format, ...)
{
	struct note note = {.kind = kind, .wall = wall};
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&note.text, format, args);
	va_end(args);
	if (r < 0)
		return -ENOMEM;
	return VEC_PUSH_OWNER(t->notes, note.text, note);
}

void tick_free(struct tick *t)
{
	drop_notes(t);
	VEC_FREE(t->samples);
	VEC_FREE(t->ended);
	VEC_FREE(t->unnamed);
	VEC_FREE(t->notes);
}
