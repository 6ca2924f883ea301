#include <jansson.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/view-why/report.h"

#define LEAST_SHOWN 0.005 /* of a tree's weight */
#define OPEN_ABOVE  0.2	  /* branches that are unfolded at first */

static const char style[] =
	"body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
	"pre{overflow-x:auto;font:13px/1.45 "
	"ui-monospace,monospace;background:#8881;padding:1rem;border-radius:6px}"
	"details{margin-left:1.1rem}summary{cursor:pointer;font:13px/1.6 "
	"ui-monospace,monospace;white-space:nowrap}"
	".bar{display:inline-block;height:.7em;background:#c2410c;border-radius:2px;margin-right:.5em;"
	"vertical-align:baseline}"
	".share{display:inline-block;width:4.5em;text-align:right;margin-right:.7em}"
	"table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}th,td{padding:.1rem .6rem;text-align:right;border-bottom:1px solid #8884}"
	"th:first-child,td:first-child{text-align:left}"
	"svg.timeline,svg.curve{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}"
	"@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}}";

/* --- what is left out --- */

/* Lines of a report that name what something did with a program rather than the program. */
static bool is_private(const char *line)
{
	static const char *const begins[] = {"Command ", "Group "};

	return ANY_WHERE(i, ARRAY_SIZE(begins), str_starts(line, begins[i]));
}

static void copy_public(const char *line, size_t n, struct str *out)
{
	static const char home[] = "/home/";

	for (size_t i = 0; i < n;) {
		if (n - i > strlen(home) && strncmp(line + i, home, strlen(home)) == 0) {
			str_puts(out, "/home/-");
			i += strlen(home);
			while (i < n && line[i] != '/' && line[i] != ' ' && line[i] != '\n')
				i++;
			continue;
		}
		str_putc(out, line[i++]);
	}
}

static void redact(const char *text, struct str *out)
{
	bool files = false;

	while (*text) {
		size_t n = strcspn(text, "\n") + 1;

		if (!text[n - 1])
			n--;
		files = str_starts(text, "Files read and written most") || (files && *text != '\n');
		if (!files && !is_private(text))
			copy_public(text, n, out);
		text += n;
	}
}

static void write_text(const struct report *r, const char *text, FILE *out)
{
	_cleanup_str_ struct str public = {};

	if (r->redact)
		redact(text, &public);
	str_print_markup(out, "<pre>%s</pre>\n", r->redact ? (public.data ? public.data : "") : text);
}

/* --- call trees --- */

static void write_node(const json_t *node, double whole, FILE *out)
{
	double total = (double)json_integer_value(json_object_get(node, "total"));
	const char *name = json_string_value(json_object_get(node, "name"));
	size_t i;
	json_t *child;

	if (whole <= 0 || total < LEAST_SHOWN * whole)
		return;
	if (name)
		str_print_markup(out,
				 "<details%s><summary><span class=share>%.1f %%</span><span class=bar style=\"width:%.1fem\"></span>%s</summary>",
				 total > OPEN_ABOVE * whole ? " open" : "", 100 * total / whole, 8 * total / whole, name);
	json_array_foreach(json_object_get(node, "children"), i, child) write_node(child, whole, out);
	fputs(name ? "</details>\n" : "", out);
}

static void write_tree(const json_t *capture, const char *which, const char *title, FILE *out)
{
	const json_t *root = json_object_get(capture, which);

	if (!json_is_object(root))
		return;
	fprintf(out, "<h3>%s</h3>\n", title);
	write_node(root, (double)json_integer_value(json_object_get(root, "total")), out);
}

#define THREADS_SHOWN 12

/* In the order of the inspection: by CPU use. */
static void write_threads(const json_t *threads, FILE *out)
{
	const json_t *t;
	size_t i;

	fputs("<table><tr><th>thread<th>number<th>on a CPU<th>ready<th>begins in\n", out);
	json_array_foreach (threads, i, t) {
		const char *begins = json_string_value(json_object_get(t, "begins")), *name = json_string_value(json_object_get(t, "name"));

		if (i == THREADS_SHOWN)
			break;
		str_print_markup(out, "<tr><td>%s<td>%lld<td>%.1f %%<td>%.1f %%<td>%s\n", name ? name : "",
				 (long long)json_integer_value(json_object_get(t, "tid")), 100 * json_number_value(json_object_get(t, "cpu")),
				 100 * json_number_value(json_object_get(t, "ready")), begins ? begins : "");
	}
	fputs("</table>\n", out);
	if (json_array_size(threads) > THREADS_SHOWN)
		fprintf(out, "<p>%zu more are listed below.</p>\n", json_array_size(threads) - THREADS_SHOWN);
}

static void write_capture(const struct report *r, const struct report_capture *c, FILE *out)
{
	json_t *capture = json_loads(c->json, 0, NULL);

	str_print_markup(out, "<h2>%s</h2>\n", c->summary);
	if (capture) {
		write_threads(json_object_get(capture, "threads"), out);
		write_tree(capture, "top_down", "Where the CPU time goes", out);
		write_tree(capture, "waits", "What threads wait for, and from where", out);
		json_decref(capture);
	}
	fputs("<h3>All of it</h3>\n", out);
	write_text(r, c->text, out);
}

/* --- what suspects did over time --- */

#define CURVE_HEIGHT 60 /* px */
#define CURVE_WIDTH  800

/* The parts between which nothing is missing are lines of their own. */
static void write_points(const struct curve *c, double most, FILE *out)
{
	bool within = false;

	fputs("<path fill=none stroke=currentColor d=\"", out);
	for (size_t i = 0; i < c->n; i++) {
		if (!isnan(c->mean[i]))
			fprintf(out, "%c%.1f %.1f", within ? 'L' : 'M', CURVE_WIDTH * ((double)i + 0.5) / (double)c->n, CURVE_HEIGHT * (1 - c->mean[i] / most));
		within = !isnan(c->mean[i]);
	}
	fputs("\"/>", out);
}

static void write_curve(const struct report *r, const struct report_curve *k, FILE *out)
{
	const struct curve *c = &k->curve;
	const double x = CURVE_WIDTH * (double)(r->at - c->from) / ((double)c->step * (double)c->n);
	double most = 0;
	char value[40];

	for (size_t i = 0; i < c->n; i++)
		most = c->mean[i] > most ? c->mean[i] : most; /* not of NaN */
	str_print_markup(out, "<p>%s: %s (%s; at most %s)</p>\n", k->name, k->feature->name, k->feature->help,
			 feature_format(k->feature, most, value, sizeof(value)));
	fprintf(out, "<svg class=curve viewBox=\"0 -2 %d %d\" role=img aria-label=\"over time\"><path stroke=\"#dc2626\" d=\"M%.1f 0V%d\"/>", CURVE_WIDTH,
		CURVE_HEIGHT + 4, x, CURVE_HEIGHT);
	write_points(c, most > 0 ? most : 1, out);
	fputs("</svg>\n", out);
}

static void write_curves(const struct report *r, FILE *out)
{
	char from[40], to[40];

	if (!r->n_curves)
		return;
	fprintf(out, "<h2>What the suspects did</h2>\n<p>From %s to %s. The red line is the moment in question.</p>\n",
		clock_format_local(r->curves->curve.from, from, sizeof(from)),
		clock_format_local(r->curves->curve.from + r->curves->curve.step * (int64_t)r->curves->curve.n, to, sizeof(to)));
	for (size_t i = 0; i < r->n_curves; i++)
		write_curve(r, &r->curves[i], out);
}

/* --- what threads did --- */

#define ROW_HEIGHT 18 /* px */
#define NAME_WIDTH 190
#define LINE_WIDTH 800

static const struct {
	const char *color, *words;
} groups[] = {
	[GROUP_UNKNOWN] = {"#8884", "not known"}, [GROUP_RUNNING] = {"#15803d", "running"}, [GROUP_RUNNABLE] = {"#ca8a04", "ready, without a CPU"},
	[GROUP_BLOCKED] = {"#dc2626", "waiting"}, [GROUP_RESTING] = {"#8882", "idle or asleep by its own choice"},
};

/* Of a mix the state with the largest share. */
static enum state_group group_of(const struct drawing *d, const struct run *run)
{
	const struct mix *mix;
	int best = 0;

	if (run->what < DRAWN_KINDS)
		return state_table[run->what].group;
	mix = &d->mixes.v.v[run->what - DRAWN_KINDS];
	for (int i = 1; i < MIX_PARTS; i++)
		best = mix->share[i] > mix->share[best] ? i : best;
	return state_table[mix->kind[best]].group;
}

static void write_row_name(const struct report *r, const struct drawn_line *line, double y, FILE *out)
{
	const struct thread_row *row = &line->row;

	str_print_markup(out, "<text x=0 y=%.0f>%s", y + ROW_HEIGHT - 5, row->name ? row->name : "");
	if (row->thread != NOBODY)
		fprintf(out, " %u", r->timeline->threads.v[row->thread].tid);
	else
		fprintf(out, " (%u threads)", row->members);
	fputs("</text>", out);
}

static void write_line(const struct report *r, const struct drawn_line *line, double y, FILE *out)
{
	const struct drawing *d = r->drawing;
	const double scale = (double)LINE_WIDTH / (double)(d->to - d->from);

	write_row_name(r, line, y, out);
	VEC_EACH(run, line->runs)
		fprintf(out, "<rect x=%.1f y=%.0f width=%.2f height=%d fill=\"%s\"/>", NAME_WIDTH + (double)(run->from - d->from) * scale, y + 2,
			(double)(run->to - run->from) * scale, ROW_HEIGHT - 4, groups[group_of(d, run)].color);
	fputc('\n', out);
}

static void write_drawing(const struct report *r, FILE *out)
{
	const struct drawing *d = r->drawing;

	if (!d || !d->lines.n || d->to <= d->from)
		return;
	fprintf(out, "<h2>What the threads did that waited most, over %.3g s</h2>\n<p>", (double)(d->to - d->from) / 1e9);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		fprintf(out, "<span class=bar style=\"width:1em;background:%s\"></span>%s ", groups[i].color, groups[i].words);
	fprintf(out, "</p>\n<svg class=timeline viewBox=\"0 0 %d %zu\" role=img aria-label=\"threads over time\">\n", NAME_WIDTH + LINE_WIDTH,
		d->lines.n * ROW_HEIGHT);
	for (size_t i = 0; i < d->lines.n; i++)
		write_line(r, &d->lines.v[i], (double)(i * ROW_HEIGHT), out);
	fputs("</svg>\n", out);
}

/* ns of a victim's waits for a culprit, of all kinds. */
static double cell_ns(const json_t *cells, size_t victim, size_t culprit)
{
	double ns = 0;
	const json_t *c;
	size_t i;

	json_array_foreach (cells, i, c)
		if ((size_t)json_integer_value(json_object_get(c, "victim")) == victim && (size_t)json_integer_value(json_object_get(c, "culprit")) == culprit)
			ns += json_number_value(json_object_get(c, "ns"));
	return ns;
}

static void write_heads(const json_t *list, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		str_print_markup(out, "<th>%s", json_string_value(json_object_get(json_array_get(list, i), "text")));
	fputs("<th>others\n", out);
}

/* A row a victim, a column a culprit; the last column is of all other culprits. */
static void write_matrix(const char *text, FILE *out)
{
	_cleanup_(json_decrefp) json_t *m = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *victims = json_object_get(m, "victims"), *culprits = json_object_get(m, "culprits"), *cells = json_object_get(m, "cells");
	const size_t n = json_array_size(culprits);

	if (json_array_size(victims)) {
		fputs("<table class=matrix><tr><th>waited, in s, because of", out);
		write_heads(culprits, n, out);
		for (size_t i = 0; i < json_array_size(victims); i++) {
			str_print_markup(out, "<tr><td>%s", json_string_value(json_object_get(json_array_get(victims, i), "text")));
			for (size_t j = 0; j <= n; j++) {
				const double ns = cell_ns(cells, i, j);

				fprintf(out, ns >= 5e5 ? "<td>%.3f" : "<td>", ns / 1e9);
			}
			fputc('\n', out);
		}
		fputs("</table>\n", out);
	}
}

static void write_events(const struct report *r, FILE *out)
{
	write_drawing(r, out);
	if (!r->waits)
		return;
	fputs("<h2>Who waited for whom</h2>\n", out);
	write_matrix(r->matrix, out);
	write_text(r, r->waits, out);
}

void report_html(const struct report *r, FILE *out)
{
	str_print_markup(out,
			 "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>%s</title><style>",
			 r->title);
	fputs(style, out);
	str_print_markup(out, "</style>\n<h1>%s</h1>\n<p>%s%s%s</p>\n", r->title, r->when, r->note && !r->redact ? ": " : "",
			 r->note && !r->redact ? r->note : "");
	if (r->answer)
		write_text(r, r->answer, out);
	else
		fputs("<p>Nothing is recorded of that time.</p>\n", out);
	write_curves(r, out);
	write_events(r, out);
	for (size_t i = 0; i < r->n_captures; i++)
		write_capture(r, &r->captures[i], out);
	fprintf(out, "<p>Written by whyslow " WHYSLOW_VERSION "%s.</p>\n</html>\n",
		r->redact ? "; command lines, file names, notes and users' names were left out" : "");
}
