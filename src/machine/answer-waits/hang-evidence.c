#include "machine/answer-waits/hang-evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/answer-waits/using.h"
#include "machine/blame/peer-requests.h"

#define LONGER	  3 /* times as long as its program ever waited: then it is certainly unusual */
#define LEAST	  0.01 /* of an excess */
#define NEW	  (60 * NS_PER_SEC) /* people ask soon after it begins */
#define NEW_LEAST 0.05
#define TOGETHER  (5 * NS_PER_SEC) /* a hang that begins with a shortage so closely is of the same incident */
#define AT_TERMINAL 2 /* times as much as of a program that no one is seen to use */
#define MOVES_ON  0.5 /* who has done something since the hang began may come to it yet */
#define MARGIN	  NS_PER_SEC
#define KNOWN	  (3 * NS_PER_SEC) /* a process this much older than a wait for it has been asked before */
#define NOT_LOOKED_UP 0.3 /* of each row that takes a chain */
#define CHAIN_SURE 3 /* links; each one more may be chosen wrongly */

/* --- longer than its program's own waits --- */

/* The longest time until `until` (elapsed ns) in which it waited for `kind` mostly. */
static int64_t longest_wait(const struct dataset *d, const struct subject *s, size_t kind, int64_t until)
{
	int64_t longest = 0, begin = 0, end = INT64_MIN;

	for (size_t i = 0; subject_has(s, kind) && i < s->series[kind].n; i++) {
		struct growth_time t = subject_growth_time(d, s, kind, i);

		if (t.begin >= until)
			break;
		if (s->series[kind].value[i] * s->features[kind].quantum < (t.end - t.begin) / 2)
			continue;
		if (t.begin > end + MARGIN / 2)
			begin = t.begin;
		end = t.end < until ? t.end : until;
		longest = end - begin > longest ? end - begin : longest;
	}
	return longest;
}

/* By all processes of the program, before this one began: a habit is older than several that hang for the same thing. */
static int64_t longest_alike(const struct dataset *d, const struct hang *h)
{
	int64_t until = d->ticks.v[d->ticks.n - 1].elapsed - (d->ticks.v[d->ticks.n - 1].wall - h->since) - MARGIN, longest = 0;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		int64_t wait = s->info.kind == ENTITY_PROCESS && strcmp(s->program, h->victim->program) == 0 ? longest_wait(d, s, h->kind, until) : 0;

		longest = wait > longest ? wait : longest;
	}
	return longest;
}

double hang_excess(const struct dataset *d, const struct hang *h)
{
	double excess = fmin(1, fmax(LEAST, (h->now - h->normal) / 1e9));
	int64_t length = d->ticks.v[d->ticks.n - 1].wall - h->since, alike;

	if (h->took || h->life_normally) /* which are measured by their own past */
		return excess;
	alike = longest_alike(d, h);
	return alike > 0 ? excess * fmin(1, fmax(LEAST, (double)length / (double)(LONGER * alike))) : excess;
}

/* --- who is at the end --- */

static const struct chain_link *last_of(const struct hang *h)
{
	return h->chain.links.n ? &h->chain.links.v[h->chain.links.n - 1] : NULL;
}

bool hang_ends_elsewhere(const struct hang *h)
{
	const struct chain_link *only = h->chain.links.n == 1 ? h->chain.links.v : NULL;

	return only && ((only->kind == CHAIN_REMOTE && only->unanswered) || only->kind == CHAIN_FROZEN);
}

/* Who waits for events, of whatever, and has not answered over TCP for so long: no one else is known to be behind it. */
static bool leaves_unanswered(const struct chain_link *last)
{
	return last->kind == CHAIN_EVENTS && last[-1].kind == CHAIN_TCP && last[-1].asked_ms * NS_PER_MS >= REQUEST_LATE;
}

bool hang_is_explained(const struct hang *h)
{
	static const bool is_end[CHAIN_KINDS] = {
		[CHAIN_UNKNOWN] = true,	 [CHAIN_RUNS] = true, [CHAIN_SLEEPS] = true, [CHAIN_STOPPED] = true,  [CHAIN_FILE_LOCK] = true,
		[CHAIN_LOCK] = true,	 [CHAIN_DISK] = true, [CHAIN_FUSE] = true,   [CHAIN_SCANNER] = true, [CHAIN_REMOTE] = true,
		[CHAIN_DATABASE] = true, [CHAIN_FROZEN] = true, [CHAIN_QUOTA] = true, [CHAIN_LIMIT] = true,
	}; /* of the others it is not known who is behind them */
	const struct chain_link *last = h->chain.links.n > 1 ? last_of(h) : NULL;

	return h->chain.cycle || hang_ends_elsewhere(h) || (last && (is_end[last->kind] || leaves_unanswered(last)));
}

/* --- does anyone want it --- */

/* Data that others write when they please are not a request. */
static double demand_of(const struct chain_link *l)
{
	static const double of[CHAIN_KINDS] = {
		[CHAIN_UNKNOWN] = 0.3, [CHAIN_RUNS] = 0.05, [CHAIN_SLEEPS] = 0.05, [CHAIN_STOPPED] = 1, [CHAIN_FILE_LOCK] = 1, [CHAIN_LOCK] = 1,
		[CHAIN_PIPE] = 0.7, [CHAIN_LOCAL_SOCKET] = 1, [CHAIN_TCP] = 1, [CHAIN_UDP] = 1, [CHAIN_REMOTE] = 1, [CHAIN_CHILD] = 0.1, [CHAIN_FUSE] = 1,
		[CHAIN_SCANNER] = 1, [CHAIN_DISK] = 1, [CHAIN_EVENTS] = 0.05, [CHAIN_DATABASE] = 1, [CHAIN_OLDER_REQUEST] = 1, [CHAIN_FROZEN] = 1,
		[CHAIN_QUOTA] = 1, [CHAIN_LIMIT] = 1,
	};

	if (l->serves || l->idle)
		return 0.01;
	if (l->is_input)
		return 0.01;
	return l->reads ? 0.02 : of[l->kind];
}

bool hang_link_wants(const struct hang *h, size_t i)
{
	const struct chain_link *l = &h->chain.links.v[i];

	return i + 1 < h->chain.links.n && l[1].pid != l->pid && l->kind != CHAIN_CHILD && l->kind != CHAIN_EVENTS && demand_of(l) >= 0.5;
}

static bool began_before(const struct dataset *d, unsigned pid, int64_t wall)
{
	const struct moment *now = &d->ticks.v[d->ticks.n - 1];
	const struct subject *s = dataset_process(d, pid);

	return s && s->info.start && (int64_t)s->info.start + KNOWN <= now->boot - (now->wall - wall);
}

/* Who reads what is known to come sooner, from a process that was there before it began to wait, has a conversation with it: it was answered
 * before. A shell reads from a child that it has just started, for which no answer can be late. */
static bool converses(const struct dataset *d, const struct hang *h)
{
	const struct chain_link *first = h->chain.links.v;

	return h->chain.links.n > 1 && first->reads && !first->is_input && !first->serves && !first->idle && h->took && !h->unsure &&
	       began_before(d, first[1].pid, h->since);
}

static double demand_of_victim(const struct dataset *d, const struct hang *h)
{
	const struct chain_link *first = h->chain.links.v;

	if (!first)
		return NOT_LOOKED_UP;
	return converses(d, h) ? 0.7 : demand_of(first);
}

/* Has one before the last asked it for something, or want what it has? Who only reads what it writes, or waits for its end, has not. */
static bool is_wanted(const struct dataset *d, const struct hang *h)
{
	if (converses(d, h))
		return true;
	for (size_t i = 0; i < h->chain.links.n; i++)
		if (hang_link_wants(h, i))
			return true;
	return false;
}

/* --- does the end mean to wait --- */

static double intent_of(const struct dataset *d, const struct hang *h)
{
	static const struct {
		double wanted, alone; /* asked by one before in the chain, or not */
	} of[CHAIN_KINDS] = {
		[CHAIN_UNKNOWN] = {0.5, 0.1},	   [CHAIN_RUNS] = {0.7, 0.02},	  [CHAIN_SLEEPS] = {0.7, 0.01},	      [CHAIN_STOPPED] = {1, 1},
		[CHAIN_FILE_LOCK] = {1, 1},	   [CHAIN_LOCK] = {0.7, 0.3},	  [CHAIN_PIPE] = {0.1, 0.02},	      [CHAIN_LOCAL_SOCKET] = {0.3, 0.3},
		[CHAIN_TCP] = {0.3, 0.3},	   [CHAIN_UDP] = {0.5, 0.5},	  [CHAIN_REMOTE] = {0.7, 0.1},	      [CHAIN_CHILD] = {0.2, 0.02},
		[CHAIN_FUSE] = {1, 1},		   [CHAIN_SCANNER] = {1, 1},	  [CHAIN_DISK] = {0.7, 0.05},	      [CHAIN_EVENTS] = {0.02, 0.01},
		[CHAIN_DATABASE] = {1, 1},	   [CHAIN_OLDER_REQUEST] = {1, 1}, [CHAIN_FROZEN] = {1, 1},	      [CHAIN_QUOTA] = {1, 1}, [CHAIN_LIMIT] = {1, 1},
	};
	const struct chain_link *last = last_of(h);

	if (h->chain.cycle || hang_ends_elsewhere(h))
		return 1;
	if (last->idle || last->serves)
		return 0.01;
	if (h->chain.links.n > 1 && leaves_unanswered(last))
		return 0.3;
	return is_wanted(d, h) ? of[last->kind].wanted : of[last->kind].alone;
}

/* --- */

double hang_novelty(int64_t since, int64_t at, int64_t incident)
{
	if ((incident && llabs(since - incident) <= TOGETHER) || at - since <= NEW)
		return 1;
	if (incident > since)
		return fmax(NEW_LEAST, (double)TOGETHER / (double)(incident - since));
	return fmax(NEW_LEAST, (double)NEW / (double)(at - since));
}

/* 0 = not known. */
static double hold_of(const struct trace *t, const struct hang *h)
{
	const struct chain_link *last = last_of(h);
	const struct trace_thread *th = t && h->chain.links.n > 1 ? trace_thread(t, last->tid, t->frozen) : NULL;

	if (!th || th->end || !th->state_since || last->kind == CHAIN_RUNS || last->kind == CHAIN_LIMIT) /* whatever it does, it keeps that */
		return 0;
	return trace_wall(t, th->state_since) <= h->since + MARGIN ? 1 : MOVES_ON;
}

static double certainty_of(const struct hang *h)
{
	double sure = (h->assumed ? 0.7 : 1) * (h->unsure ? 0.8 : 1) * (h->polls ? 0.7 : 1) * (h->life_normally ? 0.7 : 1);

	return h->chain.links.n > CHAIN_SURE ? sure * pow(0.9, (double)(h->chain.links.n - CHAIN_SURE)) : sure;
}

void hang_weigh(const struct dataset *d, const struct trace *trace, const char *proc_root, struct hang *h)
{
	const struct chain_link *first = h->chain.links.v;
	bool used = proc_root && (using_in_foreground(proc_root, h->victim->info.pid) || (h->parent && using_in_foreground(proc_root, h->parent->info.pid)));

	h->factors[EVIDENCE_DEMAND] = demand_of_victim(d, h) * (used ? AT_TERMINAL : 1);
	h->factors[EVIDENCE_INTENT] = first ? intent_of(d, h) : NOT_LOOKED_UP;
	h->factors[EVIDENCE_HOLD] = hold_of(trace, h);
	h->factors[EVIDENCE_CERTAINTY] = first ? certainty_of(h) : NOT_LOOKED_UP;
	h->score = evidence_score(h->factors);
}
