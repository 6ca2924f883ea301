#include "spans/forest/span-assemble.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"

#define NONE	  UINT32_MAX
#define BLOCK	  4 /* spans of one trace that lie side by side */
#define HUGE	  ((size_t)2 << 20) /* a huge page: far fewer faults, and misses of the TLB, while traces wait all over it */
#define CHUNK	  (HUGE / sizeof(struct block))
#define CUT_WITHIN 30000000000 /* ns: what is older is whole, whatever `late` allows; as long as receivers wait */
#define CLOSED	  65536 /* ids remembered of traces handed on */

/* A span without its trace's id, which all of a block share. */
#define KEPT_FROM offsetof(struct span, id)
#define KEPT	  (sizeof(struct span) - KEPT_FROM)

struct block {
	uint8_t spans[BLOCK][KEPT];
	uint32_t n, next;
};

struct waiting_trace {
	uint64_t high, low;
	int64_t end;
	uint32_t first, last; /* blocks */
	uint32_t n;
	uint32_t before, after;	 /* by when they were last added to */
};

struct assembler {
	struct assembler_options options;
	struct assembler_tally tally;
	VEC(struct block *) chunks;
	VEC(struct waiting_trace) traces;
	VEC(struct span) gathered;
	uint32_t free_block, free_trace, n_blocks, used_blocks, n_spans;
	uint32_t oldest, newest, current;
	uint32_t *table; /* trace index + 1, by id */
	uint32_t size, n_open;
	uint64_t *closed;
	int64_t clock; /* the latest start seen */
	int64_t now;   /* nothing begins or ends later; INT64_MAX = not known */
	unsigned messages; /* that are read */
};

static struct block *block_at(struct assembler *a, uint32_t i)
{
	return &a->chunks.v[i / CHUNK][i % CHUNK];
}

struct assembler *assembler_new(const struct assembler_options *options)
{
	struct assembler *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->options = *options;
	if (!a->options.most)
		a->options.most = ASSEMBLE_SPANS_MAX;
	a->free_block = a->free_trace = a->oldest = a->newest = a->current = NONE;
	a->size = 1024;
	a->clock = INT64_MIN;
	a->now = INT64_MAX;
	a->table = calloc(a->size, sizeof(*a->table));
	a->closed = calloc(CLOSED, sizeof(*a->closed));
	if (!a->table || !a->closed) {
		assembler_free(a);
		return NULL;
	}
	return a;
}

static void free_waiting(struct assembler *a)
{
	VEC_FREE_EACH(a->chunks, free(*each));
	VEC_FREE(a->traces);
	VEC_FREE(a->gathered);
	a->free_block = a->free_trace = a->current = NONE;
	a->used_blocks = 0;
}

void assembler_free(struct assembler *a)
{
	if (!a)
		return;
	free_waiting(a);
	FREE_ALL(a->table, a->closed, a);
}

static uint32_t slot_of(const struct assembler *a, uint64_t high, uint64_t low)
{
	uint32_t at = (uint32_t)hmap_hash(high, low) & (a->size - 1);

	while (a->table[at]) {
		const struct waiting_trace *t = &a->traces.v[a->table[at] - 1];

		if (t->low == low && t->high == high)
			break;
		at = (at + 1) & (a->size - 1);
	}
	return at;
}

static int grow_table(struct assembler *a)
{
	uint32_t *old = a->table, size = a->size;
	uint32_t *table = calloc(2 * (size_t)size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	a->table = table;
	a->size = 2 * size;
	for (uint32_t i = 0; i < size; i++)
		if (old[i])
			table[slot_of(a, a->traces.v[old[i] - 1].high, a->traces.v[old[i] - 1].low)] = old[i];
	free(old);
	return 0;
}

/* Shifts the chain back over a removed slot: no tombstones. */
static void remove_slot(struct assembler *a, uint32_t hole)
{
	uint32_t mask = a->size - 1;

	a->table[hole] = 0;
	for (uint32_t at = (hole + 1) & mask; a->table[at]; at = (at + 1) & mask) {
		const struct waiting_trace *t = &a->traces.v[a->table[at] - 1];
		uint32_t home = (uint32_t)hmap_hash(t->high, t->low) & mask;

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		a->table[hole] = a->table[at];
		a->table[at] = 0;
		hole = at;
	}
}

static void unlink_trace(struct assembler *a, uint32_t i)
{
	struct waiting_trace *t = &a->traces.v[i];

	if (t->before != NONE)
		a->traces.v[t->before].after = t->after;
	else
		a->oldest = t->after;
	if (t->after != NONE)
		a->traces.v[t->after].before = t->before;
	else
		a->newest = t->before;
}

static void link_newest(struct assembler *a, uint32_t i)
{
	struct waiting_trace *t = &a->traces.v[i];

	t->before = a->newest;
	t->after = NONE;
	if (a->newest != NONE)
		a->traces.v[a->newest].after = i;
	else
		a->oldest = i;
	a->newest = i;
}

static int open_trace(struct assembler *a, uint64_t high, uint64_t low, uint32_t *ret)
{
	struct waiting_trace fresh = {.high = high, .low = low, .end = INT64_MIN, .first = NONE, .last = NONE};
	uint64_t h = hmap_hash(high, low);
	uint32_t i = a->free_trace;

	if (2 * (a->n_open + 1) > a->size && grow_table(a) < 0)
		return -ENOMEM;
	if (i != NONE) {
		a->free_trace = a->traces.v[i].after;
		a->traces.v[i] = fresh;
	} else {
		if (VEC_PUSH(a->traces, fresh) < 0)
			return -ENOMEM;
		i = (uint32_t)a->traces.n - 1;
	}
	a->table[slot_of(a, high, low)] = i + 1;
	a->n_open++;
	link_newest(a, i);
	a->tally.traces++;
	if (a->closed[h % CLOSED] == (h | 1))
		a->tally.late++;
	*ret = i;
	return 0;
}

static int take_block(struct assembler *a, uint32_t *ret)
{
	struct block *chunk;

	if (a->free_block != NONE) {
		*ret = a->free_block;
		a->free_block = block_at(a, *ret)->next;
	} else {
		if (a->used_blocks == a->chunks.n * CHUNK) {
			chunk = aligned_alloc(HUGE, HUGE);
			if (VEC_PUSH_OWNER(a->chunks, chunk, chunk) < 0)
				return -ENOMEM;
			madvise(chunk, HUGE, MADV_HUGEPAGE);
		}
		*ret = a->used_blocks++;
	}
	block_at(a, *ret)->n = 0;
	block_at(a, *ret)->next = NONE;
	a->n_blocks++;
	return 0;
}

static int gather(struct assembler *a, struct waiting_trace *t)
{
	while (a->gathered.allocated < t->n) {
		a->gathered.n = a->gathered.allocated;
		if (VEC_GROW(a->gathered) < 0)
			return -ENOMEM;
	}
	a->gathered.n = 0;
	for (uint32_t i = t->first; i != NONE; i = block_at(a, i)->next) {
		const struct block *b = block_at(a, i);

		if (b->next != NONE)
			__builtin_prefetch(block_at(a, b->next));
		for (uint32_t k = 0; k < b->n; k++) {
			struct span *s = &a->gathered.v[a->gathered.n++];

			s->trace_high = t->high;
			s->trace_low = t->low;
			memcpy((uint8_t *)s + KEPT_FROM, b->spans[k], KEPT);
		}
		a->n_blocks--;
	}
	block_at(a, t->last)->next = a->free_block;
	a->free_block = t->first;
	a->n_spans -= t->n;
	return 0;
}

ORDER(by_start, struct span, ASCENDING(start) ?: ASCENDING(id) ?: ASCENDING(end))

static int hand_on(struct assembler *a, uint32_t i)
{
	struct waiting_trace *t = &a->traces.v[i];
	uint64_t h = hmap_hash(t->high, t->low);
	int r = gather(a, t);

	if (r < 0)
		return r;
	a->closed[h % CLOSED] = h | 1;
	remove_slot(a, slot_of(a, t->high, t->low));
	unlink_trace(a, i);
	t->after = a->free_trace;
	a->free_trace = i;
	a->n_open--;
	if (a->current == i)
		a->current = NONE;
	if (a->options.ordered)
		VEC_SORT(a->gathered, by_start);
	return a->options.trace(a->options.state, a->gathered.v, (uint32_t)a->gathered.n);
}

static int hand_on_finished(struct assembler *a)
{
	int r = 0;

	while (r == 0 && a->oldest != NONE) {
		const struct waiting_trace *t = &a->traces.v[a->oldest];
		bool finished = !a->messages && a->options.late != INT64_MAX && a->clock - a->options.late > t->end;

		if (!finished && (uint64_t)a->n_blocks * BLOCK <= a->options.most)
			break;
		a->tally.cut += !finished && a->clock - t->end < CUT_WITHIN;
		r = hand_on(a, a->oldest);
	}
	return r > 0 ? 0 : r;
}

/* One clock that runs ahead must not close everybody's traces: a single span moves the clock by `late` at most. */
static void advance(struct assembler *a, int64_t start)
{
	if (start <= a->clock)
		return;
	if (a->clock == INT64_MIN || a->options.late == INT64_MAX || start - a->clock <= a->options.late)
		a->clock = start;
	else
		a->clock += a->options.late;
}

void assembler_set_now(struct assembler *a, int64_t now)
{
	a->now = now;
}

static int64_t by_now(const struct assembler *a, int64_t wall)
{
	return wall < a->now ? wall : a->now;
}

int assembler_put(void *assembler, const struct span *span)
{
	struct assembler *a = assembler;
	struct waiting_trace *t;
	struct block *block;
	uint32_t i = a->current, at;
	int r;

	if (i == NONE || (uint64_t)a->n_blocks * BLOCK > a->options.most || a->traces.v[i].low != span->trace_low ||
	    a->traces.v[i].high != span->trace_high) {
		r = hand_on_finished(a);
		if (r < 0)
			return r;
		i = a->table[slot_of(a, span->trace_high, span->trace_low)];
		if (!i--) {
			r = open_trace(a, span->trace_high, span->trace_low, &i);
			if (r < 0)
				return r;
		} else if (a->newest != i) {
			unlink_trace(a, i);
			link_newest(a, i);
		}
		a->current = i;
	}
	t = &a->traces.v[i];
	if (t->last == NONE || block_at(a, t->last)->n == BLOCK) {
		r = take_block(a, &at);
		if (r < 0)
			return r;
		if (t->last != NONE)
			block_at(a, t->last)->next = at;
		else
			t->first = at;
		t->last = at;
	}
	block = block_at(a, t->last);
	memcpy(block->spans[block->n++], (const uint8_t *)span + KEPT_FROM, KEPT);
	t->n++;
	if (by_now(a, span->end) > t->end)
		t->end = by_now(a, span->end);
	advance(a, by_now(a, span->start));
	a->n_spans++;
	a->tally.spans++;
	if (t->n != a->options.longest)
		return 0;
	a->tally.cut++;
	r = hand_on(a, i);
	return r > 0 ? 0 : r;
}

void assembler_begin_message(struct assembler *a)
{
	a->messages++;
}

int assembler_end_message(struct assembler *a)
{
	a->messages--;
	return hand_on_finished(a);
}

int assembler_flush(struct assembler *a, uint32_t traces)
{
	int r = 0;

	while (r == 0 && a->oldest != NONE && traces--)
		r = hand_on(a, a->oldest);
	if (a->oldest == NONE)
		free_waiting(a);
	return r > 0 ? 0 : r;
}

size_t assembler_bytes(const struct assembler *a)
{
	return a->chunks.n * HUGE + a->traces.allocated * sizeof(*a->traces.v) + a->gathered.allocated * sizeof(*a->gathered.v) +
	       a->size * sizeof(*a->table);
}

uint32_t assembler_room(const struct assembler *a)
{
	uint64_t used = (uint64_t)a->n_blocks * BLOCK;

	return used < a->options.most ? (uint32_t)(a->options.most - used) : 0;
}

uint32_t assembler_waiting(const struct assembler *a)
{
	return a->n_spans;
}

struct assembler_tally assembler_tally(const struct assembler *a)
{
	return a->tally;
}
