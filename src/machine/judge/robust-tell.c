/* Verdicts and victims told: features, sparklines, onsets, evidence. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/judge/robust.h"

#define TIE		0.01 /* of features as guilty as each other the more conspicuous one comes first */
#define CHARGES_TOLD	3
#define CHARGE_LEAST	0.01 /* of what others waited because of it: a smaller part is not listed */
#define DESCRIBED_IN_FULL 8 /* of them, with all features they have */

/* What a victim waits in, and for what. */
static const struct {
	int feature;
	enum bottleneck for_what;
} delays[] = {
	{FEATURE_CPU_RUN_DELAY, BOTTLENECK_CPU},   {FEATURE_DELAY_BLOCK, BOTTLENECK_DISK},	  {FEATURE_DELAY_RECLAIM, BOTTLENECK_MEMORY},
	{FEATURE_DELAY_SWAPIN, BOTTLENECK_MEMORY}, {FEATURE_DELAY_THRASHING, BOTTLENECK_MEMORY}, {FEATURE_QUOTA_THROTTLED, BOTTLENECK_QUOTA},
};

static enum shape shape_of(const struct robust *r, const struct robust_baseline *u, const struct feature *f)
{
	const struct blocks *b = &r->blocks;
	uint32_t rises = 0, n = 0;

	if (u->episodes >= 3)
		return SHAPE_PERIODIC;
	if (f->kind != COUNTER) {
		for (uint32_t i = b->n > 12 ? b->n - 12 : 1; i < b->n; i++) {
			n++;
			rises += r->sum[i] > r->sum[i - 1];
		}
		if (n >= 5 && rises * 4 >= n * 3)
			return SHAPE_RAMP;
		return SHAPE_STEP;
	}
	return r->focus_seconds > 30 ? SHAPE_STEP : SHAPE_SPIKE;
}

static int64_t since_when(const struct robust *r, const struct subject *s, size_t f, double usual, double now)
{
	double half = usual + (now - usual) / 2;
	uint32_t tick = r->q->at, low = 0;

	for (uint32_t t = r->q->at; t >= s->first && t >= r->q->train_from; t--) {
		double value = subject_value(r->d, s, f, t);

		if (isnan(value) || value < half) {
			if (++low >= 3)
				break;
		} else {
			tick = t;
			low = 0;
		}
		if (t == 0)
			break;
	}
	return r->d->ticks.v[tick].wall;
}

static int describe_feature(struct robust *r, struct program *p, size_t f, double guilt, struct suspect *suspect)
{
	struct deviation dev = {};
	struct robust_baseline u;

	dev.feature = &p->members.v[0]->features[f];
	dev.observed = robust_program_now(r, p, f);
	if (isnan(dev.observed))
		return 0;
	u = robust_baseline(r, p, f, dev.observed);
	dev.usual = u.median;
	dev.spread = u.spread;
	dev.deviation = isnan(u.median) ? NAN : (dev.observed - u.median) / u.spread;
	dev.rank = u.as_high + 1;
	dev.compared = u.n + 1;
	if (isnan(u.median))
		dev.flags |= FINDING_NO_HISTORY;
	else if (robust_program_is_new(r, p) && !r->n_older)
		dev.flags |= FINDING_NEW;
	else if (u.only_value && fabs(dev.observed - u.median) >= method_noticeable(dev.feature))
		dev.flags |= FINDING_LEFT_ONLY_VALUE;
	if (!isnan(u.median) && dev.observed > u.highest)
		dev.flags |= FINDING_HIGHEST;
	if (!isnan(dev.deviation) && dev.deviation > 3)
		dev.score = robust_surprise(&u) * dev.deviation / (dev.deviation + 10);
	/* guilt first; behind it what is conspicuous without being to blame, never above it */
	if (guilt > 0)
		dev.score = 1 + guilt + TIE * dev.score;
	if (dev.score <= 0)
		return 0;
	dev.shape = shape_of(r, &u, dev.feature);
	return VEC_PUSH(suspect->features, dev);
}

static int describe_server(struct robust *r, const struct verdict *v, size_t f, double guilt, struct suspect *s)
{
	size_t before = s->features.n;
	int result = describe_feature(r, v->server, f, guilt, s);

	if (s->features.n > before)
		s->features.v[before].flags |= FINDING_OF_SERVER;
	return result;
}

static int describe(struct robust *r, struct program *p, const struct verdict *v, feature_set features, struct suspect *s)
{
	for (size_t i = 0; i < p->members.v[0]->n_features; i++) {
		double of_feature = 0, of_server = 0;

		if (!(features >> i & 1))
			continue;
		for (size_t k = 0; k < USES; k++) {
			if ((size_t)uses[k].feature != i)
				continue;
			of_feature = v->guilt[k];
			of_server = v->server ? v->of_server[k] : 0;
		}
		if (i == FEATURE_WAIT_LOCK)
			of_feature = v->lock;
		if (i == FEATURE_WAIT_PEER && v->suspect.of == BOTTLENECK_PEER)
			of_feature = v->peer;
		if (of_server > of_feature ? describe_server(r, v, i, of_server, s) < 0 : describe_feature(r, p, i, of_feature, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The time, in ns/s, that its processes that were there before the incident wait more than they did. One that has begun has no normal wait, and its waits may
 * only be more work. Without a past it is not known who waits longer: all may. */
static double waits_longer(const struct robust *r, const struct program *p, size_t f)
{
	double sum = 0;

	if (r->q->train_to < r->q->train_from)
		return INFINITY;
	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double before = s->first < r->q->focus && s->last >= r->q->focus ? subject_mean(r->d, s, f, r->q->train_from, (uint32_t)r->q->train_to) : NAN;

		sum += isnan(before) ? 0 : fmax(0, robust_member_now(r, s, f) - before);
	}
	return sum;
}

/* Who waited: run delay and block delay beyond the usual, in seconds per second. */
int robust_find_victims(struct robust *r, struct ranking *ret)
{
	for (size_t i = 0; i < r->programs.n; i++) {
		struct program *p = r->programs.v[i];
		struct suspect victim = {.share = NAN};

		if (!p->there || robust_works_for_others(p) || robust_answers_requests(p))
			continue;
		for (size_t k = 0; k < sizeof(delays) / sizeof(delays[0]); k++) {
			size_t f = delays[k].for_what == BOTTLENECK_DISK ? robust_disk_wait(r, p) : (size_t)delays[k].feature;
			double now = robust_program_now(r, p, f), part, more;
			struct robust_baseline u;

			if (isnan(now) || now < 2e7)
				continue;
			u = robust_baseline(r, p, f, now);
			/* who gives way waits by choice, and is not hurt */
			more = robust_excess(&u, now) / 1e9 * (delays[k].for_what == BOTTLENECK_CPU ? robust_cpu_weight(r, p) : 1);
			victim.score += more;
			r->queued += delays[k].for_what == BOTTLENECK_CPU ? now / 1e9 * robust_cpu_weight(r, p) : 0;
			p->added[delays[k].for_what] += more;
			p->longer[delays[k].for_what] += fmin(more, waits_longer(r, p, f) / 1e9);
			victim.subject = robust_most_responsible(r, p, f, &part);
			if (describe_feature(r, p, f, now / 1e9, &victim) < 0)
				return -ENOMEM;
		}
		for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++) {
			r->added[b] += p->added[b];
			r->longer[b] += p->longer[b];
		}
		victim.members = (uint32_t)p->members.n;
		if (victim.score < 0.02 || !victim.subject || VEC_PUSH(ret->victims, victim) < 0)
			suspect_free(&victim);
	}
	return 0;
}

static const struct subject *largest_of(const struct robust *r, const struct program *p, size_t f, uint32_t *ret_members)
{
	const struct subject *largest = NULL;

	*ret_members = 0;
	for (size_t i = 0; i < p->members.n; i++) {
		double now = robust_member_now(r, p->members.v[i], f);

		*ret_members += now > 0;
		if (now > 0 && (!largest || now > robust_member_now(r, largest, f)))
			largest = p->members.v[i];
	}
	return largest;
}

int robust_find_busiest(const struct robust *r, struct suspect *ret)
{
	struct deviation most = {.usual = NAN, .spread = NAN, .deviation = NAN};
	const double *now = r->q->pressure.now;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		if (method_is_felt(now[b], NAN) && !(now[ret->of] >= now[b]))
			ret->of = b;
	for (size_t i = 0; ret->of != BOTTLENECK_NONE && i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			const struct program *p = r->programs.v[i];
			size_t f = (size_t)uses[k].feature;
			double used = p->there ? robust_program_now(r, p, f) : NAN;

			if (uses[k].resource != ret->of || f == FEATURE_CHILDREN_CPU || f == FEATURE_DELAY_RECLAIM || p->members.v[0]->info.kind == ENTITY_KERNEL ||
			    !(used > fmax(most.observed, method_noticeable(&p->members.v[0]->features[f]))))
				continue;
			most.feature = &p->members.v[0]->features[f];
			most.observed = used;
			ret->subject = largest_of(r, p, f, &ret->members);
		}
	ret->share = NAN;
	ret->kind = ret->members > 1 ? CULPRIT_GROUP : CULPRIT_PROCESS;
	return ret->subject ? VEC_PUSH(ret->features, most) : 0;
}

/* Sparklines and onsets of features[from..]: only for those that are shown. */
static void finish_features(struct robust *r, struct suspect *s, const struct subject *subject, size_t from)
{
	for (size_t j = from; j < s->features.n; j++) {
		struct deviation *dev = &s->features.v[j];
		const struct subject *who = dev->flags & FINDING_OF_SERVER ? s->server : subject;
		size_t f = (size_t)(dev->feature - who->features);
		double now = robust_member_now(r, who, f); /* one of many has a part of what all have */
		double usual = isnan(dev->usual) || dev->observed == 0 ? 0 : dev->usual * now / dev->observed;

		dev->since = since_when(r, who, f, usual, now);
		method_spark(r->d, who, f, r->q->train_from, r->q->at, dev->spark);
	}
}

void robust_finish_suspect(struct robust *r, struct suspect *s)
{
	finish_features(r, s, s->busiest ? s->busiest : s->subject, 0);
}

/* The same program in the dataset that has all of its features. */
static int widen_program(const struct dataset *wide, struct program *p, struct program *ret)
{
	*ret = (struct program){.key = p->key, .root = p->root, .starts_known = p->root, .there = p->there, .wide = true};
	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = dataset_subject(wide, p->members.v[i]->info.id);

		if (s && VEC_PUSH(ret->members, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Reads the other features of the first suspects' programs. */
static int widen(struct robust *r, const struct dataset **ret)
{
	VEC(const struct subject *) wanted = {};
	int result = 0;

	*ret = r->d;
	if (!r->q->widen || !r->verdicts.n)
		return 0;
	for (size_t i = 0; i < r->verdicts.n && i < DESCRIBED_IN_FULL; i++)
		for (size_t k = 0; result == 0 && k < r->verdicts.v[i].program->members.n; k++)
			result = VEC_PUSH(wanted, r->verdicts.v[i].program->members.v[k]);
	result = result ?: r->q->widen(r->q->context, wanted.v, wanted.n, ret);
	VEC_FREE(wanted);
	return result;
}

/* What only the wide dataset has, which has the same ticks. */
static int describe_further(struct robust *r, const struct dataset *wide, struct verdict *v)
{
	const struct dataset *narrow = r->d;
	const struct subject *told = v->suspect.busiest ? v->suspect.busiest : v->suspect.subject;
	const struct subject *subject = dataset_subject(wide, told->info.id);
	size_t before = v->suspect.features.n;
	struct program p;
	int result = widen_program(wide, v->program, &p);

	r->d = wide;
	if (result == 0 && subject && p.members.n == v->program->members.n) {
		result = describe(r, &p, v, ~method_blame.features, &v->suspect);
		finish_features(r, &v->suspect, subject, before);
	}
	r->d = narrow;
	VEC_FREE(p.members);
	free(p.startup);
	return result;
}

/* With whom it was compared, for those that have just begun. */
static int tell_start(struct robust *r, struct verdict *v)
{
	const struct startup *s = robust_program_startup(r, v->program);
	bool own = s && s->earlier[0].members == v->program->members.v;
	char *text;

	if (!s)
		return 0;
	if (asprintf(&text, "compared with %u earlier start%s of %s at the same age (%s to %s)", s->n, s->n == 1 ? "" : "s",
		     own ? "it" : "the same program", CLOCK_SPAN(s->from),
		     CLOCK_SPAN(s->to)) < 0)
		return -ENOMEM;
	if (VEC_PUSH(v->suspect.evidence, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

void robust_program_put(const struct robust *r, struct str *s, const char *key)
{
	const struct program *p = hmap_get(&r->by_key, hmap_hash_text(key), 0);
	char *label = p && p->members.n ? entity_label(&p->members.v[0]->info) : NULL;

	if (label)
		str_puts(s, label);
	else
		str_append(s, key, strcspn(key, "|")); /* of short-lived processes it is their name */
	free(label);
}

/* Whom a charge is about, whatever the way: once. 0 for one that was told of already. */
static double told_together(const struct charges *c, size_t at)
{
	const struct charge *one = &c->list.v[at];
	double sum = 0;

	for (size_t i = 0; i < c->list.n; i++) {
		const struct charge *other = &c->list.v[i];

		if (other->of != one->of || strcmp(other->culprit, one->culprit) != 0 || strcmp(other->victim, one->victim) != 0)
			continue;
		if (i < at)
			return 0;
		sum += other->seconds;
	}
	return sum;
}

/* Who waited for it, and how much, where events were kept of that. */
static int tell_charges(const struct robust *r, struct verdict *v)
{
	const struct charges *c = r->q->charges;
	const char *culprit = v->server ? v->server->key : v->program->key;
	double all = v->program->root && !v->server ? 0 : v->suspect.imposed;
	struct str text = {};
	unsigned told = 0;

	if (all < CHARGED_LEAST)
		return 0;
	/* of a lock also its own processes */
	str_printf(&text, "programs waited %.2g s per second because of it:", all);
	for (size_t i = 0; i < c->list.n && told < CHARGES_TOLD; i++) {
		const struct charge *one = &c->list.v[i];
		double seconds;

		if (one->of != v->suspect.of || strcmp(one->culprit, culprit) != 0)
			continue;
		seconds = told_together(c, i);
		if (!(seconds > CHARGE_LEAST * all))
			continue;
		str_puts(&text, told++ ? ", " : " ");
		robust_program_put(r, &text, one->victim);
		str_printf(&text, " %.0f %%", 100 * seconds / all);
	}
	if (told && !text.error && VEC_PUSH(v->suspect.evidence, text.data) == 0)
		return 0;
	str_free(&text);
	return told ? -ENOMEM : 0;
}

static int list_processes(const struct robust *r, struct verdict *v)
{
	struct suspect *s = &v->suspect;
	bool first = !v->program->begun; /* who has started it was there before, and starts other things */
	int result = 0;

	for (size_t i = !first; s->kind == CULPRIT_GROUP && result == 0 && i <= v->program->members.n; i++, first = false) {
		const struct subject *one = first ? s->subject : v->program->members.v[i - 1];

		if (one->info.kind == ENTITY_PROCESS && one->first <= r->q->at && one->last >= r->q->at && (first || one != s->subject))
			result = VEC_PUSH(s->processes, one);
	}
	return result;
}

static int describe_in_full(struct robust *r, const struct dataset *wide, struct verdict *v)
{
	feature_set features = wide == r->d ? FEATURES_ALL : method_blame.features;
	int result = describe(r, v->program, v, features, &v->suspect);

	result = result ?: list_processes(r, v);
	if (!v->program->root && robust_program_is_new(r, v->program))
		v->suspect.starter = robust_starter(r, v->program);
	result = result ?: tell_start(r, v);
	result = result ?: tell_charges(r, v);
	robust_finish_suspect(r, &v->suspect);
	return result == 0 && wide != r->d ? describe_further(r, wide, v) : result;
}

int robust_describe_verdicts(struct robust *r, struct ranking *ret)
{
	const struct dataset *wide;
	int result = widen(r, &wide);

	for (size_t i = 0; result == 0 && i < r->verdicts.n && i < SUSPECTS_MAX; i++) {
		struct verdict *v = &r->verdicts.v[i];

		robust_explain_verdict(r, v);
		result = describe_in_full(r, i < DESCRIBED_IN_FULL ? wide : r->d, v);
		result = result ?: VEC_PUSH(ret->suspects, v->suspect);
		if (result < 0)
			suspect_free(&v->suspect);
	}
	return result;
}
