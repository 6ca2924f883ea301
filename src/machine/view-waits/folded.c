/* Stacks as a tree, and as flame graphs take them. Values in ns. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/view-waits/waits-words.h"

#define SAMPLE_NS (1000000000 / 49)
#define NAMES_MAX (2 * TRACE_FRAMES + 5) /* program, where its stack ends, user's and kernel's frames, the state */

/* One stack: its names one after the other in `text`, each ended by NUL. */
struct fold {
	const struct timeline *t;
	const struct fold_options *o;
	struct path_tree *tree;
	struct str text;
	size_t at[NAMES_MAX], n;
};

static void begin_name(struct fold *f)
{
	if (f->n < NAMES_MAX)
		f->at[f->n++] = f->text.len;
}

static void put_frame(struct fold *f, uint32_t process, uint64_t address)
{
	begin_name(f);
	waits_frame(f->t, process, address, &f->text);
	str_puts(&f->text, address >> 63 ? "_[k]" : "");
	str_append(&f->text, "", 1);
}

static void put_stack(struct fold *f, uint32_t process, stack_ref ref)
{
	const uint64_t *frames;
	bool astray;
	size_t n = waits_stack(f->t, process, ref, false, &frames, &astray);

	if (astray) {
		begin_name(f);
		str_append(&f->text, NO_FRAME_POINTERS, sizeof(NO_FRAME_POINTERS));
	}
	for (size_t i = n; i > 0; i--)
		put_frame(f, process, frames[i - 1]);
}

static void begin(struct fold *f, uint32_t thread)
{
	str_clear(&f->text);
	f->n = 0;
	begin_name(f);
	str_puts(&f->text, f->t->names.v[f->t->threads.v[thread].program]);
	str_append(&f->text, "", 1);
}

static int add(struct fold *f, int64_t ns)
{
	const char *names[NAMES_MAX];

	if (f->text.error)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++)
		names[i] = f->text.data + f->at[i];
	return path_tree_add(f->tree, names, f->n, (uint64_t)ns);
}

static bool wanted(const struct fold_options *o, uint32_t thread)
{
	for (size_t i = 0; o->threads && i < o->n; i++)
		if (o->threads[i] == thread)
			return true;
	return !o->threads;
}

static int fold_samples(struct fold *f)
{
	const struct trace *trace = f->t->trace;
	int r = 0;

	for (size_t i = trace_find(trace, (uint64_t)f->o->from); r == 0 && i < trace->n_events && (int64_t)trace->events[i].time < f->o->to; i++) {
		const struct event *e = &trace->events[i];
		const struct trace_thread *who = e->kind == EVENT_SAMPLE ? trace_thread(trace, e->thread, e->time) : NULL;

		if (!who || !who->tid || !wanted(f->o, (uint32_t)(who - trace->threads.v)))
			continue;
		begin(f, (uint32_t)(who - trace->threads.v));
		put_stack(f, who->tgid, e->sample.user);
		put_stack(f, who->tgid, e->sample.kernel);
		if (!e->sample.user && !e->sample.kernel && e->sample.ip) /* 0: another user's */
			put_frame(f, who->tgid, e->sample.ip);
		r = add(f, SAMPLE_NS);
	}
	return r;
}

static int fold_waits_of(struct fold *f, uint32_t n)
{
	const struct thread_line *thread = &f->t->threads.v[n];
	int r = 0;

	for (size_t i = interval_find(thread, f->o->from); r == 0 && i < thread->intervals.n && thread->intervals.v[i].start < f->o->to; i++) {
		const struct interval *x = &thread->intervals.v[i];
		int64_t start = x->start > f->o->from ? x->start : f->o->from, end = x->end < f->o->to ? x->end : f->o->to;

		if (state_table[x->state].wait == FOR_NONE || start >= end)
			continue;
		begin(f, n);
		put_stack(f, thread->tgid, x->user_stack);
		put_stack(f, thread->tgid, x->kernel_stack);
		begin_name(f);
		str_printf(&f->text, "[%s]", state_table[x->state].text);
		str_append(&f->text, "", 1);
		r = add(f, end - start);
	}
	return r;
}

int waits_fold_stacks(const struct timeline *t, const struct fold_options *o, struct path_tree *ret)
{
	struct path_tree tree = {};
	struct fold f = {.t = t, .o = o, .tree = &tree};
	int r = o->waits ? 0 : fold_samples(&f);

	for (uint32_t n = 0; r == 0 && o->waits && n < t->threads.n; n++)
		if (wanted(o, n))
			r = fold_waits_of(&f, n);
	str_free(&f.text);
	if (r < 0) {
		path_tree_free(&tree);
		return r;
	}
	path_tree_sort(&tree);
	*ret = tree;
	return 0;
}

void waits_folded_text(const struct path_tree *tree, FILE *out)
{
	_cleanup_str_ struct str text = {};

	path_tree_write_folded(tree, &text);
	fputs(text.data ? text.data : "", out);
}

/* ---- two trees as one ---- */

struct pair {
	const struct path_tree *a, *b; /* b: NULL = nothing to compare with */
	double scale;		       /* of b's ns */
};

static json_t *node_json(const struct pair *p, uint32_t a, uint32_t b);

/* The child of `parent` in the other tree, or 0. */
static uint32_t same_child(const struct path_tree *t, uint32_t parent, const char *name)
{
	uint32_t i = t && parent != UINT32_MAX && t->nodes.n ? t->nodes.v[parent].child : 0;

	while (i && strcmp(t->nodes.v[i].name, name) != 0)
		i = t->nodes.v[i].next;
	return i;
}

/* UINT32_MAX: this tree does not have the node. */
static json_t *children_json(const struct pair *p, uint32_t a, uint32_t b)
{
	json_t *list = json_array();

	if (a != UINT32_MAX)
		for (uint32_t i = p->a->nodes.v[a].child; i; i = p->a->nodes.v[i].next) {
			uint32_t other = same_child(p->b, b, p->a->nodes.v[i].name);

			json_array_append_new(list, node_json(p, i, other ? other : UINT32_MAX));
		}
	if (p->b && b != UINT32_MAX)
		for (uint32_t i = p->b->nodes.v[b].child; i; i = p->b->nodes.v[i].next)
			if (a == UINT32_MAX || !same_child(p->a, a, p->b->nodes.v[i].name))
				json_array_append_new(list, node_json(p, UINT32_MAX, i));
	return list;
}

static json_t *node_json(const struct pair *p, uint32_t a, uint32_t b)
{
	const struct tree_node *x = a == UINT32_MAX ? NULL : &p->a->nodes.v[a], *y = b == UINT32_MAX ? NULL : &p->b->nodes.v[b];
	json_t *node = json_pack("{s:s?, s:I, s:I}", "name", x ? x->name : y ? y->name : NULL, "total", (json_int_t)(x ? x->total : 0), "self",
				 (json_int_t)(x ? x->self : 0));

	if (p->b)
		json_object_set_new(node, "base", json_integer((json_int_t)(y ? p->scale * (double)y->total : 0)));
	json_object_set_new(node, "children", children_json(p, a, b));
	return node;
}

static bool is_empty(const struct path_tree *t)
{
	return !t->nodes.n;
}

json_t *waits_tree_json(const struct path_tree *tree, const struct path_tree *base, double scale)
{
	const struct pair p = {tree, base, scale};

	if (is_empty(tree) && (!base || is_empty(base)))
		return json_null();
	return node_json(&p, is_empty(tree) ? UINT32_MAX : 0, !base || is_empty(base) ? UINT32_MAX : 0);
}

int waits_flame_json(const struct flame *flame, const struct flame *base, FILE *out)
{
	const struct path_tree *other = base->t ? base->tree : NULL;
	double scale = other ? (double)(flame->o.to - flame->o.from) / (double)(base->o.to - base->o.from) : 1;

	return json_print(json_pack("{s:s, s:o, s:o, s:s, s:s, s:o}", "schema", "whyslow.flame/1", "window",
			 waits_window_json(flame->t, flame->o.from, flame->o.to), "base",
			 other ? waits_window_json(base->t, base->o.from, base->o.to) : json_null(), "kind", flame->o.waits ? "waits" : "cpu",
			 "unit", "ns", "tree", waits_tree_json(flame->tree, other, scale)), JSON_COMPACT, out);
}
