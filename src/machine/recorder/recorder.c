#include "machine/recorder/recorder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/system/helper-thread.h"
#include "machine/model/name-limit.h"
#include "machine/model/totals.h"
#include "machine/process/describe.h"
#include "machine/sample/source.h"

#define SOURCES_MAX   16
#define DESCRIBE_PATIENCE NS_PER_SEC
#define DESCRIBE_MAX  65536 /* processes waiting to be named; beyond it they keep their short name */

struct opened {
	const struct source *source;
	void *state;
	const char *dearer; /* what it said when it was opened; NULL = nothing */
};

struct description {
	uint32_t id, pid;
	uint64_t start;
	struct process_text text;
};

/* Names processes, in threads of its own: reading a command line may block on the process's memory lock. */
struct describer {
	struct helper *helper;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool running, stop;
	const char *proc_root;
	VEC(struct description) wanted, found;
};

struct recorder {
	struct opened sources[SOURCES_MAX];
	size_t n_sources;
	struct tick tick;
	struct name_limit *names;
	struct frame_encoder encoder;
	struct describer describer;
	struct hmap processes; /* (id, 0) -> struct entity, those that may still be described */
	VEC(struct note) notes; /* for the next tick */
	struct str missing;
	uint64_t ticks;
	double busy;
	const struct recorder_clock *clock;
	void (*observe)(const struct tick *tick, void *data);
	void *observe_data;
	struct totals *totals;
	int64_t boot, wall;	      /* of the coming tick; 0 = not read yet */
	int64_t last_boot, last_wall; /* of the one before */
};

static const struct recorder_clock machine_clock = {clock_boot, clock_wall};

/* A description that a helper's thread may be left with. */
struct describing {
	const char *proc_root;
	struct description d;
	int result;
};

static void describe_one(void *data)
{
	struct describing *d = data;

	d->result = describe_live(d->proc_root, d->d.pid, d->d.start, &d->d.text);
}

static void release_describing(void *data)
{
	struct describing *d = data;

	if (d->result == 0)
		process_text_free(&d->d.text);
	free(d);
}

/* A process whose memory is locked for longer keeps its name without arguments. 0 or -errno. */
static int describe_bounded(struct describer *d, struct description *one)
{
	struct describing *job = malloc(sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	*job = (struct describing){d->proc_root, *one, -ESRCH};
	r = helper_do(d->helper, describe_one, release_describing, job, DESCRIBE_PATIENCE);
	if (r < 0) {
		if (r != -ETIMEDOUT)
			free(job);
		return describe_program(d->proc_root, one->pid, one->start, &one->text);
	}
	r = job->result;
	*one = job->d;
	free(job);
	return r;
}

static void *describe_all(void *argument)
{
	struct describer *d = argument;

	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		struct description next;
		int r;

		if (!d->wanted.n) {
			pthread_cond_wait(&d->wake, &d->lock);
			continue;
		}
		next = d->wanted.v[--d->wanted.n]; /* the newest first: it is the likeliest to be gone soon */
		pthread_mutex_unlock(&d->lock);
		r = describe_bounded(d, &next);
		pthread_mutex_lock(&d->lock);
		if (r == 0 && VEC_PUSH(d->found, next) < 0)
			process_text_free(&next.text);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static int start_describer(struct describer *d, const char *proc_root)
{
	d->proc_root = proc_root;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	if (helper_new(&d->helper) < 0)
		return -ENOMEM;
	if (pthread_create(&d->thread, NULL, describe_all, d) != 0)
		return -EAGAIN;
	pthread_setname_np(d->thread, "describe");
	d->running = true;
	return 0;
}

static void stop_describer(struct describer *d)
{
	if (d->running) {
		pthread_mutex_lock(&d->lock);
		d->stop = true;
		pthread_cond_signal(&d->wake);
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->thread, NULL);
	}
	helper_free(d->helper);
	VEC_FREE(d->wanted);
	VEC_FREE_EACH(d->found, process_text_free(&each->text));
}

static void apply(struct entity *e, struct process_text *text)
{
	entity_describe(e, text->exe, text->cmdline, text->unit, text->container);
	*text = (struct process_text){};
}

/* What was found since the last tick goes out with this one, also of processes that sleep and are not put. */
static void collect_descriptions(struct recorder *r)
{
	pthread_mutex_lock(&r->describer.lock);
	VEC_EACH(found, r->describer.found) {
		struct entity *e = hmap_get(&r->processes, found->id, 0);

		if (e) {
			apply(e, &found->text);
			(void)tick_put_same(&r->tick, e, e->previous, e->measured);
		} else {
			process_text_free(&found->text);
		}
	}
	r->describer.found.n = 0;
	pthread_mutex_unlock(&r->describer.lock);
}

static void ask_descriptions(struct recorder *r)
{
	bool any = false;

	pthread_mutex_lock(&r->describer.lock);
	for (size_t i = 0; i < r->tick.unnamed.n && r->describer.wanted.n < DESCRIBE_MAX; i++) {
		struct entity *e = r->tick.unnamed.v[i];

		any |= VEC_PUSH(r->describer.wanted,
				(struct description){.id = e->info.id, .pid = e->info.pid, .start = e->info.start}) == 0;
	}
	if (any)
		pthread_cond_signal(&r->describer.wake);
	pthread_mutex_unlock(&r->describer.lock);
}

static void describe_now(struct recorder *r)
{
	for (size_t i = 0; i < r->tick.unnamed.n; i++) {
		struct entity *e = r->tick.unnamed.v[i];
		struct process_text text;

		if (describe_live(r->describer.proc_root, e->info.pid, e->info.start, &text) == 0)
			apply(e, &text);
	}
}

static int open_source(struct recorder *r, const struct source *source, const struct source_options *options)
{
	const char *why = NULL;
	void *state = NULL;
	int result = source->open(options, &state, &why);

	if (why)
		str_printf(&r->missing, "%s: %s\n", source->name, why);
	if (result < 0)
		return result;
	r->sources[r->n_sources++] = (struct opened){source, state, why};
	return 0;
}

static int open_process_source(struct recorder *r, const struct recorder_options *options, char **ret_error)
{
	int result = -EOPNOTSUPP;

	if (!options->force_proc)
		result = open_source(r, &source_task, &options->source);
	if (result < 0)
		result = open_source(r, &source_proc, &options->source);
	if (result < 0 && asprintf(ret_error, "cannot see any process: %s", r->missing.data ? r->missing.data : "") < 0)
		*ret_error = NULL;
	return result;
}

int recorder_open(const struct recorder_options *options, struct recorder **ret, char **ret_error)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int result;

	*ret_error = NULL;
	if (!r)
		return -ENOMEM;
	r->names = name_limit_new();
	if (!r->names) {
		free(r);
		return -ENOMEM;
	}
	r->clock = options->clock ? options->clock : &machine_clock;
	r->observe = options->observe;
	r->observe_data = options->observe_data;
	r->totals = options->totals;
	r->encoder.next_id = options->first_id ? options->first_id : 1;
	r->describer.proc_root = options->source.proc_root;
	result = open_process_source(r, options, ret_error);
	for (size_t i = 0; result == 0 && !options->processes_only && system_sources[i] && r->n_sources < SOURCES_MAX; i++)
		(void)open_source(r, system_sources[i], &options->source); /* each is worth having, none is needed */
	if (result == 0 && options->describe_aside)
		result = start_describer(&r->describer, options->source.proc_root);
	if (result < 0) {
		recorder_close(r);
		return result;
	}
	*ret = r;
	return 0;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	stop_describer(&r->describer);
	for (size_t i = 0; i < r->n_sources; i++)
		r->sources[i].source->close(r->sources[i].state);
	VEC_FREE_EACH(r->notes, free(each->text));
	name_limit_free(r->names);
	tick_free(&r->tick);
	hmap_free(&r->processes);
	str_free(&r->missing);
	free(r);
}

static void measure_busy(struct recorder *r)
{
	int64_t cpu = 0, span = r->tick.boot - r->tick.previous_boot;

	VEC_EACH(s, r->tick.samples)
		if (!s->same && s->entity->info.kind == ENTITY_PROCESS && (s->entity->info.id || s->entity->folded) &&
		    !s->entity->fresh)
			cpu += s->values[FEATURE_CPU_TIME] - s->entity->previous[FEATURE_CPU_TIME];
	r->busy = r->tick.previous_boot && span > 0 ? (double)cpu / (double)span : 0;
}

static void remember_processes(struct recorder *r)
{
	for (size_t i = 0; i < r->tick.unnamed.n; i++)
		(void)hmap_put(&r->processes, r->tick.unnamed.v[i]->info.id, 0, r->tick.unnamed.v[i]);
	for (size_t i = 0; i < r->tick.ended.n; i++)
		hmap_remove(&r->processes, r->tick.ended.v[i]->info.id, 0);
}

static void take_notes(struct recorder *r)
{
	for (size_t i = 0; i < r->notes.n; i++)
		(void)VEC_PUSH_OWNER(r->tick.notes, r->notes.v[i].text, r->notes.v[i]);
	r->notes.n = 0;
}

bool recorder_read_clocks(struct recorder *r, int64_t interval)
{
	int64_t passed, step;

	r->boot = r->clock->boot();
	r->wall = r->clock->wall();
	if (!r->last_boot)
		return false;
	passed = r->boot - r->last_boot;
	step = (r->wall - r->last_wall) - passed;
	if (passed > 5 * interval + 2 * NS_PER_SEC)
		recorder_note(r, NOTE_CLOCK, "nothing recorded for %s (the machine slept or stood still)",
			      CLOCK_SPAN(passed));
	if (step <= NS_PER_SEC && step >= -NS_PER_SEC)
		return false;
	recorder_note(r, NOTE_CLOCK, "the clock was set %s by %s", step > 0 ? "forward" : "back",
		      CLOCK_SPAN(step > 0 ? step : -step));
	return true;
}

int recorder_tick(struct recorder *r, bool key, struct str *frame)
{
	int result;

	if (!r->boot)
		(void)recorder_read_clocks(r, INT64_MAX / 8);
	tick_begin(&r->tick, r->boot, r->wall);
	r->tick.brief = !key;
	r->tick.folded_names = name_limit_folded(r->names);
	r->last_boot = r->boot;
	r->last_wall = r->wall;
	r->boot = 0;
	take_notes(r);
	for (size_t i = 0; i < r->n_sources; i++) {
		unsigned every = r->sources[i].source->every ? r->sources[i].source->every : 1;

		if (key || r->ticks % every == 0)
			r->sources[i].source->sample(r->sources[i].state, &r->tick);
	}
	r->ticks++;
	if (r->describer.running)
		collect_descriptions(r);
	else
		describe_now(r);
	measure_busy(r);
	if (r->observe)
		r->observe(&r->tick, r->observe_data);
	if (r->totals)
		totals_take(r->totals, &r->tick);
	name_limit_apply(r->names, &r->tick, key);
	result = frame_encode(&r->encoder, &r->tick, key, frame);
	if (r->describer.running)
		ask_descriptions(r); /* only now do new entities have their ids */
	remember_processes(r);
	return result;
}

bool recorder_segment_is_full(const struct recorder *r)
{
	return frame_segment_is_full(&r->encoder);
}

void recorder_note(struct recorder *r, enum note_kind kind, const char *format, ...)
{
	struct note note = {.kind = kind};
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&note.text, format, args);
	va_end(args);
	if (n >= 0 && VEC_PUSH(r->notes, note) < 0)
		free(note.text);
}

int recorder_wake_fd(const struct recorder *r)
{
	const struct opened *first = &r->sources[0];

	return first->source->wake_fd ? first->source->wake_fd(first->state) : -1;
}

bool recorder_drain(struct recorder *r)
{
	const struct opened *first = &r->sources[0];

	return !first->source->drain || first->source->drain(first->state);
}

const char *recorder_missing(const struct recorder *r)
{
	return r->missing.data ? r->missing.data : "";
}

int recorder_look(unsigned ticks, int pause, struct dataset *ret, char **ret_missing, char **ret_error)
{
	const struct recorder_options options = {.source = {"/proc", "/sys", true, false, 0}};
	_cleanup_str_ struct str frames = {};
	struct recorder *recorder;
	size_t used;
	int r = recorder_open(&options, &recorder, ret_error);

	if (r < 0)
		return *ret_error ? r : str_fail(ret_error, r, "%s", strerror(-r));
	for (unsigned i = 0; r == 0 && i < ticks; i++) {
		poll(NULL, 0, i ? pause : 0);
		r = recorder_tick(recorder, i == 0, &frames);
	}
	r = r ?: frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, ret, &used);
	if (ret_missing)
		*ret_missing = strdup(recorder_missing(recorder));
	recorder_close(recorder);
	return r < 0 ? str_fail(ret_error, r, "cannot sample: %s", strerror(-r)) : 0;
}

bool recorder_is_partial(const struct recorder *r)
{
	return r->sources[0].source != &source_task;
}

const char *recorder_process_source(const struct recorder *r)
{
	return r->sources[0].source->name;
}

const char *recorder_process_cost(const struct recorder *r)
{
	return r->sources[0].dearer;
}

double recorder_busy(const struct recorder *r)
{
	return r->busy;
}
