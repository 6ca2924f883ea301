/* A recording put together for a test: who used how much, and when. Tests of answers share it. */
#pragma once

#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/answer-why/why.h"
#include "machine/findings/weights.h"

#define TICKS	900
#define TROUBLE 30 /* ticks at the end */
#define FROM	(TICKS - TROUBLE)
#define PERCENT 10000000ll /* of a CPU, per second, ns */
#define MB	1000000ll

struct story {
	struct dataset d;
	struct answer answer;
	uint32_t next_id;
};

typedef double (*pressure_at)(uint32_t tick);

static inline struct subject *add(struct story *st, const char *exe, uint32_t first, uint32_t last, feature_set features)
{
	char name[16];
	struct entity_info info = {.id = ++st->next_id, .kind = ENTITY_PROCESS, .pid = 1000 + st->next_id, .present = features};
	struct subject *s;

	snprintf(name, sizeof(name), "%.15s", strrchr(exe, '/') + 1);
	info.name = name;
	info.exe = (char *)exe;
	s = dataset_define(&st->d, &info);
	s->first = first;
	s->last = last;
	s->ended = last < TICKS - 1;
	return s;
}

/* Grows by `per_second` of the feature's unit in [from, to]. */
static inline void use(struct subject *s, size_t f, uint32_t from, uint32_t to, int64_t per_second)
{
	s->info.present |= FEATURE_BIT(f);
	for (uint32_t t = from; t <= to; t++)
		series_push(&s->series[f], t, per_second / s->features[f].quantum);
}

static inline void level(struct subject *s, size_t f, uint32_t from, int64_t value)
{
	s->info.present |= FEATURE_BIT(f);
	series_push(&s->series[f], from, value / s->features[f].quantum);
}

static inline void begin(struct story *st)
{
	*st = (struct story){};
	for (int i = 0; i < TICKS; i++)
		dataset_add_tick(&st->d, (1000 + i) * NS_PER_SEC, (1000000 + i) * NS_PER_SEC, NS_PER_SEC);
}

/* Shares of time in which someone waited, before and during the trouble. */
static inline void press(struct story *st, int feature, int64_t usual_percent, int64_t trouble_percent)
{
	static uint32_t system_id;
	struct subject *s = system_id ? dataset_subject(&st->d, system_id) : NULL;

	if (!s || s->info.kind != ENTITY_SYSTEM) {
		struct entity_info info = {.id = ++st->next_id, .kind = ENTITY_SYSTEM, .name = (char *)"machine"};

		system_id = info.id;
		s = dataset_define(&st->d, &info);
		s->first = 0;
		s->last = TICKS - 1;
	}
	use(s, (size_t)feature, 0, FROM - 1, usual_percent * PERCENT);
	use(s, (size_t)feature, FROM, TICKS - 1, trouble_percent * PERCENT);
}

/* What is listed as evidence is what the score is made of. */
static inline void expect_scores_of_factors(const struct ranking *r)
{
	for (size_t i = 0; i < r->suspects.n; i++) {
		const struct suspect *s = &r->suspects.v[i];
		double sum = 0;

		for (enum evidence e = 0; e < EVIDENCE_COUNT; e++)
			sum += s->factors[e] > 0 ? evidence_weights[e] * log(s->factors[e]) : 0;
		if (s->score > 0)
			assert_true(fabs(exp(sum) / s->score - 1) < 1e-6);
	}
}

static inline void ask_by(struct story *st, bool marked, const struct method *method)
{
	struct why_request request = {
		.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .marked = marked, .method = method};

	assert_int_equal(why_answer(&st->d, &request, &st->answer), 0);
	if (!method || method == &method_blame)
		expect_scores_of_factors(&st->answer.ranking);
}

static inline void ask(struct story *st, bool marked)
{
	ask_by(st, marked, NULL);
}

static inline void end(struct story *st)
{
	answer_free(&st->answer);
	dataset_free(&st->d);
}

static inline const struct suspect *first(const struct story *st)
{
	assert_true(st->answer.ranking.suspects.n > 0);
	return &st->answer.ranking.suspects.v[0];
}

static inline double score_of(const struct story *st, const struct subject *s)
{
	for (size_t i = 0; i < st->answer.ranking.suspects.n; i++)
		if (strcmp(st->answer.ranking.suspects.v[i].subject->program, s->program) == 0)
			return st->answer.ranking.suspects.v[i].score;
	return 0;
}
