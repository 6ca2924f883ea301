#include "machine/answer-why/marked-times.h"

#include <errno.h>

#include "lib/data/order.h"

ORDER(by_begin, struct marked_time, ASCENDING(from))

static void merge(struct marked_times *m)
{
	size_t n = 0;

	VEC_SORT(m->list, by_begin);
	for (size_t i = 0; i < m->list.n; i++) {
		struct marked_time *last = n ? &m->list.v[n - 1] : NULL;

		if (!last || m->list.v[i].from > last->to)
			m->list.v[n++] = m->list.v[i];
		else if (m->list.v[i].to > last->to)
			last->to = m->list.v[i].to;
	}
	m->list.n = n;
}

int marked_times_collect(const struct mark *marks, size_t n, int64_t before, int64_t after, bool with_caught, int64_t asked, struct marked_times *ret)
{
	*ret = (struct marked_times){};
	for (size_t i = 0; i < n; i++) {
		if ((mark_is_of_rule(&marks[i]) && !with_caught) || (marks[i].wall <= asked && asked <= marks[i].last + after))
			continue;
		if (VEC_PUSH(ret->list, (struct marked_time){marks[i].wall - before, marks[i].last + after}) < 0)
			return -ENOMEM;
	}
	merge(ret);
	return 0;
}

void marked_times_free(struct marked_times *m)
{
	VEC_FREE(m->list);
}

bool marked_times_touch(const struct marked_times *m, int64_t from, int64_t to)
{
	size_t at = FIRST_WHERE(i, m->list.n, m->list.v[i].to >= from);

	return at < m->list.n && m->list.v[at].from <= to;
}
