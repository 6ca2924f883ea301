#include "machine/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define CONTRIBUTES 0.2 /* of the first one's score */
#define COMES_NEAR  0.3 /* of the score of who has stopped */

void suspect_free(struct suspect *s)
{
	VEC_FREE_EACH(s->evidence, free(*each));
	VEC_FREE(s->features);
	VEC_FREE(s->together);
	VEC_FREE(s->processes);
}

/* The service of a shell or of an interpreter says whose it is; "nginx" of nginx.service says nothing new. */
static bool tells_more(const char *unit, const char *label)
{
	const char *dot = unit ? strrchr(unit, '.') : NULL;

	return dot && strcmp(dot, ".service") == 0 && label && strncmp(unit, label, strcspn(label, " ")) != 0;
}

void suspect_put(const struct suspect *s, struct str *out)
{
	_cleanup_free_ char *label = entity_label(&s->subject->info), *starter = s->starter ? entity_label(&s->starter->info) : NULL;
	const char *unit = s->subject->info.unit;
	size_t begin;

	str_puts(out, label ?: "?");
	begin = out->len;
	if (s->subject->info.pid && (s->together.n || s->kind != CULPRIT_GROUP || s->members < 2))
		str_printf(out, " (pid %u", s->subject->info.pid);
	if (s->kind == CULPRIT_GROUP && s->members > 1)
		str_printf(out, "%s%u processes", out->len > begin ? ", " : " (", s->members);
	if (starter)
		str_printf(out, "%sstarted by %s", out->len > begin ? ", " : " (", starter);
	if (tells_more(unit, label))
		str_printf(out, "%sof %s", out->len > begin ? ", " : " (", unit);
	if (out->len > begin)
		str_putc(out, ')');
}

void suspects_keep(struct suspect *v, size_t *n, bool (*is_wanted)(const struct suspect *s, const void *context), const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (is_wanted(&v[i], context))
			v[kept++] = v[i];
		else
			suspect_free(&v[i]);
	*n = kept;
}

void ranking_free(struct ranking *r)
{
	suspect_free(&r->busiest);
	VEC_FREE_EACH(r->suspects, suspect_free(each));
	VEC_FREE_EACH(r->victims, suspect_free(each));
}

bool suspect_matters(const struct ranking *r, const struct suspect *s)
{
	bool guilt = strcmp(r->method, "blame") == 0;

	return !guilt || s->score >= CONTRIBUTES * r->suspects.v[0].score;
}

void ranking_weigh_recency(struct ranking *r, bool over)
{
	double most = 0;

	VEC_EACH(s, r->suspects) {
		s->factors[EVIDENCE_RECENCY] = over && !s->hang ? RECENCY_LEAST : s->continues;
		most = s->score > 0 ? fmax(most, evidence_score(s->factors)) : most;
	}
	VEC_EACH(s, r->suspects) {
		double continues = s->factors[EVIDENCE_RECENCY];

		s->factors[EVIDENCE_RECENCY] = NAN;
		if (s->score > 0 && continues < 1 && most >= COMES_NEAR * evidence_score(s->factors))
			s->factors[EVIDENCE_RECENCY] = continues;
		s->score = s->score > 0 ? evidence_score(s->factors) : s->score;
	}
}

void earlier_free(struct earlier *e)
{
	FREE_ALL(e->note, e->what);
}

void answer_free(struct answer *a)
{
	ranking_free(&a->ranking);
	VEC_FREE_EACH(a->unnamed, suspect_free(each));
	suspect_free(&a->busiest);
	VEC_FREE_EACH(a->remarks, free(*each));
	VEC_FREE_EACH(a->similar, earlier_free(each));
	VEC_FREE_EACH(a->hangs, wait_chain_free(&each->chain));
	dataset_free(&a->unrecorded);
	FREE_ALL(a->cause, a->summary, a->next, a->baseline);
	*a = (struct answer){};
}

ORDER(by_score, struct suspect, DESCENDING(score) ?: ASCENDING(subject->info.id))

ORDER(by_deviation_score, struct deviation, DESCENDING(score) ?: ASCENDING(feature))

static void sort_features(struct suspect *s)
{
	VEC_SORT(s->features, by_deviation_score);
}

void ranking_sort(struct ranking *r)
{
	VEC_SORT(r->suspects, by_score);
	VEC_SORT(r->victims, by_score);
	for (size_t i = 0; i < r->suspects.n; i++) {
		r->suspects.v[i].role = i ? ROLE_CONTRIBUTING : ROLE_PRIMARY;
		sort_features(&r->suspects.v[i]);
	}
	for (size_t i = 0; i < r->victims.n; i++)
		sort_features(&r->victims.v[i]);
}

const char *bottleneck_name(enum bottleneck b)
{
	static const char *const names[BOTTLENECK_COUNT] = {
		[BOTTLENECK_NONE] = "none",	    [BOTTLENECK_CPU] = "cpu",	      [BOTTLENECK_MEMORY] = "memory",
		[BOTTLENECK_DISK] = "disk",	    [BOTTLENECK_NETWORK] = "network", [BOTTLENECK_LOCK] = "lock",
		[BOTTLENECK_QUOTA] = "quota",	    [BOTTLENECK_REMOTE] = "remote",   [BOTTLENECK_SELF] = "self",
		[BOTTLENECK_PEER] = "peer",	    [BOTTLENECK_UNCLEAR] = "unclear",
	};

	return b < BOTTLENECK_COUNT ? names[b] : "unclear";
}

const char *shape_name(enum shape s)
{
	static const char *const names[] = {"spike", "step", "ramp", "periodic"};

	return names[s];
}

const char *culprit_kind_name(enum culprit_kind k)
{
	static const char *const names[] = {"process", "group", "kernel", "host", "limit"};

	return names[k];
}
