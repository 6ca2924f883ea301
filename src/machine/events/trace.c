#include "machine/events/trace.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/events/calls.h"
#include "machine/events/trace-sort.h"
#include "machine/model/entity.h"

#define CPUS_MAX  8192
#define USER_BITS 52 /* of an address in user space: arm64's most; x86-64 gives out more only to who asks */

int trace_begin(struct trace *t, uint32_t n_cpus)
{
	if (n_cpus > CPUS_MAX)
		return -EINVAL;
	*t = (struct trace){.source = "test"};
	t->cpus = calloc(n_cpus ? n_cpus : 1, sizeof(*t->cpus));
	if (!t->cpus)
		return -ENOMEM;
	t->n_cpus = n_cpus;
	for (uint32_t i = 0; i < n_cpus; i++)
		t->cpus[i].there = true;
	return 0;
}

static void free_stacks(struct trace *t)
{
	HMAP_FOREACH(slot, &t->stacks) {
		struct trace_stack *s = slot->value;

		FREE_ALL(s->frames, s);
	}
	hmap_free(&t->stacks);
}

void trace_clear(struct trace *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		FREE_ALL(t->threads.v[i].exe, t->threads.v[i].label, t->threads.v[i].unit);
	}
	VEC_FREE(t->threads);
	VEC_FREE_EACH(t->modules, free(each->path));
	VEC_FREE(t->mappings);
	VEC_FREE_EACH(t->symbols, free(each->name));
	free_stacks(t);
	FREE_ALL(t->events, t->cpus, t->machine, t->host, t->kernel);
	*t = (struct trace){};
}

struct event *trace_reserve(struct trace *t, size_t n)
{
	n = n ? n : 1; /* NULL means: no memory */
	if (t->allocated - t->n_events < n) {
		size_t want = t->n_events + n > 2 * t->allocated ? t->n_events + n : 2 * t->allocated;
		struct event *grown = reallocarray(t->events, want, sizeof(*grown));

		if (!grown)
			return NULL;
		t->events = grown;
		t->allocated = want;
	}
	return t->events + t->n_events;
}

int trace_add(struct trace *t, const struct event *e)
{
	struct event *at;

	if (e->cpu >= t->n_cpus)
		return -EINVAL;
	at = trace_reserve(t, 1);
	if (!at)
		return -ENOMEM;
	*at = *e;
	t->n_events++;
	return 0;
}

int trace_add_thread(struct trace *t, const struct trace_thread *thread)
{
	return VEC_PUSH(t->threads, *thread);
}

int trace_add_stack(struct trace *t, stack_ref ref, const uint64_t *frames, uint32_t n)
{
	struct trace_stack *s;

	if (hmap_get(&t->stacks, ref, 0))
		return 0;
	s = calloc(1, sizeof(*s));
	if (s)
		s->frames = calloc(n ? n : 1, sizeof(*frames));
	if (!s || !s->frames || hmap_put(&t->stacks, ref, 0, s) < 0) {
		if (s)
			free(s->frames);
		free(s);
		return -ENOMEM;
	}
	s->ref = ref;
	s->n = n;
	memcpy(s->frames, frames, n * sizeof(*frames));
	return 0;
}

/* --- all of it in order --- */

static void drop_unknown(struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_events; i++) {
		if (t->events[i].kind == EVENT_NONE || t->events[i].kind >= EVENT_KIND_END)
			t->cpus[t->events[i].cpu].unknown++;
		else if (n++ != i)
			t->events[n - 1] = t->events[i];
	}
	t->n_events = n;
}

/* --- threads --- */

ORDER(compare_threads, struct trace_thread, ASCENDING(tid) ?: ASCENDING(start))

ORDER(compare_mappings, struct trace_mapping, ASCENDING(process) ?: ASCENDING(start))

ORDER(compare_symbols, struct trace_symbol, ASCENDING(process) ?: ASCENDING(address))

static void sort_threads(struct trace *t)
{
	VEC_SORT(t->threads, compare_threads);
}

/* Index of the first thread of a number, or where it would be. */
static size_t first_of(const struct trace *t, uint32_t tid)
{
	return FIRST_WHERE(i, t->threads.n, t->threads.v[i].tid >= tid);
}

const struct trace_thread *trace_thread(const struct trace *t, uint32_t tid, uint64_t time)
{
	const struct trace_thread *best = NULL;

	for (size_t i = first_of(t, tid); i < t->threads.n && t->threads.v[i].tid == tid; i++) {
		const struct trace_thread *thread = &t->threads.v[i];

		if (best && thread->start > time)
			break;
		best = thread;
		if (!thread->end || time <= thread->end)
			break;
	}
	return best;
}

static struct trace_thread *known(struct trace *t, size_t sorted, uint32_t tid, uint64_t time)
{
	struct trace_thread *found = NULL;
	size_t n = t->threads.n;

	t->threads.n = sorted;
	found = (struct trace_thread *)trace_thread(t, tid, time);
	t->threads.n = n;
	return found;
}

/* A thread whose fork was recorded and that is in no table: it ended, and the table of ended threads had no room. */
static int add_forked(struct trace *t, const struct event *e)
{
	struct trace_thread thread = {
		.tid = e->thread,
		.tgid = e->fork.process,
		.ns_tid = e->thread,
		.ns_tgid = e->fork.process,
		.parent = e->fork.process == e->fork.parent_process ? 0 : e->fork.parent_process,
		.start = e->time,
		.flags = THREAD_HAS_ENDED,
	};

	return VEC_PUSH(t->threads, thread);
}

static bool lived_at(const struct trace_thread *thread, uint64_t time)
{
	/* the kernel takes the start time a moment before it tells of the fork */
	return thread && thread->start <= time && (!thread->end || time <= thread->end);
}

static int add_unlisted(struct trace *t)
{
	struct hmap added = {}; /* (tid, 0) -> the event of its fork */
	size_t sorted = t->threads.n;
	int r = 0;

	for (size_t i = 0; i < t->n_events && r == 0; i++) {
		struct event *e = &t->events[i];

		if (e->kind == EVENT_FORK && !lived_at(known(t, sorted, e->thread, e->time), e->time)) {
			r = add_forked(t, e);
			r = r ?: hmap_put(&added, e->thread, 0, (void *)(t->threads.n));
		} else if (e->kind == EVENT_EXIT || e->kind == EVENT_NAME) {
			size_t at = (size_t)hmap_get(&added, e->thread, 0);
			struct trace_thread *thread = at ? &t->threads.v[at - 1] : known(t, sorted, e->thread, e->time);

			if (thread && e->kind == EVENT_EXIT && !thread->end)
				thread->end = e->time;
			else if (at && e->kind == EVENT_NAME)
				memcpy(thread->comm, e->text, EVENT_TEXT);
		}
	}
	hmap_free(&added);
	return r;
}

static int add_idle(struct trace *t)
{
	struct trace_thread idle = {.comm = "idle", .flags = THREAD_IS_KERNEL | THREAD_IS_IDLE, .prio = 120};

	if (trace_thread(t, 0, 0))
		return 0;
	return VEC_PUSH(t->threads, idle);
}

static void name_after_process(struct trace *t)
{
	VEC_EACH(thread, t->threads) {
		const struct trace_thread *leader;

		if (thread->comm[0])
			continue;
		leader = trace_thread(t, thread->tgid, thread->start);
		memcpy(thread->comm, leader && leader->comm[0] ? leader->comm : "?", leader && leader->comm[0] ? TRACE_COMM : 2);
	}
}

static void make_names_printable(struct trace *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		str_make_printable(t->threads.v[i].comm);
		str_make_printable(t->threads.v[i].exe);
		str_make_printable(t->threads.v[i].unit);
	}
	for (size_t i = 0; i < t->modules.n; i++)
		str_make_printable(t->modules.v[i].path);
	for (size_t i = 0; i < t->symbols.n; i++)
		str_make_printable(t->symbols.v[i].name);
}

/* --- spans --- */

static void find_spans(struct trace *t)
{
	for (size_t i = 0; i < t->n_events; i++) {
		struct trace_cpu *cpu = &t->cpus[t->events[i].cpu];

		if (!cpu->from || t->events[i].time < cpu->from)
			cpu->from = t->events[i].time;
		if (t->events[i].time > cpu->to)
			cpu->to = t->events[i].time;
	}
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		if (!t->cpus[i].there || !t->cpus[i].to)
			continue;
		if (t->cpus[i].from > t->from)
			t->from = t->cpus[i].from;
		if (t->cpus[i].to > t->to)
			t->to = t->cpus[i].to;
	}
	if (!t->frozen)
		t->frozen = t->to;
}

int trace_finish(struct trace *t)
{
	int r = trace_sort(t);

	if (r < 0)
		return r;
	drop_unknown(t);
	sort_threads(t);
	r = add_unlisted(t);
	if (r == 0)
		sort_threads(t);
	r = r ?: add_idle(t);
	if (r < 0)
		return r;
	sort_threads(t);
	name_after_process(t);
	make_names_printable(t);
	VEC_SORT(t->mappings, compare_mappings);
	VEC_SORT(t->symbols, compare_symbols);
	find_spans(t);
	return 0;
}

/* --- parts of it, and two generations --- */

void trace_cut(struct trace *t, uint64_t since)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_events; i++)
		if (t->events[i].time > since && t->events[i].time <= t->frozen)
			t->events[n++] = t->events[i];
	t->n_events = n;
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		if (t->cpus[i].from < since)
			t->cpus[i].from = since;
		t->cpus[i].to = t->frozen;
	}
	t->to = t->frozen;
}

void trace_tail(const struct trace *t, uint64_t until, size_t n, struct trace_cpu *cpus, struct trace *ret)
{
	size_t end = trace_find(t, until + 1), left_out = end > n ? end - n : 0;
	uint64_t since = left_out ? t->events[left_out - 1].time : 0;

	*ret = *t;
	ret->events = t->events + left_out;
	ret->n_events = end - left_out;
	ret->cpus = cpus;
	ret->from = since > t->from ? since : t->from;
	ret->to = until < t->to ? until : t->to;
	ret->frozen = until < t->frozen ? until : t->frozen;
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		cpus[i] = t->cpus[i];
		if (cpus[i].from < since)
			cpus[i].from = since;
		if (cpus[i].to > until)
			cpus[i].to = until;
	}
}

/* The later freeze looked at those that live; of the earlier one's, those that ended since are only its own. */
static int take_threads(struct trace *t, struct trace *later)
{
	size_t sorted = t->threads.n;

	VEC_EACH(from, later->threads) {
		struct trace_thread *mine = known(t, sorted, from->tid, from->start ? from->start : later->from);

		if (mine && mine->start == from->start) {
			FREE_ALL(mine->exe, mine->label, mine->unit);
			*mine = *from;
		} else if (VEC_PUSH(t->threads, *from) < 0) {
			return -ENOMEM;
		}
		from->exe = from->label = from->unit = NULL;
	}
	return 0;
}

static int take_tables(struct trace *t, struct trace *later)
{
	uint32_t first = (uint32_t)t->modules.n;

	for (size_t i = 0; i < later->modules.n; i++) {
		if (VEC_PUSH(t->modules, later->modules.v[i]) < 0)
			return -ENOMEM;
		later->modules.v[i].path = NULL;
	}
	for (size_t i = 0; i < later->mappings.n; i++) {
		later->mappings.v[i].module += first;
		if (VEC_PUSH(t->mappings, later->mappings.v[i]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < later->symbols.n; i++) {
		if (VEC_PUSH(t->symbols, later->symbols.v[i]) < 0)
			return -ENOMEM;
		later->symbols.v[i].name = NULL;
	}
	HMAP_FOREACH(slot, &later->stacks) {
		const struct trace_stack *s = slot->value;

		if (trace_add_stack(t, s->ref, s->frames, s->n) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void take_counts(struct trace *t, const struct trace *later)
{
	for (uint32_t i = 0; i < t->n_cpus && i < later->n_cpus; i++) {
		t->cpus[i].to = later->cpus[i].to;
		t->cpus[i].written += later->cpus[i].written;
		t->cpus[i].torn += later->cpus[i].torn;
		t->cpus[i].skipped += later->cpus[i].skipped;
		t->cpus[i].unknown += later->cpus[i].unknown;
	}
	t->stacks_lost += later->stacks_lost;
	t->to = later->to;
}

int trace_append(struct trace *t, struct trace *later)
{
	struct event *at = trace_reserve(t, later->n_events);
	int r = later->n_cpus > t->n_cpus ? -EINVAL : 0;

	if (!at)
		return -ENOMEM;
	if (r == 0 && later->n_events) {
		memcpy(at, later->events, later->n_events * sizeof(*at));
		t->n_events += later->n_events;
	}
	r = r ?: take_threads(t, later);
	r = r ?: take_tables(t, later);
	if (r == 0)
		take_counts(t, later);
	trace_clear(later);
	return r < 0 ? r : trace_finish(t);
}

/* --- looking things up --- */

char *trace_program(const struct trace *t, const struct trace_thread *thread)
{
	const struct trace_thread *leader = trace_thread(t, thread->tgid, thread->start) ?: thread;
	struct entity_info info = {.kind = ENTITY_PROCESS, .name = (char *)leader->comm, .exe = thread->exe ?: leader->exe};

	return leader->label ? strdup(leader->label) : entity_label(&info);
}

const struct trace_thread *trace_thread_in_namespace(const struct trace *t, const struct trace_thread *sleeper,
						     uint32_t number, uint64_t time)
{
	if (!sleeper->pid_ns || sleeper->ns_tid == sleeper->tid) {
		const struct trace_thread *same = trace_thread(t, number, time);

		if (lived_at(same, time) && (!sleeper->pid_ns || same->pid_ns == sleeper->pid_ns || !same->pid_ns))
			return same;
	}
	VEC_EACH(thread, t->threads)
		if (thread->ns_tid == number && thread->pid_ns == sleeper->pid_ns && sleeper->pid_ns && lived_at(thread, time))
			return thread;
	return NULL;
}

const struct trace_stack *trace_stack(const struct trace *t, stack_ref ref)
{
	return ref ? hmap_get(&t->stacks, ref, 0) : NULL;
}

static bool mapping_before(const struct trace_mapping *m, uint32_t process, uint64_t address)
{
	return m->process < process || (m->process == process && m->end <= address);
}

const struct trace_mapping *trace_mapping(const struct trace *t, uint32_t process, uint64_t address)
{
	size_t at = FIRST_WHERE(i, t->mappings.n, !mapping_before(&t->mappings.v[i], process, address));

	if (at == t->mappings.n || t->mappings.v[at].process != process || t->mappings.v[at].start > address)
		return NULL;
	return &t->mappings.v[at];
}

static bool has_mappings(const struct trace *t, uint32_t process)
{
	size_t at = FIRST_WHERE(i, t->mappings.n, t->mappings.v[i].process >= process);

	return at < t->mappings.n && t->mappings.v[at].process == process;
}

/* No program has its code in the first page, or higher than this. */
static bool may_be_code(uint64_t address)
{
	return address >= 4096 && address >> USER_BITS == 0;
}

uint32_t trace_stack_depth(const struct trace *t, uint32_t process, const struct trace_stack *s)
{
	bool known = has_mappings(t, process);
	uint32_t n = 0;

	while (n < s->n && s->frames[n] >> 63)
		n++;
	/* the innermost is where it was, not where a walk led */
	for (n++; n < s->n && (known ? trace_mapping(t, process, s->frames[n]) != NULL : may_be_code(s->frames[n])); n++)
		continue;
	return n < s->n ? n : s->n;
}

const char *trace_symbol(const struct trace *t, uint32_t process, uint64_t address)
{
	struct trace_symbol key = {.process = process, .address = address};
	const struct trace_symbol *found =
		t->symbols.n ? bsearch(&key, t->symbols.v, t->symbols.n, sizeof(key), compare_symbols) : NULL;

	return found ? found->name : NULL;
}

size_t trace_find(const struct trace *t, uint64_t time)
{
	return FIRST_WHERE(i, t->n_events, t->events[i].time >= time);
}

bool trace_gives(const struct trace *t, int16_t syscall)
{
#define NUMBERS(x86, arm) {x86, arm},
	static const struct {
		int16_t x86, arm;
	} gives[] = {CALLS_THAT_GIVE(NUMBERS)};
#undef NUMBERS
	bool arm = t->machine && strcmp(t->machine, "aarch64") == 0;

	return ANY_WHERE(i, ARRAY_SIZE(gives), (arm ? gives[i].arm : gives[i].x86) == syscall);
}
