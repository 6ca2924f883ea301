/* Requests by time and duration, and what distinguishes some of them from the others. */
#include <math.h>

#include "lib/data/clock.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

#define TEXT_ROWS 24 /* of the map, in a terminal */

/* The densest cell of what a line or column of the text stands for. */
static double densest(const struct span_map *m, size_t row, size_t rows, size_t column)
{
	double most = 0;

	for (size_t i = row; i < row + rows && i < m->rows; i++)
		most = fmax(most, m->counts[i * m->columns + column]);
	return most;
}

static void print_map(const struct span_map *m, FILE *out)
{
	static const char shades[] = " .:-=+*#%@";
	size_t together = (m->rows + TEXT_ROWS - 1) / TEXT_ROWS;
	double most = 0;

	for (size_t i = 0; i < m->rows * m->columns; i++)
		most = fmax(most, m->counts[i]);
	for (size_t row = (m->rows - 1) / together * together; row < m->rows; row -= together) {
		fprintf(out, "  %9s |", SPAN_DURATION(m->low * pow(m->factor, (double)row)));
		for (size_t column = 0; column < m->columns; column++) {
			double count = densest(m, row, together, column);
			size_t shade = count > 0 ? 1 + (size_t)(8.99 * log1p(count) / log1p(most)) : 0;

			fputc(shades[shade < sizeof(shades) - 1 ? shade : sizeof(shades) - 2], out);
		}
		fputc('\n', out);
		if (row < together)
			break;
	}
	fprintf(out, "  %9s  %s ... %s, %s a column\n", "", CLOCK_LOCAL(m->from),
	       CLOCK_LOCAL(m->from + m->step * (int64_t)m->columns), span_duration_text((double)m->step, (char[24]){}));
}

void span_examples_text(const struct cause_trace *v, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s %s (%s)%s", i ? "," : "     for example", v[i].id, SPAN_DURATION((double)v[i].duration), i + 1 < n ? "" : "\n");
}

json_t *span_examples_json(const struct cause_trace *v, size_t n)
{
	return JSON_FIRST(x, v, n, json_pack("{s:s, s:I, s:b}", "trace", x->id, "duration_ns", (json_int_t)x->duration, "whole", x->whole));
}

static void print_kinds(const struct span_differences *d, size_t top, FILE *out)
{
	for (size_t i = 0; i < d->list.n && i < top; i++) {
		const struct span_difference *x = &d->list.v[i];

		fprintf(out, "  %zu. %s\n     %.0f %% of these requests are selected, of the others %.1f %%; they are %.0f %% of the selection\n", i + 1, x->where,
		       100 * x->selected, 100 * x->others, 100 * x->covers);
		span_examples_text(x->traces, x->n_traces, out);
	}
	if (!d->list.n)
		fputs("  no attribute, and no call: the selected requests are like the others\n", out);
}

static void print_calls(const struct forest *f, const struct span_differences *d, size_t top, FILE *out)
{
	if (!d->calls.n)
		return;
	fputs("\nWhere they spend more or less, on the critical path of a request:\n", out);
	for (size_t i = 0; i < d->calls.n && i < top; i++) {
		const struct span_call_difference *c = &d->calls.v[i];

		fprintf(out, "  %9s, others %9s: %s", SPAN_DURATION(c->selected), SPAN_DURATION(c->others), names_get(f->names, c->call));
		if (fabs(c->through[1] - c->through[0]) > .01)
			fprintf(out, "; %.0f %% go through it, of the others %.0f %%", 100 * c->through[1], 100 * c->through[0]);
		fputc('\n', out);
	}
}

void span_selection_text(const struct forest *f, bool bounded, const struct span_map *m, const struct span_differences *d, size_t top, FILE *out)
{
	fprintf(out, "%.0f requests by time and duration", d->requests[0] + d->requests[1]);
	fprintf(out, "%s\n", f->thinned ? " (a sample of them)" : "");
	print_map(m, out);
	if (!bounded) {
		fputs("--begin, --end, --longer, --shorter or --failed select some of them, and this says what tells those from the others\n", out);
		return;
	}
	fprintf(out, "\n%.0f requests are selected: mean %s, of the %.0f others %s\n", d->requests[1], SPAN_DURATION(d->mean[1]), d->requests[0],
	       SPAN_DURATION(d->mean[0]));
	if (!d->n_selected || d->n_selected == d->sampled) {
		fprintf(out, "%s\n", d->n_selected ? "These are all requests." : "No request is selected.");
		return;
	}
	fputs("\nWhat tells them from the others:\n", out);
	print_kinds(d, top, out);
	print_calls(f, d, top, out);
}

static json_t *numbers_json(const double *v, size_t n)
{
	return JSON_FIRST(x, v, n, json_integer((json_int_t)llround(*x)));
}

static json_t *map_json(const struct span_map *m)
{
	return json_pack("{s:s, s:I, s:f, s:f, s:I, s:I, s:o, s:o}", "from", CLOCK_RFC3339(m->from), "step_ns",
			 (json_int_t)m->step, "low_ns", m->low, "factor", m->factor, "columns", (json_int_t)m->columns, "rows", (json_int_t)m->rows,
			 "counts", numbers_json(m->counts, m->rows * m->columns), "failed", numbers_json(m->failed, m->rows * m->columns));
}

static json_t *kinds_json(const struct span_differences *d, size_t top)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->list.n && i < top; i++) {
		const struct span_difference *x = &d->list.v[i];

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:o}", "where", x->where, "requests", x->requests, "selected",
						      x->selected, "others", x->others, "covers", x->covers, "traces", span_examples_json(x->traces, x->n_traces)));
	}
	return list;
}

static json_t *calls_json(const struct forest *f, const struct span_differences *d, size_t top)
{
	return JSON_FIRST(c, d->calls.v, top < d->calls.n ? top : d->calls.n, json_pack("{s:s, s:f, s:f, s:f, s:f}", "call", names_get(f->names,
		c->call), "selected_ns", c->selected, "others_ns", c->others, "through_selected", c->through[1], "through_others", c->through[0]));
}

json_t *span_selection_json(const struct forest *f, bool bounded, const struct span_map *m, const struct span_differences *d, size_t top)
{
	return json_pack("{s:s, s:b, s:b, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
			 "whyslow.spans.select/1", "bounded", bounded, "sampled", f->thinned > 0,
			 "requests", d->requests[0] + d->requests[1], "selected", d->requests[1],
			 "mean_selected_ns", json_number(d->mean[1]), "mean_others_ns",
			 json_number(d->mean[0]), "map", map_json(m), "kinds", kinds_json(d, top), "calls",
			 calls_json(f, d, top), "looked_at", json_texts(d->looked_at.v, d->looked_at.n), "read", span_tally_json(f));
}
