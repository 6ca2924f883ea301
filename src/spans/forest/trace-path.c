#include "spans/forest/trace-path.h"

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "spans/forest/span-edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const rule_names[PATH_RULES] = {"tolerant", "crisp", "strict"};

const char *path_rule_name(enum path_rule rule)
{
	return rule_names[rule];
}

int path_rule_parse(const char *name, enum path_rule *ret)
{
	for (int i = 0; i < PATH_RULES; i++) {
		if (strcmp(rule_names[i], name))
			continue;
		*ret = (enum path_rule)i;
		return 0;
	}
	return -EINVAL;
}

void tree_free(struct tree *t)
{
	FREE_ALL(t->parent, t->start, t->end, t->length, t->until, t->own, t->shift, t->first, t->count, t->child, t->order, t->flags, t->table);
	*t = (struct tree){};
}

static int grow(void *array, size_t n, size_t size)
{
	void *grown = reallocarray(*(void **)array, n, size);

	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	return 0;
}

int tree_reserve(struct tree *t, uint32_t n)
{
	uint32_t size = t->allocated ? t->allocated : 256;

	t->n = n;
	if (n <= t->allocated)
		return 0;
	while (size < n)
		size *= 2;
	if (grow(&t->parent, size, 4) < 0 || grow(&t->start, size, 8) < 0 || grow(&t->end, size, 8) < 0 ||
	    grow(&t->length, size, 8) < 0 || grow(&t->until, size, 8) < 0 || grow(&t->own, size, 8) < 0 ||
	    grow(&t->shift, size, 8) < 0 || grow(&t->first, size + 2, 4) < 0 || grow(&t->count, size + 1, 4) < 0 ||
	    grow(&t->child, size, 4) < 0 || grow(&t->order, size, 4) < 0 || grow(&t->flags, size, 1) < 0 ||
	    grow(&t->table, 2 * size, 4) < 0)
		return -ENOMEM;
	t->allocated = size;
	return 0;
}

static uint32_t place_of(uint64_t id, uint32_t mask)
{
	return (uint32_t)hmap_hash(id, 0) & mask;
}

static uint32_t find(const struct tree *t, const struct span *spans, uint64_t id, uint32_t mask)
{
	for (uint32_t at = place_of(id, mask); t->table[at]; at = (at + 1) & mask)
		if (spans[t->table[at] - 1].id == id)
			return at;
	return NO_SPAN;
}

/* The two halves of a call that share an id (Zipkin's B3): the server span hangs below the client span. */
static bool shared_id(const struct span *a, const struct span *b)
{
	return a->kind == SPAN_CLIENT && b->kind == SPAN_SERVER;
}

/* Fills the table with the spans that others call their parent; duplicates and shared ids are settled here. */
static void index_ids(struct tree *t, const struct span *spans, uint32_t mask, struct tree_tally *tally)
{
	memset(t->table, 0, (mask + 1) * sizeof(*t->table));
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at = place_of(spans[i].id, mask);

		t->parent[i] = NO_SPAN;
		t->flags[i] = 0;
		while (t->table[at] && spans[t->table[at] - 1].id != spans[i].id)
			at = (at + 1) & mask;
		if (!t->table[at]) {
			t->table[at] = i + 1;
		} else if (shared_id(&spans[t->table[at] - 1], &spans[i])) {
			t->parent[i] = t->table[at] - 1;
			t->table[at] = i + 1;
		} else if (shared_id(&spans[i], &spans[t->table[at] - 1])) {
			t->parent[t->table[at] - 1] = i;
		} else {
			t->flags[i] = TREE_REACHED; /* for now: settled, no root */
			tally->duplicates++;
		}
	}
}

static bool earlier(const struct span *spans, uint32_t a, uint32_t b)
{
	if (spans[a].start != spans[b].start)
		return spans[a].start < spans[b].start;
	return spans[a].id < spans[b].id;
}

/* What called it is elsewhere: an ingress, a browser. */
static uint32_t topmost_of(const struct tree *t, const struct span *spans)
{
	uint32_t best = NO_SPAN;

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->parent[i] != NO_SPAN || t->flags[i])
			continue;
		if (best == NO_SPAN || span_duration(&spans[i]) > span_duration(&spans[best]) ||
		    (span_duration(&spans[i]) == span_duration(&spans[best]) && earlier(spans, i, best)))
			best = i;
	}
	return best;
}

static void link_parents(struct tree *t, const struct span *spans, uint32_t mask, struct tree_tally *tally)
{
	uint32_t roots = 0;

	t->root = NO_SPAN;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at;

		if (t->flags[i] || t->parent[i] != NO_SPAN) {
			t->flags[i] = 0;
			continue;
		}
		if (!spans[i].parent) {
			roots++;
			if (t->root == NO_SPAN || earlier(spans, i, t->root))
				t->root = i;
			continue;
		}
		at = find(t, spans, spans[i].parent, mask);
		if (at != NO_SPAN && t->table[at] - 1 != i)
			t->parent[i] = t->table[at] - 1;
	}
	tally->more_roots += roots ? roots - 1 : 0;
	if (!roots && t->topmost)
		t->root = topmost_of(t, spans);
}

static void gather_children(struct tree *t)
{
	uint32_t sum = 0;

	memset(t->count, 0, t->n * sizeof(*t->count));
	for (uint32_t i = 0; i < t->n; i++)
		if (t->parent[i] != NO_SPAN)
			t->count[t->parent[i]]++;
	for (uint32_t i = 0; i < t->n; i++) {
		t->first[i] = sum;
		sum += t->count[i];
		t->count[i] = 0;
	}
	t->first[t->n] = sum;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t p = t->parent[i];

		if (p != NO_SPAN)
			t->child[t->first[p] + t->count[p]++] = i;
	}
}

ORDER_IN(by_end, uint32_t, struct tree, CMP(context->end[*a], context->end[*b]) ?: CMP(*a, *b))

/* Ascending by end, equal ones in the order of the source. */
static void sort_children(struct tree *t, uint32_t *child, uint32_t n)
{
	if (n > 24) {
		qsort_r(child, n, sizeof(*child), by_end, t);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t c = child[i], at = i;
		int64_t end = t->end[c];

		for (; at > 0 && t->end[child[at - 1]] > end; at--)
			child[at] = child[at - 1];
		child[at] = c;
	}
}

static bool client_of(const struct span *spans, uint32_t parent, uint32_t child)
{
	const struct span *p = &spans[parent], *c = &spans[child];

	if (p->kind == SPAN_CLIENT)
		return c->kind == SPAN_SERVER || c->service != p->service;
	return p->kind == SPAN_UNKNOWN && c->kind == SPAN_UNKNOWN && c->service != p->service;
}

static uint32_t resource_value(const struct tree *t, const struct span *s, const char *name)
{
	uint32_t key = t->names && s->resource ? names_find(t->names, name) : 0;

	return key ? attribute_set_value(names_get_set(t->names, s->resource), key) : 0;
}

/* CRISP, onDifferentHosts(): by the tag "hostname" of their processes. */
static bool on_different_hosts(const struct tree *t, const struct span *p, const struct span *c)
{
	uint32_t one = resource_value(t, p, "hostname"), other = resource_value(t, c, "hostname");

	return one && other && one != other;
}

/* Processes of one machine share its clock. */
static bool on_one_host(const struct tree *t, const struct span *p, const struct span *c)
{
	static const char *const keys[] = {"host.name", "k8s.node.name", "hostname", "host"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		uint32_t host = resource_value(t, p, keys[i]);

		if (host)
			return host == resource_value(t, c, keys[i]);
	}
	return false;
}

/* CRISP, isClientServerCall(): a client's only child, a server span that does not last too much longer; also
 * server -> anything -> server, and any only child on another host. */
static bool crisp_client_server(const struct tree *t, const struct span *spans, uint32_t p, uint32_t c)
{
	uint32_t above = t->parent[p];
	bool fuzzy = above != NO_SPAN && spans[above].kind == SPAN_SERVER && spans[p].kind != SPAN_SERVER;

	if (t->first[p + 1] - t->first[p] != 1 || (double)t->length[c] > CRISP_LENGTHENING * (double)t->length[p])
		return false;
	return (spans[c].kind == SPAN_SERVER && (spans[p].kind == SPAN_CLIENT || fuzzy)) || on_different_hosts(t, &spans[p], &spans[c]);
}

static void clamp(struct tree *t, uint32_t p, uint32_t c, struct tree_tally *tally)
{
	int64_t before = t->end[c] - t->start[c];

	if (t->start[c] < t->start[p])
		t->start[c] = t->start[p];
	if (t->end[c] > t->end[p])
		t->end[c] = t->end[p];
	t->length[c] = t->end[c] - t->start[c];
	tally->clamped++;
	tally->clamped_ns += (uint64_t)(before - t->length[c]);
}

/* ns: within one machine, times are rounded to a microsecond, and some clocks step by a tick of the kernel */
#define CLOCKS_DIFFER 1000000

/* The child's clock differs from its client's: moves it to the middle. That a server ends after its client may have another reason, as the client
 * had its answer before: it is moved, but clocks that differ are not reported. */
static void correct_skew(struct tree *t, uint32_t p, uint32_t c, struct tree_tally *tally)
{
	int64_t room = (t->end[p] - t->start[p]) - (t->end[c] - t->start[c]);
	int64_t by = t->start[p] + room / 2 - t->start[c], early = t->start[p] - t->start[c], late = t->start[c] - t->end[p];

	if (room < 0)
		return;
	tally->skewed += early > CLOCKS_DIFFER || late > CLOCKS_DIFFER;
	t->start[c] += by;
	t->end[c] += by;
	t->shift[c] += by;
}

/* Handles a message that the other one sent, which does not wait for it whatever the clocks of both hosts say. */
static bool message_of(const struct span *p, const struct span *c)
{
	return p->kind == SPAN_PRODUCER && c->kind == SPAN_CONSUMER;
}

/* Does the parent not wait for the child, wherever its times are? */
static bool is_asynchronous(const struct tree *t, enum path_rule rule, const struct span *p, const struct span *c)
{
	return c->flags & SPAN_LINKED || (rule != PATH_CRISP && message_of(p, c)) || (t->asynchronous && span_edges_have(t->asynchronous, p, c));
}

/* Does the child, brought within its parent, still belong to the parent's time? */
static bool fit(struct tree *t, enum path_rule rule, const struct span *spans, uint32_t p, uint32_t c,
		struct tree_tally *tally)
{
	bool outside;

	if (rule == PATH_CRISP && spans && crisp_client_server(t, spans, p, c)) {
		if (t->length[c] > t->length[p])
			t->length[c] = t->length[p];
		return true;
	}
	if (spans && is_asynchronous(t, rule, &spans[p], &spans[c]))
		return false;
	if (t->start[c] >= t->start[p] && t->end[c] <= t->end[p])
		return true;
	if (rule != PATH_CRISP && spans && t->count[p] == 1 && client_of(spans, p, c) && !on_one_host(t, &spans[p], &spans[c])) {
		correct_skew(t, p, c, tally);
		if (t->start[c] >= t->start[p] && t->end[c] <= t->end[p])
			return true;
	}
	outside = t->start[c] >= t->end[p] || t->end[c] <= t->start[p];
	if (rule == PATH_CRISP)
		outside |= t->start[c] < t->start[p] && t->end[c] > t->end[p];
	if (!outside)
		clamp(t, p, c, tally);
	return !outside;
}

/* Asynchronous children go behind the others: they are reached, but are none of `count`. */
static void settle_children(struct tree *t, enum path_rule rule, const struct span *spans, uint32_t p,
			    struct tree_tally *tally)
{
	uint32_t *child = t->child + t->first[p], n = t->count[p], kept = 0;
	uint8_t inherited = t->flags[p] & TREE_ASYNCHRONOUS;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = child[i];

		t->shift[c] = t->shift[p];
		t->start[c] += t->shift[p];
		t->end[c] += t->shift[p];
		t->flags[c] |= TREE_REACHED | inherited;
		t->order[t->reached++] = c;
		if (fit(t, rule, spans, p, c, tally)) {
			child[i] = child[kept];
			child[kept++] = c;
		} else {
			t->flags[c] |= TREE_ASYNCHRONOUS;
			tally->outside++;
		}
	}
	t->count[p] = kept;
	if (kept > 1)
		sort_children(t, child, kept);
}

void tree_arrange(struct tree *t, enum path_rule rule, const struct span *spans, struct tree_tally *tally)
{
	gather_children(t);
	t->reached = 0;
	if (t->root == NO_SPAN)
		return;
	for (uint32_t i = 0; i < t->n; i++) {
		t->length[i] = t->end[i] - t->start[i];
		t->flags[i] = 0;
	}
	t->shift[t->root] = 0;
	t->flags[t->root] = TREE_REACHED;
	t->order[t->reached++] = t->root;
	for (uint32_t i = 0; i < t->reached; i++)
		if (t->count[t->order[i]])
			settle_children(t, rule, spans, t->order[i], tally);
}

int trace_tree(const struct span *spans, uint32_t n, enum path_rule rule, struct tree *t, struct tree_tally *tally)
{
	uint32_t mask = 16;

	if (tree_reserve(t, n) < 0)
		return -ENOMEM;
	while (mask < 2 * n)
		mask *= 2;
	mask--;
	index_ids(t, spans, mask, tally);
	link_parents(t, spans, mask, tally);
	for (uint32_t i = 0; i < n; i++) {
		t->start[i] = spans[i].start;
		t->end[i] = spans[i].end;
	}
	tree_arrange(t, rule, spans, tally);
	return 0;
}

/* CRISP, numSyncEventsInWindowInclusive(). */
static uint32_t events_within(const struct tree *t, const uint32_t *child, uint32_t n, int64_t from, int64_t to)
{
	uint32_t events = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t start = t->start[child[i]], end = t->end[child[i]];

		events += start >= from && start <= to;
		events += end >= from && end <= to;
	}
	return events;
}

/* CRISP, happensBefore(). */
static bool crisp_before(const struct tree *t, uint32_t p, uint32_t c, uint32_t last)
{
	int64_t overlap = t->end[c] - t->start[last];

	if (overlap < 0)
		return true;
	if (t->end[c] >= t->end[last] || t->start[c] >= t->start[last] || !t->length[p])
		return false;
	if ((double)overlap / (double)t->length[p] >= PATH_OVERLAP)
		return false;
	return events_within(t, t->child + t->first[p], t->count[p], t->start[last], t->end[c]) == 2;
}

static void crisp_walk(struct tree *t, uint32_t p)
{
	const uint32_t *child = t->child + t->first[p];
	uint32_t last = NO_SPAN;

	t->own[p] = t->length[p];
	for (uint32_t i = t->count[p]; i-- > 0;) {
		uint32_t c = child[i];

		if (last != NO_SPAN && !crisp_before(t, p, c, last))
			continue;
		t->flags[c] |= TREE_ON_PATH;
		t->own[p] -= t->length[c];
		last = c;
	}
}

/* `until` is where the path leaves the parent; what lies behind it belongs to a later sibling of the parent. */
static void exact_walk(struct tree *t, uint32_t p, enum path_rule rule)
{
	const uint32_t *child = t->child + t->first[p];
	int64_t at = t->until[p], own = at - t->start[p];
	int64_t allowance = rule == PATH_TOLERANT ? (int64_t)(PATH_OVERLAP * (double)t->length[p]) : 0;
	bool first = true;

	for (uint32_t i = t->count[p]; i-- > 0;) {
		uint32_t c = child[i];
		int64_t overlap = t->end[c] - at, until = overlap > 0 ? at : t->end[c];

		if (t->start[c] >= at && (overlap > 0 || t->start[c] > at))
			continue;
		if (!first && (rule == PATH_STRICT ? overlap >= 0 : overlap > 0 && overlap >= allowance))
			continue;
		t->flags[c] |= TREE_ON_PATH;
		t->until[c] = until;
		own -= until - t->start[c];
		at = t->start[c];
		first = false;
	}
	t->own[p] = own;
}

void trace_path(struct tree *t, enum path_rule rule)
{
	if (t->root == NO_SPAN)
		return;
	t->flags[t->root] |= TREE_ON_PATH;
	t->until[t->root] = t->end[t->root];
	for (uint32_t i = 0; i < t->reached; i++) {
		uint32_t p = t->order[i];

		if (!(t->flags[p] & TREE_ON_PATH))
			continue;
		if (rule == PATH_CRISP)
			crisp_walk(t, p);
		else if (t->count[p])
			exact_walk(t, p, rule);
		else
			t->own[p] = t->until[p] - t->start[p];
	}
}

/* The span's children on the path continue the stack so that the last returning one comes off first. */
uint32_t tree_path(const struct tree *t, uint32_t *list)
{
	uint32_t n = 0, depth = 0;
	uint32_t *stack;

	if (t->root == NO_SPAN)
		return 0;
	stack = reallocarray(NULL, t->n, sizeof(*stack));
	if (!stack)
		return 0;
	stack[depth++] = t->root;
	while (depth) {
		uint32_t p = stack[--depth];

		list[n++] = p;
		for (uint32_t i = 0; i < t->count[p]; i++)
			if (t->flags[t->child[t->first[p] + i]] & TREE_ON_PATH)
				stack[depth++] = t->child[t->first[p] + i];
	}
	free(stack);
	return n;
}

static int64_t path_exclusive(const struct tree *t, uint32_t span)
{
	return t->own[span] > 0 ? t->own[span] : 0;
}

int64_t tree_drag(const struct tree *t, uint32_t span, bool exclusive)
{
	int64_t most = exclusive ? path_exclusive(t, span) : t->length[span], drag;
	const uint32_t *sibling;
	uint32_t p = t->parent[span], at, next, mine;

	if (!(t->flags[span] & TREE_ON_PATH))
		return 0;
	if (span == t->root || t->count[p] < 2)
		return most;
	sibling = t->child + t->first[p];
	at = (uint32_t)FIRST_WHERE(k, t->count[p], t->end[sibling[k]] >= t->end[span]);
	while (sibling[at] != span)
		at++;
	if (at == 0)
		return most;
	next = sibling[at - 1];
	drag = t->end[span] - t->end[next];
	if (exclusive && t->count[span]) {
		mine = t->child[t->first[span] + t->count[span] - 1];
		drag = t->end[span] - (t->end[mine] > t->end[next] ? t->end[mine] : t->end[next]);
		if (t->start[mine] > t->end[next])
			drag += t->start[mine] - t->end[next];
	}
	return drag < 0 ? 0 : drag < most ? drag : most;
}
