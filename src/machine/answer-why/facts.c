#include "machine/answer-why/facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/robust.h"
#include "machine/answer-why/pressure.h"
#include "machine/judge/blocks.h"
#include "machine/judge/charges.h"
#include "machine/model/name-limit.h"

#define SAID_BEFORE   (60 * NS_PER_SEC) /* the kernel may have complained before it became slow */
#define SAID_MAX      50
#define SUBJECTS_MAX  4096 /* of one machine or program */
#define PIDS_MOST     20   /* in a command that a person copies */
#define LIKELY_LEAST 0.2 /* probability */
#define ENDED (2 * NS_PER_SEC) /* a program that was not seen for so long has ended; a sample may be missing of one that continues */
#define PUSHED_BEFORE (600 * NS_PER_SEC)
#define PUSHED_LEAST  100 /* pages a second */
#define PUSHED_FOR    (60 * NS_PER_SEC) /* before it: then who took the memory has grown */
#define GROWN_LEAST   1e8 /* bytes */

struct observer {
	const struct dataset *d;
	const struct method_question *q;
	struct blocks blocks;
	double *sum, *sorted; /* by block; `sorted` also for one subject of several */
	struct facts *facts;
};

/* Subjects that are one thing: a part of the machine whose recorder was restarted, all processes of a program. */
struct together {
	VEC(const struct subject *) v;
};

static int open_observer(struct observer *o, const struct dataset *d, const struct method_question *q, struct facts *facts)
{
	*o = (struct observer){.d = d, .q = q, .facts = facts};
	if (blocks_cut_by_incident(&o->blocks, d, q) < 0)
		return -ENOMEM;
	o->sum = calloc(o->blocks.n + 1, sizeof(*o->sum));
	o->sorted = calloc(o->blocks.n + 1, sizeof(*o->sorted));
	return o->sum && o->sorted ? 0 : -ENOMEM;
}

static void close_observer(struct observer *o)
{
	blocks_free(&o->blocks);
	free(o->sum);
	free(o->sorted);
}

/* What of the time before says what is usual: NaN without history. */
static void usual_of(struct observer *o, const struct together *t, size_t f, struct fact *fact)
{
	const struct feature *feature = &t->v.v[0]->features[f];
	size_t n;

	fact->usual = NAN;
	fact->spread = method_noticeable(feature);
	memset(o->sum, 0, (o->blocks.n + 1) * sizeof(*o->sum));
	for (size_t i = 0; i < t->v.n; i++)
		if (subject_has(t->v.v[i], f) && t->v.v[i]->series[f].n)
			blocks_add_member(&o->blocks, t->v.v[i], f, o->sorted, o->sum);
	blocks_finish(&o->blocks, feature, o->sum);
	n = blocks_sort(&o->blocks, o->sum, o->sorted);
	if (n < BLOCKS_MIN)
		return;
	fact->usual = robust_quantile(o->sorted, n, 0.5);
	fact->spread = blocks_spread(feature, robust_scale(o->sorted, n), fact->usual);
}

static bool observe(struct observer *o, const struct together *t, size_t f, struct fact *fact)
{
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < t->v.n; i++) {
		double now = subject_during(o->d, t->v.v[i], f, o->q->focus, o->q->at);

		any |= !isnan(now);
		sum = feature_together(&t->v.v[0]->features[f], sum, isnan(now) ? 0 : now);
	}
	if (!any)
		return false;
	fact->feature = &t->v.v[0]->features[f];
	fact->now = sum;
	usual_of(o, t, f, fact);
	return true;
}

/* --- the machine --- */

static bool is_part(const struct entity_info *info)
{
	return info->kind == ENTITY_SYSTEM || (info->kind >= ENTITY_CPU && info->kind <= ENTITY_SENSOR);
}

static bool is_same_part(const struct subject *a, const struct subject *b)
{
	const char *x = a->info.name ? a->info.name : "", *y = b->info.name ? b->info.name : "";

	return a->info.kind == b->info.kind && (a->info.kind == ENTITY_SYSTEM || strcmp(x, y) == 0);
}

/* Control groups are many, and most do nothing. */
static bool is_worth_it(const struct subject *s, const struct fact *fact)
{
	return s->info.kind != ENTITY_CGROUP || fact->now != 0 || !(fact->usual == 0); /* NOLINT: exactly nothing */
}

static int add_part(struct observer *o, const struct together *t)
{
	const struct subject *s = t->v.v[0];
	int r = 0;

	for (size_t f = 0; r == 0 && f < s->n_features; f++) {
		struct fact fact = {.of = FACT_MACHINE};

		if (!observe(o, t, f, &fact) || !is_worth_it(s, &fact))
			continue;
		if (s->info.kind != ENTITY_SYSTEM) {
			fact.part = strdup(s->info.name ? s->info.name : "?");
			r = fact.part ? 0 : -ENOMEM;
		}
		r = r ?: facts_add(o->facts, fact);
	}
	return r;
}

static int add_machine(struct observer *o)
{
	size_t n = o->d->subjects.n;
	_cleanup_free_ bool *done = calloc(n + 1, sizeof(*done));
	int r = done ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct subject *s = o->d->subjects.v[i];
		struct together t = {};
		bool there = false;

		if (done[i] || !is_part(&s->info) || s->first > s->last)
			continue;
		for (size_t k = i; r == 0 && k < n && t.v.n < SUBJECTS_MAX; k++) {
			const struct subject *other = o->d->subjects.v[k];

			if (done[k] || other->first > other->last || !is_same_part(s, other))
				continue;
			done[k] = true;
			there |= other->last >= o->q->focus && other->first <= o->q->at;
			r = VEC_PUSH(t.v, other);
		}
		if (r == 0 && there)
			r = add_part(o, &t);
		VEC_FREE(t.v);
	}
	return r;
}

/* --- the culprit --- */

/* Whether both are processes of one program. */
static bool shares_program(const struct subject *s, const struct subject *one)
{
	bool brief = s->info.kind == ENTITY_SHORT_LIVED || one->info.kind == ENTITY_SHORT_LIVED;

	if (s->info.kind != ENTITY_PROCESS && s->info.kind != ENTITY_SHORT_LIVED && s->info.kind != ENTITY_KERNEL)
		return false;
	if (strcmp(s->program, one->program) == 0)
		return true;
	/* of short-lived processes only the name is known; an interpreter's is that of all scripts */
	return brief && s->info.name && one->info.name && !entity_is_interpreter(s->info.name) && strcmp(s->info.name, one->info.name) == 0;
}

static int64_t last_seen(const struct dataset *d, const struct suspect *top)
{
	const struct subject *const *v = top->together.n ? top->together.v : (const struct subject *const *)d->subjects.v;
	size_t n = top->together.n ? top->together.n : d->subjects.n;
	int64_t last = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i]->info.kind != ENTITY_KERNEL && v[i]->first <= v[i]->last && (top->together.n || shares_program(v[i], top->subject)) &&
		    d->ticks.v[v[i]->last].wall > last)
			last = d->ticks.v[v[i]->last].wall;
	return last;
}

/* How long before a moment (wall ns) the last process of the suspect's program or job was seen; 0 = it continues, or it has none of its own. */
static int64_t ended_before(const struct dataset *d, const struct suspect *top, int64_t asked)
{
	int64_t last = last_seen(d, top), recorded = d->ticks.v[d->ticks.n - 1].wall;

	asked = asked < recorded ? asked : recorded;
	return last && asked - last >= ENDED ? asked - last : 0;
}


static int take_pids(const struct suspect *s, char **ret)
{
	struct str pids = {};

	for (size_t i = 0; i < s->processes.n && s->processes.n <= PIDS_MOST; i++)
		str_printf(&pids, "%s%u", i ? " " : "", s->processes.v[i]->info.pid);
	*ret = pids.data;
	return pids.error;
}

static int take_who(const struct suspect *s, struct fact_who *ret)
{
	const struct entity_info *info = &s->subject->info;

	ret->name = entity_label(info);
	ret->exe = info->exe ? strdup(info->exe) : NULL;
	ret->unit = info->unit ? strdup(info->unit) : NULL;
	ret->server = s->server ? entity_label(&s->server->info) : NULL;
	ret->mostly = s->mostly ? entity_label(&s->mostly->info) : NULL;
	ret->starter = s->starter ? entity_label(&s->starter->info) : NULL;
	ret->job = s->together.n;
	ret->pid = s->processes.n ? s->processes.v[0]->info.pid : info->pid; /* who starts other things as well is not to be ended */
	ret->members = s->members;
	ret->using = s->using;
	return ret->name && (ret->exe || !info->exe) && (ret->unit || !info->unit) && (ret->server || !s->server) && (ret->mostly || !s->mostly) && (ret->starter || !s->starter) ? take_pids(s, &ret->pids) : -ENOMEM;
}

static int add_told(struct facts *facts, const char *name, double now)
{
	return isnan(now) ? 0 : facts_add(facts, (struct fact){.of = FACT_CULPRIT, .feature = fact_derived_feature(name, NULL), .now = now, .usual = NAN, .spread = NAN});
}

/* All instances of a program, but for those that are in it already. */
static int put_instances(const struct observer *o, const struct subject *one, struct together *t)
{
	for (size_t i = 0; i < o->d->subjects.n && t->v.n < SUBJECTS_MAX; i++) {
		const struct subject *s = o->d->subjects.v[i];

		if (shares_program(s, one) && s->first <= s->last && s->first <= o->q->at && !ANY_WHERE(k, t->v.n, t->v.v[k] == s) && VEC_PUSH(t->v, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* All instances of the culprit's program, or all processes of its job, and of the server that works for it; the features of `mask` alone. Threads and
 * handles are counted of the culprit: what the server has does not become the culprit's because it works for it. */
static int add_program(struct observer *o, const struct suspect *top, feature_set mask)
{
	struct together t = {};
	size_t own;
	int r = 0;

	for (size_t i = 0; r == 0 && i < top->together.n && t.v.n < SUBJECTS_MAX; i++) {
		const struct subject *s = dataset_subject(o->d, top->together.v[i]->info.id);

		r = s ? VEC_PUSH(t.v, s) : 0;
	}
	r = r ?: top->together.n ? 0 : put_instances(o, top->subject, &t);
	own = t.v.n;
	r = r ?: top->server ? put_instances(o, top->server, &t) : 0;
	for (size_t f = 0, all = t.v.n; r == 0 && all && f < t.v.v[0]->n_features; f++) {
		const struct feature *feature = &t.v.v[0]->features[f];
		struct fact fact = {.of = FACT_CULPRIT};

		t.v.n = feature->kind != COUNTER && feature->unit == COUNT ? own : all;
		if ((mask >> f & 1) && observe(o, &t, f, &fact))
			r = facts_add(o->facts, fact);
	}
	VEC_FREE(t.v);
	return r;
}

static int add_end(struct observer *o, const struct suspect *top, int64_t asked)
{
	int64_t ended = ended_before(o->d, top, asked);

	return ended ? add_told(o->facts, "ended", (double)ended) : 0;
}

/* After how long the longest earlier one of its program ended: what is older than that may have no end. */
static double ran_before(const struct observer *o, const struct suspect *top, double age)
{
	double most = 0;

	for (size_t i = 0; i < o->d->subjects.n; i++) {
		const struct subject *s = o->d->subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->info.start && s->first <= s->last && s->last + 1 < o->q->focus && shares_program(s, top->subject))
			most = fmax(most, (double)(o->d->ticks.v[s->last].boot - (int64_t)s->info.start));
	}
	return most > age ? most : NAN;
}

static int add_told_if(struct facts *facts, const char *name, double now)
{
	return now > 0 ? add_told(facts, name, now) : 0;
}

#define OF_NOTE 0.2 /* of what others wait for its locks */

/* How the culprit was in others' way, as far as the flight recorder saw it, and what it did meanwhile. */
static int add_ways(struct observer *o, const char *program)
{
	double rests, rested, stops = charges_by(o->q->charges, program, CHARGE_STOPPED, &rests);
	double unread = charges_by(o->q->charges, program, CHARGE_UNREAD, &rests);
	double owes = charges_by(o->q->charges, program, CHARGE_OWED, &rests);
	double unanswered = charges_by(o->q->charges, program, CHARGE_UNANSWERED, &rests);
	double holds = charges_by(o->q->charges, program, CHARGE_HELD, &rested);
	int r = add_told_if(o->facts, "stops", 1e9 * stops);

	holds += charges_by(o->q->charges, program, CHARGE_INFERRED, &rests);
	rested += rests;

	r = r ?: add_told_if(o->facts, "holds", 1e9 * holds);
	r = r ?: add_told_if(o->facts, "unread", 1e9 * unread);
	r = r ?: add_told_if(o->facts, "owes", 1e9 * owes);
	r = r ?: add_told_if(o->facts, "unanswered", 1e9 * unanswered);
	if (rested > OF_NOTE * holds)
		r = r ?: add_told(o->facts, "rests", 1e9 * rested);
	return r;
}

/* What of the waiting it explains, and how much more than the hypervisor and than heat do. */
static int add_explained(struct facts *facts, const struct ranking *of, const struct suspect *top)
{
	double share = of->added > 0 ? top->explains.share : NAN, known = isnan(share) ? 0 : share;
	int r = add_told(facts, "explains", 1000 * share);

	if (r == 0 && of->own)
		r = add_told(facts, "alone", 1);
	r = r ?: add_told(facts, "ahead_of_steal", 1000 * (known - of->stolen));
	return r ?: add_told(facts, "ahead_of_heat", 1000 * (known - of->slowed));
}

/* Sockets of this machine count, too: what the interfaces moved is a bound for what can have gone to another one. */
static double outside_of(const struct facts *f)
{
	const struct fact *in = facts_find(f, FACT_CULPRIT, "net.rx_bytes"), *out = facts_find(f, FACT_CULPRIT, "net.tx_bytes");
	double own = (in ? in->now : 0) + (out ? out->now : 0), moved = NAN;

	for (size_t i = 0; i < f->list.n; i++) {
		const struct fact *x = &f->list.v[i];

		if (x->part && strcmp(x->part, "lo") != 0 && (strcmp(x->feature->name, "if.rx_bytes") == 0 || strcmp(x->feature->name, "if.tx_bytes") == 0))
			moved = (isnan(moved) ? 0 : moved) + x->now;
	}
	return own > 0 ? fmin(1, moved / own) : NAN;
}

static double nice_of(const struct dataset *d, const struct subject *s, size_t at)
{
	return subject_has(s, FEATURE_SCHED_NICE) ? subject_value(d, s, FEATURE_SCHED_NICE, s->last < at ? s->last : (uint32_t)at) : NAN;
}

/* A priority is one only over those who wait: the first victim that is another program counts. */
static int add_priority(struct observer *o, const struct suspect *top, const struct ranking *of)
{
	size_t i = 0;

	while (i < of->victims.n && shares_program(of->victims.v[i].subject, top->subject))
		i++;
	return i < of->victims.n ? add_told(o->facts, "ahead", nice_of(o->d, of->victims.v[i].subject, o->q->at) - nice_of(o->d, top->subject, o->q->at)) : 0;
}

static int add_culprit(struct observer *o, const struct suspect *top, const struct ranking *of, const struct dataset *wide, feature_set narrow,
		       int64_t asked)
{
	double age = (double)(o->d->ticks.v[o->q->at].boot - (int64_t)top->subject->info.start);
	int r = take_who(top, &o->facts->culprit);

	o->facts->named = true;
	o->facts->kind = top->kind;
	if (r == 0)
		r = add_end(o, top, asked);
	if (r == 0)
		r = add_program(o, top, narrow);
	if (r == 0)
		r = add_priority(o, top, of);
	o->d = wide; /* the same ticks */
	if (r == 0 && ~narrow)
		r = add_program(o, top, ~narrow);
	if (r == 0)
		r = add_told(o->facts, "share", 1000 * top->share);
	if (r == 0)
		r = add_explained(o->facts, of, top) ?: add_told(o->facts, "outside", 1000 * outside_of(o->facts));
	if (r == 0)
		r = add_told(o->facts, "processes", top->members ? top->members : 1);
	if (r == 0 && top->subject->info.start)
		r = add_told(o->facts, "age", age) ?: add_told(o->facts, "ran", ran_before(o, top, age));
	return r ?: add_ways(o, top->subject->program);
}

/* --- those who waited --- */

/* Where a lock or another program is waited for events say who does. */
static const struct subject *charged_victim(const struct observer *o, const struct answer *a)
{
	const struct suspect *top = a->culprit_is_named && a->ranking.suspects.n ? &a->ranking.suspects.v[0] : NULL;
	const char *program = NULL;

	if (top && (a->bottleneck == BOTTLENECK_LOCK || a->bottleneck == BOTTLENECK_PEER))
		program = charges_victim(o->q->charges, top->subject->program, a->bottleneck);
	for (size_t i = 0; program && i < o->d->subjects.n; i++) {
		const struct subject *s = o->d->subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->first <= o->q->at && s->last >= o->q->focus && strcmp(s->program, program) == 0)
			return s;
	}
	return NULL;
}

static int add_victim(struct observer *o, const struct answer *a)
{
	const struct suspect charged = {.subject = charged_victim(o, a), .members = 1};

	if (charged.subject)
		return take_who(&charged, &o->facts->victim);
	return a->ranking.victims.n ? take_who(&a->ranking.victims.v[0], &o->facts->victim) : 0;
}

/* One feature of all victims: those for whom it rose, together; a program that always waits for work tells nothing. */
static int add_victims(struct observer *o, const struct answer *a)
{
	const struct ranking *r = &a->ranking;
	struct {
		const struct feature *feature;
		double now, usual;
	} sums[FEATURES_MAX] = {};
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);

	for (size_t i = 0; i < r->victims.n; i++)
		for (size_t k = 0; k < r->victims.v[i].features.n; k++) {
			const struct deviation *dev = &r->victims.v[i].features.v[k];
			size_t f = (size_t)(dev->feature - features);

			if (f >= n || (!isnan(dev->deviation) && dev->deviation < 2))
				continue;
			sums[f].feature = dev->feature;
			sums[f].now = feature_together(dev->feature, sums[f].now, dev->observed);
			sums[f].usual = feature_together(dev->feature, sums[f].usual, isnan(dev->usual) ? 0 : dev->usual);
		}
	for (size_t f = 0; f < n; f++) {
		struct fact fact = {.of = FACT_VICTIMS, .feature = sums[f].feature, .now = sums[f].now, .usual = sums[f].usual};

		if (!fact.feature)
			continue;
		fact.spread = method_noticeable(fact.feature);
		if (facts_add(o->facts, fact) < 0)
			return -ENOMEM;
	}
	return add_victim(o, a);
}

/* "sh update.sh (pid 812) by 45 %: cpu.time 24 %, most of it by 900 git 56 %, 240 cut 43 %": where none is named, the most likely one of those that are not. */
static int add_likely(struct facts *facts, const struct answer *a)
{
	const struct suspect *s = a->unnamed.n ? a->unnamed.v : NULL;
	struct str words = {};
	char used[32];

	if (!s || !(s->probability >= LIKELY_LEAST) || !s->features.n)
		return 0;
	suspect_put(s, &words);
	str_printf(&words, " by %.0f %%: %s %s", 100 * s->probability, s->features.v[0].feature->name,
		   feature_format(s->features.v[0].feature, s->features.v[0].observed, used, sizeof(used)));
	if (s->together.n && s->evidence.n)
		str_printf(&words, ", %s", s->evidence.v[0]);
	facts->clauses[CLAUSE_LIKELY] = words.data;
	return words.error;
}

static bool is_pushed_out(const struct dataset *d, const struct subject *system, uint32_t t)
{
	return system && subject_has(system, FEATURE_SYS_SWAP_OUT) && system->first <= t && system->last >= t &&
	       subject_value(d, system, FEATURE_SYS_SWAP_OUT, t) >= PUSHED_LEAST;
}

/* The process that grew most in the seconds before tick `t`, and is not of the culprit's program. */
static const struct subject *grew_until(const struct observer *o, uint32_t t, const struct suspect *top)
{
	uint32_t from = pressure_tick_before(o->d, t, PUSHED_FOR);
	const struct subject *found = NULL;
	double most = GROWN_LEAST;

	for (size_t i = 0; i < o->d->subjects.n; i++) {
		const struct subject *s = o->d->subjects.v[i];
		double before = s->first < from ? subject_value(o->d, s, FEATURE_MEM_ANON, from) : 0, now;

		if (s->info.kind != ENTITY_PROCESS || s->first > t || s->last + 1 < t || !subject_has(s, FEATURE_MEM_ANON) || shares_program(s, top->subject))
			continue;
		now = subject_value(o->d, s, FEATURE_MEM_ANON, s->last < t ? s->last : t);
		if (now - (isnan(before) ? 0 : before) > most) {
			most = now - before;
			found = s;
		}
	}
	return found;
}

/* "build.py (pid 812) until 3 s ago": of memory that comes back from swap, who took its place when it was last moved there. */
static int add_pushed(struct observer *o, const struct suspect *top, int64_t asked)
{
	uint32_t t = o->q->at, oldest = pressure_tick_before(o->d, t, PUSHED_BEFORE);
	const struct subject *system = pressure_system(o->d, t), *by;
	_cleanup_free_ char *label = NULL;
	struct str words = {};
	int64_t ago;

	while (t > oldest && !is_pushed_out(o->d, system, t))
		t--;
	ago = asked - o->d->ticks.v[t].wall;
	if (add_told(o->facts, "pushed_ago", (double)ago) < 0)
		return -ENOMEM;
	by = is_pushed_out(o->d, system, t) ? grew_until(o, t, top) : NULL;
	label = by ? entity_label(&by->info) : NULL;
	if (!label)
		return by ? -ENOMEM : 0;
	str_printf(&words, "%s (pid %u)", label, by->info.pid);
	if (ago >= 2 * NS_PER_SEC)
		str_printf(&words, " until %s ago", CLOCK_SPAN(ago));
	o->facts->clauses[CLAUSE_PUSHED] = words.data;
	return words.error;
}

static int add_said(struct observer *o)
{
	int64_t from = o->d->ticks.v[o->q->focus].wall - SAID_BEFORE, to = o->d->ticks.v[o->q->at].wall;

	for (size_t i = 0; i < o->d->notes.n && o->facts->said.n < SAID_MAX; i++) {
		const struct note *note = &o->d->notes.v[i];
		char *copy;

		if (note->kind != NOTE_KERNEL || note->wall < from || note->wall > to)
			continue;
		copy = strdup(note->text);
		if (!copy || VEC_PUSH(o->facts->said, copy) < 0) {
			free(copy);
			return -ENOMEM;
		}
	}
	return 0;
}

int facts_of_answer(const struct dataset *d, const struct dataset *wide, feature_set narrow, const struct method_question *q,
		    const struct answer *a, struct facts *ret)
{
	struct facts facts = {.bottleneck = a->bottleneck, .slow = a->slow, .no_past = !a->has_history};
	const struct suspect *top = a->slow && a->ranking.suspects.n && a->culprit_is_named ? &a->ranking.suspects.v[0] : NULL;
	struct observer o;
	int r = open_observer(&o, d, q, &facts);

	if (r == 0)
		r = add_machine(&o);
	if (r == 0)
		r = add_said(&o);
	if (r == 0)
		r = add_victims(&o, a) ?: add_likely(&facts, a);
	if (r == 0 && top)
		r = add_pushed(&o, top, a->at) ?: add_culprit(&o, top, &a->ranking, wide, narrow, a->at);
	if (r == 0)
		r = facts_derive(&facts);
	close_observer(&o);
	if (r < 0)
		facts_free(&facts);
	else
		*ret = facts;
	return r;
}
