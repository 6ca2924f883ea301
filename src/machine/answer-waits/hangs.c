#include "machine/answer-waits/hangs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/answer-live/hidden-lock.h"
#include "machine/answer-live/lock-file.h"
#include "machine/answer-waits/brief-program.h"
#include "machine/answer-waits/hang-evidence.h"
#include "machine/answer-waits/wait-chain.h"
#include "machine/blame/new-sleepers.h"

#define BASELINE_MOST  (1800 * NS_PER_SEC)
#define SLEEPERS_MOST  4 /* whose memory is looked at: 10 to 20 ms of CPU each of an interpreter */
#define BASELINE_LEAST (30 * NS_PER_SEC) /* of less nothing is normal */
#define EXCESS	       5e8		 /* ns/s: half a thread */
#define LOCKS_PATIENCE 50		 /* ms: on a calm machine it takes 10 */
#define LOCKS_PATIENCE_MOST 3000	 /* of an answer that need not be in time */
#define LOCK_FILE_NEW	    (20 * NS_PER_SEC) /* made about when its sleeps changed, which new_sleepers_find() sees for ten seconds */
#define LOCK_FILES_PATIENCE (100 * NS_PER_MS) /* for all of them */
#define LOCK_FILES_PATIENCE_MOST (3 * NS_PER_SEC)
#define RETRY_MOST     (1100 * NS_PER_MS) /* sqliteDefaultBusyCallback() sleeps for 100 ms at most, where there is no usleep() for a second */
#define BRIEF_OLDEST   (600 * NS_PER_SEC) /* who is older has a past of its own */
#define BRIEF_MOST     100		 /* of which earlier processes are looked for */
#define LONGER	       3		 /* times as long as its program's processes live */
#define AGAIN	       4		 /* looks at who is between two requests that take long ... */
#define AGAIN_AFTER    25000		 /* us: ... with this between them: a pause is short compared with them */
#define MOSTLY_SLEEPS  2e8		 /* ns/s: a fifth of one CPU */
#define CREDIBLE       0.01		 /* score: less is ordinary waiting */
#define GOES_ON	       0.5		 /* of what is waited now: before that the hang had not begun */

static const size_t kinds[] = {FEATURE_WAIT_LOCK, FEATURE_WAIT_CONDITION, FEATURE_WAIT_NETWORK, FEATURE_WAIT_PEER, FEATURE_WAIT_DISK};

static size_t kind_of_state(uint8_t state)
{
	switch (state) {
	case STATE_LOCK:
	case STATE_KERNEL_LOCK:
		return FEATURE_WAIT_LOCK;
	case STATE_CONDITION:
		return FEATURE_WAIT_CONDITION;
	case STATE_NETWORK:
		return FEATURE_WAIT_NETWORK;
	case STATE_PEER:
		return FEATURE_WAIT_PEER;
	case STATE_DISK: /* of a file: its file system, a scanner, a lease */
		return FEATURE_WAIT_DISK;
	default:
		return SIZE_MAX;
	}
}

/* Who writes to a terminal that is not read waits for who shows it; who reads from one waits for a person. */
static size_t kind_of_wait(const struct trace *t, const struct trace_thread *th)
{
	if (th->state == STATE_IDLE && th->facts.call == CALL_TERMINAL && trace_gives(t, th->syscall))
		return FEATURE_WAIT_PEER;
	return kind_of_state(th->state);
}

/* The first tick of the three seconds that end with tick `to`. */
static uint32_t begin_of(const struct dataset *d, uint32_t to)
{
	uint32_t t = to;

	while (t && d->ticks.v[to].elapsed - d->ticks.v[t - 1].elapsed < HANG_LEAST)
		t--;
	return t;
}

static double waited_until(const struct dataset *d, const struct subject *s, size_t kind, uint32_t to)
{
	return subject_mean(d, s, kind, begin_of(d, to), to);
}

/* The threads that wait at the end of the trace, by process: of 20,000 of them not all are looked at for each process. */
struct waiting {
	const struct trace *trace;
	const struct trace_thread **v;
	size_t n;
};

ORDER_OF_POINTERS(by_process, struct trace_thread, ASCENDING(tgid) ?: ASCENDING(tid))

static int find_waiting(const struct trace *t, struct waiting *ret)
{
	struct waiting w = {.trace = t, .v = calloc(t->threads.n + 1, sizeof(*w.v))};

	if (!w.v)
		return -ENOMEM;
	VEC_EACH(th, t->threads)
		if (!th->end && th->state_since && th->state_since <= t->frozen && kind_of_wait(t, th) != SIZE_MAX)
			w.v[w.n++] = th;
	VEC_SORT(w, by_process);
	*ret = w;
	return 0;
}

static void waiting_free(struct waiting *w)
{
	free(w->v);
}

/* By the trace, in its last three seconds; *ret_since: the wall time since when a thread of those has waited. */
static double waited_in_trace(const struct waiting *w, uint32_t pid, size_t kind, int64_t *ret_since)
{
	const struct trace *t = w->trace;
	double sum = 0;

	for (size_t i = FIRST_WHERE(k, w->n, w->v[k]->tgid >= pid); i < w->n && w->v[i]->tgid == pid; i++) {
		const struct trace_thread *th = w->v[i];
		uint64_t waited = t->frozen - th->state_since;

		if (kind_of_wait(t, th) != kind)
			continue;
		sum += waited < HANG_LEAST ? (double)waited : (double)HANG_LEAST;
		if (waited >= HANG_LEAST && trace_wall(t, th->state_since) < *ret_since)
			*ret_since = trace_wall(t, th->state_since);
	}
	return sum / ((double)HANG_LEAST / 1e9);
}

/* The tick before it began to wait like that: `since` (wall ns) at the latest, for of a wait that goes on the last ticks may know nothing yet. */
static uint32_t before_hang(const struct dataset *d, const struct subject *s, size_t kind, uint32_t at, double now, int64_t since)
{
	uint32_t t = at;

	while (t > s->first && (d->ticks.v[t].wall > since || subject_value(d, s, kind, t) >= GOES_ON * now))
		t--;
	return t;
}

/* The most of any three seconds until a tick; NAN = less than `least` is known. */
static double normally(const struct dataset *d, const struct hang_question *q, const struct subject *s, size_t kind, uint32_t until, int64_t least)
{
	int64_t known = 0, end = d->ticks.v[until].elapsed;
	double most = 0;

	for (int64_t t = until; t >= s->first && end - d->ticks.v[t].elapsed < BASELINE_MOST; t = (int64_t)begin_of(d, (uint32_t)t) - 1) {
		uint32_t begin = begin_of(d, (uint32_t)t);
		double waited = q->excluded && (q->excluded[t] || q->excluded[begin]) ? NAN : subject_mean(d, s, kind, begin, (uint32_t)t);

		if (isnan(waited))
			continue;
		known += d->ticks.v[t].elapsed - (begin ? d->ticks.v[begin - 1].elapsed : 0);
		most = fmax(most, waited);
	}
	return known >= least ? most : NAN;
}

/* Where incidents leave too little to compare with, what was waited in them is normal, too: fewer hangs are seen, but no press is in vain. */
static double normally_or_ever(const struct dataset *d, const struct hang_question *q, const struct subject *s, size_t kind, uint32_t until, int64_t least)
{
	const struct hang_question all = {.at = q->at};
	double most = normally(d, q, s, kind, until, least);

	return isnan(most) && q->excluded ? normally(d, &all, s, kind, until, least) : most;
}

/* How long it waits for that now and how long it did before, of which `least` must be known, whether that is unusual or not. */
static struct hang hang_measured(const struct dataset *d, const struct hang_question *q, const struct waiting *w, const struct subject *s, size_t kind, int64_t least)
{
	int64_t since = INT64_MAX;
	double now = waited_until(d, s, kind, q->at), in_trace = waited_in_trace(w, s->info.pid, kind, &since);
	struct hang h = {.victim = s, .kind = kind, .now = isnan(now) ? in_trace : fmax(now, in_trace), .normal = NAN};
	uint32_t before = before_hang(d, s, kind, q->at, h.now, since);

	h.since = d->ticks.v[before].wall < since ? d->ticks.v[before].wall : since;
	h.normal = h.now > 0 ? normally_or_ever(d, q, s, kind, before, least) : NAN;
	return h;
}

static bool hangs(const struct dataset *d, const struct hang_question *q, const struct waiting *w, const struct subject *s, size_t kind,
		  struct hang *ret)
{
	*ret = hang_measured(d, q, w, s, kind, BASELINE_LEAST);
	return ret->now >= EXCESS && d->ticks.v[q->at].wall - ret->since >= HANG_LEAST - NS_PER_SEC && ret->now - ret->normal >= EXCESS; /* false of NAN */
}

static bool is_asked_about(const struct subject *s, uint32_t at)
{
	return s->info.kind == ENTITY_PROCESS && !(s->info.flags & ENTITY_IS_KERNEL_THREAD) && !entity_asks(&s->info) && s->first <= at && s->last >= at;
}

/* How likely it is for nothing that the chain is looked up. */
static int doubt(const struct hang *h)
{
	return h->assumed ? 3 : h->unsure ? 1 + h->polls : 0;
}

static double excess(const struct hang *h)
{
	return h->factors[EVIDENCE_EXCESS] * h->factors[EVIDENCE_NOVELTY];
}

ORDER(by_excess, struct hang, CMP(doubt(a), doubt(b)) ?: CMP(excess(b), excess(a)) ?: ASCENDING(victim->info.pid))

ORDER(by_score, struct hang, DESCENDING(score) ?: by_excess(a, b))

static struct hang *hang_of(struct answer *a, const struct subject *s)
{
	return VEC_FIND(x, a->hangs, x->victim == s);
}

static int collect(const struct dataset *d, const struct hang_question *q, const struct waiting *w, struct answer *a)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		for (size_t k = 0; k < ARRAY_SIZE(kinds) && is_asked_about(s, q->at); k++) {
			struct hang h;

			if (subject_has(s, kinds[k]) && hangs(d, q, w, s, kinds[k], &h) && VEC_PUSH(a->hangs, h) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* A poll() waits for sockets of whatever family. */
static size_t kind_or_peer(size_t kind)
{
	return kind == SIZE_MAX ? FEATURE_WAIT_PEER : kind;
}

static size_t kind_of_request(const struct trace *t, const struct peer_request *r)
{
	return kind_or_peer(r->pending ? kind_of_state(t->threads.v[r->thread].state) : SIZE_MAX);
}

/* The longest answer that is normal: by events, and by the longest wait of the thread in the minutes before, of which there may be no events any more. An event
 * loop without work waits, too. */
static int64_t normally_took(const struct trace *t, const struct peer_request *r)
{
	const struct trace_thread *th = &t->threads.v[r->thread];
	int64_t before = kind_of_state(th->state) != SIZE_MAX ? (int64_t)th->longest_before : 0;

	return before > r->normally ? before : r->normally;
}

/* Whose requests take longer than ever; of those that are known to wait, how long the answers take. */
static int add_late(const struct dataset *d, const struct hang_question *q, const struct peer_requests *requests, struct answer *a)
{
	VEC_EACH(r, requests->late) {
		const struct subject *s = dataset_process(d, r->process);
		struct hang *h = s ? hang_of(a, s) : NULL;
		int64_t normally = normally_took(q->trace, r);
		struct hang late = {.victim = s, .kind = kind_of_request(q->trace, r), .now = (double)NS_PER_SEC,
				    .normal = (double)NS_PER_SEC * (double)normally / (double)r->took,
				    .since = trace_wall(q->trace, (uint64_t)r->since), .unsure = r->unsure};

		if (!s || !is_asked_about(s, q->at) || (r->unsure && (h || !q->proc_root)) || !peer_request_is_late(r->took, normally))
			continue;
		if (!h && VEC_PUSH(a->hangs, late) < 0)
			return -ENOMEM;
		h = h ?: &a->hangs.v[a->hangs.n - 1];
		if (r->took > h->took) {
			h->took = r->took;
			h->normally = normally;
		}
	}
	return 0;
}

/* Who has waited longer than its thread ever did in the minutes before, of which there may be no events any more: the chain says for what. */
static int add_longer(const struct dataset *d, const struct hang_question *q, struct answer *a)
{
	for (size_t i = 0; q->trace && i < q->trace->threads.n; i++) {
		const struct trace_thread *th = &q->trace->threads.v[i];
		int64_t took = (int64_t)th->longest_lately, normally = (int64_t)th->longest_before;
		size_t kind = kind_of_wait(q->trace, th);
		const struct subject *s = !th->end && normally && peer_request_is_late(took, normally) ? dataset_process(d, th->tgid) : NULL;
		struct hang *h = s ? hang_of(a, s) : NULL;

		if (h && !h->took) {
			h->took = took;
			h->normally = normally;
		}
		if (h || !s || !q->proc_root || !is_asked_about(s, q->at))
			continue;
		if (VEC_PUSH(a->hangs, (struct hang){.victim = s, .kind = kind_or_peer(kind), .now = (double)NS_PER_SEC,
						     .normal = (double)NS_PER_SEC * (double)normally / (double)took, .took = took, .normally = normally,
						     .since = trace_wall(q->trace, q->trace->frozen - (uint64_t)took), .unsure = true, .polls = kind == SIZE_MAX}) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Requests that no event tells of: the chain confirms them. */
static int add_assumed(const struct dataset *d, const struct hang_question *q, const struct peer_requests *requests, struct answer *a)
{
	for (size_t i = 0; q->proc_root && i < requests->assumed.n; i++) {
		const struct peer_request *r = &requests->assumed.v[i];
		const struct subject *s = dataset_process(d, r->process);
		struct hang h = {.victim = s, .kind = kind_of_request(q->trace, r), .now = (double)NS_PER_SEC, .took = r->took, .normally = normally_took(q->trace, r),
				 .since = trace_wall(q->trace, (uint64_t)r->since), .assumed = true};

		if (s && is_asked_about(s, q->at) && !hang_of(a, s) && VEC_PUSH(a->hangs, h) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The main thread of a process has slept in one wait for so long: to poll() for an answer is a wait, too. */
static bool sleeps_long(const struct trace *t, const struct trace_thread *th)
{
	bool sleeps = th && (kind_of_state(th->state) != SIZE_MAX || th->state == STATE_IDLE || th->state == STATE_OTHER);

	return sleeps && !th->end && th->state_since && th->state_since + HANG_LEAST <= t->frozen;
}

static struct hang brief_hang(const struct dataset *d, const struct hang_question *q, const struct subject *s, const struct trace_thread *th)
{
	return (struct hang){.victim = s, .kind = kind_or_peer(kind_of_state(th->state)), .now = NS_PER_SEC,
			     .since = trace_wall(q->trace, th->state_since), .life_normally = brief_program_life(d, s)};
}

/* A process that a script has just started has no past; the earlier processes of its program have one. */
static int add_brief(const struct dataset *d, const struct hang_question *q, struct answer *a)
{
	size_t asked = 0;

	for (size_t i = 0; q->trace && q->proc_root && i < d->subjects.n && asked < BRIEF_MOST; i++) {
		const struct subject *s = d->subjects.v[i];
		int64_t age = d->ticks.v[q->at].boot - (int64_t)s->info.start;
		const struct trace_thread *th;
		struct hang h;

		if (!is_asked_about(s, q->at) || age < HANG_LEAST || age > BRIEF_OLDEST || hang_of(a, s))
			continue;
		th = trace_thread(q->trace, s->info.pid, q->trace->frozen);
		if (!sleeps_long(q->trace, th))
			continue;
		asked++;
		h = brief_hang(d, q, s, th);
		if (h.life_normally && age >= LONGER * h.life_normally && VEC_PUSH(a->hangs, h) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Since when the thread has slept (wall ns); 0 = for no second, or not at all. */
static int64_t asleep_since(const struct trace *t, uint32_t tid)
{
	const struct trace_thread *th = trace_thread(t, tid, t->frozen);

	if (!th || th->end || !th->state_since || th->state == STATE_RUNNING || thread_state_is_runnable(th->state) || th->state_since + NS_PER_SEC > t->frozen)
		return 0;
	return trace_wall(t, th->state_since);
}

static bool may_retry(const struct trace *t, const struct trace_thread *th)
{
	return !th->end && th->state == STATE_TIMER && th->state_since + RETRY_MOST > t->frozen;
}

static int64_t lock_search_end(const struct hang_question *q)
{
	return clock_monotonic() + (q->patient ? LOCK_FILES_PATIENCE_MOST : LOCK_FILES_PATIENCE);
}

/* 0 = since no second, or not at all. */
static int add_lock_hang(struct answer *a, const struct subject *victim, int64_t since)
{
	return since ? VEC_PUSH(a->hangs, (struct hang){.victim = victim, .kind = FEATURE_WAIT_LOCK, .now = NS_PER_SEC, .since = since}) : 0;
}

static int add_retry(const struct dataset *d, const struct hang_question *q, struct file_locks *locks, uint32_t pid, struct answer *a)
{
	const struct subject *s = dataset_process(d, pid);
	struct hidden_lock lock;
	int64_t since;

	if (!s || !is_asked_about(s, q->at) || hang_of(a, s) || !hidden_lock_of_sqlite(locks, pid, &lock))
		return 0;
	since = asleep_since(q->trace, lock.holder);
	return add_lock_hang(a, s, since);
}

/* Who sleeps between attempts to lock an SQLite database waits in no call that says so; whose transaction it is sleeps longer. A process of many
 * threads is looked at once. */
static int add_retries(const struct dataset *d, const struct hang_question *q, struct file_locks *locks, struct answer *a)
{
	const int64_t until = lock_search_end(q);
	struct hmap seen = {};
	int r = 0;

	for (size_t i = 0; r == 0 && q->trace && q->proc_root && i < q->trace->threads.n && clock_monotonic() < until; i++) {
		struct trace_thread *th = &q->trace->threads.v[i];

		if (may_retry(q->trace, th) && !hmap_get(&seen, th->tgid, 0))
			r = hmap_put(&seen, th->tgid, 0, th) ?: add_retry(d, q, locks, th->tgid, a);
	}
	hmap_free(&seen);
	return r;
}

/* A lock file must be about as old as the sleeps; a file that is locked may have any age. Wall ns; 0 = it does not hang. */
static int64_t lock_wanted_since(const struct hang_question *q, const struct new_sleeper *sleeper, const struct lock_file *lock, int64_t now)
{
	int64_t since = lock->locked ? trace_wall(q->trace, sleeper->since) : lock->since;

	return now - since >= HANG_LEAST && now - since <= LOCK_FILE_NEW ? since : 0;
}

/* Who tries again and again to make a lock file, or to lock a file: the thread of `sleep` is its script's. */
static int add_lock_file(const struct dataset *d, const struct hang_question *q, const struct new_sleeper *sleeper, struct file_locks *locks,
			 struct process_memory *memory, int64_t patience, struct answer *a)
{
	const struct trace_thread *th = &q->trace->threads.v[sleeper->thread];
	struct live_thread t;
	struct lock_file lock;
	const struct subject *s;
	int64_t since;

	if (live_thread_read(q->proc_root, th->tgid, th->tid, &t) < 0)
		return 0;
	t.memory = memory;
	s = dataset_process(d, lock_file_seeker(&t));
	if (!s || !is_asked_about(s, q->at) || hang_of(a, s) || !lock_file_find(locks, &t, patience, &lock) || !lock.holder)
		return 0;
	since = lock_wanted_since(q, sleeper, &lock, d->ticks.v[q->at].wall);
	return add_lock_hang(a, s, since);
}

static int add_lock_files(const struct dataset *d, const struct hang_question *q, struct file_locks *locks, struct process_memory *memory, struct answer *a)
{
	const int64_t until = lock_search_end(q);
	struct new_sleepers sleepers = {};
	int r = q->trace && q->proc_root ? new_sleepers_find(q->trace, &sleepers) : 0;
	int64_t left;

	for (size_t i = 0; r == 0 && i < sleepers.list.n && i < SLEEPERS_MOST && (left = until - clock_monotonic()) > 0; i++)
		r = add_lock_file(d, q, &sleepers.list.v[i], locks, memory, left, a);
	new_sleepers_free(&sleepers);
	return r;
}

/* A script that asks this program waits for the answer. */
static bool waits_for_us(const struct hang *h)
{
	for (size_t i = 1; i < h->chain.links.n; i++)
		if (entity_name_is_ours(h->chain.links.v[i].comm))
			return true;
	return false;
}

/* Who has asked a server that sleeps where it was asked waits if that one waits in turn. Else TCP knows when it asked, or it asked before it went to
 * sleep. False: nothing is unanswered, or not for long. */
static bool confirm(struct hang *h)
{
	const struct chain_link *first = h->chain.links.v;

	if (h->unsure ? hang_is_explained(h) : !h->assumed)
		return true;
	if (!h->chain.links.n || !first->unanswered)
		return false;
	if (first->asked_ms) {
		h->since -= first->asked_ms * NS_PER_MS - h->took;
		h->took = first->asked_ms * NS_PER_MS;
	}
	h->normal = (double)NS_PER_SEC * (double)h->normally / (double)h->took;
	return peer_request_is_late(h->took, h->normally);
}

/* It has just been answered, or pauses before it asks again. */
static bool is_between_requests(const struct hang *h)
{
	const struct chain_link *only = h->chain.links.v;

	if (h->assumed || h->unsure || h->life_normally || h->chain.links.n != 1)
		return false;
	return only->kind == CHAIN_RUNS || only->kind == CHAIN_SLEEPS || (only->kind == CHAIN_EVENTS && h->took);
}

/* Who is at the end mostly sleeps, and had a CPU just when it was looked at. */
static bool runs_by_chance(const struct dataset *d, uint32_t at, const struct hang *h)
{
	const struct chain_link *last = h->chain.links.n > 1 ? &h->chain.links.v[h->chain.links.n - 1] : NULL;
	const struct subject *s = last && last->kind == CHAIN_RUNS ? dataset_process(d, last->pid) : NULL;

	return s && subject_mean(d, s, FEATURE_CPU_TIME, begin_of(d, at), at) < MOSTLY_SLEEPS;
}

/* The chains of all; or, again, of those that are between two requests, or end at a program that happens to run. How many are; negative errno. */
static int find_chains(const struct dataset *d, uint32_t at, const struct chain_question *live, bool again, struct answer *a)
{
	int between = 0;

	VEC_EACH(h, a->hangs) {
		int r;

		if (again && !is_between_requests(h) && !runs_by_chance(d, at, h))
			continue;
		wait_chain_free(&h->chain);
		r = wait_chain_find(live, h->victim->info.pid, &h->chain);
		if (r < 0)
			return r;
		between += is_between_requests(h) || runs_by_chance(d, at, h);
	}
	return between;
}

/* For whom another user's process waits is not shown, and that it waits says nothing. */
static bool is_shown(const struct hang_question *q, const struct hang *h)
{
	return visibility(q->viewer, DATUM_EDGES, h->victim->info.uid) == SHOWN_WHOLE;
}

/* A process that is not among the recorded ones: of those that were, its name is known. */
static const struct subject *process_of(const struct dataset *d, uint32_t at, const struct chain_link *l, struct answer *a)
{
	const struct subject *known = dataset_process(d, l->pid);
	struct entity_info info = {.kind = ENTITY_PROCESS, .id = l->pid, .pid = l->pid, .name = (char *)l->comm};
	struct subject *s = known ? NULL : dataset_define(&a->unrecorded, &info);

	if (s)
		s->first = s->last = at;
	return known ?: s;
}

/* Who waits for a child, or reads what another program writes, waits for what that waits for: it is the one that wants something that hangs. */
static size_t only_waits_for_others(const struct hang *h)
{
	size_t n = 0, children = 0;

	if (h->took && !h->unsure && h->chain.links.n && h->chain.links.v[0].kind != CHAIN_CHILD)
		return 0; /* it has a conversation with the next one */
	while (children + 1 < h->chain.links.n && h->chain.links.v[children].kind == CHAIN_CHILD)
		children++;
	while (n + 1 < h->chain.links.n && !hang_link_wants(h, n) && (h->chain.links.v[n].kind == CHAIN_CHILD || h->chain.links.v[n].reads))
		n++;
	return hang_link_wants(h, n) ? n : children;
}

static int begin_where_wanted(const struct dataset *d, uint32_t at, struct hang *h, struct answer *a)
{
	size_t first = only_waits_for_others(h);

	if (!first)
		return 0;
	for (size_t i = 0; i < first; i++)
		free(h->chain.links.v[i].words);
	h->chain.links.n -= first;
	memmove(h->chain.links.v, h->chain.links.v + first, h->chain.links.n * sizeof(*h->chain.links.v));
	h->parent = h->victim;
	h->victim = process_of(d, at, &h->chain.links.v[0], a);
	return h->victim ? 0 : -ENOMEM;
}

/* The parent, which starts the program again and again, waits until it ends. */
static const struct subject *starter_of(const struct dataset *d, const struct hang *h)
{
	const struct subject *s = h->life_normally ? dataset_process(d, h->victim->info.parent) : NULL;

	return s && s->info.pid > 1 && !(s->info.flags & ENTITY_IS_KERNEL_THREAD) ? s : NULL;
}

static int find_ends(const struct dataset *d, uint32_t at, struct hang *h, struct answer *a)
{
	int r = begin_where_wanted(d, at, h, a);

	if (r < 0)
		return r;
	h->parent = h->parent ?: starter_of(d, h);
	if (!hang_is_explained(h) || hang_ends_elsewhere(h))
		return 0;
	h->culprit = process_of(d, at, &h->chain.links.v[h->chain.links.n - 1], a);
	if (!h->culprit)
		return -ENOMEM;
	h->culprit = h->culprit == h->victim ? NULL : h->culprit;
	return 0;
}

/* Several that wait for the same one say more than each alone. */
static void weigh_breadth(struct answer *a)
{
	for (size_t i = 0; i < a->hangs.n; i++) {
		struct hang *h = &a->hangs.v[i];

		for (size_t k = 0; h->culprit && k < a->hangs.n; k++)
			h->factors[EVIDENCE_BREADTH] += a->hangs.v[k].culprit == h->culprit;
	}
}

/* Two processes may wait for the same child: the first hang stays. */
static bool is_first(const struct answer *a, size_t kept, const struct hang *h)
{
	return !ANY_WHERE(i, kept, a->hangs.v[i].victim == h->victim);
}

static int look_up_chains(const struct dataset *d, const struct hang_question *q, const struct peer_requests *requests, struct file_locks *locks, struct process_memory *memory,
			  struct answer *a)
{
	_cleanup_(open_files_free) struct open_files files = {.proc_root = q->proc_root};
	struct chain_question live = {.proc_root = q->proc_root, .viewer = q->viewer, .requests = requests, .locks = locks, .files = &files, .trace = q->trace,
				      .memory = memory};
	int between = find_chains(d, q->at, &live, false, a), r = 0;
	size_t kept = 0;

	for (int i = 0; between > 0 && !q->pressed && i < AGAIN; i++) {
		usleep(AGAIN_AFTER);
		open_files_free(&files); /* they may have a new connection by now */
		between = find_chains(d, q->at, &live, true, a);
	}
	VEC_EACH(h, a->hangs) {
		bool counts = is_shown(q, h) && h->chain.links.n && !waits_for_us(h) && confirm(h);

		r = r ?: counts ? find_ends(d, q->at, h, a) : 0;
		if (r == 0 && counts && is_first(a, kept, h))
			a->hangs.v[kept++] = *h;
		else
			wait_chain_free(&h->chain);
	}
	a->hangs.n = kept;
	return between < 0 ? between : r;
}

static bool leads_through(const struct hang *h, uint32_t pid)
{
	for (size_t i = 1; i < h->chain.links.n; i++)
		if (h->chain.links.v[i].pid == pid)
			return true;
	return false;
}

static int put_limit_link(struct wait_chain *chain, uint32_t pid, const char *comm, const char *words, const char *role)
{
	struct chain_link link = {.pid = pid, .tid = pid, .kind = CHAIN_LIMIT, .words = strdup(words), .role = role};

	snprintf(link.comm, sizeof(link.comm), "%s", comm);
	if (!link.words || VEC_PUSH(chain->links, link) < 0) {
		free(link.words);
		return -ENOMEM;
	}
	return 0;
}

/* The wait of a process for what another one has used up is measured by its counters, and the end of its chain is that one, whatever else is found. */
static int add_limit(const struct dataset *d, const struct hang_question *q, const struct waiting *w, const struct exhausted_limit *u, uint32_t waits, struct answer *a)
{
	static const size_t of_network[] = {FEATURE_WAIT_NETWORK, FEATURE_WAIT_PEER};
	const struct subject *s = u->pid ? dataset_process(d, waits) : NULL;
	struct hang most = {.normal = NAN}, *h;
	_cleanup_str_ struct str words = {};
	int r;

	for (size_t i = 0; s && is_asked_about(s, q->at) && i < ARRAY_SIZE(of_network); i++) {
		struct hang one = subject_has(s, of_network[i]) ? hang_measured(d, q, w, s, of_network[i], HANG_LEAST) : most;

		if (one.now - one.normal > 0 && !(one.now - one.normal <= most.now - most.normal))
			most = one;
	}
	if (!most.victim || !is_shown(q, &most))
		return 0;
	h = hang_of(a, s);
	if (!h && VEC_PUSH(a->hangs, most) < 0)
		return -ENOMEM;
	h = h ?: &a->hangs.v[a->hangs.n - 1];
	wait_chain_free(&h->chain);
	*h = most;
	exhausted_limits_deed(u, &words);
	r = words.error ?: put_limit_link(&h->chain, waits, s->info.name, "waits for the network", NULL);
	r = r ?: put_limit_link(&h->chain, u->pid, u->comm, words.data, NULL);
	h->culprit = r == 0 ? process_of(d, q->at, &h->chain.links.v[1], a) : NULL;
	h->factors[EVIDENCE_EXCESS] = hang_excess(d, h);
	h->factors[EVIDENCE_NOVELTY] = hang_novelty(h->since, d->ticks.v[q->at].wall, q->incident);
	return r < 0 ? r : h->culprit ? 0 : -ENOMEM;
}

static int add_limits(const struct dataset *d, const struct hang_question *q, const struct waiting *w, struct answer *a)
{
	int r = 0;

	for (size_t i = 0; q->limits && i < q->limits->list.n; i++) {
		const struct exhausted_limit *u = &q->limits->list.v[i];

		for (uint32_t k = 0; r == 0 && k < u->waits.n; k++)
			r = add_limit(d, q, w, u, u->waits.pids[k], a);
	}
	return r;
}

/* A hang that another one's chain leads through is part of that: the first of that wants it, and it is as likely as the part. */
static bool is_part(struct answer *a, const struct hang *h)
{
	VEC_EACH(whole, a->hangs) {
		if (whole == h || whole->culprit != h->culprit || !leads_through(whole, h->victim->info.pid) || leads_through(h, whole->victim->info.pid))
			continue;
		if (whole->score < h->score) {
			memcpy(whole->factors, h->factors, sizeof(h->factors));
			whole->score = h->score;
		}
		return true;
	}
	return false;
}

/* Ordinary waiting is left out, and so is a part of another hang. */
static int weigh(const struct dataset *d, const struct hang_question *q, struct answer *a)
{
	_cleanup_free_ bool *parts = calloc(a->hangs.n + 1, sizeof(*parts));
	size_t kept = 0;

	if (!parts)
		return -ENOMEM;
	weigh_breadth(a);
	for (size_t i = 0; i < a->hangs.n; i++)
		hang_weigh(d, q->trace, q->proc_root, &a->hangs.v[i]);
	for (size_t i = 0; i < a->hangs.n; i++)
		parts[i] = a->hangs.v[i].culprit && is_part(a, &a->hangs.v[i]);
	for (size_t i = 0; i < a->hangs.n; i++) {
		struct hang *h = &a->hangs.v[i];

		if (h->score >= CREDIBLE && !parts[i])
			a->hangs.v[kept++] = *h;
		else
			wait_chain_free(&h->chain);
	}
	a->hangs.n = kept;
	return 0;
}

int hangs_find(const struct dataset *d, const struct hang_question *q, struct answer *a)
{
	_cleanup_(peer_requests_free) struct peer_requests requests = {};
	_cleanup_(file_locks_free) struct file_locks locks = {.proc_root = q->proc_root, .patience = q->patient ? LOCKS_PATIENCE_MOST : LOCKS_PATIENCE};
	_cleanup_(process_memory_free) struct process_memory memory = {};
	_cleanup_(waiting_free) struct waiting waiting = {};
	int r = q->trace ? peer_requests_find(q->trace, &requests) ?: find_waiting(q->trace, &waiting) : 0;

	r = r ?: collect(d, q, &waiting, a);
	r = r ?: add_late(d, q, &requests, a);
	r = r ?: add_retries(d, q, &locks, a);
	r = r ?: add_lock_files(d, q, &locks, &memory, a);
	r = r ?: add_longer(d, q, a);
	r = r ?: add_assumed(d, q, &requests, a);
	r = r ?: add_brief(d, q, a);
	if (r < 0)
		return r;
	for (size_t i = 0; i < a->hangs.n; i++) {
		a->hangs.v[i].factors[EVIDENCE_EXCESS] = hang_excess(d, &a->hangs.v[i]);
		a->hangs.v[i].factors[EVIDENCE_NOVELTY] = hang_novelty(a->hangs.v[i].since, d->ticks.v[q->at].wall, q->incident);
	}
	VEC_SORT(a->hangs, by_excess);
	a->hangs.n = a->hangs.n < HANGS_MOST ? a->hangs.n : HANGS_MOST; /* they have no chains yet */
	if (r == 0 && q->proc_root)
		r = look_up_chains(d, q, &requests, &locks, &memory, a);
	r = r ?: add_limits(d, q, &waiting, a) ?: weigh(d, q, a);
	if (r < 0)
		return r;
	VEC_SORT(a->hangs, by_score);
	for (size_t i = 0; r == 0 && i < a->hangs.n; i++)
		r = wait_chain_name(d, &a->hangs.v[i].chain);
	return r;
}

bool hang_is_of_limit(const struct hang *h)
{
	return h->chain.links.n && h->chain.links.v[0].kind == CHAIN_LIMIT;
}

/* The kind of thing for which it waits. */
static enum bottleneck hang_bottleneck(const struct hang *h)
{
	static const enum bottleneck of[CHAIN_KINDS] = {[CHAIN_FILE_LOCK] = BOTTLENECK_LOCK, [CHAIN_LOCK] = BOTTLENECK_LOCK, [CHAIN_DATABASE] = BOTTLENECK_LOCK,
							[CHAIN_REMOTE] = BOTTLENECK_REMOTE, [CHAIN_DISK] = BOTTLENECK_DISK, [CHAIN_FROZEN] = BOTTLENECK_DISK,
							[CHAIN_QUOTA] = BOTTLENECK_QUOTA, [CHAIN_LIMIT] = BOTTLENECK_NETWORK};
	const struct chain_link *links = h->chain.links.v;
	size_t n = h->chain.links.n;
	enum bottleneck b = n ? of[links[links[n - 1].kind == CHAIN_REMOTE ? n - 1 : 0].kind] : BOTTLENECK_PEER; /* a program between only passes it on */

	return b ? b : BOTTLENECK_PEER;
}

char *hang_words(const struct hang *h, int64_t at)
{
	const struct chain_link *links = h->chain.links.v;
	int64_t waited = at - h->since > h->took ? at - h->since : h->took; /* the answer came after the last tick */
	char *label = entity_label(&h->victim->info);
	bool at_times = hang_is_of_limit(h); /* it continues in between */
	struct str s = {};

	str_printf(&s, "%s (pid %u) has waited for ", label ? label : h->victim->program, h->victim->info.pid);
	if (at_times)
		str_printf(&s, "the network for %.0f %% of the last ", 100 * fmin(1, h->now / 1e9));
	str_puts(&s, CLOCK_SPAN(waited));
	free(label);
	if (h->took)
		str_printf(&s, " (the slowest answer takes %.2g s, normally %.2g s at most)", (double)h->took / 1e9, (double)h->normally / 1e9);
	if (h->life_normally)
		str_printf(&s, " (processes of this program normally end within %s)", CLOCK_SPAN(h->life_normally));
	for (size_t i = at_times; i < h->chain.links.n; i++) {
		str_puts(&s, i > at_times ? "; " : i ? ": " : ": it ");
		if (i) {
			str_printf(&s, "%s (pid %u)%s%s%s ", chain_link_name(&links[i]), links[i].pid, links[i].role ? ", " : "", links[i].role ? links[i].role : "", links[i].role ? "," : "");
		}
		str_puts(&s, links[i].words);
	}
	if (!h->chain.links.n)
		str_puts(&s, ", longer than ever before");
	if (h->chain.cycle)
		str_puts(&s, ", which is a deadlock");
	return s.error ? (str_free(&s), NULL) : s.data;
}

static int put_victim(struct ranking *r, size_t at, const struct subject *victim, const struct hang *h)
{
	struct suspect v = {.subject = victim, .score = h->score, .share = NAN, .of = hang_bottleneck(h), .members = 1};

	for (size_t i = at; victim && i < r->victims.n; i++)
		if (r->victims.v[i].subject == victim) {
			suspect_free(&r->victims.v[i]);
			r->victims.n--;
			memmove(&r->victims.v[i], &r->victims.v[i + 1], (r->victims.n - i) * sizeof(v));
		}
	if (!victim)
		return 0;
	if (VEC_PUSH(r->victims, v) < 0)
		return -ENOMEM;
	memmove(&r->victims.v[at + 1], &r->victims.v[at], (r->victims.n - 1 - at) * sizeof(v));
	r->victims.v[at] = v;
	return 0;
}

/* A program of which both are known is suspected for the one that says more. */
static int add_suspect(struct ranking *r, const struct hang *h)
{
	struct suspect one = {.subject = h->culprit, .probability = NAN, .share = NAN, .members = 1}, *s = NULL;

	for (size_t i = 0; i < r->suspects.n && !s; i++)
		if (strcmp(r->suspects.v[i].subject->program, h->culprit->program) == 0)
			s = &r->suspects.v[i];
	if (s && s->score >= h->score)
		return 0;
	if (!s && VEC_PUSH(r->suspects, one) < 0)
		return -ENOMEM;
	s = s ?: &r->suspects.v[r->suspects.n - 1];
	s->kind = CULPRIT_PROCESS;
	s->subject = h->culprit;
	s->of = hang_bottleneck(h);
	s->hang = h;
	s->score = h->score;
	s->continues = 1;
	s->explains = (struct explained){NAN, NAN, NAN, NAN}; /* who waits behind it is not added up */
	memcpy(s->factors, h->factors, sizeof(s->factors));
	return 0;
}

int hangs_add_suspects(struct answer *a)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->hangs.n; i++)
		r = a->hangs.v[i].culprit ? add_suspect(&a->ranking, &a->hangs.v[i]) : 0;
	ranking_weigh_recency(&a->ranking, a->slow_until);
	ranking_sort(&a->ranking);
	return r;
}

bool hang_counts_alone(const struct hang *h)
{
	return h->chain.links.n && !h->culprit && (hang_ends_elsewhere(h) || h->chain.links.v[0].unanswered);
}

int hang_tell(const struct hang *h, struct answer *a)
{
	int r = 0;

	a->told = h;
	a->slow_since = h->since;
	a->slow_until = 0;
	a->bottleneck = hang_bottleneck(h);
	for (size_t i = a->hangs.n; r == 0 && i-- > 0;) /* in their order */
		r = a->hangs.v[i].culprit && a->hangs.v[i].culprit == h->culprit ? put_victim(&a->ranking, 0, a->hangs.v[i].victim, &a->hangs.v[i]) : 0;
	r = r ?: put_victim(&a->ranking, 0, h->victim, h);
	return r ?: put_victim(&a->ranking, 1, h->parent, h);
}
