#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/bold.h"
#include "machine/findings/weights.h"
#include "machine/view-why/plot.h"
#include "machine/view-why/why.h"

#define SLOWER 1.1 /* times as long as normally: less is not worth a word */
#define SIMILAR_SHOWN 3
#define SUREST 99 /* %: more than the lab can tell */
#define EXPLAINS_LEAST 0.005 /* less is printed as 0, next to a score that says more */
#define SAYS_SOMETHING 0.005 /* of a weight: less is printed as 0 */

static void put_feature(const struct suspect *s, const struct deviation *f, FILE *out)
{
	_cleanup_free_ char *server = f->flags & FINDING_OF_SERVER ? entity_label(&s->server->info) : NULL;
	char spark[SPARKLINE_SIZE];

	fprintf(out, "     %-20s %10s", f->feature->name, FEATURE_TEXT(f->feature, f->observed));
	if (isnan(f->usual))
		fprintf(out, "   %-30s", "no past to compare with");
	else if (f->flags & FINDING_NEW)
		fprintf(out, "   %-30s", "was not running before");
	else
		fprintf(out, "   normally %8s +- %-9s", FEATURE_TEXT(f->feature, f->usual),
			FEATURE_TEXT(f->feature, f->spread));
	fprintf(out, " %s", plot_sparkline(f->spark, spark));
	if (f->flags & FINDING_LEFT_ONLY_VALUE)
		fputs("  was constant until now", out);
	else if ((f->flags & FINDING_HIGHEST) && !(f->flags & FINDING_NEW)) /* of a new program everything is */
		fputs("  highest in the window", out);
	if (f->since)
		fprintf(out, "  since %s", CLOCK_LOCAL(f->since) + 15);
	if (server)
		fprintf(out, "  by %s", server);
	fputc('\n', out);
}

static void put_starter(const struct entity_info *info, FILE *out)
{
	_cleanup_free_ char *label = entity_label(info);

	fprintf(out, ", started by %s, pid %u", label ? label : "?", info->pid);
}

static void put_who(const struct suspect *s, FILE *out)
{
	_cleanup_free_ char *label = entity_label(&s->subject->info), *place = entity_place(&s->subject->info);

	fputs(label ? label : "?", out);
	if (s->subject->info.kind == ENTITY_SHORT_LIVED) {
		if (s->members) /* 0: those that ran have not ended yet */
			fprintf(out, ", %u short-lived process%s", s->members, s->members == 1 ? "" : "es");
		else
			fputs(", short-lived processes", out);
	} else if (s->together.n) {
		fprintf(out, ", pid %u, with all it started: %u processes", s->subject->info.pid, s->members);
	} else if (s->kind == CULPRIT_GROUP && s->members > 1) {
		fprintf(out, ", %u processes (most: pid %u)", s->members, s->subject->info.pid);
	} else if (s->subject->info.pid) {
		fprintf(out, ", pid %u", s->subject->info.pid);
	}
	if (s->starter)
		put_starter(&s->starter->info, out);
	if (place)
		fprintf(out, ", %s", place);
	if (s->subject->info.flags & ENTITY_IS_SELF)
		fputs(" (the recorder itself)", out);
}

static bool is_explained(const struct answer *a)
{
	return a->slow && a->ranking.added > 0 && !isnan(a->ranking.unexplained);
}

static bool is_vague(const struct explained *e)
{
	return e->high - e->low > EXPLAINED_VAGUE;
}

static void put_explained(const struct explained *e, FILE *out)
{
	if (is_vague(e))
		fputs("     how much of the additional waiting of other programs it explains is not known\n", out);
	else if (e->high >= EXPLAINS_LEAST)
		fprintf(out, "     explains %.0f %% (%.0f-%.0f %%) of the additional waiting of other programs\n", 100 * e->share, 100 * e->low, 100 * e->high);
}

/* What a factor adds to the logarithm of the score. */
static void put_factors(const struct suspect *s, FILE *out)
{
	for (enum evidence e = 0; e < EVIDENCE_COUNT; e++) {
		double weight = s->factors[e] > 0 ? evidence_weights[e] * log(s->factors[e]) : 0;

		if (fabs(weight) >= SAYS_SOMETHING)
			fprintf(out, "     %-16s x %-8.3g %+6.2f  %s\n", evidence_rows[e].name, s->factors[e], weight, evidence_rows[e].help);
	}
}

/* What no program causes is as vague as what the first suspect causes. */
static bool rest_is_known(const struct ranking *r)
{
	return !r->suspects.n || !is_vague(&r->suspects.v[0].explains);
}

static void put_own_waits(const struct ranking *r, FILE *out)
{
	_cleanup_free_ char *label = entity_label(&r->suspects.v[0].subject->info);

	fprintf(out, "Only %s waits more than normally: %.2g s per second.\n", label ? label : "the first suspect", r->added);
}

/* The additional waiting, and what of it no listed program causes. */
static void put_unexplained(const struct answer *a, FILE *out)
{
	const struct ranking *r = &a->ranking;

	if (a->slow && r->own)
		put_own_waits(r, out);
	if (!is_explained(a))
		return;
	fprintf(out, "Programs wait %.2g s per second more than normally", r->added);
	if (r->slowdown >= SLOWER)
		fprintf(out, ", and take %.1f times as long for the same work", r->slowdown);
	if (r->stolen >= 0.01)
		fprintf(out, "; CPU time that the host took away explains %.0f %%", 100 * r->stolen);
	if (r->slowed >= 0.01)
		fprintf(out, "; cores that are too hot and run slower explain %.0f %%", 100 * r->slowed);
	if (rest_is_known(r))
		fprintf(out, "; %.0f %% is unexplained", 100 * r->unexplained);
	fputs(".\n", out);
}

static void put_suspect(const struct suspect *s, unsigned rank, bool explained, const struct why_text_options *o, FILE *out)
{
	fprintf(out, "\n %2u. %s", rank, bold(o->colour));
	put_who(s, out);
	fprintf(out, "%s   score %.3g", bold_off(o->colour), s->score);
	if (o->evidence && s->probability > 0) /* the confidence is the other number */
		fprintf(out, ", probability %.0f %%", 100 * s->probability);
	if (!isnan(s->share))
		fprintf(out, ", %.0f %% of what all used", 100 * s->share);
	fputc('\n', out);
	for (size_t i = 0; i < s->features.n && i < o->features; i++)
		put_feature(s, &s->features.v[i], out);
	if (o->evidence)
		put_factors(s, out);
	if (explained)
		put_explained(&s->explains, out);
	for (size_t i = 0; i < s->evidence.n; i++)
		fprintf(out, "     %s\n", s->evidence.v[i]);
}

/* The other two outcomes: what the facts of the moment add to the logarithms of their odds. */
static void put_odds(const struct answer *a, const struct why_text_options *options, FILE *out)
{
	const struct odds *o = &a->odds;

	if (isnan(o->nothing))
		return;
	for (size_t i = 0; i < a->unnamed.n && i < options->suspects; i++)
		put_suspect(&a->unnamed.v[i], (unsigned)i + 1, is_explained(a), options, out);
	fprintf(out, "\nNothing is slow: %.1f %%; slow by what is not listed: %.1f %%\n", 100 * o->nothing, 100 * o->unlisted);
	for (enum moment_fact f = 0; f < MOMENT_COUNT; f++)
		if (o->facts[f] > 0)
			fprintf(out, "     %-16s   %-8.3g %+6.2f %+6.2f  %s\n", moment_rows[f].name, o->facts[f], nothing_weights[f] * o->facts[f],
				unlisted_weights[f] * o->facts[f], moment_rows[f].help);
}

static void put_pressure(const struct answer *a, FILE *out)
{
	static const struct {
		enum bottleneck what;
		const char *name;
	} shown[] = {{BOTTLENECK_CPU, "CPU"}, {BOTTLENECK_DISK, "disk"}, {BOTTLENECK_MEMORY, "memory"}};

	fputs("Pressure (share of time in which a program waited):", out);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		double now = a->pressure.now[shown[i].what], usual = a->pressure.usual[shown[i].what];

		if (isnan(now))
			fprintf(out, "%s %s ?", i ? "," : "", shown[i].name);
		else if (isnan(usual))
			fprintf(out, "%s %s %.0f %%", i ? "," : "", shown[i].name, 100 * now);
		else
			fprintf(out, "%s %s %.0f %% (normally %.0f %%)", i ? "," : "", shown[i].name, 100 * now, 100 * usual);
	}
	fputc('\n', out);
}

/* "waited for a CPU 69 % of the time"; of several threads and processes how many at a time. */
static void put_wait(const struct deviation *f, FILE *out)
{
	static const struct {
		const char *feature, *did;
	} waits[] = {
		{"cpu.run_delay", "waited for a CPU"},
		{"delay.block", "waited for the disk"},
		{"delay.swapin", "waited for memory to be read from swap"},
		{"delay.reclaim", "waited while it reclaimed memory"},
		{"delay.thrashing", "waited for memory that had just been reclaimed (thrashing)"},
		{"quota.throttled", "was throttled by a CPU limit"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		if (strcmp(waits[i].feature, f->feature->name) != 0)
			continue;
		if (f->observed <= 1e9)
			fprintf(out, "%s %.0f %% of the time", waits[i].did, f->observed / 1e7);
		else
			fprintf(out, "%.1f threads on average %s", f->observed / 1e9, waits[i].did);
		return;
	}
	fprintf(out, "%s %s", f->feature->help, FEATURE_TEXT(f->feature, f->observed));
}

static void put_victims(const struct answer *a, FILE *out)
{
	if (!a->ranking.victims.n)
		return;
	fputs("\nAffected programs:\n", out);
	for (size_t i = 0; i < a->ranking.victims.n && i < 5; i++) {
		const struct suspect *v = &a->ranking.victims.v[i];

		fputs("   ", out);
		put_who(v, out);
		if (v->using)
			fputs(" (what you were using)", out);
		for (size_t j = 0; j < v->features.n && j < 2; j++) {
			fputs(j ? ", " : ": ", out);
			put_wait(&v->features.v[j], out);
		}
		fputc('\n', out);
	}
}

static void put_similar(const struct answer *a, FILE *out)
{
	if (!a->similar.n)
		return;
	fprintf(out, "\nSimilar to %zu earlier incident%s:\n", a->similar.n, a->similar.n == 1 ? "" : "s");
	for (size_t i = 0; i < a->similar.n && i < SIMILAR_SHOWN; i++) {
		const struct earlier *e = &a->similar.v[i];

		fprintf(out, "   mark %" PRId64 ", %s", e->mark, CLOCK_LOCAL(e->wall));
		if (e->note)
			fprintf(out, " '%s'", e->note);
		fprintf(out, ": %s%s%s\n", e->what, e->feedback ? ", your feedback: " : "", e->feedback ? e->feedback : "");
	}
}

void why_text(const struct answer *a, const struct why_text_options *o, FILE *out)
{
	fprintf(out, "%s%s%s\n", bold(o->colour), a->summary, bold_off(o->colour));
	fprintf(out, "Asked about %s", CLOCK_LOCAL(a->at));
	if (a->baseline)
		fprintf(out, ", compared with %s", a->baseline);
	else if (a->has_history)
		fprintf(out, ", compared with the %s recorded before", CLOCK_SPAN(a->recorded));
	fputs(".\n", out);
	if (!isnan(a->confidence))
		fprintf(out, "Confidence: %.0f %%.\n", fmin(SUREST, 100 * a->confidence));
	put_pressure(a, out);
	put_unexplained(a, out);
	for (size_t i = 0; i < a->remarks.n; i++)
		fprintf(out, "Note: %s.\n", a->remarks.v[i]);
	for (size_t i = 0; i < a->ranking.suspects.n && i < o->suspects; i++)
		if (suspect_matters(&a->ranking, &a->ranking.suspects.v[i]))
			put_suspect(&a->ranking.suspects.v[i], (unsigned)i + 1, is_explained(a), o, out);
	if (o->evidence)
		put_odds(a, o, out);
	put_victims(a, out);
	put_similar(a, out);
	if (a->next)
		fprintf(out, "\nWhat you can do:\n   %s\n", a->next);
}
