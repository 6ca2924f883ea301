/* Folded stacks, as flame graphs take them: "program;outermost;...;innermost value", values in ns. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/str.h"
#include "view/waits-words.h"

#define SAMPLE_NS (1000000000 / 49)

struct fold {
	const struct timeline *t;
	struct hmap lines; /* (hash of the text, 0) -> struct folded */
};

struct folded {
	int64_t ns;
	char text[];
};

static void put_frame(const struct timeline *t, uint32_t process, uint64_t address, struct str *line)
{
	bool kernel = address >> 63;
	const char *name = trace_symbol(t->trace, kernel ? 0 : process, address);
	const struct trace_mapping *mapping = kernel ? NULL : trace_mapping(t->trace, process, address);
	const char *slash;

	if (name) {
		str_printf(line, ";%s%s", name, kernel ? "_[k]" : "");
		return;
	}
	if (!mapping || mapping->module >= t->trace->modules.n) {
		str_printf(line, ";0x%" PRIx64 "%s", address, kernel ? "_[k]" : "");
		return;
	}
	slash = strrchr(t->trace->modules.v[mapping->module].path, '/');
	str_printf(line, ";%s+0x%" PRIx64, slash ? slash + 1 : t->trace->modules.v[mapping->module].path,
		   address - mapping->start + mapping->offset);
}

static void put_stack(const struct timeline *t, uint32_t process, stack_ref ref, struct str *line)
{
	const struct trace_stack *stack = ref ? trace_stack(t->trace, ref) : NULL;

	for (uint32_t i = stack ? stack->n : 0; i > 0; i--)
		put_frame(t, process, stack->frames[i - 1], line);
}

static void add_line(struct fold *f, struct str *line, int64_t ns)
{
	uint64_t hash = line->error ? 0 : hash_bytes(line->data, line->len);
	struct folded *known = hmap_get(&f->lines, hash, 0);

	if (line->error)
		return;
	if (!known) {
		known = calloc(1, sizeof(*known) + line->len + 1);
		if (!known || hmap_put(&f->lines, hash, 0, known) < 0) {
			free(known);
			return;
		}
		memcpy(known->text, line->data, line->len);
	}
	known->ns += ns;
}

static void begin_line(const struct timeline *t, uint32_t thread, struct str *line)
{
	str_clear(line);
	for (const char *c = t->names.v[t->threads.v[thread].program]; *c; c++)
		str_putc(line, *c == ';' || *c == ' ' ? '_' : *c);
}

static void fold_samples(struct fold *f, int64_t from, int64_t to)
{
	const struct trace *trace = f->t->trace;
	_cleanup_(str_free) struct str line = {};

	for (size_t i = trace_find(trace, (uint64_t)from); i < trace->n_events && (int64_t)trace->events[i].time < to; i++) {
		const struct event *e = &trace->events[i];
		const struct trace_thread *who = e->kind == EVENT_SAMPLE ? trace_thread(trace, e->thread, e->time) : NULL;

		if (!who || !who->tid)
			continue;
		begin_line(f->t, (uint32_t)(who - trace->threads.v), &line);
		put_stack(f->t, who->tgid, e->sample.user, &line);
		put_stack(f->t, who->tgid, e->sample.kernel, &line);
		if (!e->sample.user && !e->sample.kernel)
			put_frame(f->t, who->tgid, e->sample.ip, &line);
		add_line(f, &line, SAMPLE_NS);
	}
}

static void fold_waits(struct fold *f, int64_t from, int64_t to)
{
	_cleanup_(str_free) struct str line = {};

	for (uint32_t n = 0; n < f->t->threads.n; n++) {
		const struct thread_line *thread = &f->t->threads.v[n];

		for (size_t i = interval_find(thread, from); i < thread->intervals.n && thread->intervals.v[i].start < to; i++) {
			const struct interval *x = &thread->intervals.v[i];
			int64_t start = x->start > from ? x->start : from, end = x->end < to ? x->end : to;

			if (state_table[x->state].wait == FOR_NONE)
				continue;
			begin_line(f->t, n, &line);
			put_stack(f->t, thread->tgid, x->user_stack, &line);
			put_stack(f->t, thread->tgid, x->kernel_stack, &line);
			str_printf(&line, ";[%s]", state_table[x->state].text);
			add_line(f, &line, end - start);
		}
	}
}

void folded_text(const struct timeline *t, int64_t from, int64_t to, bool waits, FILE *out)
{
	struct fold f = {.t = t};

	if (waits)
		fold_waits(&f, from, to);
	else
		fold_samples(&f, from, to);
	HMAP_FOREACH(slot, &f.lines) {
		struct folded *line = slot->value;

		fprintf(out, "%s %" PRId64 "\n", line->text, line->ns);
		free(line);
	}
	hmap_free(&f.lines);
}
