#include <jansson.h>
#include <string.h>

#include "lib/data/cleanup.h"
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
	"svg.timeline{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}"
	"@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}}";

/* --- what is left out --- */

/* Lines of a report that name what something did with a program rather than the program. */
static bool is_private(const char *line)
{
	static const char *const begins[] = {"Command ", "Group "};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (str_starts(line, begins[i]))
			return true;
	return false;
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
	struct str public = {};

	if (r->redact)
		redact(text, &public);
	fputs("<pre>", out);
	str_print_xml(r->redact ? (public.data ? public.data : "") : text, out);
	fputs("</pre>\n", out);
	str_free(&public);
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
	if (name) {
		fprintf(out,
			"<details%s><summary><span class=share>%.1f %%</span><span class=bar "
			"style=\"width:%.1fem\"></span>",
			total > OPEN_ABOVE * whole ? " open" : "", 100 * total / whole, 8 * total / whole);
		str_print_xml(name, out);
		fputs("</summary>", out);
	}
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

static void write_capture(const struct report *r, const struct report_capture *c, FILE *out)
{
	json_t *capture = json_loads(c->json, 0, NULL);

	fputs("<h2>", out);
	str_print_xml(c->summary, out);
	fputs("</h2>\n", out);
	if (capture) {
		write_tree(capture, "top_down", "Where the CPU time goes", out);
		write_tree(capture, "waits", "What threads wait for, and from where", out);
		json_decref(capture);
	}
	fputs("<h3>All of it</h3>\n", out);
	write_text(r, c->text, out);
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

	fprintf(out, "<text x=0 y=%.0f>", y + ROW_HEIGHT - 5);
	str_print_xml(row->name ? row->name : "", out);
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
	for (size_t i = 0; i < line->runs.n; i++) {
		const struct run *run = &line->runs.v[i];

		fprintf(out, "<rect x=%.1f y=%.0f width=%.2f height=%d fill=\"%s\"/>", NAME_WIDTH + (double)(run->from - d->from) * scale, y + 2,
			(double)(run->to - run->from) * scale, ROW_HEIGHT - 4, groups[group_of(d, run)].color);
	}
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

static void write_events(const struct report *r, FILE *out)
{
	write_drawing(r, out);
	if (!r->waits)
		return;
	fputs("<h2>Who waited for whom</h2>\n", out);
	write_text(r, r->waits, out);
}

void report_html(const struct report *r, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
	      "content=\"width=device-width\"><title>",
	      out);
	str_print_xml(r->title, out);
	fprintf(out, "</title><style>%s</style>\n<h1>", style);
	str_print_xml(r->title, out);
	fputs("</h1>\n<p>", out);
	str_print_xml(r->when, out);
	if (r->note && !r->redact) {
		fputs(": ", out);
		str_print_xml(r->note, out);
	}
	fputs("</p>\n", out);
	if (r->answer)
		write_text(r, r->answer, out);
	else
		fputs("<p>Nothing is recorded of that time.</p>\n", out);
	write_events(r, out);
	for (size_t i = 0; i < r->n_captures; i++)
		write_capture(r, &r->captures[i], out);
	fprintf(out, "<p>Written by whyslow " WHYSLOW_VERSION "%s.</p>\n</html>\n",
		r->redact ? "; command lines, file names, notes and users' names were left out" : "");
}
