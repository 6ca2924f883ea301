#include "cmd/act/confirm-culprits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/why/why-query.h"

static int take_accused(const struct answer *a, struct culprit_list *ret)
{
	struct culprit_list l;

	if (culprit_list_of(a, &l) < 0) {
		log_error("out of memory");
		return EXIT_CANNOT;
	}
	if (l.list.n) {
		*ret = l;
		return EXIT_ANSWERED;
	}
	log_error("the answer names no culprit: %s (name a process: 'whyslow confirm PID')",
		  a->summary ? a->summary : "it was not slow");
	return EXIT_NOTHING_FOUND;
}

static int answer_for(struct common *common, struct store *store, struct why_query *asked, struct culprit_list *ret)
{
	struct why_data data = {};
	struct answer a;
	int r = why_query_read_marks(common, store, asked), status;

	why_query_find_events(common, asked);
	if (r == 0)
		r = why_from_store(store, &asked->request, &data, &a);
	if (r < 0) {
		log_error("there is no answer for that moment: %s",
			  r == -ENODATA ? "nothing was recorded" : store_reason(store, r));
		status = EXIT_CANNOT;
	} else {
		status = take_accused(&a, ret);
		answer_free(&a);
	}
	why_data_free(&data);
	return status;
}

int find_culprits(struct common *common, int64_t mark, struct culprit_list *ret)
{
	_cleanup_why_query_ struct why_query asked = {.request = {.at = wall_now(),
							  .marked = mark != 0,
							  .proc_root = mark ? NULL : "/proc",
							  .window = common->config.answer_window,
							  .viewer = common->viewer},
					      .mark = mark};
	struct store *store = open_common_store(common, STORE_READ);
	struct mark m;
	int status;

	if (!store)
		return EXIT_CANNOT;
	if (mark && store_mark_get(store, mark, &m) < 0) {
		log_error("there is no process and no mark %" PRId64 "; 'whyslow list' shows the marks",
			  mark);
		status = EXIT_CANNOT;
	} else {
		if (mark) {
			asked.request.at = m.wall;
			mark_free(&m);
		}
		status = answer_for(common, store, &asked, ret);
	}
	store_close(store);
	return status;
}
