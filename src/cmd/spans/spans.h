/* What the verbs below `whyslow spans` share. */
#pragma once

#include <jansson.h>

#include "cmd/verbs/subverb.h"
#include "daemon/span/span-pipeline.h"
#include "daemon/span/span-work.h"
#include "source/process/files.h"
#include "store/span/span-store.h"

struct spans_arguments {
	const char *report, *root, *mapping, *join, *by, *format, *rule, *entry, *where, *since, *until, *key;
	int64_t late, slot;
	uint64_t top, exemplars, jobs, memory, min_effect;
	bool each_trace;
	const char *trace;
	const char *baseline, *candidate;
	const char *listen, *token_file, *cert_file, *key_file, *ca_file;
	const char *host_list; /* recorders of hosts, or their recordings: host-recorders.h */
	int64_t window, keep; /* ns; window 0 = the verb's default */
	const char *run, *webhook, *against, *method;
	const char *engine, *output, *part, *asynchronous, *learn, *deployments;
	bool once, functions, hosts, failed;
	const char *begin, *end, *html;
	int64_t longer, shorter; /* ns; 0 = no bound */
	int64_t only_from, only_to; /* wall ns; 0 = no bound */
};

extern struct spans_arguments spans_arg;

extern const struct subverb spans_attributes;
int spans_load(struct common *common, int argc, char **argv);
int spans_forest(struct common *common, int argc, char **argv);
int spans_path(struct common *common, int argc, char **argv);
int spans_calls(struct common *common, int argc, char **argv);
int spans_compare(struct common *common, int argc, char **argv);
int spans_why(struct common *common, int argc, char **argv);
int spans_gate(struct common *common, int argc, char **argv);
int spans_groups(struct common *common, int argc, char **argv);
int spans_exemplars(struct common *common, int argc, char **argv);
int spans_receive(struct common *common, int argc, char **argv);
int spans_watch(struct common *common, int argc, char **argv);
int spans_select(struct common *common, int argc, char **argv);
int spans_work(struct common *common, int argc, char **argv);

/* The store's window that begins there against others of the same length: the answer, a line for people, and enum span_verdict.
 * 0 or -errno. */
int spans_judge_window(struct common *common, int64_t begin, const int64_t *past, size_t n_past, json_t **ret, char **ret_headline,
		       int *ret_verdict);
/* --rule, --late ... as the pipeline takes them; says what is wrong with them. 0 or -EINVAL. */
int spans_pipeline_options(size_t n_files, struct pipeline_options *ret);
/* The same for tables: --since, --until, --late, --spans-in-memory. *ret is zeroed before. */
int spans_work_options(struct work_options *ret);
/* The requests of the files or tables, of --engine, or without any those of the store, finished. Says why not; -errno then. */
int spans_forest_of(struct common *common, size_t n, char **data, struct names **ret_names, struct forest *ret);
/* spans forest --functions: exit status. */
int spans_functions(struct common *common, size_t n, char **data);
struct span_store *spans_open_store(const struct common *common, bool write);
int spans_store_forest(struct span_store *store, const char *key, const char *source, struct forest *f);

/* --deployments FILE, and of the store where it is what is asked: sorted. Says why not; -errno then. */
int spans_deployments(struct common *common, bool of_store, struct deployments *ret);

/* All groups of a bucket as one, finished: for what does not tell versions apart. */
int spans_merge_groups(const struct forest *f, const struct bucket *b, struct forest *ret);

/* The files that DATA names: those of folders and globs too. Says why not; -errno then. */
int spans_files(size_t n, char **data, struct file_list *ret);
/* --learn: reads the files before they are read; from then on what was learnt counts. Says why not; -errno then. */
int spans_learn(size_t n, char **data);
/* What was wrong with the input, as warnings. */
void spans_print_faults(const struct span_faults *faults);
/* What the reader must know of the input: left out, fixed, counted. On standard output; nothing if all was well. */
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
