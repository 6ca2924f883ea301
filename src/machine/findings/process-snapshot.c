#include "machine/findings/process-snapshot.h"

#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"

void curve_free(struct curve *c)
{
	FREE_ALL(c->low, c->mean, c->high);
	*c = (struct curve){};
}

void lives_free(struct lives *l)
{
	VEC_FREE_EACH(l->v, entity_info_free(&each->info));
}

static bool is_of_paper(const struct process_snapshot *b)
{
	return b->everybody.ranking.method && strcmp(b->everybody.ranking.method, "gaussian") == 0;
}

static double between(double value, double least, double most)
{
	return most > least ? (value - least) / (most - least) : 1;
}

double process_snapshot_bar(const struct process_snapshot *b, const struct suspect *s)
{
	const struct ranking *r = &b->everybody.ranking;

	if (is_of_paper(b))
		return between(s->score, r->suspects.v[r->suspects.n - 1].score, r->suspects.v[0].score);
	return r->method && strcmp(r->method, "blame") == 0 ? between(s->guilt, 0, r->suspects.v[0].guilt ?: 1) : s->score;
}

double process_snapshot_feature_bar(const struct process_snapshot *b, const struct suspect *s, const struct deviation *f)
{
	return is_of_paper(b) ? between(f->score, s->features.v[s->features.n - 1].score, s->features.v[0].score) : f->score;
}

double process_snapshot_log_likelihood(const struct process_snapshot *b, double score)
{
	return is_of_paper(b) ? -score : NAN;
}

/* A ranking need not have every feature: the paper's leaves out what is constant. */
double process_snapshot_value(const struct process_snapshot *b, const struct suspect *s, int feature)
{
	int at;

	for (size_t i = 0; i < s->features.n; i++)
		if (s->features.v[i].feature == &s->subject->features[feature])
			return s->features.v[i].observed;
	at = is_of_paper(b) ? dataset_find_wall(&b->data, b->everybody.window_end) : -1;
	return at < 0 || !subject_has(s->subject, (size_t)feature) ? NAN : subject_value(&b->data, s->subject, (size_t)feature, (uint32_t)at);
}
