#include "machine/answer-history/incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "machine/answer-history/answer-history.h"

void incidents_free(struct incidents *i)
{
	VEC_FREE_EACH(i->list, free(each->program));
}

/* Label of the first culprit of a marked moment; NULL = no one. */
static int culprit_of(struct store *store, const struct mark *mark, int64_t window, const struct viewer *viewer, char **ret)
{
	struct saved_answer told;
	int r = saved_answer_get(store, NULL, mark, window, viewer, &told);

	*ret = NULL;
	if (r == 0) {
		*ret = TAKE(told.culprit);
		saved_answer_free(&told);
	}
	return r == -ENODATA ? 0 : r;
}

static struct program_incidents *find_or_add(struct incidents *i, char *program)
{
	for (size_t k = 0; k < i->list.n; k++) {
		const char *known = i->list.v[k].program;

		if ((!known && !program) || (known && program && strcmp(known, program) == 0)) {
			free(program);
			return &i->list.v[k];
		}
	}
	if (VEC_PUSH(i->list, (struct program_incidents){.program = program}) < 0) {
		free(program);
		return NULL;
	}
	return &i->list.v[i->list.n - 1];
}

ORDER(by_number, struct program_incidents, CMP(b->before + b->after, a->before + a->after))

int incidents_by_program(struct store *store, const struct mark *marks, size_t n, int64_t window, int64_t split,
			 const struct viewer *viewer, struct incidents *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct program_incidents *p;
		char *program;

		r = culprit_of(store, &marks[i], window, viewer, &program);
		p = r == 0 ? find_or_add(ret, program) : NULL;
		if (r == 0 && !p)
			r = -ENOMEM;
		if (r < 0)
			break;
		if (split && marks[i].wall >= split)
			p->after++;
		else
			p->before++;
		p->right += marks[i].feedback == FEEDBACK_RIGHT;
		p->wrong += marks[i].feedback == FEEDBACK_WRONG;
		p->fixed += marks[i].feedback == FEEDBACK_FIXED;
	}
	VEC_SORT(ret->list, by_number);
	return r;
}
