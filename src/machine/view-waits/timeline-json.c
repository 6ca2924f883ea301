/* Schemas "whyslow.timeline/1" and "whyslow.instant/1": the threads view, and one interval of it. */
#include <errno.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"
#include "machine/view-waits/waits-words.h"

#define UNITS_A_POINT 8 /* how finely a run's ends are reported */
#define STACK_WORDS   512

/* --- time --- */

/* Exact: "1790000000.123456789". Offsets and spans are integers, and below 2^53. */
static json_t *exact(const struct timeline *t, int64_t at)
{
	int64_t wall = trace_wall(t->trace, (uint64_t)at);

	return json_sprintf("%lld.%09lld", wall / NS_PER_SEC, wall % NS_PER_SEC);
}

static json_t *stretch_json(const struct timeline *t, int64_t from, int64_t to)
{
	return json_pack("{s:o, s:o, s:I}", "start", exact(t, from), "end", exact(t, to), "ns", (json_int_t)(to - from));
}

/* --- runs as text --- */

static json_t *base64(const struct str *bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	_cleanup_free_ char *text = malloc((bytes->len + 2) / 3 * 4 + 1);
	const uint8_t *in = (const uint8_t *)bytes->data;
	size_t n = 0;

	if (!text || bytes->error)
		return NULL;
	for (size_t i = 0; i < bytes->len; i += 3) {
		size_t left = bytes->len - i;
		uint32_t three = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);

		text[n++] = digits[three >> 18];
		text[n++] = digits[three >> 12 & 63];
		text[n++] = left > 1 ? digits[three >> 6 & 63] : '=';
		text[n++] = left > 2 ? digits[three & 63] : '=';
	}
	return json_stringn_nocheck(text, n);
}

/* Threads that are spoken of, by their place in the answer. */
struct people {
	const struct timeline *t;
	uint32_t *place; /* of each thread; 0 = not yet */
	json_t *list;
	uint32_t n;
};

static int people_begin(struct people *p, const struct timeline *t)
{
	*p = (struct people){t, calloc(t->threads.n + 1, sizeof(*p->place)), json_array(), 0};
	return p->place && p->list ? 0 : -ENOMEM;
}

static void people_free(struct people *p)
{
	free(p->place);
	json_decref(p->list);
}

static uint32_t place_of(struct people *p, uint32_t thread)
{
	if (!p->place[thread]) {
		json_array_append_new(p->list, waits_thread_json(p->t, thread));
		p->place[thread] = ++p->n;
	}
	return p->place[thread] - 1;
}

/* Each run: units since the last one's end, units it is long, what; of CPUs then who + 1, 0 = several or none. */
static json_t *runs_json(const struct drawing *d, const struct drawn_line *line, int64_t unit, struct people *people)
{
	_cleanup_str_ struct str bytes = {};
	int64_t at = 0;

	VEC_EACH(run, line->runs) {
		int64_t from = (run->from - d->from + unit / 2) / unit, to = (run->to - d->from + unit / 2) / unit;

		str_put_varint(&bytes, (uint64_t)(from - at));
		str_put_varint(&bytes, (uint64_t)(to - from));
		str_put_varint(&bytes, run->what);
		if (people)
			str_put_varint(&bytes, run->who == NOBODY ? 0 : place_of(people, run->who) + 1);
		at = to;
	}
	return base64(&bytes);
}

/* --- sums --- */

static const char *state_word(unsigned kind)
{
	return kind < INTERVAL_STATES ? state_table[kind].name : "?";
}

static json_t *sums_json(const int64_t *sums, bool cpu)
{
	json_t *object = json_object();

	for (unsigned k = 0; k < DRAWN_KINDS; k++)
		if (sums[k])
			json_object_set_new(object, cpu ? cpu_use_names[k] : state_word(k), json_integer(sums[k]));
	return object;
}

static json_t *states_json(void)
{
	return JSON_COUNT(k, INTERVAL_STATES, json_pack("{s:s, s:s, s:s, s:b}", "name", state_table[k].name,
		"text", state_table[k].text, "wait",
		wait_for_name(state_table[k].wait), "contended",
		wait_for_is_contended(state_table[k].wait)));
}

static json_t *mixes_json(const struct mixes *mixes)
{
	json_t *array = json_array();

	VEC_EACH(m, mixes->v) {
		json_t *parts = json_array();

		for (unsigned k = 0; k < MIX_PARTS && m->share[k]; k++) {
			json_array_append_new(parts, json_integer(m->kind[k]));
			json_array_append_new(parts, json_integer(m->share[k]));
		}
		json_array_append_new(array, parts);
	}
	return array;
}

/* --- lines --- */

static json_t *row_json(const struct timeline *t, const struct drawing *d, const struct drawn_line *line, int64_t unit)
{
	const struct thread_row *row = &line->row;
	const struct thread_line *thread = row->thread == NOBODY ? NULL : &t->threads.v[row->thread];

	return json_pack("{s:o, s:I, s:s, s:s?, s:I, s:b, s:b, s:o, s:o}", "tid", thread ? json_integer(thread->tid) : json_null(), "pid",
			 (json_int_t)row->process, "process", row->name, "name", thread ? thread->comm : NULL, "threads",
			 (json_int_t)row->members, "folded", row->folded, "first", row->first, "runs", runs_json(d, line, unit, NULL),
			 "sums", sums_json(line->sums, false));
}

static json_t *rows_json(const struct timeline *t, const struct drawing *d, int64_t unit)
{
	return json_pack("{s:I, s:I, s:o}", "total", (json_int_t)d->n_rows, "first", (json_int_t)d->first, "lines", JSON_EACH(x, d->lines, row_json(t,
		d, x, unit)));
}

static json_t *cpus_json(const struct drawing *d, int64_t unit, struct people *people)
{
	return JSON_EACH(x, d->cpus, json_pack("{s:I, s:o, s:o}", "cpu", (json_int_t)x->cpu, "runs", runs_json(d, x, unit, people), "sums",
		sums_json(x->sums, true)));
}

static const char *piece_culprit(const struct timeline *t, const struct path_piece *p, char *buf, size_t n)
{
	static const struct blame_matrix threads = {.level = LEVEL_THREAD};
	struct blame_cell cell = {.culprit = p->culprit, .id = p->id};

	return waits_culprit_label(t, &threads, &cell, buf, n);
}

/* Offsets from `from`; who, as everywhere, by the place among `people`. */
static json_t *path_json(const struct timeline *t, const struct critical_path *path, int64_t from, struct people *people)
{
	char label[LABEL_SIZE];

	return JSON_EACH(p, path->pieces, json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "from", (json_int_t)(p->from - from), "ns",
		(json_int_t)(p->to - p->from), "who", (json_int_t)place_of(people, p->thread), "state", (json_int_t)p->state, "depth",
		(json_int_t)p->depth, "culprit", piece_culprit(t, p, label, sizeof(label))));
}

static int dump(json_t *root, FILE *out)
{
	return json_print(root, JSON_COMPACT, out);
}

int waits_timeline_json(const struct timeline *t, const struct drawing *d, FILE *out)
{
	_cleanup_(people_free) struct people people;
	int64_t unit = d->points ? (d->to - d->from) / d->points / UNITS_A_POINT : 1;
	json_t *rows, *cpus, *path;

	unit = unit > 0 ? unit : 1;
	if (people_begin(&people, t) < 0)
		return -ENOMEM;
	rows = rows_json(t, d, unit);
	cpus = cpus_json(d, unit, &people);
	path = d->has_path ? path_json(t, &d->path, d->from, &people) : json_null();
	return dump(json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O, s:b}", "schema", "whyslow.timeline/1", "recorded",
			      stretch_json(t, t->start, t->end), "frozen", exact(t, (int64_t)t->trace->frozen), "window",
			      stretch_json(t, d->from, d->to), "unit_ns", (json_int_t)unit, "events", (json_int_t)t->trace->n_events,
			      "states", states_json(), "uses", JSON_COUNT(k, CPU_USES, json_string(cpu_use_names[k])), "mixes", mixes_json(&d->mixes), "sums",
			      sums_json(d->sums, false), "rows", rows, "cpus", cpus, "path", path, "people", people.list, "hidden",
			      waits_others_are_hidden(t)),
		    out);
}

/* --- one interval --- */

/* `probed`: stacks that were taken within a tracepoint's call. */
static json_t *stack_json(const struct timeline *t, uint32_t process, const stack_ref *refs, size_t n, bool probed)
{
	json_t *array = json_array();

	for (size_t k = 0; k < n; k++) {
		const uint64_t *frames;
		bool astray;
		size_t found = waits_stack(t, process, refs[k], probed, &frames, &astray);

		for (size_t i = 0; i < found; i++) {
			_cleanup_str_ struct str words = {.max = STACK_WORDS};

			waits_frame(t, process, frames[i], &words);
			json_array_append_new(array, json_pack("{s:s, s:b}", "name", words.data ? words.data : "?", "kernel",
							       (int)(frames[i] >> 63)));
		}
		if (astray)
			json_array_append_new(array, json_pack("{s:s, s:b}", "name", NO_FRAME_POINTERS, "kernel", 0));
	}
	return array;
}

static json_t *waker_json(const struct timeline *t, const struct interval *i)
{
	uint32_t process = i->waker == NOBODY ? 0 : t->threads.v[i->waker].tgid;

	return json_pack("{s:s, s:o, s:o}", "kind", waits_waker_word(i->waker_kind), "thread",
			 i->waker == NOBODY ? json_null() : waits_thread_json(t, i->waker), "stack", stack_json(t, process, &i->waker_stack, 1, true));
}

static json_t *blame_json(const struct timeline *t, const struct blame_matrix *m)
{
	char label[LABEL_SIZE];

	return JSON_EACH(c, m->cells, json_pack("{s:s, s:o, s:s, s:I, s:b}", "culprit", waits_culprit_label(t, m, c, label, sizeof(label)), "thread",
		c->culprit == BY_TASK ? waits_thread_json(t, c->id) : json_null(), "wait", wait_for_text((enum wait_for)c->wait), "ns",
		(json_int_t)c->ns, "modelled", (c->flags & BLAME_MODELLED) != 0));
}

int waits_instant_json(const struct timeline *t, const struct instant *m, FILE *out)
{
	const struct interval *i = m->interval;
	const struct thread_line *line = &t->threads.v[m->thread];
	const stack_ref stacks[] = {i->kernel_stack, i->user_stack};
	_cleanup_(people_free) struct people people;
	json_t *chain;

	if (people_begin(&people, t) < 0)
		return -ENOMEM;
	chain = path_json(t, &m->chain, i->start, &people);
	return dump(json_pack("{s:s, s:o, s:o, s:s, s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:O}", "schema", "whyslow.instant/1", "thread",
			      waits_thread_json(t, m->thread), "interval", stretch_json(t, i->start, i->end), "state",
			      state_table[i->state].name, "text", state_table[i->state].text, "cpu",
			      i->cpu < t->cpus.n ? json_integer(i->cpu) : json_null(), "inferred",
			      (i->flags & INTERVAL_INFERRED) != 0, "open", (i->flags & INTERVAL_OPEN) != 0, "stack",
			      stack_json(t, line->tgid, stacks, 2, false), "ended_by", waker_json(t, i), "holder",
			      i->holder == NOBODY ? json_null() : waits_thread_json(t, i->holder), "in_the_way", blame_json(t, &m->matrix),
			      "chain", chain, "people", people.list),
		    out);
}
