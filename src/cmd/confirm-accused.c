#include "cmd/confirm-accused.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/why.h"
#include "base/clock.h"
#include "base/log.h"

static int short_of(enum bottleneck b)
{
	switch (b) {
	case BOTTLENECK_CPU:
		return SHORT_CPU;
	case BOTTLENECK_DISK:
		return SHORT_DISK;
	case BOTTLENECK_MEMORY:
		return SHORT_MEMORY;
	default:
		return -1;
	}
}

static int take_first(const struct answer *a, struct accused *ret)
{
	const struct suspect *s = a->ranking.suspects.n ? &a->ranking.suspects.v[0] : NULL;

	if (!a->slow || !s || !s->subject || !s->subject->info.pid) {
		log_error("nobody is accused there: %s (name a process: 'whyslow confirm PID')",
			  a->summary ? a->summary : "it was not slow");
		return EXIT_NOTHING_FOUND;
	}
	*ret = (struct accused){s->subject->info.pid, (int64_t)s->subject->info.start,
				short_of(a->bottleneck)};
	return EXIT_ANSWERED;
}

static int answer_for(struct common *common, struct store *store, int64_t at, bool marked,
		      struct accused *ret)
{
	struct why_request request = {
		.at = at, .marked = marked, .window = common->config.answer_window, .viewer = common->viewer};
	struct why_data data = {};
	struct mark *marks = NULL;
	struct answer a;
	int r = store_marks(store, at - request.window, at, &marks, &request.n_marks), status;

	request.marks = marks;
	if (r == 0)
		r = why_from_store(store, &request, &data, &a);
	if (r < 0) {
		log_error("there is no answer for that moment: %s",
			  r == -ENODATA ? "nothing was recorded" : store_error(store));
		status = EXIT_CANNOT;
	} else {
		status = take_first(&a, ret);
		answer_free(&a);
	}
	for (size_t i = 0; i < request.n_marks; i++)
		mark_free(&marks[i]);
	free(marks);
	why_data_free(&data);
	return status;
}

int find_accused(struct common *common, int64_t mark, struct accused *ret)
{
	struct store *store = open_common_store(common, STORE_READ);
	struct mark m = {.wall = wall_now()};
	int status;

	if (!store)
		return EXIT_CANNOT;
	if (mark && store_mark_get(store, mark, &m) < 0) {
		log_error("there is no process and no mark %" PRId64 "; 'whyslow list' shows the marks",
			  mark);
		status = EXIT_CANNOT;
	} else {
		status = answer_for(common, store, m.wall, mark != 0, ret);
		mark_free(&m);
	}
	store_close(store);
	return status;
}
