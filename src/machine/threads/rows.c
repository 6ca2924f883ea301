#include "machine/threads/rows.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/blame/wait-report.h"

const char *const row_order_names[ROW_ORDERS] = {"waited", "ran", "name", "pid"};

/* A thread that takes part, with what its place depends on. */
struct candidate {
	struct thread_row row;
	int64_t group_key, key; /* the larger the earlier */
	enum row_order order;
	uint32_t place;		/* among those that come first; NOBODY */
};

static const char *process_name(const struct timeline *t, const struct thread_line *line)
{
	return line->kernel ? "kernel threads" : line->program == NOBODY ? line->comm : t->names.v[line->program];
}

static bool holds(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool passes(const struct timeline *t, const struct thread_line *line, const char *filter)
{
	uint64_t number;

	if (!filter || !*filter)
		return true;
	if (str_parse_u64(filter, &number) == 0 && (line->tid == number || line->tgid == number))
		return true;
	return holds(line->comm, filter) || holds(process_name(t, line), filter) ||
	       (line->unit != NOBODY && holds(t->names.v[line->unit], filter));
}

static bool is_hidden(const struct timeline *t, const struct thread_line *line, const char *hidden)
{
	char part[128];

	for (size_t n; hidden && *hidden; hidden += n + (hidden[n] == ',')) {
		n = strcspn(hidden, ",");
		if (!n || n >= sizeof(part))
			continue;
		memcpy(part, hidden, n);
		part[n] = 0;
		if (passes(t, line, part))
			return true;
	}
	return false;
}

static bool is_wanted(const struct timeline *t, const struct row_question *q, const struct thread_line *line)
{
	return line->tid && line->intervals.n && (!q->only || line->tid == q->only || line->tgid == q->only) && passes(t, line, q->filter) &&
	       !is_hidden(t, line, q->hidden);
}

static uint32_t place_of(const struct row_question *q, uint32_t thread)
{
	for (size_t i = 0; i < q->n_first; i++)
		if (q->first[i] == thread)
			return (uint32_t)i;
	return NOBODY;
}

/* It has waited since before the recording for a lock that no one is seen to hold: so it always does (flock() of a service that runs once). Who waits so
 * long for the machine hangs. */
static bool always_waits(const struct thread_line *line)
{
	return line->intervals.n == 1 && line->intervals.v[0].holder == NOBODY && line->intervals.v[0].state == STATE_LOCK;
}

static struct candidate candidate_of(const struct timeline *t, const struct row_question *q, uint32_t thread)
{
	const struct thread_line *line = &t->threads.v[thread];
	struct candidate c = {.row = {.thread = thread, .process = line->kernel ? 0 : line->tgid, .members = 1, .name = process_name(t, line)},
			      .order = q->order, .place = place_of(q, thread)};
	struct wait_report report;

	wait_report_init(&report, q->from, q->to);
	wait_report_add(&report, line);
	c.row.first = c.place != NOBODY;
	c.key = q->order == ORDER_RAN ? wait_report_running(&report) : q->order == ORDER_WAITED && !always_waits(line) ? wait_report_contended(&report) : 0;
	if (q->order == ORDER_WAITED && !c.key) /* of those that never waited, those that ran */
		c.key = wait_report_running(&report) - INT64_MAX;
	return c;
}

ORDER(by_process, struct candidate, ASCENDING(row.process))

ORDER(by_place, struct candidate,
      ASCENDING(place) ?: (a->order != ORDER_PID ? DESCENDING(group_key) : 0) ?: (a->order == ORDER_NAME ? strcasecmp(a->row.name, b->row.name) : 0)
	      ?: by_process(a, b) ?: DESCENDING(key) ?: ASCENDING(row.thread))

/* A process stands where its worst thread does. */
static void rank_groups(struct candidate *all, size_t n)
{
	qsort(all, n, sizeof(*all), by_process);
	for (size_t i = 0, end; i < n; i = end) {
		int64_t worst = all[i].key;

		for (end = i; end < n && all[end].row.process == all[i].row.process; end++)
			worst = all[end].key > worst ? all[end].key : worst;
		for (size_t k = i; k < end; k++)
			all[k].group_key = worst;
	}
}

static bool is_folded(const struct row_question *q, uint32_t process)
{
	return ANY_WHERE(i, q->n_folded, q->folded[i] == process);
}

static int put_group(const struct row_question *q, const struct candidate *all, size_t n, struct thread_rows *ret)
{
	struct thread_row group = {NOBODY, all->row.process, (uint32_t)n, all->row.name, false, is_folded(q, all->row.process)};
	int r = VEC_PUSH(ret->rows, group);

	for (size_t i = 0; i < n && r == 0; i++) {
		r = VEC_PUSH(ret->threads, all[i].row.thread);
		if (!group.folded && r == 0)
			r = VEC_PUSH(ret->rows, all[i].row);
	}
	return r;
}

static int put_alone(const struct candidate *one, struct thread_rows *ret)
{
	int r = VEC_PUSH(ret->rows, one->row);

	return r ? r : VEC_PUSH(ret->threads, one->row.thread);
}

static int put_rows(const struct row_question *q, const struct candidate *all, size_t n, struct thread_rows *ret)
{
	int r = 0;

	for (size_t i = 0, end; i < n && r == 0; i = end) {
		for (end = i + 1; end < n && all[i].place == NOBODY && all[end].row.process == all[i].row.process; end++)
			continue;
		r = end - i > 1 ? put_group(q, all + i, end - i, ret) : put_alone(&all[i], ret);
	}
	return r;
}

int rows_build(const struct timeline *t, const struct row_question *q, struct thread_rows *ret)
{
	_cleanup_free_ struct candidate *all = calloc(t->threads.n + 1, sizeof(*all));
	struct thread_rows rows = {};
	size_t n = 0;
	int r;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->threads.n; i++)
		if (is_wanted(t, q, &t->threads.v[i]))
			all[n++] = candidate_of(t, q, i);
	rank_groups(all, n);
	qsort(all, n, sizeof(*all), by_place);
	r = put_rows(q, all, n, &rows);
	if (r < 0) {
		rows_free(&rows);
		return r;
	}
	*ret = rows;
	return 0;
}

void rows_free(struct thread_rows *r)
{
	VEC_FREE(r->rows);
	VEC_FREE(r->threads);
}
