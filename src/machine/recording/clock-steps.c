/* Where the wall clock jumped between two segments, by the order in which they were written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"
#include "machine/recording/internal.h"

#define STEPS_MAX 1000 /* a clock that jumps each second makes as many segments; the newest steps are wanted */

struct collecting {
	VEC(struct clock_step) found;
	struct age_span last;
	bool any;
};

static int add(struct collecting *c, const struct age_span *span)
{
	const int64_t step = c->any ? age_step(&c->last, span) : 0;
	const struct clock_step one = {c->last.last, span->first, step, *span->boot && strcmp(c->last.boot, span->boot) == 0};

	c->last = *span;
	c->any = true;
	if (!step)
		return 0;
	if (c->found.n == STEPS_MAX) {
		memmove(c->found.v, c->found.v + 1, (STEPS_MAX - 1) * sizeof(*c->found.v));
		c->found.n--;
	}
	return VEC_PUSH(c->found, one);
}

static int add_segments(struct store *s, struct collecting *c)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT first, last, boot, boot_first, boot_last FROM " SEGMENTS_IN_ORDER ", id", &stmt);

	while (store_row(s, stmt, &r)) {
		const struct age_span span = store_age_span(stmt, 0);

		r = add(c, &span);
	}
	return r;
}

/* The journal is of this boot: RUN does not outlive one. */
static int add_open(struct store *s, const char *boot, struct collecting *c)
{
	_cleanup_(dataset_free) struct dataset d = {};
	int r = store_load_open(s, INT64_MIN, &d);

	for (size_t i = 0; r == 0 && i < d.ticks.n; i++) {
		struct age_span span = {.first = d.ticks.v[i].wall, .last = d.ticks.v[i].wall, .boot_first = d.ticks.v[i].boot, .boot_last = d.ticks.v[i].boot};

		if (store_run_dir(s))
			snprintf(span.boot, sizeof(span.boot), "%s", boot);
		r = add(c, &span);
	}
	return r;
}

int store_clock_steps(struct store *s, int64_t wall, int64_t boot, struct clock_step **ret, size_t *ret_n)
{
	struct age_span now = {.first = wall, .last = wall, .boot_first = boot, .boot_last = boot};
	struct collecting c = {};
	int r = s->ordered ? 0 : -ENOENT;

	(void)clock_boot_id("/proc", now.boot);
	r = r ?: add_segments(s, &c);
	r = r ?: add_open(s, now.boot, &c);
	if (r == 0 && wall)
		r = add(&c, &now);
	if (r < 0 && r != -ENOENT) {
		VEC_FREE(c.found);
		return r;
	}
	*ret = c.found.v;
	*ret_n = c.found.n;
	return 0;
}

char *clock_step_words(const struct clock_step *step, char *buf, size_t n)
{
	char span[32];

	clock_format_span(step->step > 0 ? step->step : -step->step, span, sizeof(span));
	if (step->within_boot)
		snprintf(buf, n, "the clock was set %s by %s", step->step > 0 ? "forward" : "back", span);
	else if (step->step < 0)
		snprintf(buf, n, "the machine started with its clock %s behind the end of the recording", span);
	else
		snprintf(buf, n, "nothing was recorded for %s, or the clock was ahead", span);
	return buf;
}
