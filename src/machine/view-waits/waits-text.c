#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"
#include "lib/view/bold.h"
#include "machine/view-waits/waits-words.h"

#define SMALL_SHARE  0.03 /* of a wait: not worth a name of its own in a line */
#define NAMED_A_LINE 4
#define CROWD_LEAST  5	 /* victims of one culprit that are reported together */
#define CROWD_SHARE  0.8 /* of a victim's waiting that is due to that culprit, in that way */
#define EXAMPLES     3
#define REASONS	     64 /* cells of a victim among which its main reason is looked for: the longest come first in each way */

static bool counts(const struct waits_options *o, uint8_t wait)
{
	return o->all || wait_for_is_contended(wait);
}

/* ---- the matrix ---- */

/* One victim's or culprit's cells, together. */
struct heap {
	uint32_t who;
	int64_t ns;
	size_t first, n; /* of the sorted cells */
};

struct heaps {
	struct blame_cell *cells; /* a copy, by who, then by wait, the longest first */
	VEC(struct heap) heaps;	  /* the largest first */
};

ORDER(by_victim, struct blame_cell, ASCENDING(victim) ?: ASCENDING(wait) ?: DESCENDING(ns))

ORDER(by_culprit, struct blame_cell, ASCENDING(id) ?: ASCENDING(victim) ?: ASCENDING(wait))

ORDER(by_size, struct heap, DESCENDING(ns))

static bool imposed(const struct blame_cell *c)
{
	return c->culprit == BY_TASK;
}

static bool any(const struct blame_cell *c)
{
	(void)c;
	return true;
}

static int make_heaps(const struct blame_matrix *m, const struct waits_options *o, bool culprits, struct heaps *ret)
{
	bool (*wanted)(const struct blame_cell *) = culprits ? imposed : any;
	size_t n = 0;

	ret->cells = calloc(m->cells.n + 1, sizeof(*ret->cells));
	if (!ret->cells)
		return -ENOMEM;
	for (size_t i = 0; i < m->cells.n; i++)
		if (counts(o, m->cells.v[i].wait) && wanted(&m->cells.v[i]))
			ret->cells[n++] = m->cells.v[i];
	qsort(ret->cells, n, sizeof(*ret->cells), culprits ? by_culprit : by_victim);
	for (size_t i = 0; i < n; i++) {
		uint32_t who = culprits ? ret->cells[i].id : ret->cells[i].victim;

		if (!ret->heaps.n || ret->heaps.v[ret->heaps.n - 1].who != who)
			if (VEC_PUSH(ret->heaps, (struct heap){.who = who, .first = i}) < 0)
				return -ENOMEM;
		ret->heaps.v[ret->heaps.n - 1].ns += ret->cells[i].ns;
		ret->heaps.v[ret->heaps.n - 1].n++;
	}
	VEC_SORT(ret->heaps, by_size);
	return 0;
}

static void free_heaps(struct heaps *h)
{
	free(h->cells);
	VEC_FREE(h->heaps);
}

/* Same culprit, whatever the way: one name in a line. */
static size_t join_culprits(struct blame_cell *cells, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < kept && (cells[k].culprit != cells[i].culprit || cells[k].id != cells[i].id))
			k++;
		if (k == kept) {
			cells[kept++] = cells[i];
			continue;
		}
		cells[k].ns += cells[i].ns;
		cells[k].flags |= cells[i].flags;
		if (cells[k].via != cells[i].via)
			cells[k].via = NOBODY;
	}
	return kept;
}

ORDER(longest_first, struct blame_cell, DESCENDING(ns))

/* "  300 ms for a CPU: ffmpeg (4215) 77 %, cc1 (4300) 12 %, 5 others 11 %" */
static void put_wait(const struct timeline *t, const struct blame_matrix *m, struct blame_cell *cells, size_t n, FILE *out)
{
	int64_t total = 0, rest = 0;
	size_t named = 0, others = 0;
	char label[LABEL_SIZE], span[32];
	uint8_t wait = cells[0].wait, flags = 0;

	for (size_t i = 0; i < n; i++)
		total += cells[i].ns;
	n = join_culprits(cells, n);
	qsort(cells, n, sizeof(*cells), longest_first);
	fprintf(out, "  %8s %s:", waits_short_span(total, span, sizeof(span)), wait_for_text(wait));
	for (size_t i = 0; i < n; i++) {
		if (i && ((double)cells[i].ns < SMALL_SHARE * (double)total || named == NAMED_A_LINE)) {
			rest += cells[i].ns;
			others++;
			continue;
		}
		flags |= cells[i].flags;
		fprintf(out, "%s %s %.0f %%", named++ ? "," : "", waits_culprit_label(t, m, &cells[i], label, sizeof(label)),
			100.0 * (double)cells[i].ns / (double)total);
	}
	if (rest * 200 > total)
		fprintf(out, ", %zu other%s %.0f %%", others, others == 1 ? "" : "s", 100.0 * (double)rest / (double)total);
	fputs(flags & BLAME_MODELLED ? " (modelled)\n" : flags & BLAME_INFERRED ? " (inferred)\n" : "\n", out);
}

/* ---- many victims of one ---- */

/* Victims that one culprit kept waiting, in one way: a lock's holder and all who queue for it. */
struct crowd {
	uint32_t id; /* of the culprit */
	uint8_t wait;
	int64_t ns;
	size_t n;
	struct heap examples[EXAMPLES]; /* the longest waits */
};

struct crowds {
	VEC(struct crowd) list;
	bool *in; /* by victim: it is in a crowd that is shown */
};

/* The culprit and wait with most of a victim's time; its share. */
static double main_reason(const struct heap *h, const struct blame_cell *cells, const struct blame_cell **ret)
{
	int64_t most = 0;

	for (size_t i = h->first; i < h->first + h->n && i < h->first + REASONS; i++) {
		int64_t ns = 0;

		for (size_t k = h->first; k < h->first + h->n; k++)
			if (cells[k].culprit == cells[i].culprit && cells[k].id == cells[i].id && cells[k].wait == cells[i].wait)
				ns += cells[k].ns;
		if (ns > most) {
			most = ns;
			*ret = &cells[i];
		}
	}
	return h->ns ? (double)most / (double)h->ns : 0;
}

static struct crowd *find_crowd(struct crowds *c, const struct blame_cell *reason)
{
	for (size_t i = 0; i < c->list.n; i++)
		if (c->list.v[i].id == reason->id && c->list.v[i].wait == reason->wait)
			return &c->list.v[i];
	return VEC_PUSH(c->list, (struct crowd){.id = reason->id, .wait = reason->wait}) < 0 ? NULL : &c->list.v[c->list.n - 1];
}

ORDER(longest_crowd, struct crowd, DESCENDING(ns))

static int find_crowds(const struct heaps *victims, struct crowds *ret)
{
	_cleanup_free_ size_t *of = calloc(victims->heaps.n + 1, sizeof(*of)); /* index + 1 */

	ret->in = calloc(victims->heaps.n + 1, sizeof(*ret->in));
	if (!of || !ret->in)
		return -ENOMEM;
	for (size_t i = 0; i < victims->heaps.n; i++) {
		const struct heap *h = &victims->heaps.v[i];
		const struct blame_cell *reason = NULL;
		struct crowd *crowd;

		if (main_reason(h, victims->cells, &reason) < CROWD_SHARE || reason->culprit != BY_TASK)
			continue;
		crowd = find_crowd(ret, reason);
		if (!crowd)
			return -ENOMEM;
		if (crowd->n < EXAMPLES)
			crowd->examples[crowd->n] = *h;
		crowd->n++;
		crowd->ns += h->ns;
		of[i] = (size_t)(crowd - ret->list.v) + 1;
	}
	for (size_t i = 0; i < victims->heaps.n; i++)
		ret->in[i] = of[i] && ret->list.v[of[i] - 1].n >= CROWD_LEAST;
	VEC_SORT(ret->list, longest_crowd);
	return 0;
}

static void free_crowds(struct crowds *c)
{
	VEC_FREE(c->list);
	free(c->in);
}

/* "557 processes waited 230 s for a lock because of mysqld (77): php (1201) 1.2 s, php (1202) 1.1 s, php (1203) 1.1 s, and 554 more" */
static void put_crowd(const struct timeline *t, const struct blame_matrix *m, const struct crowd *c, const struct waits_options *o, FILE *out)
{
	static const char *const members[LEVEL_COUNT] = {"threads", "processes", "programs", "control groups"};
	char label[LABEL_SIZE], span[32];

	fprintf(out, "\n%s%zu %s%s waited %s %s", bold(o->colour), c->n, members[m->level],
		bold_off(o->colour), waits_short_span(c->ns, span, sizeof(span)),
		wait_for_text((enum wait_for)c->wait));
	fprintf(out, " because of %s%s%s:", bold(o->colour), waits_member_label(t, m, c->id, label, sizeof(label)), bold_off(o->colour));
	for (size_t i = 0; i < EXAMPLES; i++)
		fprintf(out, "%s %s %s", i ? "," : "", waits_member_label(t, m, c->examples[i].who, label, sizeof(label)),
			waits_short_span(c->examples[i].ns, span, sizeof(span)));
	fprintf(out, ", and %zu more\n", c->n - EXAMPLES);
}

/* Those whose victims waited longest, at most half of what is listed. Returns how many victims stand in them. */
static size_t put_crowds(const struct timeline *t, const struct blame_matrix *m, const struct crowds *c, const struct waits_options *o,
			 size_t *put, FILE *out)
{
	size_t victims = 0;

	for (size_t i = 0; i < c->list.n && *put < (o->top + 1) / 2; i++)
		if (c->list.v[i].n >= CROWD_LEAST) {
			put_crowd(t, m, &c->list.v[i], o, out);
			victims += c->list.v[i].n;
			++*put;
		}
	return victims;
}

struct wait_part {
	size_t first, n;
	int64_t ns;
};

ORDER(largest_part, struct wait_part, DESCENDING(ns))

static size_t find_parts(const struct heap *h, const struct blame_cell *cells, struct wait_part *parts)
{
	size_t n = 0;

	for (size_t i = h->first; i < h->first + h->n; i++) {
		if (i == h->first || cells[i].wait != cells[i - 1].wait)
			parts[n++] = (struct wait_part){.first = i};
		parts[n - 1].n++;
		parts[n - 1].ns += cells[i].ns;
	}
	qsort(parts, n, sizeof(*parts), largest_part);
	return n;
}

static void put_victim(const struct timeline *t, const struct blame_matrix *m, const struct heap *h, struct blame_cell *cells,
		       const struct waits_options *o, FILE *out)
{
	struct wait_part parts[FOR_COUNT];
	size_t n = find_parts(h, cells, parts);
	char label[LABEL_SIZE], span[32];

	fprintf(out, "\n%s%s%s waited %s:\n", bold(o->colour), waits_member_label(t, m, h->who, label, sizeof(label)), bold_off(o->colour),
		waits_short_span(h->ns, span, sizeof(span)));
	for (size_t i = 0; i < n && (!i || (double)parts[i].ns > 0.005 * (double)h->ns); i++)
		put_wait(t, m, &cells[parts[i].first], parts[i].n, out);
}

/* "ffmpeg (4215) made others wait 1.2 s: nginx (812) 231 ms for a CPU, sshd (4) 20 ms for a lock" */
static void put_imposer(const struct timeline *t, const struct blame_matrix *m, const struct heap *h, struct blame_cell *cells,
			FILE *out)
{
	char label[LABEL_SIZE], span[32];
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		struct blame_cell *c = &cells[h->first + i];

		if (n && cells[h->first + n - 1].victim == c->victim && cells[h->first + n - 1].wait == c->wait)
			cells[h->first + n - 1].ns += c->ns;
		else
			cells[h->first + n++] = *c;
	}
	qsort(&cells[h->first], n, sizeof(*cells), longest_first);
	fprintf(out, "  %8s  %-24s", waits_short_span(h->ns, span, sizeof(span)), waits_member_label(t, m, h->who, label, sizeof(label)));
	for (size_t i = 0; i < n && i < 3; i++) {
		const struct blame_cell *c = &cells[h->first + i];

		fprintf(out, "%s %s %s %s", i ? "," : " ", waits_member_label(t, m, c->victim, label, sizeof(label)),
			waits_short_span(c->ns, span, sizeof(span)), wait_for_text(c->wait));
	}
	if (n > 3)
		fprintf(out, ", and %zu more", n - 3);
	fputc('\n', out);
}

static void put_imposers(const struct timeline *t, const struct blame_matrix *m, const struct heaps *culprits, const struct waits_options *o, FILE *out)
{
	if (!culprits->heaps.n)
		return;
	fprintf(out, "\n%sWho made others wait%s\n", bold(o->colour), bold_off(o->colour));
	for (size_t i = 0; i < culprits->heaps.n && i < o->top; i++)
		put_imposer(t, m, &culprits->heaps.v[i], culprits->cells, out);
	if (culprits->heaps.n > o->top)
		fprintf(out, "  %zu others made them wait less\n", culprits->heaps.n - o->top);
}

static int64_t sum_of(const struct blame_matrix *m, const struct waits_options *o)
{
	int64_t sum = 0;

	for (int w = 0; w < FOR_COUNT; w++)
		sum += counts(o, (uint8_t)w) ? m->waits[w] : 0;
	return sum;
}

static void put_totals(const struct blame_matrix *m, const struct waits_options *o, FILE *out)
{
	char span[32];
	bool first = true;

	for (int w = 0; w < FOR_COUNT; w++) {
		if (!counts(o, (uint8_t)w) || !m->waits[w])
			continue;
		fprintf(out, "%s %s %s", first ? ":" : ",", waits_short_span(m->waits[w], span, sizeof(span)), wait_for_text((enum wait_for)w));
		first = false;
	}
	fputs(".\n", out);
}

/* What is left unexplained is said, for each kind. */
static void put_unknown(const struct blame_matrix *m, const struct waits_options *o, FILE *out)
{
	bool first = true;

	for (int w = 0; w < FOR_COUNT; w++) {
		if (!counts(o, (uint8_t)w) || !m->unknown[w] || m->unknown[w] * 1000 < m->waits[w])
			continue;
		fprintf(out, "%s %.1f %% of the waits %s", first ? "\nNo culprit is known for" : ",",
			100.0 * (double)m->unknown[w] / (double)m->waits[w], wait_for_text((enum wait_for)w));
		first = false;
	}
	fputs(first ? "\nEvery wait has a known culprit.\n" : ".\n", out);
	if (!o->all)
		fputs("Waiting for others' work (pipes, sockets, signals, children) is left out; --all shows it. Idle event loops\n"
		      "and threads asleep by their own timer do not wait.\n", out);
}

/* Crowds first; then the victims that stand in none. */
static void put_victims(const struct timeline *t, const struct blame_matrix *m, const struct heaps *victims, const struct waits_options *o,
			FILE *out)
{
	_cleanup_(free_crowds) struct crowds crowds = {};
	size_t put = 0, told;

	if (find_crowds(victims, &crowds) < 0)
		return;
	told = put_crowds(t, m, &crowds, o, &put, out);
	for (size_t i = 0; i < victims->heaps.n && put < o->top; i++)
		if (!crowds.in[i]) {
			put_victim(t, m, &victims->heaps.v[i], victims->cells, o, out);
			told++;
			put++;
		}
	if (victims->heaps.n > told)
		fprintf(out, "\n%zu others waited less.\n", victims->heaps.n - told);
}

void waits_text(const struct timeline *t, const struct blame_matrix *m, const struct waits_options *o, FILE *out)
{
	_cleanup_(free_heaps) struct heaps victims = {}, culprits = {};
	char span[32];

	if (!o->brief)
		waits_put_span(t, m->from, m->to, o, out);
	if (make_heaps(m, o, false, &victims) < 0 || make_heaps(m, o, true, &culprits) < 0)
		return;
	if (!victims.heaps.n) {
		fputs("No thread waited for anything that another one had.\n", out);
		return;
	}
	if (!o->brief) {
		fprintf(out, "All waited %s%s", waits_short_span(sum_of(m, o), span, sizeof(span)), o->all ? "" : " for what others had");
		put_totals(m, o, out);
	}
	if (!o->brief)
		put_imposers(t, m, &culprits, o, out);
	put_victims(t, m, &victims, o, out);
	if (!o->brief)
		put_unknown(m, o, out);
}
