/* Findings of traced requests as text, JSON and HTML. `top`: lines of each list. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "spans/model/group-finding.h"
#include "spans/model/leaf-csv.h"
#include "spans/model/span-answer.h"
#include "spans/model/span-finding.h"
#include "spans/model/span-selection.h"

/* --- words (span-words.c) --- */

/* "812 ms", "1.21 s", "35 us"; buf of 24. */
const char *span_duration_text(double ns, char *buf);
/* The same as a text that lasts as long as the block where it stands. */
#define SPAN_DURATION(ns) span_duration_text((ns), (char[24]){})
/* An attribute's value, "(none)" without one; value: text. */
const char *span_value_text(const struct forest *f, uint32_t value);
/* "hardware=gen5, workload=d4: service operation": caller frees. */
char *span_bucket_label(const struct forest *f, const struct bucket *b);
json_t *span_bucket_json(const struct forest *f, const struct bucket *b);
/* "service=v1, other=v2", or that there is none; caller frees. */
char *span_versions_label(const struct forest *f, uint32_t versions);
/* The reader must know this of the input: left out, fixed, counted. Nothing if all was well. */
void span_tally_text(const struct forest *f, FILE *out);
json_t *span_tally_json(const struct forest *f);

/* --- a change between two sides (change-*.c) --- */

/* Requests to look at, by their ids: "for example ID (80 ms), ...". */
void span_examples_text(const struct cause_trace *v, size_t n, FILE *out);
json_t *span_examples_json(const struct cause_trace *v, size_t n);
void span_change_text(const struct span_comparison *s, size_t top, FILE *out);
/* The same behind the versions that are slower than others; or that none is, and whether all are since some moment. */
void span_why_text(const struct span_comparison *s, size_t top, FILE *out);
/* The one answer to "why", in a line: the version that is slower or fails more, or since when all requests take longer, or that nothing
 * does: caller frees, NULL without memory. */
char *span_suspect_words(const struct span_comparison *s, const struct suspect_version *x); /* "cart 1.1 is slower: ..."; likewise */
char *span_why_headline(const struct span_comparison *s);
json_t *span_change_json(const char *schema, const struct span_comparison *s, size_t top);
/* "slower: hardware=gen5: api create vm: 412 ms, was 330 ms; storage create disk": caller frees, NULL without memory. */
char *span_change_headline(const struct span_comparison *s);
/* That calls of all services became slower by the same; NULL: they did not. Caller frees. */
char *span_change_uniform_words(const struct span_change *c);
/* The same of one bucket that is worse, or of one pool; caller frees, NULL without memory. */
char *span_change_bucket_line(const struct forest *f, const struct bucket_change *b);
char *span_change_pool_line(const struct forest *f, const struct pool_change *p);
/* "all buckets with hardware=gen5 together": caller frees, NULL without memory. */
char *span_pool_label(const struct forest *f, const struct pool_change *p);
/* "saturation: ...", where sides have a rate; NULL: nothing to say, or no memory. Caller frees. */
char *span_saturation_words(const struct span_comparison *s);
/* Load as a part of the headline: "a queue grows"; NULL: it is none of it. */
const char *span_saturation_headline(const struct span_saturation *s);
/* One page to hand on: no script, nothing from elsewhere. map: all requests of both sides. */
void span_change_html(const struct span_comparison *s, const struct span_map *map, size_t top, FILE *out);
/* In the form of --report, which span_gate_report_is_known(); NULL = long. */
void span_gate_text(const char *report, const struct span_comparison *s, size_t top, FILE *out);
bool span_gate_report_is_known(const char *form);

/* --- down to the machines (descent.c) --- */

/* Nothing where no place is known. */
/* "the reason on HOST at TIME: ...": for what the process waited, where events tell, else the machine's, or where it is not slow the process's; NULL:
 * no recorder answered. Caller frees. */
char *span_descent_reason(const struct descent *d);
/* Prints it as a line, if there is one. */
void span_descent_reason_text(const struct descent *d, FILE *out);
void span_descent_text(const struct descent *d, FILE *out);
json_t *span_descent_json(const struct descent *d);
/* trace: the request's id, as it was asked for. */
void span_request_text(const struct exemplar *request, const char *trace, const struct descent *d, FILE *out);
json_t *span_request_json(const struct exemplar *request, const char *trace, const struct descent *d);

/* --- versions against each other (groups.c) --- */

void span_groups_text(const struct forest *f, const struct span_groups *j, size_t top, FILE *out);
json_t *span_groups_json(const struct forest *f, const struct span_groups *j);

/* --- some requests against the others (select.c) --- */

/* bounded: some are selected; else the map is all there is to say. */
void span_selection_text(const struct forest *f, bool bounded, const struct span_map *m, const struct span_differences *d, size_t top, FILE *out);
json_t *span_selection_json(const struct forest *f, bool bounded, const struct span_map *m, const struct span_differences *d, size_t top);

/* --- the call forest (forest.c) --- */

void span_forest_head_text(const struct forest *f, FILE *out);
/* The next two: a forest of one bucket with one group (forest_merge_groups()). */
void span_forest_bucket_text(const struct forest *f, FILE *out);
json_t *span_forest_bucket_json(const struct forest *f);
/* Takes the reference of the list. */
json_t *span_forest_json(const struct forest *f, json_t *buckets);
void span_functions_text(const struct span_functions *f, size_t top, FILE *out);
json_t *span_functions_json(const struct span_functions *f);
void span_calls_text(const struct names *names, const struct span_calls *c, FILE *out);
json_t *span_calls_json(const struct names *names, const struct span_calls *c);
void span_load_text(const struct forest *f, FILE *out);
json_t *span_load_json(const struct forest *f, const char *key);
void span_load_table_text(const char *url, uint64_t spans, FILE *out);
json_t *span_load_table_json(const char *url, uint64_t spans);
/* stopped: before it was done. */
void span_work_text(const char *url, const struct work_done *done, bool stopped, FILE *out);
json_t *span_work_json(const char *url, const struct work_done *done);

/* --- critical paths and single requests (path.c, exemplars.c) --- */

void span_path_head_text(const char *rule, bool of_buckets, FILE *out);
/* A forest of one bucket with one group. */
void span_path_text(const struct forest *f, const struct span_path *p, size_t top, FILE *out);
json_t *span_path_bucket_json(const struct forest *f, const struct span_path *p);
/* Takes the reference of the list. */
json_t *span_path_json(const struct forest *f, const char *rule, json_t *buckets);
void span_trace_text(const struct trace_answer *a, FILE *out);
json_t *span_trace_json(const struct trace_answer *a);
/* The document of the two lists; takes the reference. */
json_t *span_traces_json(const char *rule, json_t *traces);
json_t *span_exemplars_json(const struct forest *f, json_t *requests);
/* A trace without a root: its spans, without a path. */
json_t *span_orphans_json(const struct names *names, const struct span *spans, uint32_t n);
void span_outline_text(const struct span_outline *k, FILE *out);
json_t *span_outline_json(const struct span_outline *k);
/* Two requests side by side. */
void span_two_requests_text(const struct span_two_requests *d, size_t top, FILE *out);
json_t *span_two_requests_json(const struct span_two_requests *d);

/* --- attributes of a table (attributes.c) --- */

void span_attributes_text(const struct leaf_csv *csv, const char *metric, const struct attribute_findings *f, FILE *out);
json_t *span_attributes_json(const struct leaf_csv *csv, const char *metric, const struct attribute_findings *f);
