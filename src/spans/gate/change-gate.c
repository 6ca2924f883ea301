/* The answer of `spans gate`: one line, a table, Markdown for a pull request, JUnit's XML for a CI. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "spans/ask/span-view.h"

/* The verdict, and what it could have seen. */
static void put_verdict(const struct span_comparison *s, enum span_verdict verdict, FILE *out)
{
	const struct span_change *c = &s->change;
	_cleanup_free_ char *headline = span_change_headline(s);
	double wanted = 2 * c->least;
	char some[64] = "no single slow calls"; /* of kinds of requests that took turns */

	if (isfinite(c->some_seen))
		snprintf(some, sizeof(some), "calls of which %.1f %% fail or take three times as long", 100 * c->some_seen);
	if (span_is_regression(verdict))
		fprintf(out, "regression: %s\n", headline ? headline : span_verdict_name(verdict));
	else if (verdict == VERDICT_SAME)
		fprintf(out, "pass: all together at most %+.0f %% slower and at most %.1f %% more failing (95 %% sure); could see +%.0f %% or more in %.0f %% of the traffic, "
			"+%.0f %% of all together, and %s\n", ceil(100 * c->all.rise_most), 100 * fmax(0, c->all.errors_most), ceil(100 * c->seen), 100 * c->seen_share,
			ceil(100 * c->all.could_see), some);
	else if (isfinite(c->all.could_see))
		fprintf(out, "cannot tell: all together may be up to %+.0f %% slower, and up to %.1f %% more may fail (95 %% sure); could see only +%.0f %% or more; to see +%.0f %%, "
			"and to exclude %.0f %% more failing, %.1f times as many requests are needed on both sides (%.0f)\n", ceil(100 * c->all.rise_most),
			100 * fmax(0, c->all.errors_most), ceil(100 * c->all.could_see), 100 * wanted, 100 * c->least, span_change_needed(c, wanted),
			ceil(span_change_needed(c, wanted) * c->all.requests));
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

/* --- JUnit's XML --- */

/* A test of the suite, as CI servers count and list it. */
struct junit_case {
	char *name, *failure, *skipped; /* failure, skipped: why; NULL = it is not */
	double seconds; /* of a request; NaN = not known */
};

struct junit_cases {
	VEC(struct junit_case) list;
	size_t failures, skipped;
};

static void cases_free(struct junit_cases *c)
{
	VEC_FREE_EACH(c->list, free(each->name); free(each->failure); free(each->skipped));
}

static int add_case(struct junit_cases *c, struct junit_case one)
{
	c->failures += one.failure != NULL;
	c->skipped += one.skipped != NULL;
	return VEC_PUSH(c->list, one);
}

/* "cannot tell: could see +12 % or more"; caller frees. */
static char *unclear_words(double could_see)
{
	char *text;

	if (!isfinite(could_see))
		return strdup("cannot tell: too few requests");
	return asprintf(&text, "cannot tell: could see +%.0f %% or more", ceil(100 * could_see)) < 0 ? NULL : text;
}

static int add_gate(const struct span_comparison *s, enum span_verdict verdict, struct junit_cases *to)
{
	struct junit_case one = {.name = strdup("gate"), .seconds = s->change.mean_after / 1e9};

	if (span_is_regression(verdict))
		one.failure = span_change_headline(s);
	else if (verdict == VERDICT_UNCLEAR)
		one.skipped = unclear_words(s->change.all.could_see);
	return add_case(to, one);
}

static int add_bucket(const struct forest *f, const struct bucket_change *b, struct junit_cases *to)
{
	struct junit_case one = {.name = span_bucket_label(f, &f->buckets.v[b->bucket]), .seconds = b->mean_after / 1e9};

	if (!b->before || !b->after)
		one.skipped = strdup(b->before ? "no requests after" : "no requests before");
	else if (span_is_regression(b->verdict))
		one.failure = span_change_bucket_line(f, b);
	else if (b->verdict == VERDICT_UNCLEAR)
		one.skipped = unclear_words(b->could_see);
	return add_case(to, one);
}

static int add_pool(const struct forest *f, const struct pool_change *p, struct junit_cases *to)
{
	struct junit_case one = {.name = span_pool_label(f, p), .seconds = (p->mean + p->within) / 1e9};

	if (span_is_regression(p->verdict))
		one.failure = span_change_pool_line(f, p);
	else if (p->verdict == VERDICT_UNCLEAR)
		one.skipped = unclear_words(p->could_see);
	return add_case(to, one);
}

static void put_case(const struct junit_case *c, FILE *out)
{
	str_print_markup(out, "  <testcase classname=\"whyslow\" name=\"%s", c->name);
	if (isfinite(c->seconds))
		fprintf(out, "\" time=\"%.6f", c->seconds);
	fputs("\">", out);
	if (c->failure)
		str_print_markup(out, "\n    <failure message=\"%s\"/>\n  ", c->failure);
	if (c->skipped)
		str_print_markup(out, "\n    <skipped message=\"%s\"/>\n  ", c->skipped);
	fputs("</testcase>\n", out);
}

/* The gate, every bucket, every pool. */
static void print_junit(const struct span_comparison *s, size_t top, enum span_verdict verdict, FILE *out)
{
	_cleanup_(cases_free) struct junit_cases cases = {};
	const struct span_change *c = &s->change;
	int r = add_gate(s, verdict, &cases);

	(void)top; /* a CI compares its lists of tests with those of earlier runs */
	for (size_t i = 0; r == 0 && i < c->buckets.n; i++)
		r = add_bucket(&s->forest, &c->buckets.v[i], &cases);
	for (size_t i = 0; r == 0 && i < c->pools.n; i++)
		r = add_pool(&s->forest, &c->pools.v[i], &cases);
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"whyslow spans gate\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
		cases.list.n, cases.failures, cases.skipped);
	for (size_t i = 0; i < cases.list.n; i++)
		put_case(&cases.list.v[i], out);
	fputs("</testsuite>\n", out);
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
