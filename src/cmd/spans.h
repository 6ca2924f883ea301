/* What the verbs below `whyslow spans` share. */
#pragma once

#include <jansson.h>

#include "cmd/verb.h"
#include "daemon/span-pipeline.h"
#include "store/span-store.h"

struct spans_arguments {
	const char *mapping, *join, *by, *format, *rule, *entry, *where, *since, *until, *key;
	int64_t late, slot;
	uint64_t top, jobs, memory;
	bool each_trace;
	const char *trace;
	const char *baseline, *candidate;
	const char *listen, *token_file, *cert_file, *key_file;
	int64_t window, keep;
	const char *run, *webhook, *against, *method;
	bool once;
	int64_t only_from, only_to; /* wall ns; 0 = no bound */
};

extern struct spans_arguments spans_arg;

struct subverb {
	const char *name;
	const char *words;
	const char *help;
	int (*run)(struct common *common, size_t n, char **words); /* what follows the subverb */
};

int spans_load(struct common *common, size_t n, char **words);
int spans_forest(struct common *common, size_t n, char **words);
int spans_path(struct common *common, size_t n, char **words);
int spans_compare(struct common *common, size_t n, char **words);
int spans_why(struct common *common, size_t n, char **words);
int spans_gate(struct common *common, size_t n, char **words);
int spans_groups(struct common *common, size_t n, char **words);
int spans_exemplars(struct common *common, size_t n, char **words);
int spans_receive(struct common *common, size_t n, char **words);
int spans_watch(struct common *common, size_t n, char **words);

/* The store's parts since a moment against those before: the answer, a line for people, and whether it is a regression.
 * 0 or -errno. */
int spans_judge_since(struct common *common, int64_t since, json_t **ret, char **ret_headline, bool *ret_slower);
/* --rule, --late ... as the pipeline takes them; says what is wrong with them. 0 or -EINVAL. */
int spans_pipeline_options(size_t n_files, struct pipeline_options *ret);
/* The requests of the files, or without files those of the store, finished. Says why not; -errno then. */
int spans_forest_of(struct common *common, size_t n, char **files, struct names **ret_names, struct forest *ret);
/* "/var/lib/whyslow/spans.db", or --store. Caller frees. */
char *spans_store_file(const struct common *common);
struct span_store *spans_open_store(const struct common *common, bool write);
int spans_store_forest(struct span_store *store, const char *key, const char *source, struct forest *f);

/* All groups of a bucket as one, finished: for what does not tell versions apart. */
int spans_merge_groups(const struct forest *f, const struct bucket *b, struct forest *ret);

/* What the reader must know of the input: left out, mended, counted. On standard output; nothing if all was well. */
void spans_print_tally(const struct forest *f);
json_t *spans_tally_json(const struct forest *f);
/* "hardware=gen5, workload=d4": caller frees. */
char *spans_bucket_label(const struct forest *f, const struct bucket *b);
json_t *spans_bucket_json(const struct forest *f, const struct bucket *b);
/* Does the bucket agree with --where KEY=VALUE[,KEY=VALUE] and --entry TEXT? */
bool spans_selected(const struct forest *f, const struct bucket *b);
/* "812 ms", "1.21 s", "35 us"; buf of 24. */
const char *spans_duration(double ns, char *buf);
/* "service v1, other v2", long ones cut; caller frees. */
char *spans_versions_label(const struct forest *f, uint32_t versions);
int spans_print_json(json_t *root, int status);
