/* Jobs: a program that has just begun, with all it starts.
 *
 * A program is compared with its own past, and what a build starts has one: a compiler that runs for two seconds now and then is
 * normal, one after the other for a minute is not, and it is the same program. So a program that has just begun is also judged together
 * with all that descend from it, against what it and they did when it ran before. So is a program that starts many that end at
 * once, however old it is, with those; and what one older starter (a cron minute, a supervisor, a timer) began in one second. A job is
 * named where that says clearly more than its programs one by one do, or where it would start more of them if they were ended; what it
 * explains of them is then taken from them. Long-lived programs that a person starts at a prompt do not belong to the shell.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/judge/robust.h"

#define DEPTH_MAX   32	 /* of descent */
#define SAYS_MORE   1.25 /* than its programs one by one do together */
#define AS_GUILTY   0.9	 /* as the whole: a job inside of it is the better name */
#define PARTS_TOLD  3
#define MOST	    0.5 /* of what a job is named for */
#define BRIEF_LEAST 5e7 /* ns/s of short programs: a twentieth of one CPU */
#define TOGETHER_LEAST 3 /* in the same second: who starts a pipeline of two starts one thing */
#define LEAVES_A_GAP 2 /* ticks: a parent may have ended just before its child was seen first */

struct family {
	VEC(const struct subject *) by_pid; /* processes, and of the same pid in order of time */
};

ORDER_OF_POINTERS(by_pid_and_time, struct subject, ASCENDING(info.pid) ?: ASCENDING(first))

static bool has_parents(const struct subject *s)
{
	return entity_is_program(&s->info) && s->first <= s->last &&
	       !(s->info.flags & ENTITY_IS_KERNEL_THREAD);
}

static int find_family(const struct robust *r, struct family *ret)
{
	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && has_parents(s) && VEC_PUSH(ret->by_pid, s) < 0)
			return -ENOMEM;
	}
	VEC_SORT(ret->by_pid, by_pid_and_time);
	return 0;
}

static const struct subject *parent_of(const struct family *f, const struct subject *s)
{
	const struct subject *const *v = f->by_pid.v;
	uint32_t pid = s->info.parent;
	size_t after = FIRST_WHERE(i, f->by_pid.n, v[i]->info.pid > pid || (v[i]->info.pid == pid && v[i]->first > s->first));
	const struct subject *found = after ? v[after - 1] : NULL;

	if (!found || found == s || found->info.pid != pid || found->last + LEAVES_A_GAP < s->first ||
	    (s->info.kind == ENTITY_PROCESS && entity_is_prompt(&found->info)))
		return NULL;
	return found;
}

static bool is_there(const struct robust *r, const struct subject *s)
{
	return s->last >= r->q->focus && s->first <= r->q->at;
}

static struct program *job_of(const struct robust *r, const char *program)
{
	for (size_t i = 0; i < r->jobs.n; i++)
		if (strcmp(r->jobs.v[i]->key, program) == 0)
			return r->jobs.v[i];
	return NULL;
}

/* It ran before what was read: what its job did then is not known. */
static bool is_older(const struct robust *r, const struct subject *s)
{
	size_t n = 0;

	return r->q->older && r->q->older(r->q->context, s->info.kind, s->program, FEATURE_CPU_TIME, &n) && n;
}

/* It began lately and has started other programs, or starts many short ones. */
static bool may_have_started(const struct robust *r, const struct subject *up, const struct subject *s)
{
	if (s->info.kind == ENTITY_SHORT_LIVED && up->info.pid == s->info.parent && robust_member_now(r, up, FEATURE_CHILDREN_CPU) >= BRIEF_LEAST)
		return true;
	return robust_began_lately(r, s) && robust_began_lately(r, up);
}

static bool is_within_a_second(const struct subject *s, int64_t begun)
{
	return s->info.start && llabs((int64_t)s->info.start - begun) < NS_PER_SEC;
}

/* When an older process started this one and several others; 0 = it did not. */
static int64_t begun_together(const struct robust *r, const struct subject *up, const struct subject *s)
{
	unsigned n = 0;

	for (size_t i = 0; s->info.kind == ENTITY_PROCESS && up->info.pid > 1 && robust_began_lately(r, s) && i < r->d->subjects.n; i++) {
		const struct subject *o = r->d->subjects.v[i];

		n += o->info.kind == ENTITY_PROCESS && o->info.parent == up->info.pid && is_within_a_second(o, (int64_t)s->info.start);
	}
	return n >= TOGETHER_LEAST ? (int64_t)s->info.start : 0;
}

static int add_job(struct robust *r, const struct subject *root, int64_t begun)
{
	struct program *job = calloc(1, sizeof(*job));

	if (!job || VEC_PUSH(r->jobs, job) < 0) {
		free(job);
		return -ENOMEM;
	}
	*job = (struct program){.key = root->program, .root = root, .begun = begun, .there = true};
	return 0;
}

static int find_jobs(struct robust *r, const struct family *f)
{
	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i], *up = s;

		if (!has_parents(s) || !is_there(r, s))
			continue;
		for (int depth = 0; depth < DEPTH_MAX && (up = parent_of(f, up)); depth++) {
			bool started = may_have_started(r, up, s);
			int64_t begun = started || depth ? 0 : begun_together(r, up, s);

			if (!started && !begun)
				break;
			if (strcmp(up->program, s->program) != 0 && !job_of(r, up->program) && !is_older(r, up) && add_job(r, up, begun) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int add_part(struct robust *r, struct program *job, const struct subject *s, bool is_started)
{
	struct program *whole = robust_program(r, s);
	size_t i = 0;

	if (!whole)
		return -ENOMEM;
	while (i < job->parts.n && job->parts.v[i].whole != whole)
		i++;
	if (i == job->parts.n && VEC_PUSH(job->parts, (struct job_part){.whole = whole}) < 0)
		return -ENOMEM;
	job->parts.v[i].started += is_started + (is_started && s->info.kind == ENTITY_SHORT_LIVED); /* those are several */
	return VEC_PUSH(job->parts.v[i].members, s);
}

/* Who goes on since long is another job: the shell of somebody's old script has nothing to do with that of a new one. Where it is the job's own
 * starter, what it began in that second, or before, is of the job; or what ends at once. below: its child that `s` is, or descends from. */
static bool is_of_this_time(const struct robust *r, const struct program *job, const struct subject *starter, const struct subject *below, const struct subject *s)
{
	if (robust_began_lately(r, starter) || starter->last < r->q->focus)
		return true;
	if (starter != job->root)
		return false;
	return job->begun ? below && (is_within_a_second(below, job->begun) || below->last < r->q->focus) : !below || (below == s && s->info.kind == ENTITY_SHORT_LIVED);
}

/* A process belongs to the jobs of all it descends from. */
static int add_to_jobs(struct robust *r, const struct family *f, const struct subject *s)
{
	const struct subject *up = s->info.kind == ENTITY_PROCESS ? s : parent_of(f, s), *parent = parent_of(f, s);
	const struct subject *below = up == s ? NULL : s;
	bool is_first = !parent || strcmp(parent->program, s->program) != 0; /* it was not started by its like */
	int result = 0;

	for (int depth = 0; result == 0 && up && depth < DEPTH_MAX; depth++, below = up, up = parent_of(f, up)) {
		struct program *job = job_of(r, up->program);

		if (!job || !is_of_this_time(r, job, up, below, s) || (job->members.n && job->members.v[job->members.n - 1] == s))
			continue;
		result = VEC_PUSH(job->members, s);
		if (result == 0 && is_there(r, s))
			result = add_part(r, job, s, up == job->root && up != s && is_first);
	}
	return result;
}

int robust_jobs_gather(struct robust *r)
{
	struct family f = {};
	int result = find_family(r, &f);

	if (result == 0)
		result = find_jobs(r, &f);
	for (size_t i = 0; result == 0 && r->jobs.n && i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (has_parents(s) && s->first <= r->q->at)
			result = add_to_jobs(r, &f, s);
	}
	VEC_FREE(f.by_pid);
	return result;
}

void robust_jobs_free(struct robust *r)
{
	for (size_t i = 0; i < r->jobs.n; i++) {
		struct program *job = r->jobs.v[i];

		for (size_t k = 0; k < job->parts.n; k++)
			VEC_FREE(job->parts.v[k].members);
		VEC_FREE(job->parts);
		VEC_FREE(job->members);
		free(job->startup);
		free(job);
	}
	VEC_FREE(r->jobs);
}

/* The parent of the processes of its program above it. */
static const struct subject *starter_of(const struct family *f, const struct subject *s)
{
	const struct subject *up = s;

	for (int depth = 0; up && depth < DEPTH_MAX && (up == s || strcmp(up->program, s->program) == 0); depth++)
		up = parent_of(f, up);
	return up && entity_is_script(&up->info) ? up : NULL;
}

const struct subject *robust_starter(const struct robust *r, const struct program *p)
{
	const struct subject *starter = NULL, *one;
	struct family f = {};
	bool is_known = find_family(r, &f) == 0;

	for (size_t i = 0; is_known && i < p->members.n; i++) {
		if (!is_there(r, p->members.v[i]))
			continue;
		one = starter_of(&f, p->members.v[i]);
		is_known = one && (!starter || one == starter);
		starter = one;
	}
	VEC_FREE(f.by_pid);
	return is_known ? starter : NULL;
}

double robust_part_now(const struct robust *r, const struct job_part *part, size_t feature)
{
	double sum = 0;

	for (size_t i = 0; i < part->members.n; i++)
		sum += robust_member_now(r, part->members.v[i], feature);
	return sum;
}

double robust_part_of_program(const struct robust *r, const struct job_part *part, size_t feature)
{
	double all = robust_program_now(r, part->whole, feature);

	return all > 0 ? fmin(1, robust_part_now(r, part, feature) / all) : 0;
}

static struct verdict *verdict_of(struct robust *r, const struct program *p)
{
	for (size_t i = 0; i < r->verdicts.n; i++)
		if (r->verdicts.v[i].program == p)
			return &r->verdicts.v[i];
	return NULL;
}

/* The use for which it is judged. */
static size_t used_most(const struct verdict *v)
{
	size_t most = 0;

	for (size_t i = 1; i < USES; i++)
		if (v->guilt[i] > v->guilt[most])
			most = i;
	return (size_t)uses[most].feature;
}

/* The programs that it started have the same CPU time in rows of their own. */
static bool is_by_its_children(const struct verdict *v)
{
	return used_most(v) == FEATURE_CHILDREN_CPU;
}

/* One part does most of what a job is named for. */
static bool has_main_part(const struct robust *r, const struct verdict *v)
{
	size_t f = used_most(v);
	double all = robust_program_now(r, v->program, f);

	for (size_t i = 0; i < v->program->parts.n; i++)
		if (robust_part_now(r, &v->program->parts.v[i], f) > MOST * all)
			return true;
	return false;
}

/* Whether a job's name is the better one. Where one part is judged for what the others used, or the job has started several of a part, which alone may be
 * ended in vain, or several parts of about the same weight in one second, it is the same evidence with both names. */
static bool says_more(struct robust *r, const struct verdict *v)
{
	const struct program *job = v->program;
	double sum = 0, more = job->begun && !has_main_part(r, v) ? AS_GUILTY : SAYS_MORE;

	for (size_t i = 0; i < job->parts.n; i++) {
		const struct verdict *part = verdict_of(r, job->parts.v[i].whole);

		if (part && (is_by_its_children(part) || (!job->begun && job->parts.v[i].started > 1)))
			more = AS_GUILTY;
		if (part && !is_by_its_children(part))
			sum += part->suspect.score * robust_part_of_program(r, &job->parts.v[i], used_most(part));
	}
	return v->suspect.score > 0 && v->suspect.score >= more * sum;
}

/* What is another one's as well is told of that one. */
static void take_part(struct verdict *v, double part)
{
	robust_weigh(v, EVIDENCE_SHARE, 1 - part);
	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++) {
		v->used[b] *= 1 - part;
		v->charged[b] *= 1 - part;
	}
}

/* What the job explains of its programs is told of the job. */
static void take_from_parts(struct robust *r, const struct program *job)
{
	for (size_t i = 0; i < job->parts.n; i++) {
		struct verdict *v = verdict_of(r, job->parts.v[i].whole);

		if (v)
			take_part(v, robust_part_of_program(r, &job->parts.v[i], used_most(v)));
	}
}

static int tell_parts(const struct robust *r, struct verdict *v)
{
	const struct program *job = v->program;
	size_t f = used_most(v);
	double all = robust_program_now(r, job, f), told_last = INFINITY;
	struct str text = {};
	unsigned told = 0;

	for (; all > 0 && told < PARTS_TOLD; told++) {
		const struct job_part *most = NULL;
		double uses_most = 0.01 * all;

		for (size_t i = 0; i < job->parts.n; i++) {
			double now = robust_part_now(r, &job->parts.v[i], f);

			if (now < told_last && now > uses_most) {
				uses_most = now;
				most = &job->parts.v[i];
			}
		}
		if (!most)
			break;
		if (uses_most > MOST * all && strcmp(most->whole->key, job->key) != 0)
			v->suspect.mostly = most->members.v[0];
		str_puts(&text, told ? ", " : "most of it by ");
		if (most->started > 1)
			str_printf(&text, "%u ", robust_count(r, most->members.v, most->members.n));
		robust_program_put(r, &text, most->whole->key);
		str_printf(&text, " %.0f %%", 100 * uses_most / all);
		told_last = uses_most;
	}
	if (!told) {
		str_free(&text);
		return 0;
	}
	if (!text.error && VEC_PUSH(v->suspect.evidence, text.data) == 0)
		return 0;
	str_free(&text);
	return -ENOMEM;
}

static int name_job(struct robust *r, struct verdict *v)
{
	int result = 0;

	take_from_parts(r, v->program);
	for (size_t i = 0; result == 0 && i < v->program->members.n; i++)
		result = VEC_PUSH(v->suspect.together, v->program->members.v[i]);
	if (result == 0)
		result = tell_parts(r, v);
	return result < 0 ? result : VEC_PUSH(r->verdicts, *v);
}

static bool is_inside(const struct program *inner, const struct program *outer)
{
	for (size_t i = 0; inner != outer && i < outer->members.n; i++)
		if (outer->members.v[i] == inner->root)
			return inner->members.n < outer->members.n;
	return false;
}

static bool has_member(const struct program *job, const struct subject *s)
{
	for (size_t i = 0; i < job->members.n; i++)
		if (job->members.v[i] == s)
			return true;
	return false;
}

/* Of what a job uses, the share that is another one's as well: a compiler's processes are a build's and their own program's. */
static double part_of_job(const struct robust *r, const struct program *job, const struct program *other, size_t feature)
{
	double both = 0, all = 0;

	for (size_t i = 0; i < job->members.n; i++) {
		double now = robust_member_now(r, job->members.v[i], feature);

		if (!(now > 0))
			continue;
		all += now;
		both += has_member(other, job->members.v[i]) ? now : 0;
	}
	return all > 0 ? both / all : 0;
}

/* Of jobs within each other the innermost that is nearly as guilty as the most guilty one; NULL = none says more than programs do. */
static struct verdict *best_job(struct robust *r, struct verdict *v, size_t n)
{
	struct verdict *best = NULL;

	for (size_t i = 0; i < n; i++)
		if ((!best || v[i].suspect.score > best->suspect.score) && says_more(r, &v[i]))
			best = &v[i];
	for (size_t i = 0; best && i < n; i++)
		if (is_inside(v[i].program, best->program) && v[i].suspect.score >= AS_GUILTY * best->suspect.score &&
		    says_more(r, &v[i])) {
			best = &v[i];
			i = (size_t)-1; /* there may be one inside of it */
		}
	return best;
}

int robust_jobs_score(struct robust *r)
{
	struct verdict *v = calloc(r->jobs.n + 1, sizeof(*v)), *best;
	size_t n = 0;
	int result = v ? 0 : -ENOMEM;

	for (size_t i = 0; v && i < r->jobs.n; i++) {
		v[n].suspect.share = NAN;
		n += (size_t)robust_program_score(r, r->jobs.v[i], &v[n]);
	}
	while (result == 0 && (best = best_job(r, v, n))) {
		struct verdict named = *best;

		for (size_t i = 0; i < n; i++) /* what lies within each other is named once */
			if (&v[i] == best || is_inside(v[i].program, named.program) || is_inside(named.program, v[i].program))
				v[i].suspect.score = 0;
			else if (v[i].suspect.score > 0)
				take_part(&v[i], part_of_job(r, v[i].program, named.program, used_most(&v[i])));
		result = name_job(r, &named);
		if (result < 0)
			suspect_free(&named.suspect);
	}
	free(v);
	return result;
}
