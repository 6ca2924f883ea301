#include "cmd/spans/spans-descent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/folder.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "view/why/json.h"

#define NEARLY	     0.5  /* of the longest */
#define PLACE_LEAST  0.1  /* of the request: a call that took less is not asked about */
#define HOSTS_FILE   "/etc/whyslow/hosts"

void descent_free(struct descent *d)
{
	for (size_t i = 0; i < d->places.n; i++) {
		host_answer_free(&d->places.v[i].machine);
		host_answer_free(&d->places.v[i].program);
	}
	VEC_FREE(d->places);
}

/* --- which request, which calls of it --- */

static int64_t path_at(const struct exemplar *e, uint32_t vertex)
{
	int64_t ns = 0;

	for (size_t i = 0; i < e->spans.n; i++)
		if (e->spans.v[i].vertex == vertex)
			ns += e->spans.v[i].path;
	return ns;
}

const struct exemplar *descent_choose(const struct group *g, uint32_t vertex)
{
	const struct exemplar *best = NULL;
	const struct {
		const struct exemplar *v;
		size_t n;
	} lists[] = {{g->slowest.v, g->slowest.n}, {g->sample.v, g->sample.n}};
	int64_t most = 0;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k].n; i++)
			most = path_at(&lists[k].v[i], vertex) > most ? path_at(&lists[k].v[i], vertex) : most;
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k].n; i++) {
			const struct exemplar *e = &lists[k].v[i];

			if (most && (double)path_at(e, vertex) >= NEARLY * (double)most && (!best || e->start > best->start))
				best = e;
		}
	return best;
}

static bool is_listed(const struct descent *d, const struct exemplar_span *span)
{
	for (size_t i = 0; i < d->places.n; i++)
		if (d->places.v[i].span->host == span->host && d->places.v[i].span->process == span->process)
			return true;
	return false;
}

/* The call that took most by itself, of those whose process is not listed yet; NULL: none took long. */
static const struct exemplar_span *longest_call(const struct descent *d, const struct exemplar *e, uint32_t vertex)
{
	const struct exemplar_span *best = NULL;

	for (size_t i = 0; i < e->spans.n; i++) {
		const struct exemplar_span *s = &e->spans.v[i];

		if ((vertex == NO_VERTEX || s->vertex == vertex) && !is_listed(d, s) && (!best || s->path > best->path))
			best = s;
	}
	return best && (double)best->path >= PLACE_LEAST * (double)e->duration ? best : NULL;
}

static int find_places(const struct exemplar *e, uint32_t vertex, struct descent *d)
{
	size_t most = vertex == NO_VERTEX ? DESCENT_PLACES : 1;
	const struct exemplar_span *s;
	int r = 0;

	while (r == 0 && d->places.n < most && (s = longest_call(d, e, vertex)))
		r = VEC_PUSH(d->places, (struct descent_place){.request = e, .span = s});
	return r;
}

/* --- asking --- */

/* By its number, unless that is of a container (on a host 1 is the init process); else by its service's name. */
static int ask_program(struct host_recorders *h, const struct descent *d, const struct host_question *where, struct descent_place *p)
{
	const char *number = names_get(d->forest->names, p->span->process);
	const char *service = names_get(d->forest->names, d->forest->vertices.v[p->span->vertex].service);
	struct host_question q = *where;
	int r = 0;

	q.program = *number && strcmp(number, "1") != 0 ? number : service;
	r = host_recorders_ask(h, &q, &p->program);
	if (r < 0 || p->program.why || q.program == service)
		return r;
	host_answer_free(&p->program);
	q.program = service;
	return host_recorders_ask(h, &q, &p->program);
}

static int ask_place(struct host_recorders *h, const struct descent *d, struct descent_place *p)
{
	const struct host_question q = {.host = names_get(d->forest->names, p->span->host), .since = p->request->start + p->span->start,
					.at = p->request->start + p->span->end};
	const struct host_question machine = {.host = q.host, .at = q.at};
	int r;

	if (!p->span->host)
		return fail_with(&p->machine.error, 0, "the spans do not name the host they ran on (host.name; --mapping names another attribute)");
	r = host_recorders_ask(h, &machine, &p->machine);
	if (r == 0 && p->machine.recorder)
		r = ask_program(h, d, &q, p);
	return r;
}

static const char *hosts_location(void)
{
	return spans_arg.host_list ? spans_arg.host_list : folder_path_exists(HOSTS_FILE) ? HOSTS_FILE : NULL;
}

static int ask_places(const struct common *common, struct descent *d)
{
	const struct host_recorders_options o = {.location = hosts_location(), .token_file = spans_arg.token_file, .ca_file = spans_arg.ca_file,
						 .local = {.run_dir = common->run_dir, .config_file = common->config_file}};
	_cleanup_free_ char *error = NULL;
	struct host_recorders *h = NULL;
	int r = host_recorders_open(&o, &h, &error);

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	for (size_t i = 0; r == 0 && i < d->places.n; i++)
		r = ask_place(h, d, &d->places.v[i]);
	host_recorders_free(h);
	return r;
}

int descend(const struct common *common, const struct forest *f, const struct exemplar *request, uint32_t vertex, struct descent *ret)
{
	struct descent d = {.forest = f};
	int r = find_places(request, vertex, &d);

	if (r == 0 && d.places.n)
		r = ask_places(common, &d);
	if (r < 0)
		descent_free(&d);
	else
		*ret = d;
	return r;
}

/* --- words --- */

/* A sentence of another machine's answer, safe to print. */
static void print_summary(const char *head, const struct host_answer *a)
{
	const char *summary = a->why ? json_string_value(json_object_get(a->why, "summary")) : NULL;
	_cleanup_free_ char *text = strdup(summary ? summary : a->error ? a->error : "nothing is known");

	str_make_printable(text);
	printf("    %s: %s\n", head, text ? text : "?");
}

static void print_place(const struct descent *d, const struct descent_place *p)
{
	_cleanup_free_ char *label = vertex_label(d->forest, p->span->vertex);
	const char *process = names_get(d->forest->names, p->span->process);
	char took[24], at[40];

	printf("  %s in %s", spans_duration((double)p->span->path, took), label ? label : "?");
	if (p->span->host)
		printf(", on %s%s%s", names_get(d->forest->names, p->span->host), *process ? ", process " : "", process);
	printf(", until %s\n", format_local(p->request->start + p->span->end, at, sizeof(at)));
	if (p->machine.recorder)
		printf("    asked: %s\n", p->machine.recorder);
	print_summary("the machine", &p->machine);
	if (p->machine.recorder)
		print_summary("the process", &p->program);
}

void descent_print(const struct descent *d)
{
	char id[33];

	if (!d->places.n)
		return;
	printf("\nWhere request %s waited, and what the recorders say:\n",
	       trace_id_text(d->forest->names, d->places.v[0].request->high, d->places.v[0].request->low, id));
	for (size_t i = 0; i < d->places.n; i++)
		print_place(d, &d->places.v[i]);
}

/* --- JSON --- */

static json_t *text_or_null(const struct descent *d, uint32_t text)
{
	return text ? json_string(names_get(d->forest->names, text)) : json_null();
}

static json_t *document(const struct host_answer *a)
{
	return a->why ? json_incref(a->why) : json_null();
}

static json_t *place_json(const struct descent *d, const struct descent_place *p)
{
	const struct vertex *v = &d->forest->vertices.v[p->span->vertex];
	char id[33], from[40], to[40];

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "trace",
			 trace_id_text(d->forest->names, p->request->high, p->request->low, id), "service", names_get(d->forest->names, v->service),
			 "operation", names_get(d->forest->names, v->operation), "host", text_or_null(d, p->span->host), "process",
			 text_or_null(d, p->span->process), "from", format_rfc3339(p->request->start + p->span->start, from, sizeof(from)), "to",
			 format_rfc3339(p->request->start + p->span->end, to, sizeof(to)), "path_ns", (json_int_t)p->span->path, "recorder",
			 text_json(p->machine.recorder), "machine", document(&p->machine), "machine_error", text_json(p->machine.error), "program",
			 document(&p->program), "program_error", text_json(p->program.error));
}

json_t *descent_json(const struct descent *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->places.n; i++)
		json_array_append_new(list, place_json(d, &d->places.v[i]));
	return list;
}
