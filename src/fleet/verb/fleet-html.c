#include "fleet/verb/fleet-html.h"

#include <math.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define WIDTH	720
#define HEIGHT	150
#define BUCKETS 360 /* of each curve its least and most value are drawn: two a pixel column */
#define OTHERS	12  /* servers next to the one named: more is a gray area */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
	"<title>whyslow fleet why</title><style>:root{color-scheme:light dark}body{font:15px sans-serif;max-width:60em;margin:1em auto;padding:0 1em;overflow-wrap:anywhere}"
	"table{border-collapse:collapse}td,th{padding:.15em .7em .15em 0;text-align:left}svg{width:100%;height:auto}.n{text-align:right}"
	"figure{margin:1em 0}</style></head><body>\n";

struct frame {
	struct fleet_span span;
	double low, high;
};

static double x_of(const struct frame *fr, int64_t time)
{
	return WIDTH * (double)(time - fr->span.from) / (double)(fr->span.to - fr->span.from);
}

static double y_of(const struct frame *fr, double value)
{
	return HEIGHT - (HEIGHT - 10) * (value - fr->low) / (fr->high - fr->low) - 5;
}

/* The least and most value of rows [from, to). */
static void bounds(const float *v, uint32_t from, uint32_t to, double *low, double *high)
{
	for (uint32_t i = from; i < to; i++) {
		*low = fmin(*low, (double)v[i]); /* fmin and fmax pass NaN over */
		*high = fmax(*high, (double)v[i]);
	}
}

static void curve(const struct frame *fr, const struct fleet_server *s, int counter, const char *style, FILE *out)
{
	uint32_t first, n = fleet_rows(s, fr->span.from, fr->span.to, &first), step = n / BUCKETS + 1;

	fprintf(out, "<polyline fill=\"none\" %s points=\"", style);
	for (uint32_t i = first; i < first + n; i += step) {
		double low = INFINITY, high = -INFINITY;

		bounds(s->column[counter], i, i + step < first + n ? i + step : first + n, &low, &high);
		if (low > high)
			continue;
		fprintf(out, "%.1f,%.1f ", x_of(fr, s->time[i]), y_of(fr, low));
		if (high > low)
			fprintf(out, "%.1f,%.1f ", x_of(fr, s->time[i]), y_of(fr, high));
	}
	fputs("\"/>\n", out);
}

/* Twice the window before it and half of it after. */
static struct fleet_span around(const struct fleet *f, const struct fleet_page *page)
{
	int64_t first, last, length = page->window.to - page->window.from;
	struct fleet_span span = {page->window.from - 2 * length, page->window.to + length / 2};

	fleet_extent(f, &first, &last);
	span.from = span.from < first ? first : span.from;
	span.to = span.to > last + 1 ? last + 1 : span.to;
	return span;
}

static void shade(const struct frame *fr, const struct fleet_page *page, FILE *out)
{
	double from = fmax(0, x_of(fr, page->window.from)), to = fmin(WIDTH, x_of(fr, page->window.to));

	fprintf(out, "<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\" fill=\"#f5a62333\"/>\n", from, fmax(to - from, 1), HEIGHT);
}

static void chart(const struct fleet *f, const struct fleet_page *page, const struct fleet_finding *x, FILE *out)
{
	struct frame fr = {around(f, page), INFINITY, -INFINITY};
	int named = fleet_finding_column(x);
	size_t others = 0;

	for (size_t i = 0; i < f->servers.n; i++) {
		const struct fleet_server *s = &f->servers.v[i];
		uint32_t first, n = fleet_rows(s, fr.span.from, fr.span.to, &first);

		if (s->column[x->counter] && ((int)i == named || others++ < OTHERS))
			bounds(s->column[x->counter], first, first + n, &fr.low, &fr.high);
	}
	if (!(fr.high > fr.low) || fr.span.to <= fr.span.from)
		return;
	str_print_markup(out,
			 "<figure><figcaption><b>%s</b> of %s, %s to %s; other servers in gray, the incident shaded</figcaption>\n"
			 "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n",
			 f->counters.v[x->counter].name, f->servers.v[named].name, FLEET_VALUE_TEXT(f, x->counter, fr.low),
			 FLEET_VALUE_TEXT(f, x->counter, fr.high), WIDTH, HEIGHT);
	shade(&fr, page, out);
	others = 0;
	for (size_t i = 0; i < f->servers.n; i++)
		if (f->servers.v[i].column[x->counter] && (int)i != named && others++ < OTHERS)
			curve(&fr, &f->servers.v[i], x->counter, "stroke=\"gray\" stroke-opacity=\".4\"", out);
	curve(&fr, &f->servers.v[named], x->counter, "stroke=\"#d33\" stroke-width=\"2\"", out);
	fputs("</svg></figure>\n", out);
}

static void row(const struct fleet *f, const struct fleet_finding *x, FILE *out)
{
	char since[32] = "";

	str_print_markup(out, "<tr><td>%s<td>%s", fleet_server_name(f, x->server), x->counter >= 0 ? f->counters.v[x->counter].name : "");
	if (x->flags & FLEET_CALLED)
		str_print_markup(out, " (measured on %s)", fleet_server_name(f, x->measured_on));
	str_print_markup(out, "<td class=n>%s<td class=n>%s<td>%s<td class=n>%.3g</tr>\n", FLEET_VALUE_TEXT(f, x->counter, x->observed),
			 FLEET_VALUE_TEXT(f, x->counter, x->usual), x->since ? clock_format_rfc3339(x->since, since, sizeof(since)) : "", x->score);
}

static void table(const struct fleet *f, const char *title, const struct fleet_finding *v, size_t n, FILE *out)
{
	if (!n)
		return;
	fprintf(out, "<h2>%s</h2>\n<table><tr><th>server<th>counter<th class=n>value<th class=n>normally<th>since (UTC)<th class=n>score</tr>\n", title);
	for (size_t i = 0; i < n; i++)
		row(f, &v[i], out);
	fputs("</table>\n", out);
}

static size_t listed(const struct fleet_findings *found, size_t top)
{
	return top && top < found->list.n ? top : found->list.n;
}

void fleet_page_html(const struct fleet *f, const struct fleet_page *page, size_t top, FILE *out)
{
	fputs(head, out);
	str_print_markup(out, "<h1>%s of %s</h1>\n<p>%s</p>\n", f->counters.v[page->symptom->counter].name, f->servers.v[page->symptom->server].name,
			 page->summary);
	if (page->next)
		str_print_markup(out, "<p>Next: %s</p>\n", page->next);
	table(f, fleet_chain_is_together(f, page->chain, page->n_chain) ? "They began together; which came first is not known" : "In the order of events", page->chain, page->n_chain, out);
	for (size_t i = 0; i < page->n_chain; i++)
		chart(f, page, &page->chain[i], out);
	if (!page->n_chain)
		chart(f, page, page->symptom, out);
	table(f, "Most unusual servers", page->servers->list.v, listed(page->servers, top), out);
	table(f, "What moved with the symptom", page->explained_by->list.v, listed(page->explained_by, top), out);
	table(f, "Most unusual counters", page->unusual->list.v, listed(page->unusual, top), out);
	fputs("</body></html>\n", out);
}
