/* The matrix as a picture needs it: so many rows and columns, everybody else together. Schema "whyslow.blame/1". */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "machine/view-waits/waits-words.h"

#define ROWS_MAX 64

/* A victim or a culprit, and all its cells. */
struct side {
	int64_t ns;
	const struct blame_cell *cell; /* one of them */
	uint32_t at;		       /* its row or column */
};

struct sides {
	VEC(struct side) list; /* the largest first, after rank() */
	struct hmap index;     /* key -> index + 1, until then */
	uint32_t shown;	       /* so many have a row of their own; `shown` is that of all others */
};

struct pixel {
	int64_t ns, longest;
	uint32_t parts;
	uint8_t flags;
};

static bool counts(const struct waits_options *o, const struct blame_cell *c)
{
	return o->all || wait_for_is_contended(c->wait);
}

/* Itself in contention is the diagonal: one column for a task as culprit of others and by its own. */
static uint64_t culprit_key(const struct blame_cell *c)
{
	switch ((enum blamed)c->culprit) {
	case BY_TASK:
	case BY_SELF:
		return (uint64_t)BY_TASK << 32 | c->id;
	case BY_IRQ:
	case BY_SOFTIRQ:
	case BY_QUOTA:
	case BY_DEVICE:
		return (uint64_t)c->culprit << 32 | c->id;
	case BY_UNKNOWN:
	case BY_WAKEUP:
	case BY_REMOTE:
	case BY_CLOCK:
	case BY_OTHERS:
		break;
	}
	return (uint64_t)c->culprit << 32;
}

static int side_add(struct sides *s, uint64_t key, const struct blame_cell *c)
{
	uintptr_t known = (uintptr_t)hmap_get(&s->index, key, 0);

	if (!known) {
		if (VEC_PUSH(s->list, (struct side){.cell = c}) < 0 ||
		    hmap_put(&s->index, key, 0, (void *)(uintptr_t)s->list.n) < 0) /* NOLINT(performance-no-int-to-ptr) */
			return -ENOMEM;
		known = s->list.n;
	}
	s->list.v[known - 1].ns += c->ns;
	return 0;
}

ORDER_OF_POINTERS(by_ns, struct side, DESCENDING(ns))

/* The order in *ret, whose length is list.n; each side's `at` is set. */
static int rank(struct sides *s, uint32_t top, struct side ***ret)
{
	struct side **order = calloc(s->list.n + 1, sizeof(struct side *));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < s->list.n; i++)
		order[i] = &s->list.v[i];
	qsort(order, s->list.n, sizeof(*order), by_ns);
	s->shown = s->list.n < top ? (uint32_t)s->list.n : top;
	for (uint32_t i = 0; i < s->list.n; i++)
		order[i]->at = i < s->shown ? i : s->shown;
	*ret = order;
	return 0;
}

static const struct side *side_of(const struct sides *s, uint64_t key)
{
	return &s->list.v[(uintptr_t)hmap_get(&s->index, key, 0) - 1];
}

struct picture {
	const struct timeline *t;
	const struct blame_matrix *m;
	const struct waits_options *o;
	struct sides victims, culprits;
	struct side **rows, **columns;
	struct pixel *pixels; /* [row][column][wait] */
};

static struct pixel *pixel_at(const struct picture *p, uint32_t row, uint32_t column, int wait)
{
	return &p->pixels[((size_t)row * (p->culprits.shown + 1) + column) * FOR_COUNT + (size_t)wait];
}

static int gather(struct picture *p)
{
	uint32_t top = p->o->top < ROWS_MAX ? p->o->top : ROWS_MAX;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->m->cells.n; i++) {
		const struct blame_cell *c = &p->m->cells.v[i];

		if (!counts(p->o, c))
			continue;
		r = side_add(&p->victims, c->victim, c);
		r = r ?: side_add(&p->culprits, culprit_key(c), c);
	}
	r = r ?: rank(&p->victims, top, &p->rows);
	return r ?: rank(&p->culprits, top, &p->columns);
}

static int paint(struct picture *p)
{
	p->pixels = calloc((size_t)(p->victims.shown + 1) * (p->culprits.shown + 1) * FOR_COUNT, sizeof(*p->pixels));
	if (!p->pixels)
		return -ENOMEM;
	VEC_EACH(c, p->m->cells) {
		struct pixel *x;

		if (!counts(p->o, c))
			continue;
		x = pixel_at(p, side_of(&p->victims, c->victim)->at, side_of(&p->culprits, culprit_key(c))->at, c->wait);
		x->ns += c->ns;
		x->parts += c->parts;
		x->flags |= c->flags;
		if (c->longest > x->longest)
			x->longest = c->longest;
	}
	return 0;
}

static json_t *others_json(struct side *const *order, const struct sides *s)
{
	int64_t ns = 0;

	for (size_t i = s->shown; i < s->list.n; i++)
		ns += order[i]->ns;
	return json_pack("{s:I, s:I}", "n", (json_int_t)(s->list.n - s->shown), "ns", (json_int_t)ns);
}

static json_t *victims_json(const struct picture *p)
{
	json_t *list = json_array();
	char label[LABEL_SIZE];

	for (uint32_t i = 0; i < p->victims.shown; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:I}", "text", waits_member_label(p->t, p->m, p->rows[i]->cell->victim, label, sizeof(label)),
						      "who", waits_who_json(p->t, p->m, p->rows[i]->cell->victim), "ns",
						      (json_int_t)p->rows[i]->ns));
	return list;
}

static json_t *culprits_json(const struct picture *p)
{
	json_t *list = json_array();
	char label[LABEL_SIZE];

	for (uint32_t i = 0; i < p->culprits.shown; i++) {
		struct blame_cell c = *p->columns[i]->cell;

		if (c.culprit == BY_SELF)
			c.culprit = BY_TASK;
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:I}", "text", waits_culprit_label(p->t, p->m, &c, label, sizeof(label)),
						      "kind", waits_culprit_name(c.culprit), "who",
						      c.culprit == BY_TASK ? waits_who_json(p->t, p->m, c.id) : json_null(), "ns",
						      (json_int_t)p->columns[i]->ns));
	}
	return list;
}

static json_t *cells_json(const struct picture *p)
{
	json_t *list = json_array();

	for (uint32_t row = 0; row <= p->victims.shown; row++)
		for (uint32_t column = 0; column <= p->culprits.shown; column++)
			for (int w = 0; w < FOR_COUNT; w++) {
				const struct pixel *x = pixel_at(p, row, column, w);

				if (x->ns)
					json_array_append_new(list, json_pack("{s:i, s:i, s:s, s:I, s:I, s:I, s:b, s:b}", "victim", (int)row, "culprit",
									      (int)column, "wait", wait_for_name((enum wait_for)w), "ns",
									      (json_int_t)x->ns, "parts", (json_int_t)x->parts, "longest_ns",
									      (json_int_t)x->longest, "modelled",
									      (x->flags & BLAME_MODELLED) != 0, "inferred",
									      (x->flags & BLAME_INFERRED) != 0));
			}
	return list;
}

static void picture_free(struct picture *p)
{
	VEC_FREE(p->victims.list);
	VEC_FREE(p->culprits.list);
	hmap_free(&p->victims.index);
	hmap_free(&p->culprits.index);
	FREE_ALL(p->rows, p->columns, p->pixels);
}

int waits_matrix_json(const struct timeline *t, const struct blame_matrix *m, const struct waits_options *o, FILE *out)
{
	struct picture p = {.t = t, .m = m, .o = o};
	json_t *root = NULL;
	int r = gather(&p);

	r = r ?: paint(&p);
	if (r == 0)
		root = json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "whyslow.blame/1", "window",
				 waits_window_json(t, m->from, m->to), "level", blame_level_names[m->level], "waits", waits_totals_json(m),
				 "victims", victims_json(&p), "other_victims", others_json(p.rows, &p.victims), "culprits",
				 culprits_json(&p), "other_culprits", others_json(p.columns, &p.culprits), "cells", cells_json(&p));
	picture_free(&p);
	if (r == 0 && (!root || json_dumpf(root, out, JSON_COMPACT) < 0))
		r = -ENOMEM;
	json_decref(root);
	fputc('\n', out);
	return r;
}
