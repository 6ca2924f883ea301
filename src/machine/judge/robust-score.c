/* Who took how much of what was short: one verdict a program. */
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/judge/robust.h"

#define STARTING	(15 * NS_PER_SEC)
#define STARTS		0.15 /* of the handles and threads that a process has had since it started */
#define WORKS_FOR_OTHERS 0.25
#define SHORT_LEAST	0.05 /* share of the time in which programs wait for something: less is not short */
#define OWN_CAUSE	0.5 /* share of what is short from which whyslow names itself */
#define CROWD		100 /* threads a CPU, beyond the usual, from which on their number is the story */
#define CROWD_QUEUE	2   /* of them a CPU that wait for it on average */
#define HELD_BEFORE	0.3  /* of the guilt of holding a lock, where it may always have held it */
#define OLD		(60 * NS_PER_SEC) /* so much older than the trouble: it is not its beginning */
#define OLD_SURPRISE	0.35
#define LATELY		(15 * NS_PER_SEC) /* before others began to wait */
#define GROWN		0.01 /* of the memory: what programs hold more than usual is why it is short */
#define REPORT_SCORE	1e-4
#define NO_PRESSURE	12    /* what no pressure is measured for, on a free machine, beside what one is measured for */
#define QUEUES_LEAST	5e7  /* ns/s: who waits less for the disk has hardly a part of its queue */
#define JUST_NOW	(2 * NS_PER_SEC) /* a shorter pause does not end it */
#define CONTINUES	0.5 /* of what it does on average: who does so much has not stopped */
#define TAKES_MUCH	0.05

/* Files in memory are no program's: where what programs hold has not grown, whoever has to free memory is who takes it. 0..1. */
static double not_held(const struct robust *r)
{
	double held = 0;

	if (!r->short_of_memory)
		return 0;
	for (size_t i = 0; i < USES; i++)
		held += uses[i].of_memory ? r->growth[uses[i].feature] : 0;
	return 1 - fmin(1, held / (GROWN * r->memory));
}

/* What a use can say of its resource: reads and writes share a disk. */
static double part_of(const struct robust *r, const struct use *use)
{
	return use->feature == FEATURE_IO_READ_BYTES  ? r->read_part :
	       use->feature == FEATURE_IO_WRITE_BYTES ? r->write_part :
	       use->feature == FEATURE_DELAY_RECLAIM  ? not_held(r) :
							1;
}

/* Of the memory there is; when it is short, of what came on top of the usual. */
static double share_of_memory(const struct robust *r, const struct use *use, double excess)
{
	double growth = r->growth[use->feature], of_growth = 0;

	if (r->memory <= 0)
		return 0;
	if (r->short_of_memory && growth > 0)
		of_growth = excess / growth * fmin(1, growth / (GROWN * r->memory));
	/* a group that has reached its limit and hardly waits for it is no trouble: no more than its shortage counts */
	return fmin(1, fmax(excess / r->memory, of_growth * fmin(1, r->shortage[use->resource] / use->weight)));
}

double robust_charged(const struct robust *r, const struct program *p, enum bottleneck of)
{
	const struct charges *c = r->q->charges;
	double sum = 0;

	if (!p->root)
		return charges_against(c, p->key, of);
	for (size_t i = 0; i < p->parts.n; i++)
		sum += charges_against(c, p->parts.v[i].whole->key, of) * robust_part_of_program(r, &p->parts.v[i], FEATURE_CPU_TIME);
	return sum;
}

/* As a share of all such waits; NaN where no events tell. */
static double charged_share(const struct robust *r, const struct program *p, enum bottleneck of)
{
	const struct charges *c = r->q->charges;

	return c && c->total[of] >= CHARGED_LEAST ? fmin(1, robust_charged(r, p, of) / c->total[of]) : NAN;
}

/* What came on top of the usual is to blame, not what always was there; but a little that is new is not all of it. */
static double all_new(const struct robust *r, size_t feature)
{
	return fmax(r->growth[feature], NEW_LEAST * r->total[feature]);
}

static double share_of(const struct robust *r, const struct use *use, double excess)
{
	if (use->scale > 0) /* a few handles or threads more are no leak */
		return use->resource == BOTTLENECK_NONE ? pow(excess, 2) / (pow(excess, 2) + pow(use->scale, 2)) : excess / (excess + use->scale);
	if (use->of_memory)
		return share_of_memory(r, use, excess);
	return r->total[use->feature] > 0 ? part_of(r, use) * fmin(1, excess / all_new(r, (size_t)use->feature)) : 0;
}

/* Of the disk's time that a program takes, what is beyond its usual: others may wait for what it always writes, while it reads a
 * little more than it used to. */
static double new_on_disk(struct robust *r, struct program *p)
{
	double takes = 0, more = 0;

	for (size_t i = 0; i < USES; i++) {
		size_t f = (size_t)uses[i].feature;
		double now = uses[i].resource == BOTTLENECK_DISK ? robust_program_now(r, p, f) : NAN, time;
		struct robust_baseline u;

		if (!(now > 0))
			continue;
		u = robust_baseline(r, p, f, now);
		time = part_of(r, &uses[i]) / r->total[f];
		takes += now * time;
		more += robust_excess(&u, now) * time;
	}
	return takes > 0 ? more / takes : 0;
}

/* Of the queue for the disk, by Little's law (1961): as much of it is a program's as it waits for its own requests, as far as they are new
 * (whoever does what it always does waits for others'). So who has few bytes written one by one is seen, too. Of two uses each counts by
 * its bytes. */
static double share_of_queue(struct robust *r, struct program *p, const struct use *use, double excess)
{
	double of_use = part_of(r, use) * excess / r->total[use->feature], all = 0;

	for (size_t i = 0; i < USES; i++) {
		size_t f = (size_t)uses[i].feature;
		double now = uses[i].resource == BOTTLENECK_DISK ? robust_program_now(r, p, f) : NAN;

		all += now > 0 ? part_of(r, &uses[i]) * now / r->total[f] : 0;
	}
	return all > 0 && r->blocked > 0 ? fmin(1, robust_blocked_now(r, p) / r->blocked * of_use / all) : 0;
}

/* A few writes one by one are no bytes worth a word, and may keep a disk busy. */
static bool queues_noticeably(const struct robust *r, const struct program *p, const struct use *use)
{
	return use->resource == BOTTLENECK_DISK && robust_blocked_now(r, p) >= QUEUES_LEAST;
}

/* Of what is new, however little that is: what waits more does so because of it. */
static double share_of_new(const struct robust *r, const struct use *use, double share, double excess)
{
	double growth = r->growth[use->feature];

	if (use->scale > 0 || use->of_memory || !(growth > 0))
		return share;
	return fmax(use->resource == BOTTLENECK_DISK ? share : 0, part_of(r, use) * fmin(1, excess / growth));
}

/* What it used of it, and what others waited for that: each is half of the evidence, where both are known. *ret_used, *ret_charged:
 * the same of what is new alone, as a share and as s/s (NaN = no events tell). */
static double joined_share(struct robust *r, struct program *p, const struct use *use, double now, double excess, double *ret_used,
			   double *ret_charged)
{
	double share = share_of(r, use, excess), charged = charged_share(r, p, use->resource);
	double right = use->resource == BOTTLENECK_CPU ? robust_cpu_weight(r, p) : 1, is_new;

	if (use->resource == BOTTLENECK_DISK)
		share = fmax(share, share_of_queue(r, p, use, excess));
	*ret_charged = NAN;
	*ret_used = right * share_of_new(r, use, share, excess);
	share *= right;
	if (isnan(charged) || use->is_wait)
		return share;
	is_new = use->resource == BOTTLENECK_DISK ? new_on_disk(r, p) : excess / now;
	*ret_charged = is_new * robust_charged(r, p, use->resource);
	return (share + charged * is_new) / 2;
}

/* Of those that were there before the trouble; NULL = none was. */
static const struct subject *eldest_of(const struct robust *r, const struct program *p)
{
	const struct subject *eldest = NULL;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];

		if (s->last >= r->q->focus && s->first < r->q->focus && (!eldest || s->info.start < eldest->info.start))
			eldest = s;
	}
	return eldest;
}

/* What a process did before the trouble. Of one that began after what is learnt from that is not known: where the program has a
 * past, its eldest process does what the program always did. */
static double member_before(struct robust *r, struct program *p, const struct subject *s, size_t f, bool eldest)
{
	double own = s->first < r->q->focus && r->q->train_to >= r->q->train_from ?
			     subject_mean(r->d, s, f, r->q->train_from, (uint32_t)r->q->train_to) :
			     NAN;
	struct robust_baseline u;

	if (!isnan(own))
		return own;
	if (p->members.n == 1 || !eldest)
		return 0;
	u = robust_baseline(r, p, f, robust_program_now(r, p, f));
	return isnan(u.median) ? 0 : fmin(u.median, robust_member_now(r, s, f));
}

const struct subject *robust_most_responsible(struct robust *r, struct program *p, size_t f, double *ret_part)
{
	const struct subject *best = NULL, *eldest = eldest_of(r, p);
	double most = -INFINITY, sum = 0; /* who has others wait may do less than before */

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double now = robust_member_now(r, s, f), excess;

		if (s->last < r->q->focus)
			continue;
		excess = now - member_before(r, p, s, f, s == eldest);
		if (excess > 0)
			sum += excess;
		if (excess > most) {
			most = excess;
			best = s;
		}
	}
	*ret_part = sum > 0 ? most / sum : 0;
	return best;
}

bool robust_began_lately(const struct robust *r, const struct subject *s)
{
	int64_t trouble = r->d->ticks.v[r->q->focus].boot - r->d->ticks.v[r->q->focus].span;

	if (r->q->train_to >= r->q->train_from ? s->first <= r->q->train_to : s->first < r->q->focus)
		return false;
	/* who was not seen before may have been there: the recorder was not */
	return !s->info.start || (int64_t)s->info.start >= trouble - LATELY;
}

bool robust_program_is_new(const struct robust *r, const struct program *p)
{
	for (size_t i = 0; i < p->members.n; i++)
		if (!robust_began_lately(r, p->members.v[i]))
			return false;
	return true;
}

/* While it holds a lock it may wait for a CPU or the disk itself: then others wait for whom it waits for. Of the waits for its lock what
 * is its own doing, 0..1. */
static double held_by_itself(const struct robust *r, const struct program *p)
{
	double queued = robust_program_now(r, p, FEATURE_CPU_RUN_DELAY), held = robust_charged(r, p, BOTTLENECK_LOCK) * 1e9;

	return held > 0 ? 1 - fmin(1, ((isnan(queued) ? 0 : queued) + robust_blocked_now(r, p)) / held) : 1;
}

/* Whoever holds a lock that others wait for. A program that always did so is less of a surprise than a new one. */
static double score_of_lock(const struct robust *r, const struct program *p)
{
	double share = robust_share_of_news(r, p, BOTTLENECK_LOCK);

	return isnan(share) ? 0 : r->shortage[BOTTLENECK_LOCK] * share * held_by_itself(r, p) * (robust_program_is_new(r, p) ? 1 : HELD_BEFORE);
}

static double score_of_peer(const struct robust *r, const struct program *p)
{
	double share = robust_share_of_news(r, p, BOTTLENECK_PEER);

	return isnan(share) ? 0 : r->shortage[BOTTLENECK_PEER] * share;
}

/* What has no limit but its process's own leaks in one process: four hundred new ones with eight files each are no leak. */
static double leakers(const struct robust *r, const struct program *p, const struct use *use)
{
	uint32_t there = 0;

	for (size_t i = 0; use->resource == BOTTLENECK_NONE && i < p->members.n; i++)
		there += p->members.v[i]->last >= r->q->at && p->members.v[i]->first <= r->q->at;
	return there > 1 ? there : 1;
}

/* A process that begins opens what it needs, as a browser or a linker does: of what it had after a while hardly any is a leak. A younger one leaks as
 * far as it opens more in the last quarter of its life, and not all of that at once. 0 = it was there before. */
static double had_at_start(const struct robust *r, const struct subject *s, size_t f, double now)
{
	const struct moment *ticks = r->d->ticks.v;
	int64_t begun = ticks[s->first].elapsed, age = ticks[r->q->at].elapsed - begun;
	bool young = age < 2 * STARTING;
	double had = 0, before = 0, at_once = 0;

	for (uint32_t t = s->first; s->first && t <= r->q->at && (young || ticks[t].elapsed - begun <= STARTING); t++) {
		double value = fmax(0, subject_value(r->d, s, f, t)); /* of a NaN and a number the number */

		if (!young || t == s->first || ticks[t - 1].elapsed - begun < age * 3 / 4)
			had = value;
		at_once = fmax(at_once, value - before);
		before = value;
	}
	return fmin(now, young ? fmax(2 * had - now, at_once) : had);
}

/* The part of what it has that may be leaked: short programs that come and go give theirs back when they end, however many live at a time. */
static double not_of_start(const struct robust *r, const struct program *p, const struct use *use)
{
	double all = 0, stays = 0;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double now = robust_member_now(r, s, (size_t)use->feature);

		all += now;
		if (s->info.kind != ENTITY_SHORT_LIVED)
			stays += now - (1 - STARTS) * had_at_start(r, s, (size_t)use->feature, now);
	}
	return all > 0 ? stays / all : 1;
}

/* 1 = the machine is short of nothing, 0 = programs always wait for what it is short of; less by as much as they are slower. */
static double machine_is_free(const struct robust *r)
{
	double shortage = fmax(r->shortage[BOTTLENECK_CPU], fmax(r->shortage[BOTTLENECK_DISK], r->shortage[BOTTLENECK_MEMORY]));

	return (1 - fmin(1, shortage)) / (r->slowdown > 1 ? r->slowdown : 1);
}

/* A limit that is as old as the program is how somebody wants it to run: that says why the program is slow, and nothing of a
 * machine that is short of something. */
static double waits_for_limit(const struct robust *r, const struct program *p, double waited)
{
	return robust_program_is_new(r, p) ? waited * machine_is_free(r) : waited;
}

/* Where nothing is known of a program's past, whether it is older than the trouble is: in the place of robust_surprise(). */
static double youth(const struct robust *r, const struct program *p)
{
	const struct moment *at = &r->d->ticks.v[r->q->at];
	int64_t trouble = at->boot - r->d->ticks.v[r->q->focus].boot, oldest = 0;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct entity_info *info = &p->members.v[i]->info;
		int64_t age = info->start ? at->boot - (int64_t)info->start : 0;

		oldest = age > oldest ? age : oldest;
	}
	return oldest > 2 * trouble + OLD ? OLD_SURPRISE : 1;
}

/* What a job uses is the sum of its processes'; what a process waits for, opens or starts is its own. What children that lived
 * for less than a sample used is in their own rows. */
static bool is_of_jobs(const struct use *use)
{
	return !use->is_wait && use->resource != BOTTLENECK_NONE && use->feature != FEATURE_CHILDREN_CPU;
}

/* Several features of one resource are one piece of evidence: the largest counts. */
static void add_shares(struct verdict *v, enum bottleneck b, double used, double charged)
{
	v->used[b] = fmax(v->used[b], fmin(1, used));
	if (!isnan(charged))
		v->charged[b] = fmax(v->charged[b], charged); /* of a NaN and a number the number */
}

/* Of locks and of other programs that do not answer only events tell. */
static void add_charged_alone(const struct robust *r, struct verdict *v)
{
	double lock = v->program->root ? NAN : robust_share_of_news(r, v->program, BOTTLENECK_LOCK);

	v->used[BOTTLENECK_LOCK] = isnan(lock) ? 0 : lock;
	v->used[BOTTLENECK_PEER] = r->shortage[BOTTLENECK_PEER] > 0 ? v->peer / r->shortage[BOTTLENECK_PEER] : 0;
}

/* Those that do not apply are NaN. */
static void apply_none(double factors[EVIDENCE_COUNT])
{
	for (enum evidence e = 0; e < EVIDENCE_COUNT; e++)
		factors[e] = NAN;
}

static double product_of(const double factors[EVIDENCE_COUNT])
{
	double product = 1;

	for (enum evidence e = 0; e < EVIDENCE_COUNT; e++)
		product *= isnan(factors[e]) ? 1 : factors[e];
	return product;
}

void robust_weigh(struct verdict *v, enum evidence what, double factor)
{
	double *of = &v->suspect.factors[what];

	v->suspect.score *= factor;
	*of = *of > 0 ? *of * factor : factor;
}

/* A lock that it holds, or an answer that it owes, may weigh more than all that it uses. */
static void take_waits_alone(const struct robust *r, struct verdict *v, double worst)
{
	enum bottleneck b = v->lock >= v->peer ? BOTTLENECK_LOCK : BOTTLENECK_PEER;
	double *factors = v->suspect.factors, guilt = fmax(v->lock, v->peer);

	if (guilt <= worst)
		return;
	apply_none(factors);
	factors[EVIDENCE_SHORTAGE] = r->shortage[b];
	factors[EVIDENCE_SHARE] = guilt / r->shortage[b];
}

/* What it has of a use beyond its baseline and beyond what says nothing of a slow machine. */
static double excess_of(struct robust *r, struct program *p, const struct use *use, const struct robust_baseline *u, double now)
{
	double excess = robust_excess(u, now) / leakers(r, p, use);

	/* it may always have had so many; and a server without work waits in the same call as who waits for an answer */
	if ((use->resource == BOTTLENECK_NONE || use->resource == BOTTLENECK_REMOTE) && isnan(u->median))
		return 0;
	if (use->resource == BOTTLENECK_NONE)
		return excess * not_of_start(r, p, use);
	if (use->resource == BOTTLENECK_REMOTE)
		return robust_was_there(r, p) ? robust_waits_elsewhere(r, p, excess) : 0;
	return use->feature == FEATURE_WAIT_QUOTA ? waits_for_limit(r, p, excess) : excess;
}

/* How much of the waiting for what it takes it can cause, 0..1: others wait no longer for a CPU than it runs, and no longer than they do; its own processes
 * wait for each other because it is much work. Where no program is seen to wait, waits are not measured. */
static double bound_of(const struct robust *r, const struct program *p, const struct use *use, double now, double share)
{
	bool is_measured = use->resource == BOTTLENECK_CPU ? r->queued > 0 : use->resource == BOTTLENECK_DISK && r->blocked > 0;
	double shortage = robust_shortage_for(r, use), bound = 1;

	if (use->resource == BOTTLENECK_CPU)
		bound = fmin(bound, now / 1e9 / (shortage * share));
	if (is_measured)
		bound = fmin(bound, fmax(REPORT_SCORE, robust_waited_by_others(r, p, use->resource)) / shortage);
	return bound;
}

/* The evidence of one use. False: it is none. */
static bool weigh_use(struct robust *r, struct program *p, const struct use *use, struct verdict *v, double factors[EVIDENCE_COUNT])
{
	size_t f = (size_t)use->feature;
	double now = robust_program_now(r, p, f), excess, used, charged;
	struct robust_baseline u;

	if (p->root && !is_of_jobs(use))
		return false;
	if (isnan(now) || (now < method_noticeable(&p->members.v[0]->features[f]) && !queues_noticeably(r, p, use)))
		return false;
	/* even if all of it were new, would it matter? */
	if (robust_shortage_for(r, use) * share_of(r, use, now) < REPORT_SCORE)
		return false;
	u = robust_baseline(r, p, f, now);
	excess = excess_of(r, p, use, &u, now);
	apply_none(factors);
	factors[EVIDENCE_SHORTAGE] = robust_shortage_for(r, use);
	if (use->resource == BOTTLENECK_NONE) /* what nothing is short of is not what a short machine is slow by */
		factors[EVIDENCE_SHORTAGE] *= NO_PRESSURE * pow(machine_is_free(r), 5);
	factors[EVIDENCE_SHARE] = joined_share(r, p, use, now, excess, &used, &charged);
	factors[EVIDENCE_BOUND] = bound_of(r, p, use, now, factors[EVIDENCE_SHARE]);
	factors[EVIDENCE_SURPRISE] = isnan(u.median) ? youth(r, p) : robust_surprise(&u);
	if (use->resource == BOTTLENECK_MEMORY && !robust_may_use_memory(r, p))
		factors[EVIDENCE_SHARE] = used = charged = 0;
	add_shares(v, use->resource, used, charged);
	return true;
}

/* A CPU that hundreds of threads want is first of all too many threads; those that rest are none. */
static bool is_crowd(struct robust *r, struct program *p)
{
	double now = robust_program_now(r, p, FEATURE_THREADS), queue = robust_program_now(r, p, FEATURE_CPU_RUN_DELAY) / 1e9;
	struct robust_baseline u;

	if (!(now >= CROWD * r->q->cpus && queue >= CROWD_QUEUE * r->q->cpus))
		return false;
	u = robust_baseline(r, p, FEATURE_THREADS, now);
	return robust_excess(&u, now) >= CROWD * r->q->cpus;
}

/* Memory and handles that it holds are still there, and it uses nothing by its waits. */
static bool is_over_when_it_stops(const struct use *use)
{
	return !use->is_wait && !use->of_memory && !(use->scale > 0);
}

/* The part of a use over the whole incident that a program continues with in the last seconds: an incident is looked at as a whole, and what was big at its
 * beginning and is over is not why it lasts (ranking_weigh_recency()). */
static double continues_with(const struct robust *r, const struct program *p, const struct use *use)
{
	struct method_question q = *r->q;
	const struct robust lately = {.d = r->d, .q = &q};
	double all = is_over_when_it_stops(use) ? robust_program_now(r, p, (size_t)use->feature) : 0;

	while (q.focus < q.at && r->d->ticks.v[q.at].boot - r->d->ticks.v[q.focus].boot >= JUST_NOW)
		q.focus++;
	return all > 0 ? fmin(1, fmax(RECENCY_LEAST, robust_program_now(&lately, p, (size_t)use->feature) / all / CONTINUES)) : 1;
}

/* The guilt of a program by each use, and the evidence of the worst, which is returned. What it did only at first (each program reads itself when
 * it starts) is not what it is about. */
static size_t weigh_uses(struct robust *r, struct program *p, struct verdict *v)
{
	double factors[EVIDENCE_COUNT], worst = 0, most = 0, goes_on = 0, waits, guilt;
	size_t of_worst = 0;
	size_t cpu = 0, threads = USES - 1; /* their places in `uses` */

	for (size_t i = 0; i < USES; i++) {
		if (!weigh_use(r, p, &uses[i], v, factors))
			continue;
		guilt = product_of(factors);
		v->guilt[i] = guilt * continues_with(r, p, &uses[i]);
		goes_on += uses[i].feature == FEATURE_IO_WRITE_BYTES ? guilt : v->guilt[i]; /* it may be on its way to the disk yet */
		if (v->guilt[i] <= most)
			continue;
		most = v->guilt[i];
		worst = guilt;
		of_worst = i;
		memcpy(v->suspect.factors, factors, sizeof(factors));
	}
	v->lock = p->root ? 0 : score_of_lock(r, p);
	v->peer = p->root ? 0 : score_of_peer(r, p);
	waits = v->lock + v->peer;
	v->suspect.continues = worst + waits > 0 ? fmin(1, (goes_on + waits) / (worst + waits)) : 1;
	add_charged_alone(r, v);
	take_waits_alone(r, v, worst);
	if (v->guilt[cpu] > 0 && of_worst == cpu && !p->root && is_crowd(r, p))
		v->guilt[threads] = 1.05 * v->guilt[cpu];
	return of_worst;
}

/* kswapd, kworkers and soft interrupts work for others: they are named when nobody else can be. */
bool robust_works_for_others(const struct program *p)
{
	const struct entity_info *info = &p->members.v[0]->info;

	return info->kind == ENTITY_KERNEL || (info->flags & ENTITY_IS_KERNEL_THREAD);
}

/* The recorder, its answers and the commands that ask for them have more to do because it is slow. */
bool robust_answers_requests(const struct program *p)
{
	for (size_t i = 0; i < p->members.n; i++)
		if (entity_asks(&p->members.v[i]->info))
			return true;
	return false;
}

static double share_in_use(const struct robust *r, const struct program *p, const struct use *use)
{
	double now = robust_program_now(r, p, (size_t)use->feature);

	if (use->of_memory)
		return r->q->memory ? now / (double)r->q->memory : NAN;
	return use->scale == 0 && r->total[use->feature] > 0 ? fmin(1, now / r->total[use->feature]) : NAN;
}

uint32_t robust_count(const struct robust *r, const struct subject *const *members, size_t n_members)
{
	double n = 0;

	for (size_t i = 0; i < n_members; i++) {
		const struct subject *s = members[i];

		if (s->info.kind == ENTITY_SHORT_LIVED)
			n += subject_growth(r->d, s, FEATURE_CHILDREN_SHORT, r->q->focus, r->q->at);
		else
			n += s->last >= r->q->focus;
	}
	return (uint32_t)n;
}

/* Held back by a limit: because it wants more than it used to, or because it is given less? */
static bool wants_more(struct robust *r, struct program *p)
{
	double now = robust_program_now(r, p, FEATURE_CPU_TIME);
	struct robust_baseline u;

	if (isnan(now) || now < method_noticeable(&p->members.v[0]->features[FEATURE_CPU_TIME]))
		return false;
	u = robust_baseline(r, p, FEATURE_CPU_TIME, now);
	return robust_excess(&u, now) * robust_surprise(&u) >= now / 2;
}

static enum culprit_kind kind_of(struct robust *r, struct program *p, const struct suspect *s, double part)
{
	if (s->of == BOTTLENECK_REMOTE)
		return CULPRIT_HOST;
	if (s->of == BOTTLENECK_QUOTA && !wants_more(r, p))
		return CULPRIT_LIMIT;
	if (robust_works_for_others(p))
		return CULPRIT_KERNEL;
	return part < 0.7 || s->subject->info.kind == ENTITY_SHORT_LIVED ? CULPRIT_GROUP : CULPRIT_PROCESS;
}

/* What it is guilty of. */
static enum bottleneck mainly(const struct verdict *v, size_t worst)
{
	if (v->lock > v->guilt[worst] && v->lock >= v->peer)
		return BOTTLENECK_LOCK;
	/* who also takes much of what is short has others wait because of that, rather than because it sleeps */
	return v->peer > v->guilt[worst] && v->guilt[worst] < TAKES_MUCH ? BOTTLENECK_PEER : uses[worst].resource;
}

/* 1 = *ret is worth a look, 0 = not. */
int robust_program_score(struct robust *r, struct program *p, struct verdict *ret)
{
	struct suspect *s = &ret->suspect;
	size_t worst;
	double part;

	ret->program = p;
	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		ret->charged[b] = NAN;
	worst = weigh_uses(r, p, ret);
	s->score = product_of(s->factors);
	if (robust_works_for_others(p) || robust_answers_requests(p))
		robust_weigh(ret, EVIDENCE_FOR_OTHERS, WORKS_FOR_OTHERS);
	if (robust_answers_requests(p) && !(r->q->pressure.now[uses[worst].resource] >= SHORT_LEAST && share_in_use(r, p, &uses[worst]) >= OWN_CAUSE))
		return 0;
	/* a program for which no other one waits is listed all the same: it takes what is short */
	if (s->score < REPORT_SCORE * (s->factors[EVIDENCE_BOUND] > 0 ? s->factors[EVIDENCE_BOUND] : 1))
		return 0;
	s->of = mainly(ret, worst);
	s->imposed = robust_charged(r, p, s->of);
	s->subject = robust_most_responsible(r, p, (size_t)uses[worst].feature, &part);
	if (!s->subject)
		return 0;
	s->members = robust_count(r, p->members.v, p->members.n);
	s->kind = p->root ? CULPRIT_GROUP : kind_of(r, p, s, part);
	if (p->root) {
		s->busiest = s->subject;
		s->subject = p->root;
	}
	s->share = share_in_use(r, p, &uses[worst]);
	return 1;
}
