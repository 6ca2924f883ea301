#include "machine/answer-why/why.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/answer-live/remote-peers.h"
#include "machine/answer-waits/collector.h"
#include "machine/answer-waits/exhausted-limits.h"
#include "machine/answer-waits/hangs.h"
#include "machine/answer-waits/using.h"
#include "machine/answer-why/facts.h"
#include "machine/answer-why/incident-search.h"
#include "machine/answer-why/marked-times.h"
#include "machine/answer-why/past.h"
#include "machine/answer-why/pressure.h"
#include "machine/answer-why/verdict.h"
#include "machine/answer-why/words.h"
#include "machine/model/name-limit.h"

#define NEAR_ENOUGH   (30 * NS_PER_SEC) /* the recording must reach this close to the moment asked about */
#define NOTES_MAX     5
#define CHANGE_BEFORE (600 * NS_PER_SEC) /* software that changed so long before the incident may be its reason: its services start again */
#define MARKS_BEFORE  (600 * NS_PER_SEC) /* a press belongs to what went before it and follows it: one before the window reaches into it */
#define MARK_BEFORE   (60 * NS_PER_SEC) /* a marked incident began before its press ... */
#define EXACT_PAST \
	(4 * 3600 * NS_PER_SEC) /* ... for so long before the trouble, and before that from summaries */
#define HOUR	   (3600 * NS_PER_SEC)
#define CENSUS_PATIENCE (30 * NS_PER_MS) /* what 1,500 processes take; the first line is due after 300 ms */
#define MARK_AFTER (10 * NS_PER_SEC) /* ... and goes on after it */
#define MARK_BEFORE_LEAST (10 * NS_PER_SEC) /* ... however many marks there are */
#define PAST_ENOUGH   60 /* ticks to compare with */
#define UPGRADES_REACH (30 * 24 * HOUR) /* no upgrade is looked for further back */
#define USED_UP	      0.98 /* of a limit: what needs one more waits or fails */
#define HANG_MATTERS  0.2 /* of the first suspect's score */

/* What a person called slow is not normal. What a rule caught may come every night, and is learnt from. */

/* How many ticks lie from `before` ns before a mark to MARK_AFTER behind it; negative errno. */
static ssize_t exclude_before(const struct dataset *d, const struct why_request *request, int64_t before, bool *excluded)
{
	struct marked_times marked;
	ssize_t n = marked_times_collect(request->marks, request->n_marks, before, MARK_AFTER, false, request->at, &marked);

	for (size_t t = 0; n >= 0 && t < d->ticks.n; t++) {
		excluded[t] = marked_times_touch(&marked, d->ticks.v[t].wall, d->ticks.v[t].wall);
		n += excluded[t];
	}
	marked_times_free(&marked);
	return n;
}

static bool leaves_past(const struct dataset *d, ssize_t excluded)
{
	size_t left = d->ticks.n - (size_t)excluded;

	return left >= PAST_ENOUGH || left >= d->ticks.n / 2;
}

/* Where marks leave no past each takes less, and at last nothing: without a past everything would be unusual. */
static int exclude_marks(const struct dataset *d, const struct why_request *request, bool **ret)
{
	_cleanup_free_ bool *excluded = calloc(d->ticks.n + 1, sizeof(*excluded));
	int64_t before = MARK_BEFORE;
	ssize_t n = excluded ? exclude_before(d, request, before, excluded) : -ENOMEM;

	for (; n >= 0 && !leaves_past(d, n) && before >= MARK_BEFORE_LEAST; before /= 2)
		n = exclude_before(d, request, before / 2, excluded);
	if (n < 0)
		return (int)n;
	if (!leaves_past(d, n))
		memset(excluded, 0, d->ticks.n * sizeof(*excluded));
	for (size_t t = 0; request->baseline == BASELINE_SAME_HOUR && t < d->ticks.n; t++)
		excluded[t] |= !store_is_same_hour_before(d->ticks.v[t].wall, request->at);
	*ret = TAKE(excluded);
	return 0;
}

static int remark(struct answer *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int remark(struct answer *a, const char *format, ...)
{
	struct str text = {};
	va_list args;

	va_start(args, format);
	str_vprintf(&text, format, args);
	va_end(args);
	if (text.error || VEC_PUSH(a->remarks, text.data) < 0)
		str_free(&text);
	return 0;
}

static bool is_meant(const struct suspect *s, const void *only)
{
	return entity_matches(&s->subject->info, only);
}

/* Where no other day has this hour there is nothing to compare with. */
static bool has_baseline(const struct method_question *q)
{
	size_t n = 0;

	for (uint32_t t = q->train_from; t < q->at && n < PAST_ENOUGH; t++)
		n += !q->excluded[t];
	return n >= PAST_ENOUGH;
}

static void set_window(const struct dataset *d, const struct why_request *request, struct method_question *q)
{
	int64_t from = request->at - request->window;

	if (request->block)
		from = request->at / request->window * request->window;
	q->train_from = 0;
	while (q->train_from < q->at && d->ticks.v[q->train_from].wall < from)
		q->train_from++;
	q->train_to = (int64_t)q->at - 1;
	if (request->baseline == BASELINE_SAME_HOUR && q->excluded && !has_baseline(q))
		q->train_to = (int64_t)q->train_from - 1;
	if (request->block) {
		q->train_to = (int64_t)d->ticks.n - 1;
		while (q->train_to > q->at && d->ticks.v[q->train_to].wall >= from + request->window)
			q->train_to--;
	}
}

/* Programs without a name of their own in the recording cannot be named by an answer either. */
static void add_folded(struct answer *a, const struct dataset *d, const struct method_question *q)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double folded = s->info.kind == ENTITY_SYSTEM ? subject_growth(d, s, FEATURE_SYS_FOLDED_NAMES, q->focus, q->at) : 0;

		if (folded < 1)
			continue;
		remark(a, "more programs were started than are recorded one by one: %.0f are summed by name, and as " NAME_OF_OTHERS, folded);
		return;
	}
}

/* Kernel messages of the incident, starts and ends of the machine, and software that changed in the incident or shortly before it. */
static void add_notes(struct answer *a, const struct dataset *d, const struct method_question *q)
{
	int64_t trouble = d->ticks.v[q->focus].wall - MARK_BEFORE;
	const struct note *changed = NULL;
	unsigned listed = 0, changes = 0;

	for (size_t i = d->notes.n; i-- > 0;) {
		const struct note *note = &d->notes.v[i];

		if (note->wall > a->at)
			continue;
		if (note->kind == NOTE_PACKAGE) {
			changed = changed ?: note;
			changes += note->wall >= trouble - CHANGE_BEFORE;
		} else if (listed < NOTES_MAX && (note->kind == NOTE_BOOT || note->kind == NOTE_ENDED || (note->kind != NOTE_RECORDER && note->wall >= trouble))) {
			remark(a, "%s: %s", CLOCK_LOCAL(note->wall), note->text);
			listed++;
		}
	}
	if (changes > 1)
		remark(a, "%s: %s, the last of %u packages", CLOCK_LOCAL(changed->wall), changed->text, changes);
	else if (changes)
		remark(a, "%s: %s", CLOCK_LOCAL(changed->wall), changed->text);
}

struct loader {
	struct extract *extract;
	struct past *past;
	struct why_data *data;
	const struct why_request *request;
	feature_set features;  /* of processes */
	struct hmap wanted; /* those of which the other features are wanted, by identity */
};

/* All of the machine's parts are read: few, and what says that it is the machine's fault. */
static bool is_program(const struct entity_info *info)
{
	return entity_is_program(info) ||
	       info->kind == ENTITY_KERNEL;
}

static feature_set first_features(const struct entity_info *info, void *context)
{
	const struct loader *loader = context;

	return is_program(info) ? loader->features : FEATURES_ALL;
}

/* A process keeps its (pid, start) when a new recorder gives it another id. */
static uint64_t identity(const struct entity_info *info)
{
	return info->kind == ENTITY_PROCESS ? info->pid : 1ull << 32 | info->id;
}

static feature_set wanted_features(const struct entity_info *info, void *context)
{
	const struct loader *loader = context;

	return hmap_get(&loader->wanted, identity(info), info->start) ? ~loader->features : 0;
}

static int widen(void *context, const struct subject *const *subjects, size_t n, const struct dataset **ret)
{
	struct loader *loader = context;
	struct load_filter filter = {wanted_features, loader, NULL};
	unsigned damaged;
	int r = 0;

	dataset_free(&loader->data->more); /* of an earlier look */
	for (size_t i = 0; r == 0 && i < n; i++)
		r = hmap_put(&loader->wanted, identity(&subjects[i]->info), subjects[i]->info.start, loader);
	r = r ?: extract_load(loader->extract, &filter, &loader->data->more, &damaged);
	hmap_free(&loader->wanted);
	r = r ?: dataset_hide(&loader->data->more, &loader->request->viewer);
	*ret = &loader->data->more;
	return r;
}

static const struct older_stretch *older(void *context, enum entity_kind kind, const char *program,
					 size_t feature, size_t *ret_n)
{
	const struct loader *loader = context;

	return past_find(loader->past, kind, program, feature, ret_n);
}

/* A long window is read tick by tick only at its end. */
static int64_t exact_from(const struct why_request *request, const struct method *method)
{
	int64_t from = request->since && request->since < request->at ? request->since : request->at;

	if (request->window <= WHY_EXACT_MAX || request->has_gaps || request->baseline == BASELINE_SAME_HOUR || request->block || !method->features)
		return request->at - request->window;
	from = (from - EXACT_PAST) / HOUR * HOUR;
	return from < request->at - request->window ? request->at - request->window : from;
}

static void tell_past(struct answer *a, const struct past *past, int64_t exact)
{
	if (!past->from)
		return;
	a->window_start = past->from;
	a->recorded += past->recorded;
	remark(a, "the baseline before %s comes from hourly summaries",
	       CLOCK_LOCAL(exact));
}

/* Of several the one that was there last. */
static const struct subject *who_is_meant(const struct dataset *d, const struct method_question *q,
					  const char *only)
{
	const struct subject *found = NULL;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->first <= q->at && (!found || s->last > found->last) && entity_matches(&s->info, only))
			found = s;
	}
	return found;
}

/* Judged is the whole machine, told is one: whoever else is guilty is in the sentence all the same. */
static void tell_only(struct answer *a, const struct dataset *d, const struct method_question *q,
		      const char *only)
{
	const struct subject *meant = who_is_meant(d, q, only);
	struct ranking *r = &a->ranking;

	a->culprit_is_named = a->culprit_is_named && entity_matches(&r->suspects.v[0].subject->info, only);
	suspects_keep(r->suspects.v, &r->suspects.n, is_meant, only);
	suspects_keep(r->victims.v, &r->victims.n, is_meant, only);
	if (!meant)
		remark(a, "no process, unit or name '%s' was recorded; 'whyslow show' lists them", only);
	else if (!r->suspects.n && !r->victims.n)
		remark(a, "%s is not the cause, and waited no longer than normally for CPU, disk or memory: "
		       "'whyslow why %u' shows what else it waits for", only, meant->info.pid);
}

/* The victim that somebody is using comes first. */
static void find_used(struct ranking *r, const char *proc_root)
{
	for (size_t i = 0; i < r->victims.n; i++) {
		struct suspect victim = r->victims.v[i];

		if (!using_in_foreground(proc_root, victim.subject->info.pid))
			continue;
		victim.using = true;
		memmove(&r->victims.v[1], &r->victims.v[0], i * sizeof(victim));
		r->victims.v[0] = victim;
		return;
	}
}

/* Where it is slow and no program stands out, whoever is listed is accused. */
static void set_suspects_aside(struct answer *a)
{
	a->unnamed.v = a->ranking.suspects.v;
	a->unnamed.n = a->ranking.suspects.n;
	a->unnamed.allocated = a->ranking.suspects.allocated;
	a->ranking.suspects.v = NULL;
	a->ranking.suspects.n = a->ranking.suspects.allocated = 0;
}

/* Who is accused waits for itself, and for those for whom it makes things short: that slows nobody else. */
static bool is_of_another(const struct suspect *victim, const void *first)
{
	const struct suspect *top = first;
	bool own = victim->subject == top->subject || victim->subject == top->busiest;

	if (top->kind != CULPRIT_PROCESS && top->kind != CULPRIT_GROUP)
		return true;
	for (size_t i = 0; i < top->together.n && !own; i++)
		own = top->together.v[i] == victim->subject;
	own = own || (top->server && strcmp(top->server->program, victim->subject->program) == 0);
	return !own && !(top->kind == CULPRIT_GROUP && strcmp(top->subject->program, victim->subject->program) == 0);
}

static void forget_baselines(struct suspect *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < of[i].features.n; k++)
			of[i].features.v[k].usual = of[i].features.v[k].spread = NAN;
}

/* How often such an answer was right is only known with a past, and so is how much of the waiting is more than normal, and what is normal at all. */
static void forget_what_takes_a_past(struct answer *a)
{
	a->confidence = a->ranking.unexplained = NAN;
	a->ranking.own = false;
	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		a->pressure.usual[b] = NAN;
	forget_baselines(a->ranking.suspects.v, a->ranking.suspects.n);
	forget_baselines(a->ranking.victims.v, a->ranking.victims.n);
	forget_baselines(a->unnamed.v, a->unnamed.n);
	for (size_t i = 0; i < a->ranking.suspects.n; i++)
		a->ranking.suspects.v[i].explains = (struct explained){NAN, NAN, NAN, NAN};
	remark(a, "there is no past to compare with: judged by pressure and shares alone, so how sure this is, and how much of the waiting it explains, is not known");
}

static int find_used_up(const struct dataset *d, const struct why_request *request, uint32_t at, struct exhausted_limits *ret)
{
	int64_t until = request->events_until ? clock_monotonic() + CENSUS_PATIENCE : INT64_MAX;

	return request->live_root ? exhausted_limits_find(d, at, request->live_root, "/sys/fs/cgroup", &request->viewer, until, ret) : 0;
}

/* The fullest limit that is used up may be the cause. */
static int add_limit(const struct exhausted_limits *limits, struct facts *facts)
{
	const struct exhausted_limit *u = limits->list.n ? &limits->list.v[0] : NULL;
	struct str words = {};

	if (!u || (double)u->used < USED_UP * (double)u->limit)
		return 0;
	exhausted_limits_claim(u, &words);
	facts->clauses[CLAUSE_LIMIT] = words.data;
	facts->clauses[CLAUSE_ADVICE] = u->next ? strdup(u->next) : NULL;
	return words.error || (u->next && !facts->clauses[CLAUSE_ADVICE]) ? -ENOMEM : 0;
}

/* Known where there are events of that moment. */
static int add_collector(const struct why_request *request, const struct answer *a, struct facts *facts)
{
	double share = request->trace && facts->named && a->ranking.suspects.n ? collector_share(request->trace, facts->culprit.pid) : NAN;
	struct fact fact = {.of = FACT_CULPRIT, .feature = fact_derived_feature("collector", NULL), .now = 1000 * share, .usual = NAN, .spread = NAN};

	return isnan(share) ? 0 : facts_add(facts, fact);
}

/* The cause, and all of it in words. */
static int explain(const struct dataset *d, const struct loader *loader, const struct method_question *q, const struct why_request *request,
		   const struct exhausted_limits *limits, struct answer *a)
{
	bool widened = loader && loader->data->more.ticks.n == d->ticks.n;
	const struct dataset *wide = widened ? &loader->data->more : d;
	_cleanup_(causes_free) struct causes built_in = {};
	const struct causes *causes = request->causes;
	struct facts facts;
	int r = causes ? 0 : causes_default(&built_in);

	r = r ?: facts_of_answer(d, wide, widened ? loader->features : FEATURES_ALL, q, a, &facts);
	if (r < 0)
		return r;
	r = add_limit(limits, &facts) ?: add_collector(request, a, &facts);
	if (r < 0) {
		facts_free(&facts);
		return r;
	}
	if (!words_are_there(a) && a->has_history) {
		a->busiest = a->ranking.busiest;
		a->ranking.busiest = (struct suspect){};
	}
	r = words_of_answer(a, &facts, causes ? causes : &built_in);
	if (r == 0 && request->ret_facts)
		*request->ret_facts = facts;
	else
		facts_free(&facts);
	return r;
}

/* An answer in time from counters is worth more than a late one. Asked once: what is compared must be measured alike. Where there are none
 * although they were asked for, they were late, too. */
static bool leave_out_late_events(struct why_request *r)
{
	bool late = r->events_until && (!r->trace || clock_monotonic() > r->events_until);

	if (late)
		r->trace = NULL;
	return late;
}

/* Who waits in calls of the network, and has no connection to another machine, waits for a program here: that is the one to be suspected. */
static bool waits_elsewhere(const struct suspect *s, const void *live_root)
{
	_cleanup_(open_files_free) struct open_files files = {.proc_root = live_root};

	return !live_root || s->kind != CULPRIT_HOST || s->subject->info.kind != ENTITY_PROCESS || remote_peers_find(&files, s->subject->info.pid) != 0;
}

/* Programs that wait for others are judged with those that take what is short. */
static int judge_hangs(const struct dataset *d, const struct why_request *request, uint32_t at, const struct exhausted_limits *limits, struct incident_search *look)
{
	struct answer *a = &look->answer;
	struct hang_question q = {.at = at, .excluded = look->q.excluded, .trace = request->trace, .proc_root = request->live_root, .viewer = &request->viewer,
				  .patient = request->patient, .pressed = look->pressed, .incident = a->slow_since, .limits = limits};
	int r = hangs_find(d, &q, a);

	suspects_keep(a->ranking.suspects.v, &a->ranking.suspects.n, waits_elsewhere, request->live_root);
	r = r ?: hangs_add_suspects(a);
	if (r == 0)
		incident_search_judge(look, d, request, request->marked);
	return r;
}

/* Packets may always be delayed like that: it counts where the program that waits for them does so longer than before. */
static void forget_unfelt_delays(const struct answer *a, struct exhausted_limits *limits)
{
	size_t kept = 0;

	VEC_EACH(u, limits->list) {
		bool felt = ANY_WHERE(i, a->hangs.n, hang_is_of_limit(&a->hangs.v[i]) && a->hangs.v[i].chain.links.v[1].pid == u->pid);

		if (!u->says || !u->waits.n || felt)
			limits->list.v[kept++] = *u;
	}
	limits->list.n = kept;
}

/* Several workers of one server that wait for the same are one reason. */
static double score_of_program(const struct answer *a, const struct hang *h)
{
	double sum = 0;

	VEC_EACH(other, a->hangs)
		sum += hang_counts_alone(other) && strcmp(other->victim->program, h->victim->program) == 0 ? other->score : 0;
	return sum;
}

/* The hang that the answer is about: the first suspect's, or where none is named the one that counts most by itself. */
static const struct hang *hang_to_tell(const struct answer *a)
{
	if (a->culprit_is_named)
		return a->ranking.suspects.v[0].hang;
	for (size_t i = 0; a->slow && i < a->hangs.n; i++)
		if (hang_counts_alone(&a->hangs.v[i]))
			return score_of_program(a, &a->hangs.v[i]) >= a->odds.unlisted_score / 2 ? &a->hangs.v[i] : NULL;
	return NULL;
}

/* Another hang that is as likely as a suspect that matters is worth a remark. */
static int remark_hang(struct answer *a)
{
	const struct hang *h = a->slow && a->hangs.n ? &a->hangs.v[0] : NULL;
	_cleanup_free_ char *words = NULL;

	if (!h || h == a->told || !h->chain.links.n || (a->ranking.suspects.n && h->score < HANG_MATTERS * a->ranking.suspects.v[0].score))
		return 0;
	words = hang_words(h, a->at);
	return words ? remark(a, "besides that, %s", words) : -ENOMEM;
}

/* Limits that are reached make programs fail or wait, whatever else is slow. */
static int tell_used_up(const struct exhausted_limits *found, struct answer *a)
{
	bool is_said = (a->cause && strcmp(a->cause, "limit") == 0) || (a->told && hang_is_of_limit(a->told));
	int r = 0;

	for (size_t i = 0; r == 0 && i < found->list.n && i < USED_UP_TOLD; i++) {
		struct str words = {};

		exhausted_limits_words(&found->list.v[i], &words);
		if (words.error)
			r = -ENOMEM;
		else if (!is_said || i)
			remark(a, "%s", words.data);
		str_free(&words);
	}
	return r;
}

static const char *const normally_when[] = {[BASELINE_WINDOW] = "", [BASELINE_SAME_HOUR] = " at this hour", [BASELINE_UPGRADE] = " since software changed"};

static int answer_with(struct dataset *d, const struct why_request *request, struct loader *loader,
		       struct answer *ret)
{
	struct why_request r = *request;
	struct method_question q = {.tolerance = NEAR_ENOUGH,
			     .widen = loader ? widen : NULL,
			     .older = loader && loader->past->histories.n ? older : NULL,
			     .context = loader};
	_cleanup_(incident_search_free) struct incident_search look = {};
	_cleanup_(exhausted_limits_free) struct exhausted_limits limits = {};
	_cleanup_free_ double *waited = NULL;
	_cleanup_free_ bool *excluded = NULL;
	int at = dataset_find_wall(d, request->at), result;
	const struct hang *hang;
	struct answer *a = &look.answer;
	bool late;

	if (at < 0 || request->at - d->ticks.v[at].wall > NEAR_ENOUGH)
		return -ENODATA;
	if (!r.method)
		r.method = methods[0];
	q.at = (uint32_t)at;
	if (dataset_hide(d, &request->viewer) < 0 || (!r.block && exclude_marks(d, request, &excluded) < 0))
		return -ENOMEM;
	q.excluded = excluded;
	set_window(d, &r, &q);
	if (r.method == &method_blame && pressure_sum_waited(d, &waited) < 0)
		return -ENOMEM;
	q.waited = waited;
	late = leave_out_late_events(&r);
	result = incident_search_run(d, &r, &q, &look);
	if (result < 0)
		return result;
	if (loader)
		tell_past(a, loader->past, a->window_start);
	result = find_used_up(d, request, (uint32_t)at, &limits);
	if (result == 0 && r.method == &method_blame)
		result = judge_hangs(d, &r, (uint32_t)at, &limits, &look);
	if (result < 0)
		return result;
	forget_unfelt_delays(a, &limits);
	if (request->proc_root)
		find_used(&a->ranking, request->proc_root);
	verdict_choose_bottleneck(a, look.pressed, &look.there);
	hang = hang_to_tell(a);
	if (a->culprit_is_named)
		suspects_keep(a->ranking.victims.v, &a->ranking.victims.n, is_of_another, &a->ranking.suspects.v[0]);
	else if (a->slow)
		set_suspects_aside(a);
	if (hang)
		result = hang_tell(hang, a);
	result = result ?: remark_hang(a);
	if (result < 0)
		return result;
	if (!a->has_history)
		forget_what_takes_a_past(a);
	a->normally_when = normally_when[request->baseline];
	result = explain(d, loader, &look.q, &r, &limits, a);
	if (result < 0)
		return result;
	result = tell_used_up(&limits, a);
	if (result < 0)
		return result;
	a->events_are_late = late;
	if (late)
		remark(a, "this answer is from counters alone, to be in time: 'whyslow why --wait' also says which program waited for which");
	if (request->only)
		tell_only(a, d, &look.q, request->only);
	add_folded(a, d, &look.q);
	add_notes(a, d, &look.q);
	*ret = *a;
	look.answer = (struct answer){};
	return 0;
}

int why_answer(struct dataset *d, const struct why_request *request, struct answer *ret)
{
	return answer_with(d, request, NULL, ret);
}

static feature_set no_features(const struct entity_info *info, void *context)
{
	(void)info;
	(void)context;
	return 0;
}

/* "upgraded nginx:amd64 from 1.22 to 1.24": is that of the package? */
static bool is_of_package(const char *change, const char *package)
{
	size_t n = package ? strlen(package) : 0;
	const char *name = strchr(change, ' ');

	return !package || (name && strncmp(name + 1, package, n) == 0 && strchr(":- ", name[1 + n]));
}

/* The window begins where software changed last. */
static int settle_upgrade(struct store *store, struct why_request *request, struct why_data *data)
{
	_cleanup_(dataset_free) struct dataset d = {};
	const struct note *last = NULL;
	unsigned damaged;
	int r = store_load_entities(store, request->at - UPGRADES_REACH, request->at, no_features, NULL, &d, &damaged);

	if (r < 0)
		return r;
	VEC_EACH(note, d.notes)
		if (note->kind == NOTE_PACKAGE && note->wall < request->at && is_of_package(note->text, request->package) && (!last || note->wall >= last->wall))
			last = note;
	if (!last)
		return -ENOPKG;
	request->window = request->at - last->wall;
	free(data->upgrade);
	data->upgrade = strdup(last->text);
	return data->upgrade ? 0 : -ENOMEM;
}

/* The chosen past in words. */
static int say_baseline(const struct why_request *request, const struct why_data *data, struct answer *a)
{
	int r = 0;

	if (request->baseline == BASELINE_SAME_HOUR && a->has_history)
		r = asprintf(&a->baseline, "the same hour of the days before, since %s", CLOCK_LOCAL(a->window_start));
	else if (request->baseline == BASELINE_UPGRADE)
		r = asprintf(&a->baseline, "the %s recorded since software changed: %s", CLOCK_SPAN(a->recorded), data->upgrade);
	return r < 0 ? -ENOMEM : 0;
}

const char *why_reason(struct store *store, int r)
{
	return r == -ENOPKG	? "no such change of software is recorded in the last 30 days: leave out --baseline" :
	       r == -ENOMEDIUM ? "--elsewhere is a recording of another machine, or a folder of them (HOST.db), and there is none" :
				 store_reason(store, r);
}

int why_extract(struct store *store, const struct why_request *request, int64_t from, int64_t to, struct extract **ret)
{
	return request->baseline == BASELINE_SAME_HOUR ? store_extract_same_hour(store, from, request->at, ret) : store_extract(store, from, to, ret);
}

int why_settle(struct store *store, struct why_request *request, struct why_data *data)
{
	int64_t first, last = 0, from;
	int r = request->now ? store_extent(store, &first, &last) : 0;

	if (r < 0)
		return r;
	if (last && last < request->at)
		request->at = last;
	if (request->baseline == BASELINE_UPGRADE) {
		r = settle_upgrade(store, request, data);
		if (r < 0)
			return r;
	}
	if (request->recorded && request->baseline == BASELINE_WINDOW && !request->block && store_extend_window(store, request->at, request->window, &from) == 0) {
		request->has_gaps = request->at - from > request->window && request->window <= WHY_EXACT_MAX;
		request->window = request->at - from;
	}
	request->now = request->recorded = false;
	if (request->marks)
		return 0;
	r = store_marks(store, request->at - request->window - MARKS_BEFORE, request->at, &data->marks, &data->n_marks);
	request->marks = data->marks;
	request->n_marks = data->n_marks;
	return r;
}

/* Other machines' recordings, and in words which were read and which were not. */
static int add_elsewhere(struct past *past, const struct store *store, const struct why_request *request, struct str *remarks)
{
	const char *path = request->elsewhere;
	_cleanup_free_ char *left_out = NULL;
	size_t read;
	int r = past_read_elsewhere(past, path, store_file(store), request->at, &read, &left_out);

	if (r < 0)
		return r;
	if (!read)
		str_printf(remarks, "no other recording was read (%s): %s", path, left_out);
	else
		str_printf(remarks, "normally includes what %zu other recording%s %s of the same programs (%s)%s%s", read, read == 1 ? "" : "s", read == 1 ? "says" : "say", path,
		   left_out ? "; not read: " : "", left_out ? left_out : "");
	return remarks->error;
}

static int answer_settled(struct store *store, const struct why_request *request, struct why_data *data, struct answer *ret)
{
	const struct method *method = request->method ? request->method : methods[0];
	struct past past = {};
	struct loader loader = {.past = &past, .data = data, .request = request};
	struct load_filter filter = {first_features, &loader, NULL};
	int64_t to = request->at + (request->block ? request->window : 0);
	int64_t from = request->at - request->window, exact = exact_from(request, method);
	_cleanup_str_ struct str elsewhere = {};
	int r = why_extract(store, request, exact, to, &loader.extract);

	if (r < 0)
		return r;
	if (exact > from)
		r = past_read(&past, store, from, exact - NS_PER_SEC, request->marks, request->n_marks);
	if (request->elsewhere)
		r = r ?: add_elsewhere(&past, store, request, &elsewhere);
	past_settle(&past);
	loader.features = method->features ? method->features : FEATURES_ALL;
	r = r ?: extract_load(loader.extract, &filter, &data->first, &data->damaged);
	r = r ?: answer_with(&data->first, request, method->features ? &loader : NULL, ret);
	r = r ?: say_baseline(request, data, ret);
	if (r == 0 && elsewhere.len)
		r = remark(ret, "%s", elsewhere.data);
	extract_close(loader.extract);
	past_free(&past);
	return r;
}

int why_from_store(struct store *store, const struct why_request *request, struct why_data *data, struct answer *ret)
{
	struct why_request settled = *request;
	int r = why_settle(store, &settled, data);

	return r < 0 ? r : answer_settled(store, &settled, data, ret);
}

void why_data_free(struct why_data *data)
{
	for (size_t i = 0; i < data->n_marks; i++)
		mark_free(&data->marks[i]);
	FREE_ALL(data->marks, data->upgrade);
	dataset_free(&data->first);
	dataset_free(&data->more);
}
