/* One process or thread, and states, as text. */
#include <inttypes.h>

#include "lib/data/cleanup.h"
#include "lib/view/bold.h"
#include "machine/view-waits/waits-words.h"

#define NAMED_A_WAIT 6

static void put_name(const struct timeline *t, const struct waits_of *w, FILE *out)
{
	const struct thread_line *line = &t->threads.v[w->threads[0]];
	char label[LABEL_SIZE];

	if (w->n == 1)
		fputs(waits_thread_label(t, w->threads[0], label, sizeof(label)), out);
	else
		fprintf(out, "%s (%" PRIu32 "), %zu threads,", t->names.v[line->program], line->tgid, w->n);
}

#define SAMPLES_LEAST 10 /* below, a share says nothing */

static void put_states(const struct wait_report *r, FILE *out)
{
	char span[32];
	int64_t awaited = 0, resting = 0;

	for (int s = 0; s < INTERVAL_STATES; s++) {
		if (state_table[s].wait >= FOR_PEER)
			awaited += r->state[s];
		else if (state_table[s].group == GROUP_RESTING)
			resting += r->state[s];
	}
	fprintf(out, "It ran %s", waits_short_span(wait_report_running(r) - wait_report_waited(r, FOR_INTERRUPT), span, sizeof(span)));
	if (r->samples >= SAMPLES_LEAST)
		fprintf(out, " (%.0f %% of it in the kernel, by %" PRIu32 " samples)",
			100.0 * (double)(r->samples - r->user_samples) / (double)r->samples, r->samples);
	fprintf(out, ", waited for others' work %s", waits_short_span(awaited, span, sizeof(span)));
	fprintf(out, ", and was idle or asleep by its own choice %s", waits_short_span(resting, span, sizeof(span)));
	if (r->state[STATE_UNKNOWN])
		fprintf(out, "; %s are not known", waits_short_span(r->state[STATE_UNKNOWN], span, sizeof(span)));
	fputs(".\n", out);
}

/* The cells of one culprit, or of all that kept one holder of a lock from letting it go: one line. */
struct cause {
	const struct blame_cell *main; /* the longest that is not the holder's own */
	size_t first, end, others;     /* cells of the matrix; how many more there are besides the main one and the holder's own */
	uint32_t holder;
	int64_t ns, longest, not_own;
	uint8_t flags;
};

static bool is_own(const struct blame_cell *c)
{
	return c->culprit == BY_TASK && c->id == blame_holder(c);
}

/* The matrix is in the order of blame_sort_by_holder(). */
static struct cause cause_at(const struct blame_matrix *m, size_t first)
{
	struct cause g = {.first = first, .end = first, .holder = blame_holder(&m->cells.v[first])};

	do {
		const struct blame_cell *c = &m->cells.v[g.end++];

		g.ns += c->ns;
		g.longest = c->longest > g.longest ? c->longest : g.longest;
		g.flags |= c->flags;
		if (is_own(c))
			continue;
		g.not_own += c->ns;
		g.others += g.main != NULL;
		g.main = g.main ?: c;
	} while (g.holder != NOBODY && g.end < m->cells.n && m->cells.v[g.end].wait == FOR_LOCK && blame_holder(&m->cells.v[g.end]) == g.holder);
	return g;
}

#define WORTH_NAMING 0.1  /* of the time that a lock was held */
#define ALL_THE_TIME 0.95 /* of the time that was waited for locks */

/* ", because urgent (20) kept it from a CPU", or "; for 1.2 s of that urgent (20) kept it from a CPU" where it was not most of the time. */
static void put_why_held(const struct timeline *t, const struct blame_matrix *m, const struct cause *g, FILE *out)
{
	struct blame_cell cell = *g->main;
	char who[LABEL_SIZE], act[LABEL_SIZE], span[32];
	bool most = 2 * g->main->ns >= g->ns;

	if (most || 2 * g->not_own < g->ns)
		fprintf(out, most ? ", because" : "; for %s of that", waits_short_span(cell.ns, span, sizeof(span)));
	else
		fprintf(out, "; for %s of that %zu others held it up, most of all", waits_short_span(g->not_own, span, sizeof(span)), g->others + 1);
	fprintf(out, " %s %s", waits_culprit_label(t, m, &cell, who, sizeof(who)), waits_act(cell.root, act, sizeof(act)));
	if (most && cell.ns != g->ns)
		fprintf(out, " for %s", waits_short_span(cell.ns, span, sizeof(span)));
}

/* "gcworker (12) held it all the time, because urgent (20) kept it from a CPU" */
static void put_cause(const struct timeline *t, const struct blame_matrix *m, const struct cause *g, const char *object, FILE *out)
{
	const struct blame_cell *c = &m->cells.v[g->first];
	char label[LABEL_SIZE], how[2 * LABEL_SIZE];

	if (g->holder == NOBODY) {
		waits_via(t, m, c, how, sizeof(how));
		fprintf(out, "%s%s%s", waits_culprit_label(t, m, c, label, sizeof(label)), how[0] ? ", which " : "", how);
		return;
	}
	fprintf(out, "%s held %s%s", waits_member_label(t, m, g->holder, label, sizeof(label)), object,
		(double)g->ns >= ALL_THE_TIME * (double)m->waits[FOR_LOCK] ? " all the time" : "");
	if (g->main && (double)g->not_own >= WORTH_NAMING * (double)g->ns)
		put_why_held(t, m, g, out);
	else
		fputs(c->flags & BLAME_RESTED ? " and slept" : "", out);
}

static void put_causes(const struct timeline *t, const struct blame_matrix *m, uint8_t wait, FILE *out)
{
	int64_t rest = 0, total = m->waits[wait];
	size_t named = 0, others = 0;
	char span[32], longest[32];

	for (size_t i = 0; i < m->cells.n;) {
		const struct cause g = cause_at(m, i);

		i = g.end;
		if (m->cells.v[g.first].wait != wait)
			continue;
		if (named && ((double)g.ns < 0.01 * (double)total || named == NAMED_A_WAIT)) {
			rest += g.ns;
			others++;
			continue;
		}
		named++;
		fprintf(out, "  %10s %3.0f %%  ", waits_short_span(g.ns, span, sizeof(span)), 100.0 * (double)g.ns / (double)total);
		put_cause(t, m, &g, "it", out);
		fprintf(out, " (longest %s%s)\n", waits_short_span(g.longest, longest, sizeof(longest)),
			g.flags & BLAME_MODELLED ? "; modelled" : g.flags & BLAME_INFERRED ? "; inferred" : "");
	}
	if (others)
		fprintf(out, "  %10s %3.0f %%  %zu others\n", waits_short_span(rest, span, sizeof(span)),
			100.0 * (double)rest / (double)total, others);
}

/* The kinds of waits, the longest first: their number. */
static size_t order_waits(const struct blame_matrix *m, bool contended, uint8_t *order)
{
	size_t n = 0, at;

	for (uint8_t wait = 0; wait < FOR_COUNT; wait++) {
		if (!m->waits[wait] || wait_for_is_contended((enum wait_for)wait) != contended)
			continue;
		for (at = n++; at > 0 && m->waits[order[at - 1]] < m->waits[wait]; at--)
			order[at] = order[at - 1];
		order[at] = wait;
	}
	return n;
}

static void put_waits(const struct timeline *t, const struct waits_of *w, bool contended, FILE *out)
{
	const struct blame_matrix *m = w->matrix;
	uint8_t order[FOR_COUNT];
	size_t n = order_waits(m, contended, order);
	char span[32];

	for (size_t i = 0; i < n; i++) {
		uint32_t times = w->report->waits[order[i]];

		fprintf(out, "\n%s %s", waits_short_span(m->waits[order[i]], span, sizeof(span)), wait_for_text((enum wait_for)order[i]));
		fprintf(out, ", %" PRIu32 " time%s:\n", times, times == 1 ? "" : "s");
		put_causes(t, m, order[i], out);
	}
}

/* Who held the lock that most of the time was waited for, as the first thing said. */
static void put_held(const struct timeline *t, const struct waits_of *w, FILE *out)
{
	const struct blame_matrix *m = w->matrix;
	struct cause g = {};

	if (m->cells.n)
		g = cause_at(m, 0);
	if (2 * g.ns < wait_report_contended(w->report) || g.holder == NOBODY)
		return;
	put_cause(t, m, &g, "the lock", out);
	fputs(".\n", out);
}

static void put_bars(const struct delays *d, FILE *out)
{
	uint32_t most = 0;
	char span[32];

	for (unsigned b = 0; b < DELAY_BUCKETS; b++)
		most = d->count[b] > most ? d->count[b] : most;
	for (unsigned b = 0; b < DELAY_BUCKETS; b++) {
		unsigned length = most ? (unsigned)((uint64_t)d->count[b] * 40 / most) : 0;

		if (!d->count[b])
			continue;
		fprintf(out, "    %s %-8s %8" PRIu32 "  ", b + 1 < DELAY_BUCKETS ? "<" : ">",
			waits_short_span(1000ll << (b + 1 < DELAY_BUCKETS ? b : b - 1), span, sizeof(span)), d->count[b]);
		for (unsigned i = 0; i < (length ? length : 1); i++)
			fputs("#", out);
		fputc('\n', out);
	}
}

static void put_delays(const struct timeline *t, const struct waits_of *w, FILE *out)
{
	char a[32], b[32], c[32], at[32];
	bool titled = false;

	for (int s = 0; s < INTERVAL_STATES; s++) {
		const struct delays *d = &w->report->delays[s];

		if (!d->n)
			continue;
		if (!titled)
			fputs("\nFrom being ready to having a CPU, by why it had none:\n", out);
		titled = true;
		fprintf(out, "  %s: %" PRIu32 " times, half within %s, 99 %% within %s", state_table[s].text, d->n,
			waits_short_span(delays_quantile(d, 0.5), a, sizeof(a)), waits_short_span(delays_quantile(d, 0.99), b, sizeof(b)));
		fprintf(out, ", longest %s at %s\n", waits_short_span(d->longest, c, sizeof(c)),
			waits_clock_of_day(t, d->longest_at, at, sizeof(at)));
		put_bars(d, out);
	}
}

static void put_piece(const struct timeline *t, const struct path_piece *p, FILE *out)
{
	static const struct blame_matrix threads = {.level = LEVEL_THREAD};
	struct blame_cell cell = {.culprit = p->culprit, .id = p->id, .via = NOBODY};
	char at[32], span[32], label[LABEL_SIZE], by[LABEL_SIZE];

	fprintf(out, "  %s %8s  %*s%s: %s", waits_clock_of_day(t, p->from, at, sizeof(at)), waits_short_span(p->to - p->from, span, sizeof(span)),
		2 * p->depth, "", waits_thread_label(t, p->thread, label, sizeof(label)), state_table[p->state].text);
	if (p->culprit != BY_TASK || p->id != p->thread)
		fprintf(out, " (%s)", waits_culprit_label(t, &threads, &cell, by, sizeof(by)));
	fputc('\n', out);
}

static void put_stack(const char *words, const struct str *stack, FILE *out)
{
	if (stack->len)
		fprintf(out, "%16s%s %s\n", "", words, stack->data);
}

/* Where the thread asked about slept, and where the one was that ended it. */
static void put_stacks(const struct timeline *t, uint32_t thread, const struct path_wait *wait, FILE *out)
{
	const stack_ref slept[] = {wait->kernel_stack, wait->user_stack};
	_cleanup_str_ struct str in = {}, by = {};
	char label[LABEL_SIZE];

	waits_stack_text(t, t->threads.v[thread].tgid, slept, ARRAY_SIZE(slept), false, &in);
	put_stack("it slept in", &in, out);
	if (wait->waker == NOBODY)
		return;
	waits_stack_text(t, t->threads.v[wait->waker].tgid, &wait->waker_stack, 1, true, &by);
	put_stack(STR_TEXT(LABEL_SIZE + 16, "%s ended it in", waits_thread_label(t, wait->waker, label, sizeof(label))), &by, out);
}

/* The pieces that matter, in the order of time: as many as fit on some screens. Below the parts of a wait its stacks. */
static void put_path(const struct timeline *t, const struct critical_path *p, const struct waits_options *o, FILE *out)
{
	int64_t small = 0, left = 0;
	size_t shown = 8 * (size_t)o->top, longer;
	struct path_wait wait = {};

	do {
		longer = 0;
		for (size_t i = 0; i < p->pieces.n; i++)
			longer += p->pieces.v[i].to - p->pieces.v[i].from >= small;
		if (longer > shown)
			small = small ? 2 * small : 1000;
	} while (longer > shown);
	fputs("\nThe critical path: what it was held up by, moment by moment (deeper = further away):\n", out);
	VEC_EACH(piece, p->pieces) {
		if (piece->to - piece->from < small) {
			left += piece->to - piece->from;
			continue;
		}
		if (wait.since && wait.since != piece->wait.since)
			put_stacks(t, p->thread, &wait, out);
		wait = piece->wait;
		put_piece(t, piece, out);
	}
	if (wait.since)
		put_stacks(t, p->thread, &wait, out);
	if (left) {
		char a[32], b[32];

		fprintf(out, "  %s in %zu pieces shorter than %s are not shown.\n", waits_short_span(left, a, sizeof(a)),
			p->pieces.n - longer, waits_short_span(small, b, sizeof(b)));
	}
}

void waits_of_text(const struct timeline *t, const struct waits_of *w, const struct waits_options *o, FILE *out)
{
	char waited[32], alive[32];

	waits_put_span(t, w->report->from, w->report->to, o, out);
	put_held(t, w, out);
	fputs(bold(o->colour), out);
	put_name(t, w, out);
	fprintf(out, "%s waited %s of %s for what others had. ", bold_off(o->colour), waits_short_span(wait_report_contended(w->report), waited, sizeof(waited)),
		waits_short_span(w->report->alive, alive, sizeof(alive)));
	put_states(w->report, out);
	put_waits(t, w, true, out);
	put_delays(t, w, out);
	put_waits(t, w, false, out);
	if (w->path)
		put_path(t, w->path, o, out);
}

/* ---- states ---- */

static double percent(const struct wait_report *r, int64_t ns)
{
	return r->alive ? 100.0 * (double)ns / (double)r->alive : 0;
}

static void put_thread_states(const struct wait_report *r, FILE *out)
{
	bool first = true;

	for (int s = 0; s < INTERVAL_STATES; s++) {
		if (!r->state[s])
			continue;
		if (percent(r, r->state[s]) >= 0.05)
			fprintf(out, "%s %s %.1f %%", first ? "" : ",", state_table[s].text, percent(r, r->state[s]));
		first = first && percent(r, r->state[s]) < 0.05;
	}
}

void waits_threads_text(const struct timeline *t, const uint32_t *threads, const struct wait_report *reports, size_t n,
		  const struct waits_options *o, FILE *out)
{
	char label[LABEL_SIZE];

	waits_put_span(t, n ? reports[0].from : t->start, n ? reports[0].to : t->end, o, out);
	fprintf(out, "\n%5s %5s  %s\n", "runs", "waits", "thread: how it spent its time");
	for (size_t i = 0; i < n && i < o->top; i++) {
		const struct wait_report *r = &reports[i];

		fprintf(out, "%4.0f%% %4.0f%%  %s%s%s:", percent(r, wait_report_running(r) - wait_report_waited(r, FOR_INTERRUPT)),
			percent(r, wait_report_contended(r)), bold(o->colour), waits_thread_label(t, threads[i], label, sizeof(label)), bold_off(o->colour));
		put_thread_states(r, out);
		fputc('\n', out);
	}
	if (n > o->top)
		fprintf(out, "%zu more; --top shows them.\n", n - o->top);
}
