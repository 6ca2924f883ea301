#include "lib/data/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"

void path_tree_free(struct path_tree *t)
{
	hmap_free_values(&t->names);
	hmap_free(&t->edges);
	VEC_FREE(t->nodes);
	*t = (struct path_tree){};
}

static const char *own(struct path_tree *t, const char *name)
{
	size_t n = strlen(name);
	uint64_t hash = hmap_hash_bytes(name, n);
	char *kept = hmap_get(&t->names, hash, n);

	if (kept)
		return kept;
	kept = strdup(name);
	if (kept && hmap_put(&t->names, hash, n, kept) < 0) {
		free(kept);
		return NULL;
	}
	return kept;
}

/* The map's values are indices plus one in the place of pointers: a node's address moves as the list grows.
 */
static void *as_value(uint32_t index)
{
	return (void *)((uintptr_t)index + 1); /* NOLINT(performance-no-int-to-ptr) */
}

static int find_or_add(struct path_tree *t, uint32_t parent, const char *name, uint32_t *ret)
{
	void *known = hmap_get(&t->edges, parent, (uintptr_t)name);
	struct tree_node node = {.name = name, .parent = parent};
	uint32_t index = (uint32_t)t->nodes.n;

	if (known) {
		*ret = (uint32_t)((uintptr_t)known - 1);
		return 0;
	}
	if (t->nodes.n >= TREE_NODES_MAX)
		return -E2BIG;
	node.next = t->nodes.v[parent].child;
	node.depth = t->nodes.v[parent].depth + 1;
	if (hmap_put(&t->edges, parent, (uintptr_t)name, as_value(index)) < 0 || VEC_PUSH(t->nodes, node) < 0)
		return -ENOMEM;
	t->nodes.v[parent].child = index;
	*ret = index;
	return 0;
}

int path_tree_add(struct path_tree *t, const char *const *names, size_t n, uint64_t weight)
{
	uint32_t at = 0;

	if (!t->nodes.n && VEC_PUSH(t->nodes, (struct tree_node){}) < 0)
		return -ENOMEM;
	if (n > TREE_DEPTH_MAX)
		n = TREE_DEPTH_MAX;
	t->nodes.v[0].total += weight;
	for (size_t i = 0; i < n; i++) {
		const char *name = own(t, names[i]);

		if (!name || find_or_add(t, at, name, &at) < 0) {
			t->dropped += weight;
			return -ENOMEM;
		}
		t->nodes.v[at].total += weight;
	}
	t->nodes.v[at].self += weight;
	return 0;
}

ORDER_IN(by_weight, uint32_t, struct tree_node, CMP(context[*b].total, context[*a].total) ?: strcmp(context[*a].name, context[*b].name))

static void sort_children(struct path_tree *t, uint32_t parent, uint32_t *room)
{
	uint32_t n = 0;

	for (uint32_t i = t->nodes.v[parent].child; i; i = t->nodes.v[i].next)
		room[n++] = i;
	if (n < 2)
		return;
	qsort_r(room, n, sizeof(*room), by_weight, t->nodes.v);
	t->nodes.v[parent].child = room[0];
	for (uint32_t i = 0; i < n; i++)
		t->nodes.v[room[i]].next = i + 1 < n ? room[i + 1] : 0;
}

void path_tree_sort(struct path_tree *t)
{
	uint32_t *room = calloc(t->nodes.n + 1, sizeof(*room));

	if (!room)
		return;
	for (size_t i = 0; i < t->nodes.n; i++)
		sort_children(t, (uint32_t)i, room);
	free(room);
}

size_t path_tree_heaviest(const struct path_tree *t, const char **names, size_t most)
{
	uint32_t at = t->nodes.n ? t->nodes.v[0].child : 0;
	size_t n = 0;

	for (; at && n < most && 2 * t->nodes.v[at].total >= t->nodes.v[t->nodes.v[at].parent].total; at = t->nodes.v[at].child)
		names[n++] = t->nodes.v[at].name;
	return n;
}

static void write_name(const char *name, struct str *out)
{
	for (; *name; name++)
		str_putc(out, *name == ';' ? ':' : *name == '\n' ? ' ' : *name);
}

static void write_path(const struct path_tree *t, uint32_t node, struct str *out)
{
	uint32_t path[TREE_DEPTH_MAX], n = 0;

	for (; node && n < TREE_DEPTH_MAX; node = t->nodes.v[node].parent)
		path[n++] = node;
	while (n--) {
		write_name(t->nodes.v[path[n]].name, out);
		if (n)
			str_putc(out, ';');
	}
}

void path_tree_write_folded(const struct path_tree *t, struct str *out)
{
	for (size_t i = 1; i < t->nodes.n; i++) {
		if (!t->nodes.v[i].self)
			continue;
		write_path(t, (uint32_t)i, out);
		str_printf(out, " %llu\n", (unsigned long long)t->nodes.v[i].self);
	}
}
