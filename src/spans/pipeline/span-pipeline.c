#include "spans/pipeline/span-pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"

#define TORN  50  /* one of so many traces came in pieces: the files are not in the order of time */
#define AHEAD (2 * FOREST_REQUESTS_MAX) /* roots that all readers of a source together read whole, before each of them thins out */
#define EIGHT 8 /* a trace takes its room in eights of spans (struct assembler_options) */

static int say(char **ret_error, int r, const char *subject)
{
	if (!*ret_error && asprintf(ret_error, "%s: %s", subject, strerror(-r)) < 0)
		*ret_error = NULL;
	return r;
}

static int join_inventories(struct pipeline *p, char **ret_error)
{
	_cleanup_free_ char *copy = p->options.join ? strdup(p->options.join) : NULL;
	char *rest = copy, *spec;

	while (rest && (spec = strsep(&rest, ","))) {
		int r = span_record_join(&p->records, spec, ret_error);

		if (r < 0)
			return r;
	}
	return 0;
}

static int open_forest(struct pipeline *p)
{
	const char *dimensions = p->options.dimensions ? p->options.dimensions : SPAN_DIMENSIONS;
	int r = forest_init(&p->forest, p->names, p->options.slot_width ? p->options.slot_width : 60000000000);

	if (r == 0)
		r = span_record_init(&p->records, p->names, &p->mapping, dimensions);
	if (r < 0)
		return r;
	p->forest.rule = strdup(path_rule_name(p->options.rule));
	p->forest.n_dimensions = p->records.n_dimensions;
	memcpy(p->forest.dimensions, p->records.dimensions, sizeof(p->forest.dimensions));
	p->builder = (struct forest_builder){.forest = &p->forest, .records = &p->records, .rule = p->options.rule,
					    .from = p->options.from, .to = p->options.to ? p->options.to : INT64_MAX};
	return p->forest.rule ? 0 : -ENOMEM;
}

int pipeline_open(struct pipeline *p, const struct pipeline_options *options, char **ret_error)
{
	struct assembler_options assembly = {.late = options->late, .most = options->most, .longest = options->longest, .ordered = options->ordered,
					     .state = options->trace ? options->state : &p->builder,
					     .trace = options->trace ? options->trace : forest_builder_add};
	struct span_sink sink;
	int r;

	*ret_error = NULL;
	*p = (struct pipeline){.names = options->names ? options->names : names_new(), .options = *options};
	r = p->names ? span_mapping_init(&p->mapping) : -ENOMEM;
	if (r == 0 && options->mapping_file)
		r = span_mapping_read(&p->mapping, options->mapping_file, ret_error);
	if (r < 0)
		return say(ret_error, r, options->mapping_file ? options->mapping_file : "spans");
	r = open_forest(p);
	if (r == 0)
		r = join_inventories(p, ret_error);
	span_edges_init(&p->asynchronous, p->names);
	if (r == 0 && options->asynchronous)
		r = span_edges_read(&p->asynchronous, options->asynchronous, ret_error);
	p->builder.tree.asynchronous = &p->asynchronous;
	p->builder.tree.names = p->names;
	if (options->only)
		p->builder.only = span_trace_ids_of_text(p->names, options->only);
	p->builder.tree.topmost = options->topmost;
	p->assembler = r == 0 ? assembler_new(&assembly) : NULL;
	if (r == 0 && !p->assembler)
		r = -ENOMEM;
	p->sampling = (struct span_sampling){.thinned = options->thinned ? options->thinned : &p->forest.thinned,
					     .most = options->thinned ? 0 : AHEAD / (options->parts ? options->parts : 1), .from = p->builder.from, .to = p->builder.to};
	sink = (struct span_sink){.names = p->names, .mapping = &p->mapping, .state = p->assembler, .put = assembler_put, .faults = &p->faults,
				  .sampling = options->trace && !options->thinned ? NULL : &p->sampling, .links = &p->links};
	p->builder.links = &p->links;
	if (r == 0)
		r = span_reader_init(&p->reader, &sink);
	p->reader.part = options->part;
	p->reader.parts = options->parts;
	return r < 0 ? say(ret_error, r, "spans") : 0;
}

void pipeline_close(struct pipeline *p)
{
	span_reader_free(&p->reader);
	assembler_free(p->assembler);
	forest_builder_free(&p->builder);
	span_edges_free(&p->asynchronous);
	span_links_free(&p->links);
	forest_free(&p->forest);
	span_record_free(&p->records);
	span_mapping_free(&p->mapping);
	if (!p->options.names)
		names_free(p->names);
	*p = (struct pipeline){};
}

static int unrecognised(const char *path, char **ret_error)
{
	_cleanup_str_ struct str formats = {};

	for (const struct span_source *const *s = span_sources; *s; s++)
		str_printf(&formats, "%s%s (%s)", formats.len ? ", " : "", (*s)->name, (*s)->help);
	if (asprintf(ret_error, "%s: not recognized as spans; say --format with one of: %s", path, formats.data) < 0)
		*ret_error = NULL;
	return -EINVAL;
}

static int read_input(struct pipeline *p, struct input *in, char **ret_error)
{
	const struct span_source *source = p->options.format ? span_source_named(p->options.format) : span_source_of(in);
	int r = 0;

	if (source)
		r = source->read(&p->reader, in);
	else if (input_need(in, 1) > 0 && !p->options.skips_unknown)
		r = unrecognised(in->name, ret_error);
	else if (input_need(in, 1) > 0 && !p->options.part)
		span_fault(&p->faults, SPAN_FAULT_SYNTAX, "%s: not recognized as spans", in->name);
	if (in->broken && !p->options.part)
		span_fault(&p->faults, SPAN_FAULT_TRUNCATED, "%s: the compressed data is damaged or cut off after byte %llu", in->name,
			   (unsigned long long)(in->before + in->n));
	return r < 0 ? say(ret_error, r, in->name) : 0;
}

int pipeline_read(struct pipeline *p, const char *path, char **ret_error)
{
	struct input in;
	int r = input_open(&in, path);

	*ret_error = NULL;
	if (r < 0)
		return say(ret_error, r, path);
	r = read_input(p, &in, ret_error);
	input_close(&in);
	return r;
}

int pipeline_end(struct pipeline *p)
{
	int r = assembler_flush(p->assembler, UINT32_MAX);
	struct assembler_tally tally = assembler_tally(p->assembler);

	if (!p->options.thinned)
		forest_thin(&p->forest, p->sampling.ahead);
	p->forest.tally.cut = tally.cut;
	p->forest.tally.late = tally.late;
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		p->forest.tally.faults[i] = p->faults.n[i];
	return r;
}

struct learning {
	struct span_edges edges;
	struct tree tree;
	enum path_rule rule;
};

static int learn_trace(void *state, const struct span *spans, uint32_t n)
{
	struct learning *l = state;
	struct tree_tally tally = {};
	int r = trace_tree(spans, n, l->rule, &l->tree, &tally);

	return r == 0 ? span_edges_count(&l->edges, &l->tree, spans) : r;
}

int pipeline_learn(const struct pipeline_options *options, char *const *paths, size_t n, const char *file, size_t *ret_edges,
		   char **ret_error)
{
	struct pipeline_options own = *options;
	struct learning l = {.rule = options->rule};
	struct pipeline p;
	int r;

	own.trace = learn_trace;
	own.state = &l;
	own.asynchronous = NULL;
	r = pipeline_open(&p, &own, ret_error);
	span_edges_init(&l.edges, p.names);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = pipeline_read(&p, paths[i], ret_error);
	if (r == 0)
		r = pipeline_end(&p);
	if (r == 0) {
		span_edges_settle(&l.edges);
		*ret_edges = l.edges.list.n;
		r = span_edges_write(&l.edges, file, ret_error);
	}
	span_edges_free(&l.edges);
	tree_free(&l.tree);
	pipeline_close(&p);
	return r;
}

int pipeline_part(const struct forest *f, struct str *bytes, struct span_part *ret)
{
	struct span_part part = {.from = INT64_MAX, .to = INT64_MIN, .requests = f->tally.requests, .spans = f->tally.spans};
	int r = forest_write(f, bytes);

	for (size_t i = 0; i < f->buckets.n; i++) {
		for (size_t j = 0; j < f->buckets.v[i].groups.n; j++) {
			const struct forest_group *g = &f->buckets.v[i].groups.v[j];

			part.from = g->first_seen < part.from ? g->first_seen : part.from;
			part.to = g->last_seen > part.to ? g->last_seen : part.to;
		}
	}
	part.bytes = bytes->data;
	part.n = bytes->len;
	if (r == 0)
		*ret = part;
	return r;
}

/* The files; of those that are shared, each is opened by the first of the jobs that comes to it. */
struct shared_files {
	pthread_mutex_t lock;
	char *const *paths;
	size_t n;
	unsigned jobs;
	struct opened {
		struct input_file *file;
		bool tried;
		int error;
	} *v;
};

struct job {
	struct pipeline pipeline;
	struct shared_files *files;
	unsigned number;
	char *error;
	int result;
	pthread_t thread;
	bool started;
};

static int open_shared(struct job *job, size_t i, struct input *in)
{
	struct shared_files *files = job->files;
	struct opened *o = &files->v[i];

	if (files->jobs == 1 || input_is_plain(files->paths[i]))
		return input_open(in, files->paths[i]);
	pthread_mutex_lock(&files->lock);
	if (!o->tried)
		o->error = input_file_open(files->paths[i], files->jobs, &o->file);
	o->tried = true;
	pthread_mutex_unlock(&files->lock);
	if (o->error == 0)
		input_open_shared(in, files->paths[i], o->file, job->number);
	return o->error;
}

/* A job that failed still takes its leave of every file: the others would wait for it. */
static void *run_job(void *argument)
{
	struct job *job = argument;

	for (size_t i = 0; i < job->files->n; i++) {
		struct input in;
		int r = open_shared(job, i, &in);

		if (r == 0 && job->result == 0)
			job->result = read_input(&job->pipeline, &in, &job->error);
		else if (r < 0 && job->result == 0)
			job->result = say(&job->error, r, job->files->paths[i]);
		if (r == 0)
			input_close(&in);
	}
	if (job->result == 0)
		job->result = pipeline_end(&job->pipeline);
	return NULL;
}

static int open_jobs(const struct pipeline_options *options, struct job *jobs, unsigned n, struct shared_files *files,
		     struct names *names, char **ret_error)
{
	struct pipeline_options own = *options;
	int r = 0;

	own.parts = n;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		own.part = i;
		own.names = i == 0 ? names : NULL;
		jobs[i].number = i;
		jobs[i].files = files;
		r = pipeline_open(&jobs[i].pipeline, &own, ret_error);
	}
	return r;
}

static int run_jobs(struct job *jobs, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		int r = pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]);

		jobs[i].started = r == 0;
		if (r == 0)
			continue;
		jobs[i].result = -r;
		run_job(&jobs[i]);
	}
	run_job(&jobs[0]);
	for (unsigned i = 1; i < n; i++)
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
	for (unsigned i = 0; i < n; i++)
		if (jobs[i].result < 0)
			return jobs[i].result;
	return 0;
}

/* The first job's forest, which has the same names, is not copied. */
static int add_forest(struct forest *to, struct forest *from)
{
	if (to->vertices.n || to->tally.spans || to->names != from->names)
		return forest_merge(to, from);
	forest_free(to);
	*to = *from;
	*from = (struct forest){};
	return 0;
}

static int load_once(const struct pipeline_options *options, char *const *paths, size_t n, unsigned jobs_wanted, struct forest *ret,
		     struct span_faults *ret_faults, char **ret_error)
{
	unsigned n_jobs = jobs_wanted ? jobs_wanted : 1;
	_cleanup_free_ struct job *jobs = calloc(n_jobs, sizeof(*jobs));
	struct shared_files files = {PTHREAD_MUTEX_INITIALIZER, paths, n, n_jobs, calloc(n + 1, sizeof(*files.v))};
	int r = jobs && files.v ? open_jobs(options, jobs, n_jobs, &files, ret->names, ret_error) : -ENOMEM;

	if (r == 0)
		r = run_jobs(jobs, n_jobs);
	for (unsigned i = 0; jobs && i < n_jobs; i++) {
		if (r == 0)
			r = add_forest(ret, &jobs[i].pipeline.forest);
		span_faults_add(ret_faults, &jobs[i].pipeline.faults);
		if (jobs[i].error && !*ret_error)
			*ret_error = jobs[i].error;
		else
			free(jobs[i].error);
		pipeline_close(&jobs[i].pipeline);
	}
	free(files.v);
	return r < 0 ? say(ret_error, r, "spans") : 0;
}

/* Files that can be read again, and hold one service after another instead of one request after another: traces came in pieces. */
static bool was_torn(const struct forest *f, char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct stat st;

		if (stat(paths[i], &st) < 0 || !S_ISREG(st.st_mode))
			return false;
	}
	return TORN * f->tally.late > f->tally.traces || TORN * f->tally.cut > f->tally.traces;
}

/* As many passes as it takes to keep all spans of a pass in memory, of `room` for all of them: each takes its part of the traces, and none is torn. */
static int load_in_passes(const struct pipeline_options *options, char *const *paths, size_t n, uint64_t room, struct forest *ret,
			  struct span_faults *ret_faults, char **ret_error)
{
	uint64_t most = options->most ? options->most : ASSEMBLE_SPANS_MAX;
	struct pipeline_options own = *options;
	struct job job = {};
	int r = 0;

	own.late = INT64_MAX;
	own.names = ret->names;
	own.parts = (uint32_t)(room / most + 1);
	for (own.part = 0; r == 0 && own.part < own.parts; own.part++) {
		struct shared_files files = {PTHREAD_MUTEX_INITIALIZER, paths, n, 1, NULL};

		job = (struct job){.files = &files};
		r = pipeline_open(&job.pipeline, &own, ret_error);
		if (r == 0) {
			run_job(&job);
			r = job.result;
		}
		if (r == 0)
			r = add_forest(ret, &job.pipeline.forest);
		span_faults_add(ret_faults, &job.pipeline.faults);
		if (job.error && !*ret_error)
			*ret_error = job.error;
		else
			free(job.error);
		pipeline_close(&job.pipeline);
	}
	return r;
}

int pipeline_load(const struct pipeline_options *options, char *const *paths, size_t n, unsigned jobs, struct forest *ret,
		  struct span_faults *ret_faults, char **ret_error)
{
	_cleanup_(forest_free) struct forest first = {};
	struct span_faults faults = {};
	int r = forest_init(&first, ret->names, ret->slot_width);

	if (r == 0)
		r = load_once(options, paths, n, jobs, &first, &faults, ret_error);
	if (r == 0 && was_torn(&first, paths, n)) {
		faults = (struct span_faults){};
		r = load_in_passes(options, paths, n, first.tally.spans + EIGHT * first.tally.traces, ret, &faults, ret_error);
	} else if (r == 0) {
		r = add_forest(ret, &first);
	}
	span_faults_add(ret_faults, &faults);
	return r;
}
