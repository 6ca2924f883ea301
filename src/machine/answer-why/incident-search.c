#include "machine/answer-why/incident-search.h"

#include <math.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/answer-why/verdict.h"

#define OVER	      (3 * NS_PER_SEC)	/* a pressure that ended so long ago is over */
#define LATEST	     (10 * NS_PER_SEC) /* of a young recording: who is new here, beside those before? */
#define YOUNG	     (60 * NS_PER_SEC) /* ... of which so much is halved */
#define BEFORE_LEAST 6	 /* ticks before a trouble: with fewer nobody can be compared with before */

static uint64_t memory_of(const struct dataset *d, const struct subject *system, uint32_t at)
{
	double total = system ? subject_value(d, system, FEATURE_SYS_MEM_TOTAL, at) : NAN;

	if (isnan(total))
		return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	return (uint64_t)total;
}

static int measure(const struct dataset *d, const struct why_request *request, int64_t reaction,
		   struct method_question *q, struct shortages *ret)
{
	bool has_past = q->train_to >= q->train_from;
	int r = pressure_find(d, q, request->since, reaction, ret);

	if (r < 0)
		return r;
	/* the paper's model trains on all of the past; the others on what lies before the trouble */
	if (has_past && request->method != &method_gaussian)
		q->train_to = pressure_last_learnt(d, q, q->focus);
	/* a trouble that was there from the beginning has no past, and a second or two of it are none either */
	if (!request->since && q->train_to - q->train_from < BEFORE_LEAST)
		q->train_to = (int64_t)q->train_from - 1;
	q->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	q->memory = memory_of(d, pressure_system(d, q->at), q->at);
	return 0;
}

void incident_search_free(struct incident_search *l)
{
	charges_free(&l->charges);
	answer_free(&l->answer);
	*l = (struct incident_search){};
}

void incident_search_judge(struct incident_search *l, const struct dataset *d, const struct why_request *request, bool marked)
{
	const struct method_question *q = &l->q;
	struct answer *a = &l->answer;

	verdict_judge(a, q, &l->there, request->method, marked);
	l->pressed = verdict_is_pressed(a, &l->there);
	if (!a->slow_since && (l->pressed || request->since))
		a->slow_since = d->ticks.v[q->focus].wall - d->ticks.v[q->focus].span;
	if (l->pressed && a->at - d->ticks.v[q->at].wall > OVER)
		a->slow_until = d->ticks.v[q->at].wall;
}

/* q: the moment asked about and what is learnt from. 0 or -ENOMEM; *ret is the caller's either way. */
static int look_at(const struct dataset *d, const struct why_request *request,
		   const struct method_question *q, int64_t reaction, struct incident_search *ret)
{
	int r;

	*ret = (struct incident_search){.q = *q, .answer.confidence = NAN};
	r = measure(d, request, reaction, &ret->q, &ret->there);
	ret->answer.at = request->at;
	ret->answer.window_start = d->ticks.v[ret->q.train_from].wall;
	ret->answer.window_end = d->ticks.v[ret->q.at].wall;
	ret->answer.recorded = d->ticks.v[ret->q.at].elapsed - d->ticks.v[ret->q.train_from].elapsed;
	ret->answer.has_history = ret->q.train_to - ret->q.train_from >= 30;
	if (r == 0 && request->trace && request->method == &method_blame)
		r = charges_of_trace(request->trace, d, ret->q.focus, ret->q.at, &ret->charges);
	ret->q.charges = &ret->charges;
	r = r ?: request->method->rank(d, &ret->q, &ret->answer.ranking);
	if (r == 0)
		incident_search_judge(ret, d, request, false);
	return r;
}

/* What was looked at takes the place of what was before. */
static void incident_search_replace(struct incident_search *l, struct incident_search *by)
{
	incident_search_free(l);
	*l = *by;
	l->q.charges = &l->charges;
}

/* In a young recording a trouble may reach back to its beginning, and nothing is left to compare with. Either it began before,
 * or the machine is always like that and somebody came on top: who is new in the last seconds, beside those before? */
static int look_at_what_is_new(const struct dataset *d, const struct why_request *request, const struct method_question *q, struct incident_search *ret)
{
	uint32_t at = ret->q.at, latest = pressure_tick_before(d, at, LATEST);
	uint32_t middle = at - (at - pressure_tick_before(d, at, YOUNG)) / 2;
	struct why_request lately = *request;
	struct incident_search here;
	int r;

	lately.since = d->ticks.v[latest > middle ? latest : middle].wall;
	r = look_at(d, &lately, q, PRESSURE_REACTION, &here);
	if (r < 0 || !here.answer.culprit_is_named || here.answer.confidence < ret->answer.confidence) {
		incident_search_free(&here);
		return r;
	}
	here.answer.slow_since = ret->answer.slow_since;
	incident_search_replace(ret, &here);
	return 0;
}

/* A machine that is slow since the recorder began is compared with itself, and nothing stands out. Until there is a past, pressures
 * and shares decide: the search runs as if nothing was recorded before. */
static int look_without_past(const struct dataset *d, const struct why_request *request, const struct method_question *q, struct incident_search *ret)
{
	struct method_question alone = *q;
	struct incident_search here;
	int r;

	alone.train_to = (int64_t)q->train_from - 1;
	r = look_at(d, request, &alone, PRESSURE_REACTION, &here);
	if (r == 0 && here.answer.culprit_is_named)
		incident_search_replace(ret, &here);
	else
		incident_search_free(&here);
	return r;
}

/* How far the one that is named stands out; 0 = none is. */
static double stands_out(const struct incident_search *l)
{
	return l->answer.culprit_is_named ? l->answer.ranking.suspects.v[0].score : 0;
}

/* Where the pressures point to a moment shortly before, it may be something else that somebody pressed the button for: the moment of the press
 * counts if somebody stands out more there. */
static int look_at_the_press(const struct dataset *d, const struct why_request *request, const struct method_question *q, struct incident_search *ret)
{
	struct incident_search here;
	int r = look_at(d, request, q, 0, &here);

	if (r == 0 && stands_out(&here) > stands_out(ret))
		incident_search_replace(ret, &here);
	else
		incident_search_free(&here);
	return r;
}

int incident_search_run(const struct dataset *d, const struct why_request *request, const struct method_question *q, struct incident_search *ret)
{
	int r = look_at(d, request, q, PRESSURE_REACTION, ret);

	if (r < 0 || request->method != &method_blame || request->since)
		return r;
	if (ret->pressed && ret->q.train_to < ret->q.train_from)
		return look_at_what_is_new(d, request, q, ret);
	if (ret->q.at != q->at)
		r = look_at_the_press(d, request, q, ret);
	if (r == 0 && ret->there.always && !ret->answer.slow)
		r = look_without_past(d, request, q, ret);
	return r;
}
