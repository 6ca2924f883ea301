#include "machine/view-waits/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/view-waits/waits-words.h"

#define PROGRAMS 10 /* listed */
#define LABEL	 200
#define VALUE	 24

/* --- stacks as trees --- */

static uint64_t weight_of(const struct profile_row *row, bool waits)
{
	return waits ? row->waited : row->cpu;
}

/* Frames of other programs' profiles may have neither a name nor a place. */
static const char *frame_name(const struct profile *p, uint32_t frame)
{
	uint32_t name = p->frames.v[frame].name;

	return name ? profile_text_of(p, name) : "[unknown]";
}

static const char *program_name(const struct profile *p, const struct profile_row *row)
{
	return row->program ? profile_text_of(p, row->program) : "all";
}

static int add_path(const struct profile *p, const struct profile_row *row, bool waits, struct path_tree *tree)
{
	const struct profile_stack *s = &p->stacks.v[row->stack];
	const char *names[PROFILE_FRAMES_MAX + 1];
	size_t n = 0;

	names[n++] = program_name(p, row);
	for (uint32_t i = s->n; i > 0; i--)
		names[n++] = frame_name(p, p->chain.v[s->first + i - 1]);
	return path_tree_add(tree, names, n, weight_of(row, waits));
}

static bool is_kernel(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, "_[k]") == 0;
}

/* The innermost function of a stack; of a wait the innermost of the program itself, with what it waited for and who ended that. */
static void put_label(const struct profile *p, const struct profile_row *row, bool waits, char label[LABEL])
{
	const struct profile_stack *s = &p->stacks.v[row->stack];
	uint32_t waker = profile_waker_frames(p, row->stack), at = waker;
	const char *state = waits && at < s->n ? frame_name(p, p->chain.v[s->first + at]) : NULL, *function;

	if (state && *state == '[')
		at++;
	while (waits && at < s->n && is_kernel(frame_name(p, p->chain.v[s->first + at])))
		at++;
	function = at < s->n ? frame_name(p, p->chain.v[s->first + at]) : s->n ? "[no stack of the program]" : "[other stacks]";
	snprintf(label, LABEL, "%s%s%s%s%s", function, state && *state == '[' ? " " : "", state && *state == '[' ? state : "",
		 waker ? " " : "", waker ? frame_name(p, p->chain.v[s->first + waker - 1]) : "");
}

static int add_label(const struct profile *p, const struct profile_row *row, bool waits, struct path_tree *tree)
{
	char label[LABEL];
	const char *names[] = {program_name(p, row), label};

	put_label(p, row, waits, label);
	return path_tree_add(tree, names, ARRAY_SIZE(names), weight_of(row, waits));
}

static int fold(const struct profile *p, bool waits,
		int (*add)(const struct profile *p, const struct profile_row *row, bool waits, struct path_tree *tree), struct path_tree *ret)
{
	struct path_tree tree = {};
	int r = 0;

	for (size_t i = 0; i < p->rows.n && r == 0; i++)
		if (weight_of(&p->rows.v[i], waits))
			r = add(p, &p->rows.v[i], waits, &tree);
	if (r < 0) {
		path_tree_free(&tree);
		return r;
	}
	if (tree.nodes.n)
		path_tree_sort(&tree);
	*ret = tree;
	return 0;
}

/* Program, outermost ... innermost frame. */
static int flame_fold(const struct profile *p, bool waits, struct path_tree *ret)
{
	return fold(p, waits, add_path, ret);
}

int flame_folded(const struct flame_window *w, const struct flame_options *o, FILE *out)
{
	_cleanup_(path_tree_free) struct path_tree tree = {};
	int r = flame_fold(w->profile, o->waits, &tree);

	if (r == 0)
		waits_folded_text(&tree, out);
	return r;
}

/* `base` is multiplied by this, so that both are of the same length. */
static double scale_of(const struct flame_window *w, const struct flame_window *base)
{
	return base && base->to > base->from && w->to > w->from ? (double)(w->to - w->from) / (double)(base->to - base->from) : 1;
}

/* --- text --- */

struct table {
	const struct flame_window *w, *base;
	struct path_tree tree, other; /* program -> label */
	double scale;
	uint64_t total;
};

static const char *put_value(const struct table *t, double value, bool sign, char text[VALUE])
{
	char span[VALUE - 1];

	if (strcmp(t->w->unit, "ns") == 0)
		waits_short_span((int64_t)(value < 0 ? -value : value), span, sizeof(span));
	else
		snprintf(span, sizeof(span), "%.0f", value < 0 ? -value : value);
	snprintf(text, VALUE, "%s%s", sign ? (value < 0 ? "-" : "+") : "", span);
	return text;
}

static uint32_t find_child(const struct path_tree *tree, uint32_t parent, const char *name)
{
	uint32_t i = tree->nodes.n ? tree->nodes.v[parent].child : 0;

	while (i && strcmp(tree->nodes.v[i].name, name) != 0)
		i = tree->nodes.v[i].next;
	return i;
}

/* The value of the same node of the tree that it is compared with. */
static double other_value(const struct table *t, uint32_t node)
{
	const struct tree_node *x = &t->tree.nodes.v[node];
	uint32_t program = x->parent ? x->parent : node, at = find_child(&t->other, 0, t->tree.nodes.v[program].name);

	if (at && program != node)
		at = find_child(&t->other, at, x->name);
	return at ? t->scale * (double)t->other.nodes.v[at].total : 0;
}

static void print_row(const struct table *t, uint32_t node, FILE *out)
{
	const struct tree_node *x = &t->tree.nodes.v[node];
	double value = (double)x->total, other;
	char text[VALUE], before[VALUE], change[VALUE];

	fprintf(out, "%10s %6.1f %%", put_value(t, value, false, text), 100 * value / (double)t->total);
	if (t->base) {
		other = other_value(t, node);
		fprintf(out, " %10s %11s", put_value(t, other, false, before), put_value(t, value - other, true, change));
	}
	if (x->parent)
		fprintf(out, "  %s (%s)\n", x->name, t->tree.nodes.v[x->parent].name);
	else
		fprintf(out, "  %s\n", x->name);
}

static void print_heading(const struct table *t, const char *what, FILE *out)
{
	fprintf(out, "\n%10s %8s", strcmp(t->w->unit, "ns") == 0 ? "time" : t->w->unit, "of all");
	if (t->base)
		fprintf(out, " %10s %11s", "before", "change");
	fprintf(out, "  %s\n", what);
}

static void print_programs(const struct table *t, FILE *out)
{
	size_t n = 0;

	print_heading(t, "program", out);
	for (uint32_t i = t->tree.nodes.v[0].child; i && n < PROGRAMS; i = t->tree.nodes.v[i].next, n++)
		print_row(t, i, out);
}

struct ranked {
	uint32_t node;
	double key;
};

ORDER(by_key, struct ranked, DESCENDING(key))

/* Compared: those that changed most. */
static int print_functions(const struct table *t, const struct flame_options *o, FILE *out)
{
	_cleanup_free_ struct ranked *ranked = calloc(t->tree.nodes.n, sizeof(*ranked));
	size_t n = 0;

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->tree.nodes.n; i++) {
		const struct tree_node *x = &t->tree.nodes.v[i];
		double change = t->base ? (double)x->total - other_value(t, i) : (double)x->total;

		if (x->parent)
			ranked[n++] = (struct ranked){i, change < 0 ? -change : change};
	}
	qsort(ranked, n, sizeof(*ranked), by_key);
	print_heading(t, o->waits ? "function that waited, and for what (program)" : "function, in itself (program)", out);
	for (size_t i = 0; i < n && i < o->top; i++)
		print_row(t, ranked[i].node, out);
	if (n > o->top)
		fprintf(out, "... and %zu more (--top %zu lists all)\n", n - o->top, n);
	return 0;
}

static void print_window(const struct flame_window *w, const char *before, FILE *out)
{
	if (w->to)
		fprintf(out, "%s%s to %s", before, CLOCK_LOCAL(w->from), CLOCK_LOCAL(w->to));
	else
		fprintf(out, "%sanother program's profile", before);
}

static int print_table(struct table *t, const struct flame_options *o, FILE *out)
{
	char text[VALUE];

	print_window(t->w, "", out);
	if (t->base)
		print_window(t->base, ", compared with ", out);
	if (!t->tree.nodes.n) {
		fprintf(out, ": no program %s.\n", o->waits ? "was seen to wait" : "was seen to run");
		return 0;
	}
	t->total = t->tree.nodes.v[0].total;
	fprintf(out, ": %s %s\n", put_value(t, (double)t->total, false, text), o->waits ? "waited, all threads together" : "on CPUs");
	print_programs(t, out);
	return print_functions(t, o, out);
}

int flame_text(const struct flame_window *w, const struct flame_window *base, const struct flame_options *o, FILE *out)
{
	struct table t = {.w = w, .base = base, .scale = scale_of(w, base)};
	int r = fold(w->profile, o->waits, add_label, &t.tree);

	if (r == 0 && base)
		r = fold(base->profile, o->waits, add_label, &t.other);
	r = r ?: print_table(&t, o, out);
	path_tree_free(&t.tree);
	path_tree_free(&t.other);
	return r;
}

/* --- JSON --- */

static json_t *window_json(const struct flame_window *w)
{
	return json_pack("{s:o, s:o, s:I}", "start", json_moment(w->from), "end", json_moment(w->to), "ns", (json_int_t)(w->to - w->from));
}

int flame_json(const struct flame_window *w, const struct flame_window *base, const struct flame_options *o, FILE *out)
{
	_cleanup_(path_tree_free) struct path_tree tree = {}, other = {};
	json_t *root = NULL;
	int r = flame_fold(w->profile, o->waits, &tree);

	if (r == 0 && base)
		r = flame_fold(base->profile, o->waits, &other);
	if (r == 0)
		root = json_pack("{s:s, s:o, s:o, s:s, s:s, s:o}", "schema", "whyslow.flame/1", "window", window_json(w), "base",
				 base ? window_json(base) : json_null(), "kind", o->waits ? "waits" : "cpu", "unit", w->unit, "tree",
				 waits_tree_json(&tree, base ? &other : NULL, scale_of(w, base)));
	return r < 0 ? r : json_print(root, JSON_COMPACT, out);
}
