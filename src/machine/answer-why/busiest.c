#include "machine/answer-why/busiest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "machine/answer-why/pressure.h"

static const struct {
	enum bottleneck of;
	int feature;
} used[] = {
	{BOTTLENECK_CPU, FEATURE_CPU_TIME},
	{BOTTLENECK_DISK, FEATURE_IO_READ_BYTES},
	{BOTTLENECK_DISK, FEATURE_IO_WRITE_BYTES},
	{BOTTLENECK_MEMORY, FEATURE_MEM_ANON},
};

/* All processes of a program, one feature. */
struct user {
	const struct subject *most; /* of whom most is */
	double most_now, now;
	uint32_t members;
};

static enum bottleneck most_waited_for(const struct pressure *p)
{
	enum bottleneck found = BOTTLENECK_NONE;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		if (!isnan(p->now[b]) && pressure_is_felt(p->now[b], NAN) && (found == BOTTLENECK_NONE || p->now[b] > p->now[found]))
			found = b;
	return found;
}

static struct user *user_of(struct hmap *users, const struct subject *s)
{
	uint64_t hash = hmap_hash_text(s->program);
	struct user *u = hmap_get(users, hash, 0);

	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (u && hmap_put(users, hash, 0, u) < 0) {
		free(u);
		return NULL;
	}
	return u;
}

static int sum_by_program(const struct dataset *d, const struct method_question *q, size_t f,
			  struct hmap *users)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct user *u;
		double now;

		if ((s->info.kind != ENTITY_PROCESS && s->info.kind != ENTITY_SHORT_LIVED) || s->first > s->last)
			continue;
		now = subject_during(d, s, f, q->focus, q->at);
		if (!(now > 0))
			continue;
		u = user_of(users, s);
		if (!u)
			return -ENOMEM;
		u->now += now;
		u->members++;
		if (now > u->most_now) {
			u->most_now = now;
			u->most = s;
		}
	}
	return 0;
}

/* Whoever uses most of one thing, if it is more than what was found before. */
static int look_for_user(const struct dataset *d, const struct method_question *q, size_t f, struct user *best, const struct feature **ret_feature)
{
	struct hmap users = {};
	int r = sum_by_program(d, q, f, &users);

	HMAP_FOREACH (slot, &users) {
		const struct user *u = slot->value;

		if (r == 0 && u->now > best->now) {
			*best = *u;
			*ret_feature = &u->most->features[f];
		}
		free(slot->value);
	}
	hmap_free(&users);
	return r;
}

int busiest_find(const struct dataset *d, const struct method_question *q, const struct pressure *pressure, struct suspect *ret)
{
	enum bottleneck of = most_waited_for(pressure);
	const struct feature *feature = NULL;
	struct user best = {};
	int r = 0;

	*ret = (struct suspect){.share = NAN};
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(used); i++)
		if (used[i].of == of)
			r = look_for_user(d, q, (size_t)used[i].feature, &best, &feature);
	if (r < 0 || !feature || best.now < method_noticeable(feature))
		return r;
	ret->subject = best.most;
	ret->members = best.members;
	ret->kind = best.members > 1 ? CULPRIT_GROUP : CULPRIT_PROCESS;
	ret->of = of;
	return VEC_PUSH(ret->features, (struct deviation){.feature = feature, .observed = best.now, .usual = NAN, .spread = NAN, .deviation = NAN});
}
