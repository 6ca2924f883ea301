#include "machine/symbol/name-stacks.h"

#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "machine/symbol/symbolize.h"

struct naming {
	struct trace *t;
	struct symbolizer *symbolizer;
	struct hmap asked, stacks; /* (process, address), (stack, process) -> anything */
	uint32_t only;	   /* tgid; 0 = all */
};

static struct code_place place_of(const struct trace *t, const struct trace_mapping *m, uint64_t address)
{
	const struct trace_module *module = &t->modules.v[m->module];
	struct code_place place = {.path = module->path, .offset = address - m->start + m->offset};

	place.build_id.size = module->build_id_size;
	memcpy(place.build_id.bytes, module->build_id, module->build_id_size);
	return place;
}

/* Symbols are appended and sorted at the end: trace_symbol() is not asked in the meantime. */
static int name_one(struct naming *n, uint32_t process, uint64_t address, bool called_from)
{
	const struct trace_mapping *m = address >> 63 ? NULL : trace_mapping(n->t, process, address);
	struct symbol symbols[8];
	struct trace_symbol named = {process, address, NULL};
	_cleanup_str_ struct str text = {};
	struct code_place place;
	size_t found;

	if (!m || m->module >= n->t->modules.n || hmap_get(&n->asked, process, address))
		return 0;
	if (hmap_put(&n->asked, process, address, n) < 0)
		return -ENOMEM;
	place = place_of(n->t, m, address - (called_from ? 1 : 0));
	found = symbolize_place(n->symbolizer, &place, symbols, ARRAY_SIZE(symbols));
	if (!found || !symbols[found - 1].name)
		return 0;
	symbol_write(&symbols[found - 1], false, &text);
	named.name = text.error ? NULL : TAKE(text.data);
	return VEC_PUSH_OWNER(n->t->symbols, named.name, named);
}

static int name_stack(struct naming *n, uint32_t process, stack_ref ref)
{
	const struct trace_stack *s = ref && !hmap_get(&n->stacks, ref, process) ? trace_stack(n->t, ref) : NULL;
	uint32_t depth = s ? trace_stack_depth(n->t, process, s) : 0;
	int r = s ? hmap_put(&n->stacks, ref, process, n) : 0;

	for (uint32_t i = 0; r == 0 && i < depth; i++)
		r = name_one(n, process, s->frames[i], i > 0);
	return r;
}

static int name_event(struct naming *n, const struct event *e)
{
	const struct trace_thread *thread = trace_thread(n->t, e->kind == EVENT_WAKEUP ? e->wakeup.waker : e->thread, e->time);
	int r;

	if (!thread || (n->only && thread->tgid != n->only))
		return 0;
	if (e->kind == EVENT_WAKEUP)
		return name_stack(n, thread->tgid, e->wakeup.stack);
	if (e->kind == EVENT_SAMPLE) {
		r = name_stack(n, thread->tgid, e->sample.user);
		return r < 0 ? r : name_one(n, thread->tgid, e->sample.ip, false);
	}
	r = name_stack(n, thread->tgid, e->waited.user);
	return r < 0 ? r : name_one(n, thread->tgid, e->waited.ip, false);
}

/* Those that the trace brought along (kernel, JITs) are not asked for again. */
static int know(struct naming *n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n->t->symbols.n; i++)
		r = hmap_put(&n->asked, n->t->symbols.v[i].process, n->t->symbols.v[i].address, n);
	return r;
}

static int name_them(struct trace *t, uint32_t only)
{
	const struct symbolizer_options options = {.root = "", .proc_root = "/proc"};
	struct naming n = {.t = t, .only = only};
	int r = symbolizer_new(&options, &n.symbolizer);

	r = r ?: know(&n);
	for (size_t i = 0; r == 0 && i < t->n_events; i++)
		if (t->events[i].kind == EVENT_SAMPLE || t->events[i].kind == EVENT_WAITED || (t->events[i].kind == EVENT_WAKEUP && t->events[i].wakeup.stack))
			r = name_event(&n, &t->events[i]);
	hmap_free(&n.asked);
	hmap_free(&n.stacks);
	symbolizer_free(n.symbolizer);
	return r < 0 ? r : trace_finish(t);
}

int name_stacks(struct trace *t)
{
	return name_them(t, 0);
}

int name_stacks_of(struct trace *t, uint32_t tgid)
{
	return name_them(t, tgid);
}
