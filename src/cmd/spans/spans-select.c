/* whyslow spans select: requests by time and duration, and what tells some of them from the others. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/span/span-select.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "view/why/json.h"

#define TEXT_ROWS 24 /* of the map, in a terminal */

static bool has_bounds(const struct span_selection *s)
{
	return s->from || s->to || s->low || s->high || s->failed;
}

static int read_time(const char *option, const char *text, int64_t *ret)
{
	if (!text || parse_time(text, wall_now(), ret) == 0)
		return 0;
	return usage_error("spans select", "invalid %s '%s'", option, text), -EINVAL;
}

static int read_selection(struct span_selection *ret)
{
	int r;

	*ret = (struct span_selection){.low = spans_arg.longer, .high = spans_arg.shorter, .failed = spans_arg.failed, .bucket = spans_selected};
	r = read_time("--begin", spans_arg.begin, &ret->from);
	return r == 0 ? read_time("--end", spans_arg.end, &ret->to) : r;
}

/* --- in words ----------------------------------------------------------------------------------------------------------- */

/* The densest cell of what a line or column of the text stands for. */
static double densest(const struct span_map *m, size_t row, size_t rows, size_t column)
{
	double most = 0;

	for (size_t i = row; i < row + rows && i < m->rows; i++)
		most = fmax(most, m->counts[i * m->columns + column]);
	return most;
}

static void print_map(const struct span_map *m)
{
	static const char shades[] = " .:-=+*#%@";
	size_t together = (m->rows + TEXT_ROWS - 1) / TEXT_ROWS;
	double most = 0;
	char a[32], b[32];

	for (size_t i = 0; i < m->rows * m->columns; i++)
		most = fmax(most, m->counts[i]);
	for (size_t row = (m->rows - 1) / together * together; row < m->rows; row -= together) {
		printf("  %9s |", spans_duration(m->low * pow(m->factor, (double)row), a));
		for (size_t column = 0; column < m->columns; column++) {
			double count = densest(m, row, together, column);
			size_t shade = count > 0 ? 1 + (size_t)(8.99 * log1p(count) / log1p(most)) : 0;

			putchar(shades[shade < sizeof(shades) - 1 ? shade : sizeof(shades) - 2]);
		}
		putchar('\n');
		if (row < together)
			break;
	}
	printf("  %9s  %s ... %s, %s a column\n", "", format_local(m->from, a, sizeof(a)),
	       format_local(m->from + m->step * (int64_t)m->columns, b, sizeof(b)), spans_duration((double)m->step, (char[24]){}));
}

static void print_kinds(const struct span_differences *d)
{
	char a[24];

	for (size_t i = 0; i < d->list.n && i < spans_arg.top; i++) {
		const struct span_difference *x = &d->list.v[i];

		printf("  %zu. %s\n     %.0f %% of these requests are selected, of the others %.1f %%; they are %.0f %% of the selection\n", i + 1, x->where,
		       100 * x->selected, 100 * x->others, 100 * x->covers);
		for (size_t k = 0; k < x->n_traces; k++)
			printf("%s %s (%s)", k ? "," : "     for example", x->traces[k].id, spans_duration((double)x->traces[k].duration, a));
		if (x->n_traces)
			putchar('\n');
	}
	if (!d->list.n)
		puts("  no attribute, and no call: the selected requests are like the others");
}

static void print_calls(const struct forest *f, const struct span_differences *d)
{
	char a[24], b[24];

	if (!d->calls.n)
		return;
	puts("\nWhere they spend more or less, on the critical path of a request:");
	for (size_t i = 0; i < d->calls.n && i < spans_arg.top; i++) {
		const struct span_call_difference *c = &d->calls.v[i];

		printf("  %9s, others %9s: %s", spans_duration(c->selected, a), spans_duration(c->others, b), names_get(f->names, c->call));
		if (fabs(c->through[1] - c->through[0]) > .01)
			printf("; %.0f %% go through it, of the others %.0f %%", 100 * c->through[1], 100 * c->through[0]);
		putchar('\n');
	}
}

static void print_text(const struct forest *f, const struct span_selection *s, const struct span_map *m, const struct span_differences *d)
{
	char a[24], b[24];

	printf("%.0f requests by time and duration", d->requests[0] + d->requests[1]);
	puts(f->thinned ? " (a sample of them)" : "");
	print_map(m);
	if (!has_bounds(s)) {
		puts("--begin, --end, --longer, --shorter or --failed select some of them, and this says what tells those from the others");
		return;
	}
	printf("\n%.0f requests are selected: mean %s, of the %.0f others %s\n", d->requests[1], spans_duration(d->mean[1], a), d->requests[0],
	       spans_duration(d->mean[0], b));
	if (!d->n_selected || d->n_selected == d->sampled) {
		puts(d->n_selected ? "These are all requests." : "No request is selected.");
		return;
	}
	puts("\nWhat tells them from the others:");
	print_kinds(d);
	print_calls(f, d);
}

/* --- as JSON ------------------------------------------------------------------------------------------------------------ */

static json_t *numbers_json(const double *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)llround(v[i])));
	return list;
}

static json_t *map_json(const struct span_map *m)
{
	char from[32];

	return json_pack("{s:s, s:I, s:f, s:f, s:I, s:I, s:o, s:o}", "from", format_rfc3339(m->from, from, sizeof(from)), "step_ns",
			 (json_int_t)m->step, "low_ns", m->low, "factor", m->factor, "columns", (json_int_t)m->columns, "rows", (json_int_t)m->rows,
			 "counts", numbers_json(m->counts, m->rows * m->columns), "failed", numbers_json(m->failed, m->rows * m->columns));
}

static json_t *kinds_json(const struct span_differences *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->list.n && i < spans_arg.top; i++) {
		const struct span_difference *x = &d->list.v[i];
		json_t *traces = json_array();

		for (size_t k = 0; k < x->n_traces; k++)
			json_array_append_new(traces, json_pack("{s:s, s:I}", "trace", x->traces[k].id, "duration_ns",
								(json_int_t)x->traces[k].duration));
		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:o}", "where", x->where, "requests", x->requests, "selected",
						      x->selected, "others", x->others, "covers", x->covers, "traces", traces));
	}
	return list;
}

static json_t *calls_json(const struct forest *f, const struct span_differences *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->calls.n && i < spans_arg.top; i++) {
		const struct span_call_difference *c = &d->calls.v[i];

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f}", "call", names_get(f->names, c->call), "selected_ns", c->selected,
						      "others_ns", c->others, "through_selected", c->through[1], "through_others", c->through[0]));
	}
	return list;
}

static json_t *answer_json(const struct forest *f, const struct span_selection *s, const struct span_map *m, const struct span_differences *d)
{
	json_t *looked = json_array();

	for (size_t i = 0; i < d->looked_at.n; i++)
		json_array_append_new(looked, json_string(d->looked_at.v[i]));
	return json_pack("{s:s, s:b, s:b, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "whyslow.spans.select/1", "bounded", has_bounds(s),
			 "sampled", f->thinned > 0, "requests", d->requests[0] + d->requests[1], "selected", d->requests[1], "mean_selected_ns",
			 number_json(d->mean[1]), "mean_others_ns", number_json(d->mean[0]), "map", map_json(m), "kinds", kinds_json(d), "calls",
			 calls_json(f, d), "looked_at", looked, "read", spans_tally_json(f));
}

static int tell(struct common *common, const struct forest *f, const struct span_selection *s)
{
	struct span_map m;
	struct span_differences d;
	int r = span_map_make(f, s, &m), status = EXIT_CANNOT;

	if (r < 0)
		return EXIT_CANNOT;
	r = span_select(f, s, &d);
	if (r == 0 && !d.sampled) {
		log_error("no request was kept for this: load the traces again (they were loaded by an older version)");
	} else if (r == 0) {
		status = d.list.n || !has_bounds(s) ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
		if (common->json)
			spans_print_json(answer_json(f, s, &m, &d), status);
		else
			print_text(f, s, &m, &d);
	}
	if (r == 0)
		span_differences_free(&d);
	span_map_free(&m);
	return status;
}

int spans_select(struct common *common, int argc, char **argv)
{
	struct span_selection s;
	struct names *names;
	struct forest f;
	int r = read_selection(&s), status;

	if (r == 0)
		r = spans_forest_of(common, (size_t)argc - 1, argv + 1, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	status = tell(common, &f, &s);
	forest_free(&f);
	names_free(names);
	return status;
}
