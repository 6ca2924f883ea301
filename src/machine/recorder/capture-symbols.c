#include "machine/recorder/capture-symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/system/helper-thread.h"
#include "machine/symbol/identify.h"
#include "machine/symbol/kernel.h"
#include "machine/symbol/module.h"

#define IS_KERNEL(address) ((address) >> 63)
#define MAPPINGS_MAX	   400000 /* of all processes: 16 MB; a desktop has 20,000 that are code */
#define PATHS_MAX	   ((size_t)16 << 20)

#define PATIENCE	   (3 * NS_PER_SEC) /* for one process; at most HELPERS_LEFT_MAX times, far within FREEZE_PATIENCE */

/* --- the kernel --- */

const struct kernel_symbols *kernel_names_get(struct kernel_names *k)
{
	pthread_mutex_lock(&k->lock);
	if (!k->tried)
		(void)kernel_symbols_read("/proc", &k->symbols);
	k->tried = true;
	pthread_mutex_unlock(&k->lock);
	return k->symbols;
}

static int name_address(struct trace *t, const struct kernel_symbols *kernel, struct hmap *named, uint64_t address)
{
	struct trace_symbol s = {.address = address};
	const char *module, *name;
	uint64_t offset;

	if (!IS_KERNEL(address) || hmap_get(named, address, 0))
		return 0;
	if (hmap_put(named, address, 0, t) < 0)
		return -ENOMEM;
	name = kernel_symbols_find(kernel, address, &offset, &module);
	if (!name)
		return 0;
	s.name = strdup(name);
	return VEC_PUSH_OWNER(t->symbols, s.name, s);
}

static int name_kernel(struct trace *t, const struct kernel_symbols *kernel)
{
	struct hmap named = {}; /* (address, 0) -> anything */
	int r = 0;

	HMAP_FOREACH(slot, &t->stacks) {
		const struct trace_stack *s = slot->value;

		for (uint32_t i = 0; i < s->n && r == 0; i++)
			r = name_address(t, kernel, &named, s->frames[i]);
	}
	for (size_t i = 0; i < t->n_events && r == 0; i++)
		if (t->events[i].kind == EVENT_SAMPLE)
			r = name_address(t, kernel, &named, t->events[i].sample.ip);
	hmap_free(&named);
	return r;
}

/* --- processes --- */

static int add_module(struct trace *t, const struct modules *from, uint32_t index, uint32_t *known)
{
	const struct module *m = &from->modules.v[index];
	struct trace_module module = {};

	if (known[index])
		return 0;
	module.path = strdup(m->path ? m->path : "[anon]");
	module.build_id_size = m->build_id.size;
	memcpy(module.build_id, m->build_id.bytes, m->build_id.size);
	if (VEC_PUSH_OWNER(t->modules, module.path, module) < 0)
		return -ENOMEM;
	known[index] = (uint32_t)t->modules.n;
	return 0;
}

static int add_maps(struct trace *t, const struct modules *m, uint32_t process)
{
	_cleanup_free_ uint32_t *known = calloc(m->modules.n + 1, sizeof(*known));
	int r = known ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->code.n && r == 0; i++) {
		const struct mapping *code = &m->code.v[i];

		r = add_module(t, m, code->module, known);
		if (r == 0)
			r = VEC_PUSH(t->mappings, (struct trace_mapping){process, known[code->module] - 1, code->start, code->end,
									 code->offset});
	}
	return r;
}

/* What is read of one process: its memory lock may be held for ever, and its files may lie on a file system that has died. */
struct reading {
	const char *proc_root;
	uint32_t pid;
	struct identifier *identifier;
	struct modules modules;
	int result;
};

static void read_process(void *data)
{
	struct reading *r = data;

	r->result = modules_read(r->proc_root, r->pid, &r->modules);
	if (r->result == 0)
		identifier_identify(r->identifier, &r->modules);
}

static void release_reading(void *data)
{
	struct reading *r = data;

	identify_free(r->identifier);
	modules_free(&r->modules);
	free(r);
}

/* A process that cannot be read keeps its reading, and with it the identifier. */
int module_reader_read(struct module_reader *n, uint32_t pid, struct modules *ret)
{
	struct reading *reading = malloc(sizeof(*reading));
	int r;

	if (!reading)
		return -ENOMEM;
	*reading = (struct reading){n->proc_root, pid, n->identifier, {}, -ESRCH};
	r = n->helper ? helper_do(n->helper, read_process, release_reading, reading, PATIENCE) : (read_process(reading), 0);
	if (r == -ETIMEDOUT) {
		n->identifier = NULL;
		return identify_new(&n->identifier) < 0 ? -ENOMEM : -ESRCH;
	}
	r = r < 0 ? -ESRCH : reading->result;
	if (r == 0)
		*ret = reading->modules;
	free(reading);
	return r;
}

static int name_process(struct trace *t, struct module_reader *n, uint32_t pid)
{
	_cleanup_(modules_free) struct modules m = {};
	int r = module_reader_read(n, pid, &m);

	r = r ?: add_maps(t, &m, pid);
	return r == -ENOMEM ? r : 0;
}

static uint32_t asks_for(const struct event *e)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
	case EVENT_WAITED:
		return e->thread;
	case EVENT_WAKEUP:
		return e->wakeup.stack ? e->wakeup.waker : 0;
	}
	return 0;
}

/* One process's mappings are at most MAPS_MAX of text (machine/symbol/module.h), but any user may have many such processes: those that
 * come when there is no room keep numbers in place of names. */
static bool has_room(const struct trace *t, size_t *counted, size_t *text)
{
	for (; *counted < t->modules.n; (*counted)++)
		*text += strlen(t->modules.v[*counted].path);
	return t->mappings.n < MAPPINGS_MAX && *text < PATHS_MAX;
}

static int map_processes(struct trace *t, struct module_reader *naming)
{
	struct hmap mapped = {}; /* (tgid, 0) -> anything */
	size_t counted = 0, text = 0;
	int r = 0;

	for (size_t i = 0; i < t->n_events && r == 0; i++) {
		uint32_t tid = asks_for(&t->events[i]);
		const struct trace_thread *thread = tid ? trace_thread(t, tid, t->events[i].time) : NULL;

		if (!thread || (thread->flags & THREAD_IS_KERNEL) || hmap_get(&mapped, thread->tgid, 0))
			continue;
		r = hmap_put(&mapped, thread->tgid, 0, t);
		if (r == 0 && has_room(t, &counted, &text))
			r = name_process(t, naming, thread->tgid);
	}
	hmap_free(&mapped);
	return r;
}

static int name_processes(struct trace *t, const char *proc_root, struct helper *helper)
{
	struct module_reader naming = {proc_root, helper, NULL};
	int r = identify_new(&naming.identifier);

	if (r < 0)
		return r;
	r = map_processes(t, &naming);
	identify_free(naming.identifier);
	return r;
}

int capture_symbols(struct trace *t, const char *proc_root, struct kernel_symbols **kernel, struct helper *helper)
{
	int r = 0;

	if (!*kernel)
		(void)kernel_symbols_read(proc_root, kernel);
	if (*kernel)
		r = name_kernel(t, *kernel);
	r = r ?: name_processes(t, proc_root, helper);
	return r < 0 ? r : trace_finish(t);
}
