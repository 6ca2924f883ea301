/* Who works on whose behalf.
 *
 * Kernel threads work for others: writeback for who writes, page-out for who takes memory, soft interrupts for who sends
 * and receives. A server works for who asks: where it receives about as often more than usual as a program that has just
 * begun, and later than it, sends, or sends as much more as that one receives, most of its guilt is that program's. Where that is more than
 * what the program does itself, the program is named for what the server does for it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "machine/judge/robust.h"

#define ASKED_LEAST 100 /* calls a second beyond the usual: fewer are no load */
#define FETCHED_LEAST 2e5 /* bytes a second beyond the usual */
#define ALIKE	    0.5 /* sent and received: one has at least this share of the other */
#define ASKED_PART  0.75 /* of a server's guilt */
#define EMPLOYS	    0.005 /* guilt: less of it does not make the kernel work */
#define WORTH_TELLING 0.01

static const struct {
	const char *name; /* how a kernel thread's or soft interrupt's begins */
	enum bottleneck work;
} workers[] = {
	{"kworker", BOTTLENECK_DISK}, {"jbd2", BOTTLENECK_DISK},      {"flush", BOTTLENECK_DISK},
	{"loop", BOTTLENECK_DISK},    {"kswapd", BOTTLENECK_MEMORY},  {"kcompactd", BOTTLENECK_MEMORY},
	{"ksoftirqd", BOTTLENECK_NETWORK}, {"softirq", BOTTLENECK_NETWORK}, {"napi", BOTTLENECK_NETWORK},
};

static enum bottleneck work_of(const struct program *p)
{
	const char *name = p->members.v[0]->info.name ? p->members.v[0]->info.name : "";

	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		if (strncmp(name, workers[i].name, strlen(workers[i].name)) == 0)
			return workers[i].work;
	return BOTTLENECK_NONE;
}

static double score_in(const struct verdict *v, enum bottleneck of)
{
	double most = 0;

	for (size_t i = 0; i < USES; i++)
		if (uses[i].resource == of)
			most = fmax(most, v->guilt[i]);
	return most;
}

/* Not a kernel worker, nor a program whose whole score a job has. */
static bool may_employ(const struct verdict *v)
{
	return v->suspect.score > 0 && !robust_works_for_others(v->program);
}

/* Whoever is most guilty of using what the worker works on. */
static struct verdict *employer_of(struct robust *r, enum bottleneck work)
{
	struct verdict *best = NULL;
	double most = EMPLOYS;

	for (size_t i = 0; work != BOTTLENECK_NONE && i < r->verdicts.n; i++) {
		struct verdict *v = &r->verdicts.v[i];
		double guilt = may_employ(v) ? score_in(v, work) : 0;

		if (guilt > most) {
			most = guilt;
			best = v;
		}
	}
	return best;
}

static double bound_of(const struct verdict *v)
{
	double bound = v->suspect.factors[EVIDENCE_BOUND];

	return bound > 0 ? bound : 1;
}

static void name_for_server(struct verdict *client, const struct verdict *server)
{
	client->server = server->program;
	memcpy(client->of_server, server->guilt, sizeof(client->of_server));
	client->suspect.server = server->suspect.subject;
	client->suspect.of = server->suspect.of;
	client->suspect.imposed = server->suspect.imposed;
	client->suspect.share = server->suspect.share;
	client->suspect.continues = server->suspect.continues;
	/* it causes waits by what runs for it */
	robust_weigh(client, EVIDENCE_BOUND, bound_of(server) / bound_of(client));
}

static int move(struct verdict *from, struct verdict *to, double part, const char *because)
{
	double moved = part * from->suspect.score;
	bool told = moved >= WORTH_TELLING;
	char *text;

	if (moved > to->suspect.score && !robust_works_for_others(from->program))
		name_for_server(to, from);
	robust_weigh(to, EVIDENCE_ON_BEHALF, 1 + moved / to->suspect.score);
	robust_weigh(from, EVIDENCE_ON_BEHALF, 1 - part);
	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++) {
		to->used[b] = fmin(1, to->used[b] + part * from->used[b]);
		from->used[b] *= 1 - part;
		if (!isnan(from->charged[b])) {
			to->charged[b] = (isnan(to->charged[b]) ? 0 : to->charged[b]) + part * from->charged[b];
			from->charged[b] *= 1 - part;
		}
	}
	if (!told)
		return 0;
	if (asprintf(&text, "%s %s", from->program->members.v[0]->info.name ? from->program->members.v[0]->info.name : "?", because) < 0)
		return -ENOMEM;
	if (VEC_PUSH(to->suspect.evidence, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

/* When the first of its processes began, of all or of those that just have; where that is not known, was seen. INT64_MAX: none. */
static int64_t first_start(const struct robust *r, const struct program *p, bool lately)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		int64_t start = s->info.start ? (int64_t)s->info.start : r->d->ticks.v[s->first].boot;

		if (s->info.kind == ENTITY_PROCESS && (!lately || robust_began_lately(r, s)) && start < first)
			first = start;
	}
	return first;
}

/* Beyond the usual; less than `least` in all is none. */
static double more_of(struct robust *r, struct program *p, size_t feature, double least)
{
	double now = robust_program_now(r, p, feature);
	struct robust_baseline u;

	if (isnan(now) || now < least)
		return 0;
	u = robust_baseline(r, p, feature, now);
	return robust_excess(&u, now);
}

static double alike(double sent, double received)
{
	return sent > 0 && received > 0 ? fmin(sent, received) / fmax(sent, received) : 0;
}

/* What a server does beyond its usual, a second. */
struct served {
	double calls, bytes; /* received; sent */
};

/* What one sends the other receives: as many bytes, or calls (a server may need several to receive what was sent in one). Or what
 * is asked in few words is much that is sent. */
static double asks(struct robust *r, struct program *client, struct program *server, const struct served *s)
{
	double fetches = s->bytes > 0 ? alike(more_of(r, client, FEATURE_NET_RX_BYTES, FETCHED_LEAST), s->bytes) : 0;
	double calls = s->calls >= ASKED_LEAST ? more_of(r, client, FEATURE_NET_TX_CALLS, ASKED_LEAST) : 0;

	if (calls < ASKED_LEAST)
		return fetches;
	return fmax(fmax(fetches, alike(calls, s->calls)),
		    alike(more_of(r, client, FEATURE_NET_TX_BYTES, 0), more_of(r, server, FEATURE_NET_RX_BYTES, 0)));
}

static struct verdict *asker_of(struct robust *r, const struct verdict *server)
{
	struct served s = {more_of(r, server->program, FEATURE_NET_RX_CALLS, ASKED_LEAST),
			   more_of(r, server->program, FEATURE_NET_TX_BYTES, FETCHED_LEAST)};
	int64_t begun = first_start(r, server->program, false);
	struct verdict *best = NULL;
	double most = ALIKE;

	for (size_t i = 0; (s.calls >= ASKED_LEAST || s.bytes > 0) && i < r->verdicts.n; i++) {
		struct verdict *v = &r->verdicts.v[i];
		int64_t asked = first_start(r, v->program, true);
		double likeness;

		/* a server may have begun a process for it as well: it is the elder of the two all the same */
		if (v == server || !may_employ(v) || asked == INT64_MAX || asked <= begun ||
		    first_start(r, v->program, false) < begun)
			continue;
		likeness = asks(r, v->program, server->program, &s);
		if (likeness > most) {
			most = likeness;
			best = v;
		}
	}
	return best;
}

int robust_attribute_scores(struct robust *r)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < r->verdicts.n; i++) {
		struct verdict *v = &r->verdicts.v[i], *to;
		bool worker = robust_works_for_others(v->program);

		to = worker ? employer_of(r, work_of(v->program)) : asker_of(r, v);
		if (to)
			result = move(v, to, worker ? 1 : ASKED_PART, worker ? "(of the kernel) worked on its behalf" : "answered what it asked");
	}
	return result;
}
