#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "view/report.h"

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
	"@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}}";

static void escape(const char *text, FILE *out)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

/* --- what is left out --- */

/* Lines of a report that name what somebody did with a program rather than the program. */
static bool is_private(const char *line)
{
	static const char *const begins[] = {"Command ", "Group "};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (text_starts(line, begins[i]))
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
		files = text_starts(text, "Files read and written most") || (files && *text != '\n');
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
	escape(r->redact ? (public.data ? public.data : "") : text, out);
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
		escape(name, out);
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
	escape(c->summary, out);
	fputs("</h2>\n", out);
	if (capture) {
		write_tree(capture, "top_down", "Where the CPU time goes", out);
		write_tree(capture, "waits", "What threads wait for, and from where", out);
		json_decref(capture);
	}
	fputs("<h3>All of it</h3>\n", out);
	write_text(r, c->text, out);
}

void report_html(const struct report *r, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
	      "content=\"width=device-width\"><title>",
	      out);
	escape(r->title, out);
	fprintf(out, "</title><style>%s</style>\n<h1>", style);
	escape(r->title, out);
	fputs("</h1>\n<p>", out);
	escape(r->when, out);
	if (r->note && !r->redact) {
		fputs(": ", out);
		escape(r->note, out);
	}
	fputs("</p>\n", out);
	if (r->answer)
		write_text(r, r->answer, out);
	else
		fputs("<p>Nothing is recorded of that time.</p>\n", out);
	for (size_t i = 0; i < r->n_captures; i++)
		write_capture(r, &r->captures[i], out);
	fprintf(out, "<p>Written by whyslow " WHYSLOW_VERSION "%s.</p>\n</html>\n",
		r->redact ? "; command lines, file names, notes and users' names were left out" : "");
}
