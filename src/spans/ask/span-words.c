/* Words that the views of traced requests share. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "spans/ask/span-view.h"

const char *span_value_text(const struct forest *f, uint32_t value)
{
	return value ? names_get(f->names, value) : "(none)";
}

struct count {
	const char *name;
	size_t offset;
	const char *words;
};

#define COUNT(field, words) {#field, offsetof(struct forest_tally, field), words}
static const struct count counts[] = {
	COUNT(orphans, "spans are orphans: what called them is not in the input; never taken as requests"),
	COUNT(orphan_traces, "traces have no root and count as no request"),
	COUNT(more_roots, "spans are second roots of their trace and were left out"),
	COUNT(duplicates, "duplicate spans were skipped"),
	COUNT(clamped, "spans were cut to the time of what called them"),
	COUNT(outside, "spans ran outside of what called them: asynchronous, not on the critical path"),
	COUNT(skewed, "server spans were moved between the ends of their call: clocks differ"),
	COUNT(late, "traces came in pieces, later than --late allows"),
	COUNT(cut, "traces were closed early for lack of memory (--spans-in-memory)"),
	COUNT(other_buckets, "requests were put into the bucket (other): too many buckets (--by)"),
	COUNT(other_groups, "requests were put into the group (other): too many versions"),
	COUNT(other_vertices, "calls were counted as '(other)' of their service, or charged to the call above them: too many names; are there numbers in them?"),
	COUNT(other_leaves, "requests were left out of the attribute search: too many combinations"),
	COUNT(other_places, "calls were not separated by host: too many hosts"),
};

void span_tally_text(const struct forest *f, FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		uint64_t n = *(const uint64_t *)((const char *)&f->tally + counts[i].offset);

		if (n)
			fprintf(out, "  note: %" PRIu64 " %s\n", n, counts[i].words);
	}
	if (forest_cut_names(f))
		fprintf(out, "  note: %" PRIu64 " call paths have a name of %d bytes, the most that is kept; calls whose names only differ after that are one\n",
			forest_cut_names(f), NAME_TEXT_MAX);
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		if (f->tally.faults[i])
			fprintf(out, "  note: input skipped or repaired: %" PRIu64 " %s\n", f->tally.faults[i], span_fault_name((enum span_fault)i));
}

json_t *span_tally_json(const struct forest *f)
{
	json_t *o = json_pack("{s:I, s:I, s:I}", "spans", (json_int_t)f->tally.spans, "traces", (json_int_t)f->tally.traces, "requests",
			      (json_int_t)f->tally.requests);
	json_t *faults = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_object_set_new(o, counts[i].name,
				    json_integer((json_int_t) * (const uint64_t *)((const char *)&f->tally + counts[i].offset)));
	json_object_set_new(o, "cut_names", json_integer((json_int_t)forest_cut_names(f)));
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		json_object_set_new(faults, span_fault_name((enum span_fault)i), json_integer((json_int_t)f->tally.faults[i]));
	json_object_set_new(o, "faults", faults);
	return o;
}

char *span_bucket_label(const struct forest *f, const struct bucket *b)
{
	_cleanup_str_ struct str s = {};

	for (uint32_t d = 0; d < f->n_dimensions; d++)
		if (b->values[d])
			str_printf(&s, "%s%s=%s", s.len ? ", " : "", names_get(f->names, f->dimensions[d]), names_get(f->names, b->values[d]));
	str_printf(&s, "%s%s", s.len ? ": " : "", names_get(f->names, b->entry));
	return s.error ? NULL : TAKE(s.data);
}

json_t *span_bucket_json(const struct forest *f, const struct bucket *b)
{
	json_t *values = json_object();

	for (uint32_t d = 0; d < f->n_dimensions; d++)
		json_object_set_new(values, names_get(f->names, f->dimensions[d]),
				    b->values[d] ? json_string(names_get(f->names, b->values[d])) : json_null());
	return json_pack("{s:o, s:s}", "values", values, "entry", names_get(f->names, b->entry));
}

const char *span_duration_text(double ns, char *buf)
{
	double size = fabs(ns);

	if (size < 0.5)
		ns = 0;
	if (isnan(ns))
		snprintf(buf, 24, "-");
	else if (size >= 1e10)
		snprintf(buf, 24, "%.1f s", ns / 1e9);
	else if (size >= 1e9)
		snprintf(buf, 24, "%.2f s", ns / 1e9);
	else if (size >= 1e8)
		snprintf(buf, 24, "%.0f ms", ns / 1e6);
	else if (size >= 1e6)
		snprintf(buf, 24, size >= 1e7 ? "%.1f ms" : "%.2f ms", ns / 1e6);
	else
		snprintf(buf, 24, size >= 1e5 ? "%.0f us" : "%.3g us", ns / 1e3);
	return buf;
}

char *span_versions_label(const struct forest *f, uint32_t versions)
{
	char *text = forest_set_text(f->names, versions);

	if (text && !*text) {
		free(text);
		return strdup("no version given");
	}
	return text;
}

void span_load_text(const struct forest *f, FILE *out)
{
	fprintf(out, "%" PRIu64 " spans of %" PRIu64 " traces: %" PRIu64 " whole requests, %zu buckets, %zu call paths\n", f->tally.spans,
		f->tally.traces, f->tally.requests, f->buckets.n, f->vertices.n);
	span_tally_text(f, out);
	fputs("'whyslow spans why' says what became slower, 'whyslow spans forest' where the time goes\n", out);
}

json_t *span_load_json(const struct forest *f, const char *key)
{
	return json_pack("{s:s, s:s, s:o, s:I, s:I}", "schema", "whyslow.spans.load/1", "key", key, "read", span_tally_json(f), "buckets",
			 (json_int_t)f->buckets.n, "call_paths", (json_int_t)f->vertices.n);
}

void span_load_table_text(const char *url, uint64_t spans, FILE *out)
{
	fprintf(out, "%" PRIu64 " spans are in %s\n'whyslow spans work' of each shard prepares the answers; 'whyslow spans forest %s' reads it here\n",
		spans, url, url);
}

json_t *span_load_table_json(const char *url, uint64_t spans)
{
	return json_pack("{s:s, s:s, s:I}", "schema", "whyslow.spans.load/1", "table", url, "spans", (json_int_t)spans);
}

void span_work_text(const char *url, const struct work_done *done, bool stopped, FILE *out)
{
	double seconds = (double)done->took / 1e9;

	fprintf(out, "%s: %" PRId64 " pieces, %" PRId64 " of them were there, %" PRId64 " made", url, done->pieces, done->had, done->made);
	if (done->made)
		fprintf(out, " of %" PRIu64 " spans in %.1f s (%.2f million a second)", done->spans, seconds, (double)done->spans / seconds / 1e6);
	fputs(stopped ? "; stopped: start it again for the rest\n" : "\n", out);
}

json_t *span_work_json(const char *url, const struct work_done *done)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f}", "schema", "whyslow.spans.work/1", "shard", url, "pieces", (json_int_t)done->pieces,
			 "had", (json_int_t)done->had, "made", (json_int_t)done->made, "spans", (json_int_t)done->spans, "seconds",
			 (double)done->took / 1e9);
}
