#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/bold.h"
#include "machine/view-why/plot.h"
#include "machine/view-why/process-snapshot.h"

#define PLOT_WIDTH 72
#define PLOT_HEIGHT 10
#define BAR_WIDTH 8

/* Whether the time before the moment was long enough to compare anything with. */
static bool has_past(const struct ranking *r)
{
	for (size_t i = 0; i < r->suspects.n; i++)
		for (size_t k = 0; k < r->suspects.v[i].features.n; k++)
			if (!isnan(r->suspects.v[i].features.v[k].usual))
				return true;
	return false;
}

static void put_head(const struct process_snapshot *b, bool colour, FILE *out)
{
	const struct answer *a = &b->everybody;

	fprintf(out, "%s%s%s\n", bold(colour), b->verdict.summary, bold_off(colour));
	if (b->verdict.baseline && has_past(&a->ranking))
		fprintf(out, "%s, compared with %s; %u processes.\n\n", CLOCK_LOCAL(a->window_end), b->verdict.baseline, a->ranking.looked_at);
	else
		fprintf(out, has_past(&a->ranking) ? "%s, compared with the %s recorded before; %u processes.\n\n" : "%s; the %s recorded before are too few to compare with; %u processes.\n\n",
			CLOCK_LOCAL(a->window_end), CLOCK_SPAN(a->recorded), a->ranking.looked_at);
}

/* The bars of the paper's first pane: full for a score of 1. */
static int bar_of(double score)
{
	return (int)lround(fmin(1, score) * BAR_WIDTH);
}

static void put_bar(double score, bool colour, FILE *out)
{
	int full = bar_of(score);

	fputs(colour && full ? "\033[31m" : "", out);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputs(i < full ? "█" : " ", out);
	fputs(bold_off(colour && full), out);
}

static const char *value_of(const struct process_snapshot *b, const struct suspect *s, int feature, char *buf, size_t n)
{
	double value = process_snapshot_value(b, s, feature);

	return isnan(value) ? "?" : feature_format(&s->subject->features[feature], value, buf, n);
}

static void put_process(const struct process_snapshot *b, const struct suspect *s, bool colour, FILE *out)
{
	_cleanup_free_ char *label = entity_label(&s->subject->info);
	double likelihood = process_snapshot_log_likelihood(b, s->score);
	char cpu[32], delay[32], memory[32], read[32], write[32], value[32], usual[32];

	put_bar(process_snapshot_bar(b, s), colour, out);
	if (!isnan(likelihood))
		fprintf(out, "%8.2f", likelihood);
	fprintf(out, " %7u %-18.18s %9s %9s %9s %10s %10s ", s->subject->info.pid, label ? label : "?",
		value_of(b, s, FEATURE_CPU_TIME, cpu, sizeof(cpu)), value_of(b, s, FEATURE_CPU_RUN_DELAY, delay, sizeof(delay)),
		value_of(b, s, FEATURE_MEM_ANON, memory, sizeof(memory)), value_of(b, s, FEATURE_IO_READ_BYTES, read, sizeof(read)),
		value_of(b, s, FEATURE_IO_WRITE_BYTES, write, sizeof(write)));
	if (s->features.n && process_snapshot_feature_bar(b, s, &s->features.v[0]) > 0.05) {
		const struct deviation *f = &s->features.v[0];

		fprintf(out, " %s %s, %s%s", f->feature->name, feature_format(f->feature, f->observed, value, sizeof(value)),
			f->flags & FINDING_NEW ? "was not running before" : "normally ",
			f->flags & FINDING_NEW ? "" : feature_format(f->feature, f->usual, usual, sizeof(usual)));
	}
	fputc('\n', out);
}

void process_snapshot_text(const struct process_snapshot *b, const struct snapshot_text_options *o, FILE *out)
{
	const struct ranking *r = &b->everybody.ranking;
	bool of_paper = !isnan(process_snapshot_log_likelihood(b, 0)), stood_out = true;

	put_head(b, o->colour, out);
	if (of_paper)
		fprintf(out, "By the paper's model: average log-likelihood per feature, the least likely first; %u had too few features that change.\n", r->left_out);
	fprintf(out, "%-*s%s %7s %-18s %9s %9s %9s %10s %10s  %s\n", BAR_WIDTH, "unusual", of_paper ? "   log p" : "", "pid", "program", "cpu", "cpu wait", "memory",
		"read", "written", "most unusual");
	for (size_t i = 0; i < r->suspects.n && i < o->processes; i++) {
		bool stands_out = of_paper || bar_of(process_snapshot_bar(b, &r->suspects.v[i])) > 0;

		if (!stands_out && stood_out)
			fputs("Of these nothing unusual is known:\n", out);
		stood_out = stands_out;
		put_process(b, &r->suspects.v[i], o->colour, out);
	}
	if (r->suspects.n > o->processes)
		fprintf(out, "... and %zu more (-n N lists more; --for PID shows one's features)\n", r->suspects.n - o->processes);
}

static void put_feature(const struct process_snapshot *b, const struct suspect *s, const struct deviation *f, bool colour, FILE *out)
{
	double likelihood = process_snapshot_log_likelihood(b, f->score);

	put_bar(process_snapshot_feature_bar(b, s, f), colour, out);
	if (!isnan(likelihood))
		fprintf(out, "%8.2f", likelihood);
	fprintf(out, " %-20s %12s", f->feature->name, FEATURE_TEXT(f->feature, f->observed));
	if (isnan(f->usual))
		fprintf(out, "  %-28s", "no past to compare with");
	else if (f->flags & FINDING_NEW)
		fprintf(out, "  %-28s", "was not running before");
	else
		fprintf(out, "  normally %10s +- %-6s", FEATURE_TEXT(f->feature, f->usual),
			FEATURE_TEXT(f->feature, f->spread));
	fprintf(out, "  %s%s\n", f->feature->help, f->flags & FINDING_LEFT_ONLY_VALUE ? " (was constant until now)" : "");
}

static void put_name(const struct entity_info *info, FILE *out)
{
	_cleanup_free_ char *label = entity_label(info), *place = entity_place(info);

	fprintf(out, "%s, pid %u", label ? label : "?", info->pid);
	if (place)
		fprintf(out, ", %s", place);
	fputc('\n', out);
}

void process_snapshot_process_text(const struct process_snapshot *b, const struct suspect *s, bool colour,
				   FILE *out)
{
	put_head(b, colour, out);
	put_name(&s->subject->info, out);
	if (s->subject->info.cmdline)
		fprintf(out, "%s\n", s->subject->info.cmdline);
	fputc('\n', out);
	for (size_t i = 0; i < s->features.n; i++)
		put_feature(b, s, &s->features.v[i], colour, out);
}

void process_snapshot_curve_text(const struct entity_info *who, const struct feature *f, const struct curve *c, FILE *out)
{
	char top[32], bottom[32], begin[40], end[40];
	struct plot plot = plot_of(c, PLOT_WIDTH, PLOT_HEIGHT);

	put_name(who, out);
	fprintf(out, "%s: %s\n", f->name, f->help);
	feature_format(f, plot.top, top, sizeof(top));
	feature_format(f, plot.bottom, bottom, sizeof(bottom));
	for (int y = 0; y < PLOT_HEIGHT; y++) {
		fprintf(out, "%12s │", y == 0 ? top : y + 1 == PLOT_HEIGHT ? bottom : "");
		for (int x = 0; x < PLOT_WIDTH; x++)
			fputs(plot_cell(&plot, x, y, (char[PLOT_CELL]){}), out);
		fputc('\n', out);
	}
	clock_format_local(c->from, begin, sizeof(begin));
	fprintf(out, "%12s %s%*s\n", "", begin,
		PLOT_WIDTH + 1 - (int)strlen(begin), clock_format_local(c->from + (int64_t)c->n * c->step, end, sizeof(end)) + 4);
	plot_free(&plot);
}

void process_snapshot_lives_text(const struct lives *l, size_t top, FILE *out)
{
	fprintf(out, "%s to %s: %zu processes, %zu of them all the time\n", CLOCK_LOCAL(l->from),
		CLOCK_LOCAL(l->to), l->v.n, l->throughout);
	for (size_t i = 0; i < l->v.n && i < top; i++) {
		const struct life *life = &l->v.v[i];
		_cleanup_free_ char *label = entity_label(&life->info);

		fprintf(out, "%8u  %-30s %s to %s\n", (unsigned)life->info.pid, label ? label : "?",
			life->began ? CLOCK_LOCAL(life->from) : "earlier",
			life->ended ? CLOCK_LOCAL(life->to) : "later");
	}
}
