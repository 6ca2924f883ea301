/* One process or thread, and states, as text. */
#include <inttypes.h>

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

static void put_cells(const struct timeline *t, const struct blame_matrix *m, uint8_t wait, FILE *out)
{
	int64_t rest = 0, total = m->waits[wait];
	size_t named = 0, others = 0;
	char label[LABEL_SIZE], how[2 * LABEL_SIZE], span[32], longest[32];

	for (size_t i = 0; i < m->cells.n; i++) {
		const struct blame_cell *c = &m->cells.v[i];

		if (c->wait != wait)
			continue;
		if (named && ((double)c->ns < 0.01 * (double)total || named == NAMED_A_WAIT)) {
			rest += c->ns;
			others++;
			continue;
		}
		named++;
		waits_via(t, m, c, how, sizeof(how));
		fprintf(out, "  %10s %3.0f %%  %s%s%s", waits_short_span(c->ns, span, sizeof(span)),
			100.0 * (double)c->ns / (double)total, waits_culprit_label(t, m, c, label, sizeof(label)), how[0] ? ", which " : "", how);
		fprintf(out, " (longest %s%s)\n", waits_short_span(c->longest, longest, sizeof(longest)),
			c->flags & BLAME_MODELLED ? "; modelled" : c->flags & BLAME_INFERRED ? "; inferred" : "");
	}
	if (others)
		fprintf(out, "  %10s %3.0f %%  %zu others\n", waits_short_span(rest, span, sizeof(span)),
			100.0 * (double)rest / (double)total, others);
}

static void put_waits(const struct timeline *t, const struct waits_of *w, bool contended, FILE *out)
{
	const struct blame_matrix *m = w->matrix;
	char span[32];

	for (int wait = 0; wait < FOR_COUNT; wait++) {
		if (!m->waits[wait] || wait_for_is_contended((enum wait_for)wait) != contended)
			continue;
		fprintf(out, "\n%s %s", waits_short_span(m->waits[wait], span, sizeof(span)), wait_for_text((enum wait_for)wait));
		fprintf(out, ", %" PRIu32 " time%s:\n", w->report->waits[wait], w->report->waits[wait] == 1 ? "" : "s");
		put_cells(t, m, (uint8_t)wait, out);
	}
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

/* The pieces that matter, in the order of time: as many as fit on some screens. */
static void put_path(const struct timeline *t, const struct critical_path *p, const struct waits_options *o, FILE *out)
{
	int64_t small = 0, left = 0;
	size_t shown = 8 * (size_t)o->top, longer;

	do {
		longer = 0;
		for (size_t i = 0; i < p->pieces.n; i++)
			longer += p->pieces.v[i].to - p->pieces.v[i].from >= small;
		if (longer > shown)
			small = small ? 2 * small : 1000;
	} while (longer > shown);
	fputs("\nThe critical path: what it was held up by, moment by moment (deeper = further away):\n", out);
	for (size_t i = 0; i < p->pieces.n; i++) {
		if (p->pieces.v[i].to - p->pieces.v[i].from >= small)
			put_piece(t, &p->pieces.v[i], out);
		else
			left += p->pieces.v[i].to - p->pieces.v[i].from;
	}
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
