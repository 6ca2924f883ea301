#include "cmd/report.h"

#include <stdlib.h>

#include "answer/why.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/capture-phases.h"
#include "view/report.h"
#include "view/why.h"

static char *answer_text(struct common *common, struct store *store, const struct mark *mark, bool redact)
{
	const struct why_text_options options = {.suspects = 5, .features = 5};
	struct why_request request = {.at = mark->wall,
				      .window = common->config.answer_window,
				      .marked = true,
				      .viewer = redact ? VIEWER_NOBODY : common->viewer,
				      .marks = mark,
				      .n_marks = 1};
	struct why_data data = {};
	struct answer a;
	char *text = NULL;
	size_t size;
	FILE *f;

	if (why_from_store(store, &request, &data, &a) < 0) {
		why_data_free(&data);
		return NULL;
	}
	f = open_memstream(&text, &size);
	if (f) {
		why_text(&a, &options, f);
		fclose(f);
	}
	answer_free(&a);
	why_data_free(&data);
	return text;
}

static void write_report(struct common *common, struct store *store, const struct mark *mark, bool redact,
			 FILE *out)
{
	_cleanup_free_ char *answer = answer_text(common, store, mark, redact);
	VEC(struct report_capture) captures = {};
	struct capture *list = NULL;
	char at[40], title[64];
	struct report r = {.title = title,
			   .when = format_local(mark->wall, at, sizeof(at)),
			   .note = mark->note,
			   .answer = answer,
			   .redact = redact};
	size_t n = 0;

	snprintf(title, sizeof(title), "Why it was slow: %s %lld", mark_is_caught(mark) ? "incident" : "mark",
		 (long long)mark->id);
	(void)captures_by_phase(store, mark->id, &list, &n);
	for (size_t i = 0; i < n && visibility(&common->viewer, DATUM_CAPTURES, common->viewer.uid) == SHOWN_WHOLE; i++)
		(void)VEC_PUSH(captures,
			       (struct report_capture){list[i].summary, list[i].text, list[i].json});
	r.captures = captures.v;
	r.n_captures = captures.n;
	report_html(&r, out);
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
	VEC_FREE(captures);
}

int report_incident(struct common *common, const char *text, bool redact, FILE *out)
{
	struct store *store;
	struct mark mark;
	uint64_t id;
	int r;

	if (parse_u64(text, &id) < 0)
		return usage_error("export", "--format html takes the number of a mark or an incident "
					     "('whyslow list' shows them)");
	store = open_common_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark_get(store, (int64_t)id, &mark);
	if (r == 0) {
		write_report(common, store, &mark, redact, out);
		mark_free(&mark);
	} else {
		log_error("there is no mark or incident %s; 'whyslow list' shows them", text);
	}
	store_close(store);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}
