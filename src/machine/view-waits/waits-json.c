#include <jansson.h>

#include "lib/data/clock.h"
#include "lib/view/json.h"
#include "machine/view-waits/waits-words.h"

static json_t *moment(const struct timeline *t, int64_t at)
{
	return json_string(CLOCK_RFC3339(trace_wall(t->trace, (uint64_t)at)));
}

json_t *waits_window_json(const struct timeline *t, int64_t from, int64_t to)
{
	const struct timeline_faults *f = &t->faults;
	size_t events = trace_find(t->trace, (uint64_t)to) - trace_find(t->trace, (uint64_t)from);

	return json_pack("{s:o, s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "start", moment(t, from), "end", moment(t, to), "ns",
			 (json_int_t)(to - from), "source", t->trace->source, "events", (json_int_t)events, "lost", (json_int_t)f->lost, "broken_switches",
			 (json_int_t)f->broken_switches, "no_waker", (json_int_t)f->no_waker, "bad_numbers",
			 (json_int_t)f->bad_numbers, "unknown_kinds", (json_int_t)f->unknown_kinds, "odd_requests",
			 (json_int_t)f->odd_requests, "hidden", waits_others_are_hidden(t));
}

json_t *waits_thread_json(const struct timeline *t, uint32_t thread)
{
	const struct thread_line *line = &t->threads.v[thread];

	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:b, s:b}", "tid", (json_int_t)line->tid, "pid", (json_int_t)line->tgid, "name",
			 json_text(line->comm), "program", json_text(t->names.v[line->program]), "unit",
			 json_text(line->unit == NOBODY ? NULL : t->names.v[line->unit]), "self", line->self, "hidden", waits_thread_is_hidden(t, thread));
}

json_t *waits_who_json(const struct timeline *t, const struct blame_matrix *m, uint32_t id)
{
	const struct blame_member *member;

	if (id == NOBODY)
		return json_null();
	if (m->level == LEVEL_THREAD)
		return waits_thread_json(t, id);
	member = &m->members.v[id];
	return json_pack("{s:o, s:o, s:I}", "name", json_text(member->name == NOBODY ? NULL : t->names.v[member->name]), "pid",
			 member->pid ? json_integer(member->pid) : json_null(), "threads", (json_int_t)member->threads);
}

static json_t *cell_json(const struct timeline *t, const struct blame_matrix *m, const struct blame_cell *c)
{
	char label[LABEL_SIZE];
	bool task = c->culprit == BY_TASK || c->culprit == BY_SELF;

	return json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:I, s:I, s:I, s:b, s:b, s:b}", "victim", waits_who_json(t, m, c->victim),
			 "wait", wait_for_name(c->wait), "culprit_kind", waits_culprit_name(c->culprit), "culprit_text",
			 waits_culprit_label(t, m, c, label, sizeof(label)), "culprit", task ? waits_who_json(t, m, c->id) : json_null(), "number",
			 c->culprit == BY_IRQ || c->culprit == BY_SOFTIRQ ? json_integer(c->id) : json_null(), "root",
			 wait_for_name(c->root), "via", waits_who_json(t, m, c->via), "ns", (json_int_t)c->ns, "parts",
			 (json_int_t)c->parts, "longest_ns", (json_int_t)c->longest, "modelled", (c->flags & BLAME_MODELLED) != 0,
			 "inferred", (c->flags & BLAME_INFERRED) != 0, "coarse", (c->flags & BLAME_COARSE) != 0);
}

static json_t *cells_json(const struct timeline *t, const struct blame_matrix *m)
{
	return JSON_EACH(x, m->cells, cell_json(t, m, x));
}

json_t *waits_totals_json(const struct blame_matrix *m)
{
	json_t *object = json_object();

	for (int w = FOR_NONE + 1; w < FOR_COUNT; w++)
		json_object_set_new(object, wait_for_name((enum wait_for)w),
				    json_pack("{s:I, s:I, s:I, s:b}", "ns", (json_int_t)m->waits[w], "charged_ns",
					      (json_int_t)m->charged[w], "unknown_ns", (json_int_t)m->unknown[w], "contended",
					      wait_for_is_contended((enum wait_for)w)));
	return object;
}

static int dump(json_t *root, FILE *out)
{
	return json_print(root, JSON_INDENT(1), out);
}

int waits_json(const struct timeline *t, const struct blame_matrix *m, const struct waits_options *o, FILE *out)
{
	(void)o;
	return dump(json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:o}", "schema", "whyslow.waits/1", "window",
			      waits_window_json(t, m->from, m->to), "level", blame_level_names[m->level], "waits", waits_totals_json(m), "cycles",
			      (json_int_t)m->cycles, "too_deep", (json_int_t)m->deep, "cut", (json_int_t)m->cut, "sampled_ns", (json_int_t)m->sampled, "cells", cells_json(t, m)),
		    out);
}

static json_t *states_json(const struct wait_report *r)
{
	json_t *object = json_object();

	for (int s = 0; s < INTERVAL_STATES; s++)
		json_object_set_new(object, state_table[s].name, json_integer(r->state[s]));
	return object;
}

static json_t *delays_json(const struct timeline *t, const struct wait_report *r)
{
	json_t *array = json_array();

	for (int s = 0; s < INTERVAL_STATES; s++) {
		const struct delays *d = &r->delays[s];

		if (!d->n)
			continue;
		json_array_append_new(array, json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "cause", state_table[s].name, "n",
						       (json_int_t)d->n, "ns", (json_int_t)d->ns, "longest_ns",
						       (json_int_t)d->longest, "longest_at", moment(t, d->longest_at),
						       "below_2_to_i_us", JSON_COUNT(b, DELAY_BUCKETS, json_integer(d->count[b]))));
	}
	return array;
}

static json_t *piece_json(const struct timeline *t, const struct path_piece *p)
{
	static const struct blame_matrix threads = {.level = LEVEL_THREAD};
	struct blame_cell cell = {.culprit = p->culprit, .id = p->id};
	char label[LABEL_SIZE];

	return json_pack("{s:o, s:I, s:o, s:i, s:s, s:s, s:s}", "start", moment(t, p->from), "ns", (json_int_t)(p->to - p->from),
			 "thread", waits_thread_json(t, p->thread), "depth", (int)p->depth, "state", state_table[p->state].name,
			 "culprit_kind", waits_culprit_name(p->culprit), "culprit_text",
			 waits_culprit_label(t, &threads, &cell, label, sizeof(label)));
}

static json_t *path_json(const struct timeline *t, const struct critical_path *p)
{
	return p ? JSON_EACH(x, p->pieces, piece_json(t, x)) : json_null();
}

int waits_of_json(const struct timeline *t, const struct waits_of *w, const struct waits_options *o, FILE *out)
{
	(void)o;
	return dump(json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "schema", "whyslow.waits/1", "window",
			      waits_window_json(t, w->report->from, w->report->to), "level", "thread", "threads", JSON_FIRST(x, w->threads, w->n,
				waits_thread_json(t, *x)), "samples",
			      (json_int_t)w->report->samples, "user_samples", (json_int_t)w->report->user_samples, "alive_ns",
			      (json_int_t)w->report->alive, "contended_ns", (json_int_t)wait_report_contended(w->report), "states",
			      states_json(w->report), "waits", waits_totals_json(w->matrix), "cells", cells_json(t, w->matrix), "delays",
			      delays_json(t, w->report), "path", path_json(t, w->path)),
		    out);
}

int waits_threads_json(const struct timeline *t, const uint32_t *threads, const struct wait_report *reports, size_t n, FILE *out)
{
	json_t *array = JSON_COUNT(i, n, json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}", "thread", waits_thread_json(t, threads[i]), "samples",
		(json_int_t)reports[i].samples, "user_samples", (json_int_t)reports[i].user_samples, "alive_ns",
		(json_int_t)reports[i].alive, "contended_ns",
		(json_int_t)wait_report_contended(&reports[i]), "states", states_json(&reports[i])));

	return dump(json_pack("{s:s, s:o, s:o}", "schema", "whyslow.threads/1", "window",
			      waits_window_json(t, n ? reports[0].from : t->start, n ? reports[0].to : t->end), "threads", array),
		    out);
}
