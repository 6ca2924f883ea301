#include <math.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define WIDTH  960
#define HEIGHT 420
#define LEFT   70
#define BOTTOM 70
#define TOP    30

struct scale {
	double low, high;
};

static void widen(struct scale *s, double x)
{
	if (isnan(x))
		return;
	s->low = x < s->low ? x : s->low;
	s->high = x > s->high ? x : s->high;
}

static double y_of(const struct scale *s, double x)
{
	double span = s->high > s->low ? s->high - s->low : 1;

	return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (x - s->low) / span);
}

static double x_of(size_t i, size_t n)
{
	return LEFT + (WIDTH - LEFT - 20) * ((double)i + 0.5) / (double)(n ? n : 1);
}

static void head(const struct fleet_view *v, const char *what, FILE *out)
{
	str_print_markup(out,
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
			 "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"18\" font-size=\"14\">%s - %s</text>\n",
			 WIDTH, HEIGHT, LEFT, v->fleet->counters.v[v->counter].name, what);
}

static void axis(const struct scale *s, FILE *out)
{
	for (int i = 0; i <= 4; i++) {
		double value = s->low + (s->high - s->low) * i / 4, y = y_of(s, value);

		fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
			LEFT, WIDTH - 20, y, y, LEFT - 6, y + 4, value);
	}
}

static void label(double x, const char *words, FILE *out)
{
	str_print_markup(out, "<text transform=\"translate(%.1f,%d) rotate(35)\">%s</text>\n", x, HEIGHT - BOTTOM + 14, words);
}

static struct scale scale_of(const struct fleet_view *v)
{
	struct scale s = {INFINITY, -INFINITY};

	for (size_t i = 0; i < v->rows.n; i++) {
		widen(&s, v->rows.v[i].min);
		widen(&s, v->rows.v[i].max);
	}
	return s;
}

/* Least to greatest as a line, the middle half as a box, median and average as marks. */
static void stock_chart(const struct fleet_view *v, FILE *out)
{
	struct scale s = scale_of(v);
	double half = (WIDTH - LEFT - 20) / (double)v->rows.n / 3;

	half = half > 8 ? 8 : half;
	head(v, "server view: least, quartiles, greatest; median (line), average (dot)", out);
	axis(&s, out);
	for (size_t i = 0; i < v->rows.n; i++) {
		const struct fleet_summary *x = &v->rows.v[i];
		double at = x_of(i, v->rows.n);

		fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#456\"/>\n", at, at, y_of(&s, x->min), y_of(&s, x->max));
		fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#9bd\" stroke=\"#456\"/>\n", at - half,
			y_of(&s, x->q75), 2 * half, y_of(&s, x->q25) - y_of(&s, x->q75) + 0.5);
		fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#123\" stroke-width=\"2\"/>\n", at - half, at + half,
			y_of(&s, x->median), y_of(&s, x->median));
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"#c30\"/>\n", at, y_of(&s, x->mean));
		if (v->rows.n <= 60)
			label(at, v->fleet->servers.v[x->server].name, out);
	}
}

static void band(const struct fleet_view *v, const struct scale *s, bool wide, FILE *out)
{
	fputs("<path d=\"", out);
	for (size_t i = 0; i < v->rows.n; i++)
		fprintf(out, "%s%.1f %.1f", i ? "L" : "M", x_of(i, v->rows.n), y_of(s, wide ? v->rows.v[i].min : v->rows.v[i].q25));
	for (size_t i = v->rows.n; i-- > 0;)
		fprintf(out, "L%.1f %.1f", x_of(i, v->rows.n), y_of(s, wide ? v->rows.v[i].max : v->rows.v[i].q75));
	fprintf(out, "Z\" fill=\"%s\"/>\n", wide ? "#dde8f2" : "#9bd");
}

static void time_chart(const struct fleet_view *v, FILE *out)
{
	struct scale s = scale_of(v);

	head(v, "time view: all servers' range, middle half, median", out);
	band(v, &s, true, out);
	band(v, &s, false, out);
	axis(&s, out);
	fputs("<path fill=\"none\" stroke=\"#123\" d=\"", out);
	for (size_t i = 0; i < v->rows.n; i++)
		fprintf(out, "%s%.1f %.1f", i ? "L" : "M", x_of(i, v->rows.n), y_of(&s, v->rows.v[i].median));
	fputs("\"/>\n", out);
	for (size_t i = 0; i < 6 && v->rows.n; i++)
		label(x_of(i * (v->rows.n - 1) / 5, v->rows.n), CLOCK_RFC3339(v->rows.v[i * (v->rows.n - 1) / 5].time), out);
}

#define CELLS_MAX 240 /* of a row: more could not be distinguished */

/* Percent; that of the least where infinite values leave no share. */
static int lightness(const struct scale *s, double x)
{
	const double share = s->high > s->low ? (x - s->low) / (s->high - s->low) : 0;

	return share > 0 && share <= 1 ? (int)(95 - 75 * share) : 95;
}

static void heat_map(const struct fleet_view *v, FILE *out)
{
	struct scale s = {INFINITY, -INFINITY};
	uint32_t cells = v->n < CELLS_MAX ? v->n : CELLS_MAX;
	double width = (WIDTH - LEFT - 120) / (double)cells, height = (HEIGHT - TOP - BOTTOM) / (double)v->fleet->servers.n;

	for (size_t i = 0; i < v->fleet->servers.n * v->n; i++)
		widen(&s, (double)v->values[i]);
	head(v, "detail view: servers x time, darker is more", out);
	for (size_t server = 0; server < v->fleet->servers.n; server++) {
		for (uint32_t k = 0; k < cells; k++) {
			float most = NAN;

			for (uint64_t i = (uint64_t)k * v->n / cells; i < (k + 1ull) * v->n / cells; i++)
				most = fmaxf(most, v->values[server * v->n + i]);
			if (!isnan(most))
				fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(215,70%%,%d%%)\"><title>%.5g</title></rect>\n",
					LEFT + 100 + k * width, TOP + (double)server * height, width + 0.3, height + 0.3,
					lightness(&s, (double)most), (double)most);
		}
		if (v->fleet->servers.n <= 40)
			str_print_markup(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT + 94,
					 TOP + ((double)server + 0.7) * height, v->fleet->servers.v[server].name);
	}
}

void fleet_view_svg(const struct fleet_view *v, FILE *out)
{
	static void (*const draw[])(const struct fleet_view *v, FILE *out) = {heat_map, stock_chart, time_chart};

	draw[v->kind](v, out);
	fputs("</svg>\n", out);
}
