/* The critical path alone: trees that are known already, in memory; prints spans a second. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/data/clock.h"
#include "spans/forest/trace-path.h"

#define TRACES	100000
#define SPANS	24
#define SECONDS 3

struct kept {
	uint32_t parent[SPANS];
	int64_t start[SPANS], end[SPANS];
};

static uint32_t seed = 12345;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

static void make(struct kept *k)
{
	k->parent[0] = NO_SPAN;
	k->start[0] = 0;
	k->end[0] = 1000000 + draw(1000000);
	for (uint32_t i = 1; i < SPANS; i++) {
		uint32_t p = draw(i < 6 ? i : 6 + (i - 6) / 2);
		int64_t room = k->end[p] - k->start[p], length = room / 4 + draw((uint32_t)(room / 2 + 1));

		k->parent[i] = p;
		k->start[i] = k->start[p] + draw((uint32_t)(room - length + 1));
		k->end[i] = k->start[i] + length;
	}
}

int main(void)
{
	struct kept *traces = calloc(TRACES, sizeof(*traces));
	struct tree tree = {};
	struct tree_tally tally = {};
	int64_t began, taken, own = 0, whole = 0;
	uint64_t spans = 0;

	if (!traces || tree_reserve(&tree, SPANS) < 0)
		return 1;
	for (uint32_t i = 0; i < TRACES; i++)
		make(&traces[i]);
	began = clock_boot();
	do {
		for (uint32_t i = 0; i < TRACES; i++) {
			for (uint32_t k = 0; k < SPANS; k++) {
				tree.parent[k] = traces[i].parent[k];
				tree.start[k] = traces[i].start[k];
				tree.end[k] = traces[i].end[k];
			}
			tree.root = 0;
			tree_arrange(&tree, PATH_TOLERANT, NULL, &tally);
			trace_path(&tree, PATH_TOLERANT);
			for (uint32_t k = 0; k < SPANS; k++)
				own += tree.flags[k] & TREE_ON_PATH ? tree.own[k] : 0;
			whole += traces[i].end[0];
		}
		spans += (uint64_t)TRACES * SPANS;
		taken = clock_boot() - began;
	} while (taken < SECONDS * NS_PER_SEC);
	if (own != whole) {
		fprintf(stderr, "the paths' own times do not add up\n");
		return 1;
	}
	printf("%.3g\n", (double)spans / (double)taken * 1000);
	tree_free(&tree);
	free(traces);
	return 0;
}
