/* Weighted paths: call trees, flame graphs, call forests. A path is a list of names from the root down; its
 * weight counts for every node on it, and as `self` of its last one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define TREE_DEPTH_MAX 256
#define TREE_NODES_MAX 1000000

struct tree_node {
	const char *name; /* the tree's own copy */
	uint64_t total, self;
	uint32_t parent, child, next; /* indices; 0 = none (the root is no one's child) */
	uint32_t depth;
};

/* nodes.v[0] is the root, without a name; it is there once a path was added. */
struct path_tree {
	VEC(struct tree_node) nodes;
	struct hmap names; /* (hash, length) -> char * */
	struct hmap edges; /* (parent, name) -> node */
	uint64_t dropped;  /* weight of paths there was no room for */
};

/* names[0] is the root's child. Deeper than TREE_DEPTH_MAX: the deepest names are left out. 0 or -ENOMEM. */
int path_tree_add(struct path_tree *t, const char *const *names, size_t n, uint64_t weight);
/* The heaviest children first, everywhere. */
void path_tree_sort(struct path_tree *t);
/* The names from the root's heaviest child down, as long as one child has at least half of its parent's weight; at most `most`, how
 * many. The names are the tree's. The tree is sorted. */
size_t path_tree_heaviest(const struct path_tree *t, const char **names, size_t most);
/* One line a path that has a weight of its own: "main;work;spin 412". Semicolons in names become colons. */
void path_tree_write_folded(const struct path_tree *t, struct str *out);
void path_tree_free(struct path_tree *t);
