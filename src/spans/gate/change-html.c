/* `spans why --html FILE`: the answer as one page to hand on: no script, nothing from elsewhere. */
#include <math.h>
#include <stdio.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "spans/ask/span-view.h"

#define CELL_WIDE 8
#define CELL_HIGH 6
#define CALLS_TOLD 12 /* of each bucket */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
	"<title>whyslow spans why</title><style>:root{color-scheme:light dark}body{font:15px sans-serif;max-width:64em;margin:1em auto;padding:0 1em}"
	"table{border-collapse:collapse;margin:.5em 0}td,th{padding:.15em .9em .15em 0;text-align:left;vertical-align:top}"
	"svg{width:100%;height:auto}.n{text-align:right;white-space:nowrap}.bar{display:inline-block;height:.7em;background:#c2410c}"
	"code{font-size:.95em}figcaption{font-size:.9em}figure{margin:1em 0}</style></head><body>\n";

static void text(const char *words, FILE *out)
{
	str_print_xml(words ? words : "?", out);
}

static void duration(double ns, FILE *out)
{
	text(SPAN_DURATION(ns), out);
}

static void number_cell(double ns, FILE *out)
{
	fputs("<td class=\"n\">", out);
	duration(ns, out);
	fputs("</td>", out);
}

static void put_deployed(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->deployed.list.n)
		return;
	fputs("<h2>What was deployed when it began</h2><ol>\n", out);
	for (size_t i = 0; i < s->deployed.list.n && i < top; i++) {
		_cleanup_free_ char *words = span_deployed_words(&s->deployed.list.v[i]);

		fputs("<li>", out);
		text(words, out);
		if (!isnan(s->deployed.list.v[i].share))
			fprintf(out, ": its calls and the way to them are %.0f %% of the rise", 100 * s->deployed.list.v[i].share);
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
}

static void put_suspects(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->suspects.list.n)
		return;
	fputs("<h2>Versions that are slower than others of their bucket, or fail more often</h2><table><tr><th>version<th>requests<th class=\"n\">mean<th class=\"n\">others"
	      "<th class=\"n\">q</tr>\n", out);
	for (size_t i = 0; i < s->suspects.list.n && i < top; i++) {
		const struct suspect_version *x = &s->suspects.list.v[i];

		fputs("<tr><td>", out);
		text(names_get(s->names, x->package), out);
		fputc(' ', out);
		text(names_get(s->names, x->version), out);
		if (x->failing)
			fprintf(out, "<br>by it %.2f %% of the requests have a failure, by others %.2f %%", 100 * x->fails, 100 * x->fails_others);
		if (x->together) {
			fputs("<br>always together with ", out);
			text(x->together, out);
		}
		fputs("</td><td>", out);
		text(x->label, out);
		fputs("</td>", out);
		number_cell(x->mean, out);
		number_cell(x->others, out);
		fprintf(out, "<td class=\"n\">%.1e</td></tr>\n", x->q);
	}
	fputs("</table>\n", out);
}

static void put_calls(const struct forest *f, const struct bucket_change *b, FILE *out)
{
	double most = b->vertices.n ? fmax(fabs(b->vertices.v[0].after - b->vertices.v[0].before), 1) : 1;

	fputs("<table><tr><th>call<th class=\"n\">was<th class=\"n\">is<th>change<th>because</tr>\n", out);
	for (size_t i = 0; i < b->vertices.n && i < CALLS_TOLD; i++) {
		const struct vertex_change *v = &b->vertices.v[i];
		_cleanup_free_ char *path = vertex_path(f, v->vertex);
		double gain = v->after - v->before;

		if (gain < .01 * most)
			break;
		fputs("<tr><td>", out);
		text(path, out);
		fputs("</td>", out);
		number_cell(v->before, out);
		number_cell(v->after, out);
		fprintf(out, "<td><span class=\"bar\" style=\"width:%.1fem\"></span> +", 8 * fmin(1, gain / most));
		duration(gain, out);
		fputs("</td><td>", out);
		text(v->reason == REASON_NONE ? "" : span_reason_name(v->reason), out);
		fputs("</td></tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void put_bucket(const struct forest *f, const struct bucket_change *b, FILE *out)
{
	_cleanup_free_ char *label = span_bucket_label(f, &f->buckets.v[b->bucket]);

	fputs("<h3>", out);
	text(label, out);
	fprintf(out, "</h3><p>%s: mean ", span_verdict_name(b->verdict));
	duration(b->mean_after, out);
	fputs(", was ", out);
	duration(b->mean_before, out);
	fprintf(out, "; %.0f requests, were %.0f; %.2f %% fail, were %.2f %%; q = %.2g</p>\n", moments_count(&b->after->total),
		moments_count(&b->before->total), 100 * b->errors_after, 100 * b->errors_before, b->q);
	put_calls(f, b, out);
}

static void put_causes(const struct span_causes *c, FILE *out)
{
	if (!c->list.n)
		return;
	fputs("<h2>Which requests became slower</h2><ol>\n", out);
	VEC_EACH(x, c->list) {
		fputs("<li><b>", out);
		text(x->where, out);
		fputs("</b>: mean ", out);
		duration(x->mean, out);
		fputs(", would have been ", out);
		duration(x->expected, out);
		fprintf(out, "; %.0f requests; explains %.0f %% of the rise", x->requests, 100 * x->share);
		for (size_t k = 0; k < x->n_traces; k++) {
			fputs(k ? ", <code>" : "; for example <code>", out);
			text(x->traces[k].id, out);
			fputs("</code>", out);
		}
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
}

/* The requests of both sides, darker where there are more. */
static void put_cells(const struct span_map *m, FILE *out)
{
	double most = 0;

	for (size_t i = 0; i < m->rows * m->columns; i++)
		most = fmax(most, m->counts[i]);
	for (size_t row = 0; row < m->rows; row++)
		for (size_t column = 0; column < m->columns; column++) {
			double count = m->counts[row * m->columns + column];

			if (count > 0)
				fprintf(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill=\"#c2410c\" fill-opacity=\"%.2f\"/>\n",
					column * CELL_WIDE, (m->rows - 1 - row) * CELL_HIGH, CELL_WIDE, CELL_HIGH, .15 + .85 * log1p(count) / log1p(most));
		}
}

static void put_map(const struct span_map *m, FILE *out)
{
	if (!m->columns)
		return;
	fprintf(out, "<figure><svg viewBox=\"0 0 %zu %zu\" role=\"img\" aria-label=\"requests by time and duration\">\n", m->columns * CELL_WIDE,
		m->rows * CELL_HIGH);
	put_cells(m, out);
	fputs("</svg><figcaption>Requests by time (", out);
	text(CLOCK_LOCAL(m->from), out);
	fputs(" to ", out);
	text(CLOCK_LOCAL(m->from + m->step * (int64_t)m->columns), out);
	fputs(", left to right) and duration (", out);
	duration(m->low, out);
	fputs(" to ", out);
	duration(m->low * pow(m->factor, (double)m->rows), out);
	fputs(", bottom to top, by its logarithm); darker: more of them</figcaption></figure>\n", out);
}

void span_change_html(const struct span_comparison *s, const struct span_map *map, size_t top, FILE *out)
{
	_cleanup_free_ char *headline = span_why_headline(s), *saturation = span_saturation_words(s);
	const struct span_change *c = &s->change;

	fputs(head, out);
	fputs("<h1>", out);
	text(headline, out);
	fputs("</h1><p>", out);
	text(s->after ? s->after : "candidate", out);
	fputs(", against ", out);
	text(s->before ? s->before : "baseline", out);
	if (!isnan(span_comparison_rate(s, 0)) && !isnan(span_comparison_rate(s, 1)))
		fprintf(out, "; %.3g requests began in a second, were %.3g; %.3g ran at a time, were %.3g", span_comparison_rate(s, 1),
			span_comparison_rate(s, 0), span_comparison_at_a_time(s, 1), span_comparison_at_a_time(s, 0));
	fputs("</p>\n", out);
	if (saturation) {
		fputs("<p>", out);
		text(saturation, out);
		fputs("</p>\n", out);
	}
	put_deployed(s, top, out);
	put_suspects(s, top, out);
	put_map(map, out);
	fputs("<h2>Where the time went</h2>\n", out);
	for (size_t i = 0; i < c->buckets.n && i < top; i++)
		if (c->buckets.v[i].before && c->buckets.v[i].after)
			put_bucket(&s->forest, &c->buckets.v[i], out);
	put_causes(&s->causes, out);
	fputs("</body></html>\n", out);
}
