/* From slow requests down to the machines: the places where they waited, and the answers of the recorders there. */
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

static const char *summary_of(const struct host_answer *a)
{
	return a->why ? json_string_value(json_object_get(a->why, "summary")) : NULL;
}

/* A sentence of another machine's answer, safe to print. */
static void print_summary(const char *head, const struct host_answer *a, FILE *out)
{
	const char *summary = summary_of(a);
	_cleanup_free_ char *text = strdup(summary ? summary : a->error ? a->error : "nothing is known");

	str_make_printable(text);
	fprintf(out, "    %s: %s\n", head, text ? text : "?");
}

static void print_place(const struct descent *d, const struct descent_place *p, FILE *out)
{
	_cleanup_free_ char *label = vertex_label(d->forest, p->span->vertex);
	const char *process = names_get(d->forest->names, p->span->process);

	fprintf(out, "  %s in %s", SPAN_DURATION((double)p->span->path), label ? label : "?");
	if (p->span->host)
		fprintf(out, ", on %s%s%s", names_get(d->forest->names, p->span->host), *process ? ", process " : "", process);
	fprintf(out, ", until %s\n", CLOCK_LOCAL(p->request->start + p->span->end));
	if (p->machine.recorder)
		fprintf(out, "    asked: %s\n", p->machine.recorder);
	print_summary("the machine", &p->machine, out);
	if (p->machine.recorder)
		print_summary("the process", &p->program, out);
}

void span_descent_text(const struct descent *d, FILE *out)
{
	if (!d->places.n)
		return;
	fprintf(out, "\nWhere request %s waited, and what the recorders say:\n",
	       SPAN_TRACE_ID(d->forest->names, d->places.v[0].request->high, d->places.v[0].request->low));
	for (size_t i = 0; i < d->places.n; i++)
		print_place(d, &d->places.v[i], out);
}

static bool is_slow(const struct host_answer *a)
{
	return json_is_true(json_object_get(a->why, "slow"));
}

/* Does the answer say for what, and because of which program, the process waited? That is nearer to the request than what the machine was short of. */
static bool waits_are_known(const struct host_answer *program)
{
	return is_slow(program) && (json_is_true(json_object_get(program->why, "call")) || json_is_true(json_object_get(program->why, "packets_lost")) ||
				    json_array_size(json_object_get(program->why, "events")) > 0);
}

/* The place where most of the request's time went, of those whose recorders found something unusual, if there is one. */
static const struct descent_place *place_of_reason(const struct descent *d)
{
	const struct descent_place *first = NULL;

	for (size_t i = 0; i < d->places.n; i++) {
		const struct descent_place *p = &d->places.v[i];

		if (is_slow(&p->program) || is_slow(&p->machine))
			return p;
		if (!first && (summary_of(&p->program) || summary_of(&p->machine)))
			first = p;
	}
	return first;
}

char *span_descent_reason(const struct descent *d)
{
	const struct descent_place *p = place_of_reason(d);
	const char *machine, *program;
	char at[40], *text;

	if (!p)
		return NULL;
	machine = summary_of(&p->machine);
	program = summary_of(&p->program);
	if (asprintf(&text, "the reason on %s at %s: %s", names_get(d->forest->names, p->span->host),
		     clock_format_local(p->request->start + p->span->end, at, sizeof(at)),
		     program && (!machine || waits_are_known(&p->program) || !is_slow(&p->machine)) ? program : machine) < 0)
		return NULL;
	str_make_printable(text);
	return text;
}

void span_descent_reason_text(const struct descent *d, FILE *out)
{
	_cleanup_free_ char *reason = span_descent_reason(d);

	if (reason)
		fprintf(out, "%s\n", reason);
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

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "trace",
			 SPAN_TRACE_ID(d->forest->names, p->request->high, p->request->low), "service", names_get(d->forest->names, v->service),
			 "operation", names_get(d->forest->names, v->operation), "host", text_or_null(d, p->span->host), "process",
			 text_or_null(d, p->span->process), "from", CLOCK_RFC3339(p->request->start + p->span->start), "to",
			 CLOCK_RFC3339(p->request->start + p->span->end), "path_ns", (json_int_t)p->span->path, "recorder",
			 json_text(p->machine.recorder), "machine", document(&p->machine), "machine_error", json_text(p->machine.error), "program",
			 document(&p->program), "program_error", json_text(p->program.error));
}

json_t *span_descent_json(const struct descent *d)
{
	return JSON_EACH(x, d->places, place_json(d, x));
}

/* --- one request --- */

void span_request_text(const struct exemplar *request, const char *trace, const struct descent *d, FILE *out)
{
	fprintf(out, "request %s of %s took %s\n", trace, CLOCK_LOCAL(request->start),
		SPAN_DURATION((double)request->duration));
	span_descent_text(d, out);
	span_descent_reason_text(d, out);
}

json_t *span_request_json(const struct exemplar *request, const char *trace, const struct descent *d)
{
	_cleanup_free_ char *reason = span_descent_reason(d);

	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:s?}", "schema", "whyslow.spans.request/1", "trace", trace, "start",
			 CLOCK_RFC3339(request->start), "duration_ns", (json_int_t)request->duration, "hosts",
			 span_descent_json(d), "reason", reason);
}
