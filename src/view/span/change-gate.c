/* The answer of `spans gate`: one line, a table, Markdown for a pull request, JUnit's XML for a CI. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/str.h"
#include "view/span/span-view.h"

/* The verdict, and what it could have seen. */
static void put_verdict(const struct span_comparison *s, enum span_verdict verdict, FILE *out)
{
	const struct span_change *c = &s->change;
	_cleanup_free_ char *headline = span_change_headline(s);
	double wanted = 2 * c->least;

	if (span_is_regression(verdict))
		fprintf(out, "regression: %s\n", headline ? headline : span_verdict_name(verdict));
	else if (verdict == VERDICT_SAME && c->seen_share > 0)
		fprintf(out, "pass: could see +%.0f %% or more in %.0f %% of the traffic, and +%.0f %% of all together\n", ceil(100 * c->seen),
		       100 * c->seen_share, ceil(100 * c->all.could_see));
	else if (verdict == VERDICT_SAME)
		fprintf(out, "pass: could see +%.0f %% or more of all together\n", ceil(100 * c->all.could_see));
	else if (isfinite(c->all.could_see))
		fprintf(out, "cannot tell: with these requests only +%.0f %% or more of all together could be seen; for +%.0f %%, %.1f times as many are "
		       "needed on both sides\n", ceil(100 * c->all.could_see), 100 * wanted, span_change_needed(c, wanted));
	else
		fputs("cannot tell: no bucket has requests on both sides\n", out);
}

static void print_line(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out)
{
	(void)top; /* the form has one line */
	put_verdict(s, verdict, out);
}

static void print_long(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out)
{
	put_verdict(s, verdict, out);
	span_change_text(s, top, out);
}

/* One bucket as figures; buf of at least 24 each. */
struct gate_row {
	char *label;
	const char *verdict;
	char before[24], after[24], rise[24], seen[24], errors[40];
};

static bool fill_row(const struct forest *f, const struct bucket_change *b, struct gate_row *ret)
{
	if (!b->before || !b->after)
		return false;
	ret->verdict = span_verdict_name(b->verdict);
	ret->label = span_bucket_label(f, &f->buckets.v[b->bucket]);
	span_duration_text(b->mean_before, ret->before);
	span_duration_text(b->mean_after, ret->after);
	snprintf(ret->rise, sizeof(ret->rise), "%+.1f %%", 100 * b->within / b->mean_before);
	snprintf(ret->seen, sizeof(ret->seen), isfinite(b->could_see) ? "+%.0f %%" : "-", ceil(100 * b->could_see));
	snprintf(ret->errors, sizeof(ret->errors), "%.2f %%, %.2f %%", 100 * b->errors_before, 100 * b->errors_after);
	return true;
}

static void put_line(const struct gate_row *r, FILE *out)
{
	fprintf(out, "%-8s %12s %10s %10s %10s  %-20s %s\n", r->verdict, r->before, r->after, r->rise, r->seen, r->errors, r->label ? r->label : "?");
}

static void put_markdown(const struct gate_row *r, FILE *out)
{
	fprintf(out, "| %s | %s | %s | %s | %s | %s | `%s` |\n", r->verdict, r->before, r->after, r->rise, r->seen, r->errors, r->label ? r->label : "?");
}

static void print_rows(const struct span_comparison *s, size_t top, const char *head, void (*row)(const struct gate_row *r, FILE *out), FILE *out)
{
	const struct span_change *c = &s->change;

	fputs(head, out);
	for (size_t i = 0; i < c->buckets.n && i < top; i++) {
		const struct bucket_change *b = &c->buckets.v[i];
		struct gate_row r = {};

		if (!fill_row(&s->forest, b, &r))
			continue;
		row(&r, out);
		free(r.label);
	}
}

static void print_table(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out)
{
	put_verdict(s, verdict, out);
	print_rows(s, top, "verdict        before      after    change*  could see  errors               requests\n",
		   put_line, out);
	fputs("* at the same mix of requests\n", out);
}

static void print_markdown(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out)
{
	fputs("**", out);
	fputs(verdict == VERDICT_SAME ? "Latency gate: pass" : span_is_regression(verdict) ? "Latency gate: regression" : "Latency gate: cannot tell", out);
	fputs("**\n\n", out);
	put_verdict(s, verdict, out);
	print_rows(s, top, "\n| verdict | before | after | change at the same mix | could see | errors before, after | requests |\n|---|---|---|---|---|---|---|\n",
		   put_markdown, out);
}

static void print_junit(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out)
{
	_cleanup_free_ char *headline = span_change_headline(s);
	bool failed = span_is_regression(verdict);

	(void)top; /* the form has one line */
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"whyslow spans gate\" tests=\"1\" failures=\"%d\" skipped=\"%d\">\n"
	       "  <testcase classname=\"whyslow\" name=\"gate\">", failed, !failed && verdict != VERDICT_SAME);
	if (failed) {
		fputs("<failure message=\"", out);
		str_print_xml(headline ? headline : "regression", out);
		fputs("\"/>", out);
	} else if (verdict != VERDICT_SAME) {
		fprintf(out, "<skipped message=\"cannot tell: could see +%.0f %% or more\"/>", ceil(100 * s->change.all.could_see));
	}
	fputs("</testcase>\n</testsuite>\n", out);
}

static const struct gate_report {
	const char *name;
	void (*print)(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out);
} reports[] = {{"long", print_long}, {"line", print_line}, {"table", print_table}, {"markdown", print_markdown}, {"junit", print_junit}};

static const struct gate_report *report_named(const char *form)
{
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		if (!strcmp(reports[i].name, form ? form : "long"))
			return &reports[i];
	return NULL;
}

bool span_gate_report_is_known(const char *form)
{
	return report_named(form) != NULL;
}

void span_gate_text(const char *report, const struct span_comparison *s, size_t top, FILE *out)
{
	report_named(report)->print(s, top, span_change_gate(&s->change), out);
}
