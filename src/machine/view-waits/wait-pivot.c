#include "machine/view-waits/wait-pivot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/view/bold.h"
#include "lib/view/csv.h"
#include "lib/view/json.h"
#include "machine/rule/signature.h"
#include "machine/view-waits/waits-words.h"

static const char *const pivot_field_names[PIVOT_FIELDS] = {
	[PIVOT_THREAD] = "thread", [PIVOT_PROCESS] = "process", [PIVOT_PROGRAM] = "program", [PIVOT_CGROUP] = "cgroup", [PIVOT_WAIT] = "wait",
	[PIVOT_REASON] = "reason", [PIVOT_LOCK] = "lock",	[PIVOT_STACK] = "stack",     [PIVOT_WAKER] = "waker",	[PIVOT_WAKER_STACK] = "waker-stack",
};

#define NONE "none" /* the value of a field that a wait does not have */

static enum pivot_field field_of(const char *text, size_t n)
{
	size_t i = 0;

	while (i < PIVOT_FIELDS && (strlen(pivot_field_names[i]) != n || memcmp(pivot_field_names[i], text, n) != 0))
		i++;
	return (enum pivot_field)i;
}

int wait_pivot_parse(const char *text, enum pivot_field chosen[static PIVOT_CHOSEN_MAX], size_t *ret_n)
{
	size_t n = 0;

	for (const char *end; ; text = end + 1) {
		end = strchrnul(text, ',');
		if (n == PIVOT_CHOSEN_MAX)
			return -EINVAL;
		chosen[n] = field_of(text, (size_t)(end - text));
		for (size_t i = 0; i < n; i++)
			if (chosen[i] == chosen[n])
				return -EINVAL;
		if (chosen[n++] == PIVOT_FIELDS)
			return -EINVAL;
		if (!*end)
			break;
	}
	*ret_n = n;
	return 0;
}

bool wait_pivot_needs_stacks(const enum pivot_field *chosen, size_t n)
{
	return ANY_WHERE(i, n, chosen[i] == PIVOT_STACK || chosen[i] == PIVOT_WAKER_STACK || chosen[i] == PIVOT_REASON);
}

void wait_pivot_free(struct wait_pivot *p)
{
	VEC_FREE_EACH(p->texts, free(*each));
	VEC_FREE(p->groups);
}

/* ---- the groups ---- */

/* One wait, of the group with this index. */
struct part {
	uint32_t group;
	int64_t ns;
};

struct pivoting {
	const struct timeline *t;
	const struct pivot_question *q;
	struct wait_pivot *p;
	struct hmap known[PIVOT_CHOSEN_MAX]; /* struct key -> index of its text + 1: each is written once */
	struct hmap texts, groups;	     /* hash of a text, values -> index + 1 */
	VEC(struct part) parts;
	struct str text, functions;
};

/* Two words are enough for what the text of a field depends on. */
struct key {
	uint64_t a, b;
};

static struct key key_of(enum pivot_field field, const struct thread_line *line, uint32_t thread, const struct interval *x)
{
	const uint64_t slept = (uint64_t)x->kernel_stack << 32 | x->user_stack;

	switch (field) {
	case PIVOT_PROCESS:
		return (struct key){line->tgid, line->program};
	case PIVOT_PROGRAM:
		return (struct key){line->program, 0};
	case PIVOT_CGROUP:
		return (struct key){line->unit, 0};
	case PIVOT_WAIT:
		return (struct key){x->state, 0};
	case PIVOT_REASON:
		return (struct key){slept, (uint64_t)line->tgid << 40 | (uint64_t)x->waker << 8 | x->state};
	case PIVOT_LOCK:
		return (struct key){x->object, 0};
	case PIVOT_STACK:
		return (struct key){slept, line->tgid};
	case PIVOT_WAKER:
		return (struct key){x->waker, (uint64_t)x->waker_kind << 8 | x->state};
	case PIVOT_WAKER_STACK:
		return (struct key){x->waker_stack, x->waker};
	default:
		return (struct key){thread, 0};
	}
}

static void put_lock(const struct timeline *t, uint32_t object, struct str *out)
{
	const struct lock_line *lock = object == NOBODY ? NULL : &t->locks.v[object];
	const char *name = lock && !lock->tgid ? trace_symbol(t->trace, 0, lock->address) : NULL;

	if (!lock)
		str_puts(out, NONE);
	else if (name)
		str_puts(out, name);
	else if (lock->tgid)
		str_printf(out, "0x%" PRIx64 " of process %" PRIu32, lock->address, lock->tgid);
	else
		str_printf(out, "0x%" PRIx64 " of the kernel", lock->address);
}

/* One function, ended by NUL. */
static void put_function(struct pivoting *v, uint32_t process, uint64_t address)
{
	waits_frame(v->t, process, address, &v->functions);
	str_puts(&v->functions, address >> 63 ? "_[k]" : "");
	str_append(&v->functions, "", 1);
}

static void put_reason(struct pivoting *v, const struct thread_line *line, const struct interval *x, struct str *out)
{
	const stack_ref refs[] = {x->user_stack, x->kernel_stack};
	const char *names[2 * TRACE_FRAMES + 1], *at;
	_cleanup_free_ char *reason = NULL;
	const uint64_t *frames;
	size_t n = 0, found;
	bool astray;

	str_clear(&v->functions);
	for (size_t k = 0; k < ARRAY_SIZE(refs); k++) {
		found = waits_stack(v->t, line->tgid, refs[k], false, &frames, &astray);
		for (size_t i = found; i > 0 && n < ARRAY_SIZE(names) - 1; i--, n++)
			put_function(v, line->tgid, frames[i - 1]);
	}
	if (x->waker != NOBODY && state_table[x->state].group == GROUP_BLOCKED) {
		str_printf(&v->functions, WOKEN_BY "%s", v->t->threads.v[x->waker].comm);
		str_append(&v->functions, "", 1);
		n++;
	}
	at = v->functions.data;
	for (size_t i = 0; i < n; i++, at += strlen(at) + 1)
		names[i] = at;
	reason = n && !v->functions.error && v->q->reason ? v->q->reason(v->q->user, names, n) : NULL;
	str_puts(out, reason ? reason : state_table[x->state].text);
}

static void put_waker(const struct timeline *t, const struct interval *x, struct str *out)
{
	char label[LABEL_SIZE];

	if (state_table[x->state].group == GROUP_BLOCKED)
		str_puts(out, x->waker == NOBODY ? waits_waker_word(x->waker_kind) : waits_thread_label(t, x->waker, label, sizeof(label)));
}

static void put_value(struct pivoting *v, enum pivot_field field, uint32_t thread, const struct interval *x, struct str *out)
{
	const struct timeline *t = v->t;
	const struct thread_line *line = &t->threads.v[thread];
	const stack_ref slept[] = {x->kernel_stack, x->user_stack};
	char label[LABEL_SIZE];

	switch (field) {
	case PIVOT_PROCESS:
		str_printf(out, "%s (%" PRIu32 ")", line->kernel ? line->comm : t->names.v[line->program], line->tgid);
		break;
	case PIVOT_PROGRAM:
		str_puts(out, t->names.v[line->program]);
		break;
	case PIVOT_CGROUP:
		str_puts(out, line->unit == NOBODY ? NONE : t->names.v[line->unit]);
		break;
	case PIVOT_WAIT:
		str_puts(out, state_table[x->state].text);
		break;
	case PIVOT_REASON:
		put_reason(v, line, x, out);
		break;
	case PIVOT_LOCK:
		put_lock(t, x->object, out);
		break;
	case PIVOT_STACK:
		waits_stack_text(t, line->tgid, slept, ARRAY_SIZE(slept), false, out);
		break;
	case PIVOT_WAKER:
		put_waker(t, x, out);
		break;
	case PIVOT_WAKER_STACK:
		if (x->waker != NOBODY)
			waits_stack_text(t, t->threads.v[x->waker].tgid, &x->waker_stack, 1, true, out);
		break;
	default:
		str_puts(out, waits_thread_label(t, thread, label, sizeof(label)));
	}
	if (!out->len)
		str_puts(out, NONE);
}

/* The index + 1 of v->text among the texts; 0 without memory. */
static uintptr_t keep_text(struct pivoting *v)
{
	uint64_t hash = v->text.error ? 0 : hmap_hash_text(v->text.data);
	uintptr_t index = v->text.error ? 0 : (uintptr_t)hmap_get(&v->texts, hash, v->text.len);
	char *copy;

	if (index || v->text.error)
		return index;
	copy = strdup(v->text.data);
	if (VEC_PUSH_OWNER(v->p->texts, copy, copy) < 0)
		return 0;
	index = v->p->texts.n;
	return hmap_put(&v->texts, hash, v->text.len, (void *)index) < 0 ? 0 : index;
}

static int find_values(struct pivoting *v, uint32_t thread, const struct interval *x, uint32_t *values)
{
	for (size_t i = 0; i < v->p->n_chosen; i++) {
		struct key key = key_of(v->p->chosen[i], &v->t->threads.v[thread], thread, x);
		uintptr_t index = (uintptr_t)hmap_get(&v->known[i], key.a, key.b);

		if (!index) {
			str_clear(&v->text);
			put_value(v, v->p->chosen[i], thread, x, &v->text);
			index = keep_text(v);
			if (!index || hmap_put(&v->known[i], key.a, key.b, (void *)index) < 0)
				return -ENOMEM;
		}
		values[i] = (uint32_t)index - 1;
	}
	return 0;
}

static int add_wait(struct pivoting *v, uint32_t thread, const struct interval *x, int64_t ns)
{
	struct pivot_group fresh = {}, *group;
	uintptr_t index;
	uint64_t a, b;
	int r = find_values(v, thread, x, fresh.values);

	if (r < 0)
		return r;
	a = (uint64_t)fresh.values[0] << 32 | fresh.values[1];
	b = (uint64_t)fresh.values[2] << 32 | fresh.values[3];
	index = (uintptr_t)hmap_get(&v->groups, a, b);
	if (!index) {
		if (VEC_PUSH(v->p->groups, fresh) < 0)
			return -ENOMEM;
		index = v->p->groups.n;
		if (hmap_put(&v->groups, a, b, (void *)index) < 0)
			return -ENOMEM;
	}
	group = &v->p->groups.v[index - 1];
	group->count++;
	group->ns += ns;
	group->longest = ns > group->longest ? ns : group->longest;
	v->p->count++;
	v->p->ns += ns;
	return VEC_PUSH(v->parts, (struct part){(uint32_t)index - 1, ns});
}

/* A thread that was moved to another CPU's queue waited once. */
static int add_thread(struct pivoting *v, uint32_t thread)
{
	const struct thread_line *line = &v->t->threads.v[thread];
	int64_t before = 0;
	int r = 0;

	for (size_t i = interval_find(line, v->q->from); r == 0 && i < line->intervals.n && line->intervals.v[i].start < v->q->to; i++) {
		const struct interval *x = &line->intervals.v[i];
		int64_t start = x->start > v->q->from ? x->start : v->q->from, end = x->end < v->q->to ? x->end : v->q->to;
		enum wait_for wait = state_table[x->state].wait;

		if (wait == FOR_NONE || !(v->q->all || wait_for_is_contended(wait)) || start >= end)
			continue;
		before += end - start;
		if (x->flags & INTERVAL_MOVED && i + 1 < line->intervals.n && line->intervals.v[i + 1].state == x->state && x->end < v->q->to)
			continue;
		r = add_wait(v, thread, x, before);
		before = 0;
	}
	return r;
}

ORDER(longest_first, struct pivot_group, DESCENDING(ns) ?: memcmp(a->values, b->values, sizeof(a->values)))

/* The k-th of n in ascending order (Hoare 1961, Find): none before it is greater then, none behind it smaller. */
static int64_t select_ns(int64_t *v, size_t n, size_t k)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;

	while (low < high) {
		int64_t pivot = v[at], kept;
		ptrdiff_t i = low, j = high;

		do {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				kept = v[i];
				v[i++] = v[j];
				v[j--] = kept;
			}
		} while (i <= j);
		low = j < at ? i : low;
		high = i > at ? j : high;
	}
	return v[k];
}

/* The middle one; of an even number the mean of both. */
static int64_t median_of(int64_t *v, size_t n)
{
	int64_t low = select_ns(v, n, (n - 1) / 2);

	return n % 2 ? low : (low + select_ns(v + n / 2, n / 2, 0)) / 2;
}

static int find_medians(struct pivoting *v)
{
	struct wait_pivot *p = v->p;
	_cleanup_free_ int64_t *ns = calloc(v->parts.n + 1, sizeof(*ns));
	_cleanup_free_ size_t *ends = calloc(p->groups.n + 1, sizeof(*ends)); /* of what is placed of a group so far */

	if (!ns || !ends)
		return -ENOMEM;
	for (size_t i = 0; i < p->groups.n; i++)
		ends[i + 1] = ends[i] + p->groups.v[i].count;
	VEC_EACH(part, v->parts)
		ns[ends[part->group]++] = part->ns;
	for (size_t i = 0; i < p->groups.n; i++)
		p->groups.v[i].median = median_of(ns + ends[i] - p->groups.v[i].count, p->groups.v[i].count);
	VEC_SORT(p->groups, longest_first);
	return 0;
}

int wait_pivot_make(const struct timeline *t, const struct pivot_question *q, struct wait_pivot *p)
{
	struct pivoting v = {.t = t, .q = q, .p = p};
	size_t n = q->threads ? q->n_threads : t->threads.n;
	int r = 0;

	p->from = q->from;
	p->to = q->to;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_thread(&v, q->threads ? q->threads[i] : (uint32_t)i);
	r = r ?: find_medians(&v);
	for (size_t i = 0; i < p->n_chosen; i++)
		hmap_free(&v.known[i]);
	hmap_free(&v.texts);
	hmap_free(&v.groups);
	VEC_FREE(v.parts);
	str_free(&v.text);
	str_free(&v.functions);
	return r;
}

/* ---- what is shown ---- */

static size_t shown(const struct wait_pivot *p, const struct waits_options *o)
{
	return p->groups.n < o->top ? p->groups.n : o->top;
}

void wait_pivot_text(const struct timeline *t, const struct wait_pivot *p, const struct waits_options *o, FILE *out)
{
	char sum[32], median[32], longest[32];

	waits_put_span(t, p->from, p->to, o, out);
	fprintf(out, "\n%s%10s %5s %9s %9s %9s  ", bold(o->colour), "sum", "", "count", "median", "maximum");
	for (size_t i = 0; i < p->n_chosen; i++)
		fprintf(out, "%s%s", i ? " | " : "", pivot_field_names[p->chosen[i]]);
	fprintf(out, "%s\n", bold_off(o->colour));
	for (size_t i = 0; i < shown(p, o); i++) {
		const struct pivot_group *g = &p->groups.v[i];

		fprintf(out, "%10s %3.0f %% %9" PRIu32 " %9s %9s  ", waits_short_span(g->ns, sum, sizeof(sum)), 100.0 * (double)g->ns / (double)p->ns, g->count,
			waits_short_span(g->median, median, sizeof(median)), waits_short_span(g->longest, longest, sizeof(longest)));
		for (size_t k = 0; k < p->n_chosen; k++)
			fprintf(out, "%s%s", k ? " | " : "", p->texts.v[g->values[k]]);
		fputc('\n', out);
	}
	if (p->groups.n > shown(p, o))
		fprintf(out, "%zu more groups; --top shows them.\n", p->groups.n - shown(p, o));
	fprintf(out, "\n%" PRIu64 " waits of %s in %zu groups.%s\n", p->count, waits_short_span(p->ns, sum, sizeof(sum)), p->groups.n,
		o->all ? "" : " Waits for others' work are left out; --all includes them.");
}

void wait_pivot_csv(const struct wait_pivot *p, const struct waits_options *o, FILE *out)
{
	for (size_t i = 0; i < p->n_chosen; i++)
		fprintf(out, "%s,", pivot_field_names[p->chosen[i]]);
	fputs("count,sum_ns,median_ns,maximum_ns\n", out);
	for (size_t i = 0; i < shown(p, o); i++) {
		const struct pivot_group *g = &p->groups.v[i];

		for (size_t k = 0; k < p->n_chosen; k++) {
			csv_put_text(p->texts.v[g->values[k]], out);
			fputc(',', out);
		}
		fprintf(out, "%" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", g->count, g->ns, g->median, g->longest);
	}
}

int wait_pivot_json(const struct timeline *t, const struct wait_pivot *p, const struct waits_options *o, FILE *out)
{
	json_t *groups = json_array();

	for (size_t i = 0; i < shown(p, o); i++) {
		const struct pivot_group *g = &p->groups.v[i];
		json_t *values = JSON_COUNT(k, p->n_chosen, json_text(p->texts.v[g->values[k]]));

		json_array_append_new(groups, json_pack("{s:o, s:I, s:I, s:I, s:I}", "values", values, "count", (json_int_t)g->count, "ns", (json_int_t)g->ns,
							"median_ns", (json_int_t)g->median, "maximum_ns", (json_int_t)g->longest));
	}
	return json_print(json_pack("{s:s, s:o, s:o, s:b, s:I, s:I, s:I, s:o}", "schema", "whyslow.pivot/1", "window", waits_window_json(t, p->from, p->to), "by",
				    JSON_FIRST(x, p->chosen, p->n_chosen, json_string(pivot_field_names[*x])), "all", (int)o->all, "count",
					(json_int_t)p->count, "ns", (json_int_t)p->ns, "n_groups", (json_int_t)p->groups.n,
				    "groups", groups),
			  JSON_COMPACT, out);
}
