#include "machine/blame/path.h"

#include <errno.h>

#include "lib/data/order.h"
#include "machine/blame/blame-charge.h"

struct path_walk {
	struct charger charger;
	struct walk_work work;
	struct critical_path path;
	int64_t most; /* charged for the piece so far */
	int error;
};

/* The piece's culprit is the one that has the largest part of it. */
static void note_culprit(void *user, const struct step *step, enum blamed by, uint32_t id, int64_t ns, uint8_t flags)
{
	struct path_walk *w = user;
	struct path_piece *piece = &w->path.pieces.v[w->path.pieces.n - 1];

	(void)step;
	if (ns <= w->most)
		return;
	w->most = ns;
	piece->culprit = (uint8_t)by;
	piece->id = id;
	piece->flags = flags;
}

static bool needs_culprit(const struct step *step)
{
	enum state_group group = step->interval ? state_table[step->interval->state].group : GROUP_UNKNOWN;

	return group == GROUP_RUNNABLE || group == GROUP_BLOCKED || state_table[step->interval ? step->interval->state : 0].wait;
}

static struct path_wait wait_of(const struct interval *top)
{
	if (!top || state_table[top->state].group != GROUP_BLOCKED)
		return (struct path_wait){.waker = NOBODY};
	return (struct path_wait){top->start, top->kernel_stack, top->user_stack, top->waker_stack, top->waker};
}

static void on_step(void *user, const struct step *step)
{
	struct path_walk *w = user;
	struct path_piece piece = {
		.from = step->from,
		.to = step->to,
		.thread = step->thread,
		.depth = step->depth,
		.state = step->interval ? step->interval->state : STATE_UNKNOWN,
		.wait = wait_of(step->top),
		.culprit = BY_TASK,
		.id = step->thread,
	};

	if (VEC_PUSH(w->path.pieces, piece) < 0) {
		w->error = -ENOMEM;
		return;
	}
	w->most = 0;
	if (needs_culprit(step))
		charger_step(&w->charger, step);
}

static bool goes_on(const struct path_piece *a, const struct path_piece *b)
{
	return a->to == b->from && a->thread == b->thread && a->state == b->state && a->depth == b->depth &&
	       a->culprit == b->culprit && a->id == b->id;
}

static void join_pieces(struct critical_path *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->pieces.n; i++) {
		if (kept && goes_on(&p->pieces.v[kept - 1], &p->pieces.v[i]))
			p->pieces.v[kept - 1].to = p->pieces.v[i].to;
		else
			p->pieces.v[kept++] = p->pieces.v[i];
	}
	p->pieces.n = kept;
}

int path_build(const struct timeline *t, uint32_t thread, int64_t from, int64_t to, struct critical_path *ret)
{
	struct path_walk w = {.work = walk_work_for(to - from), .path = {.thread = thread, .from = from, .to = to}};
	int r;

	if (from >= to || thread >= t->threads.n)
		return -ERANGE;
	r = charger_open(&w.charger, t, note_culprit, &w);
	if (r == 0) {
		w.charger.work = &w.work;
		walker_thread(&(struct walker){t, on_step, &w, false, NULL, &w.work}, thread, from, to);
		r = w.error;
	}
	charger_close(&w.charger);
	if (r < 0) {
		path_free(&w.path);
		return r;
	}
	join_pieces(&w.path);
	*ret = w.path;
	return 0;
}

void path_coarsen(struct critical_path *p, int64_t least)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < p->pieces.n; i = next) {
		size_t longest = i;
		int64_t from = p->pieces.v[i].from, to = p->pieces.v[i].to;

		for (next = i + 1; to - from < least && next < p->pieces.n && p->pieces.v[next].from == to &&
				   p->pieces.v[next].to - p->pieces.v[next].from < least; next++) {
			const struct path_piece *piece = &p->pieces.v[next], *best = &p->pieces.v[longest];

			to = piece->to;
			if (piece->to - piece->from > best->to - best->from)
				longest = next;
		}
		p->pieces.v[kept] = p->pieces.v[longest];
		p->pieces.v[kept].from = from;
		p->pieces.v[kept++].to = to;
	}
	p->pieces.n = kept;
	join_pieces(p);
}

void path_free(struct critical_path *p)
{
	VEC_FREE(p->pieces);
}

ORDER(by_what, struct path_share, ASCENDING(thread) ?: ASCENDING(state) ?: ASCENDING(by) ?: ASCENDING(id))

ORDER(largest_first, struct path_share, DESCENDING(ns) ?: by_what(a, b))

int path_shares(const struct critical_path *p, struct path_share **ret, size_t *ret_n)
{
	struct path_share *shares = calloc(p->pieces.n + 1, sizeof(*shares));
	size_t n = 0;

	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < p->pieces.n; i++) {
		const struct path_piece *x = &p->pieces.v[i];

		shares[i] = (struct path_share){x->thread, x->state, x->culprit, x->id, x->to - x->from, 1};
	}
	qsort(shares, p->pieces.n, sizeof(*shares), by_what);
	for (size_t i = 0; i < p->pieces.n; i++) {
		if (n && by_what(&shares[n - 1], &shares[i]) == 0) {
			shares[n - 1].ns += shares[i].ns;
			shares[n - 1].pieces++;
		} else {
			shares[n++] = shares[i];
		}
	}
	qsort(shares, n, sizeof(*shares), largest_first);
	*ret = shares;
	*ret_n = n;
	return 0;
}
