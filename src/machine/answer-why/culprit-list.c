#include "machine/answer-why/culprit-list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void listed_culprit_free(struct listed_culprit *a)
{
	free(a->name);
	free(a->why_not);
	VEC_FREE(a->processes);
}

void culprit_list_free(struct culprit_list *l)
{
	VEC_FREE_EACH(l->list, listed_culprit_free(each));
}

static const char *why_not(const struct suspect *s)
{
	switch (s->kind) {
	case CULPRIT_LIMIT:
		return "a limit holds it back already, and no other program waits for it";
	case CULPRIT_HOST:
		return "it waits for another machine, and no other program waits for it";
	case CULPRIT_KERNEL:
		return "that is the kernel's own work";
	case CULPRIT_PROCESS:
	case CULPRIT_GROUP:
		break;
	}
	if (s->subject->info.kind == ENTITY_SHORT_LIVED)
		return "its processes end within a second, and their parent is not known";
	return s->subject->info.pid ? NULL : "it is not a process";
}

static enum bottleneck makes_short(const struct answer *a, const struct suspect *s)
{
	return s->of == BOTTLENECK_CPU || s->of == BOTTLENECK_DISK || s->of == BOTTLENECK_MEMORY ? s->of : a->bottleneck;
}

static int add_process(const struct subject *s, struct listed_culprit *to)
{
	return VEC_PUSH(to->processes, (struct culprit_process){s->info.pid, (int64_t)s->info.start});
}

static int add(const struct answer *a, const struct suspect *s, struct culprit_list *ret)
{
	struct listed_culprit one = {.of = makes_short(a, s),
			      .program = s->processes.n && !s->together.n,
			      .name = entity_label(&s->subject->info),
			      .why_not = why_not(s) ? strdup(why_not(s)) : NULL};
	int r = one.name && !one.why_not == !why_not(s) ? 0 : -ENOMEM;

	if (r == 0 && !s->processes.n)
		r = add_process(s->subject, &one);
	for (size_t i = 0; r == 0 && i < s->processes.n; i++)
		r = add_process(s->processes.v[i], &one);
	r = r ?: VEC_PUSH(ret->list, one);
	if (r < 0)
		listed_culprit_free(&one);
	return r;
}

int culprit_list_of(const struct answer *a, struct culprit_list *ret)
{
	const struct ranking *r = &a->ranking;
	struct culprit_list l = {};

	for (size_t i = 0; a->slow && i < r->suspects.n; i++) {
		if (!suspect_matters(r, &r->suspects.v[i]))
			continue;
		if (add(a, &r->suspects.v[i], &l) < 0) {
			culprit_list_free(&l);
			return -ENOMEM;
		}
	}
	*ret = l;
	return 0;
}
