/* The verbs below `whyslow spans` share this. */
#pragma once

#include <jansson.h>

#include "lib/input/files.h"
#include "machine/verb/subverb.h"
#include "spans/ask/span-view.h"
#include "spans/forest/bucket-choice.h"
#include "spans/pipeline/span-pipeline.h"
#include "spans/pipeline/span-work.h"
#include "spans/store/span-store.h"

/* Which data, and how it is read. */
struct spans_input {
	const char *by, *rule, *root, *mapping, *join, *asynchronous, *learn; /* how spans become requests, buckets and paths */
	const char *format, *engine, *since, *until, *trace;		      /* where they come from, and which (trace: ID or ID,ID) */
	int64_t late, slot;						      /* ns; late < 0 = as suits the data */
	int64_t only_from, only_to; /* wall ns, 0 = no bound: of two sides the one to read, not --since */
	uint64_t jobs, memory;
};

/* A command line of `whyslow spans`: one for all subverbs, each of which has those options that its table lists. Who changes it changes
 * a copy. */
struct spans_query {
	struct spans_input input;
	struct bucket_choice choice;
	uint64_t top, exemplars, min_effect; /* lines of each list; requests of each kind; percent */
	bool each_trace, functions, hosts, failed, once;
	const char *key, *output, *part, *deployments;
	const char *baseline, *candidate, *against, *method, *report, *html;
	const char *host_list; /* recorders of hosts, or their recordings: host-recorders.h */
	const char *listen, *listen_grpc, *token_file, *cert_file, *key_file, *ca_file, *run, *webhook;
	int64_t window, keep;	 /* ns; window 0 = the verb's default */
	const char *begin, *end; /* of `select`, as the next two */
	int64_t longer, shorter; /* ns; 0 = no bound */
};

extern const struct subverb spans_attributes;
int spans_load(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_forest(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_path(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_calls(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_compare(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_why(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_gate(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_groups(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_exemplars(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_receive(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_watch(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_select(struct common *common, const struct spans_query *q, int argc, char **argv);
int spans_work(struct common *common, const struct spans_query *q, int argc, char **argv);

/* The store's requests of [begin, end), one or two windows, against windows that begin at `past`. */
struct spans_window {
	int64_t begin, end;
	const int64_t *past;
	size_t n_past;
	const struct deployments *deployments;
	bool was_slower; /* the window before: a reported rise ends only when it is not seen at the level of a single answer */
};

/* The answer, a line for people, and enum span_verdict. 0 or -errno. */
int spans_judge_window(struct common *common, const struct spans_query *q, const struct spans_window *window, json_t **ret, char **ret_headline,
		       int *ret_verdict);
/* --rule, --late ... as the pipeline takes them; says what is wrong with them. 0 or -EINVAL. */
/* Runs a subverb, whose DATA that are addresses of query services (http://tempo:3200) become files with their traces before. Its exit status. */
int spans_run_fetched(struct common *common, const struct spans_query *q, int argc, char **argv,
		      int (*run)(struct common *common, const struct spans_query *q, int argc, char **argv));
/* The resolution in time: a moment within ten minutes is to be seen in files; parts of a store or a table, of which there are many, are of a
 * minute, which is 2^5 of those. */
#define SLOT_OF_PARTS (60 * NS_PER_SEC)
#define SLOT_FINE     (SLOT_OF_PARTS / 32)
int64_t spans_slot(const struct spans_query *q, bool files);
int spans_pipeline_options(const struct spans_query *q, size_t n_files, struct pipeline_options *ret);
/* The same for tables: --since, --until, --late, --spans-in-memory. *ret is zeroed before. */
int spans_work_options(const struct spans_query *q, struct work_options *ret);
/* The requests of the files or tables, of --engine, or without any those of the store, finished. Says why not; -errno then. */
int spans_forest_of(struct common *common, const struct spans_query *q, size_t n, char **data,
		    struct names **ret_names, struct forest *ret);
/* spans forest --functions: exit status. */
int spans_functions(struct common *common, const struct spans_query *q, size_t n, char **data);
struct span_store *spans_open_store(const struct common *common, bool write);
int spans_store_forest(struct span_store *store, const char *key, const char *source, struct forest *f);

/* --deployments FILE, and of the store where it is what is asked: sorted. Says why not; -errno then. */
int spans_deployments(struct common *common, const struct spans_query *q, bool of_store, struct deployments *ret);

/* The files that DATA names, those of folders and globs too, and how they are to be read. Says why not; -errno then, and *ret is empty. */
int spans_files(const struct spans_query *q, size_t n, char **data, struct file_list *ret, struct pipeline_options *ret_options);
/* --learn: reads the files before they are read, and writes what was learnt, which is then --asynchronous. Says why not; -errno then. */
int spans_learn(const struct spans_query *q, size_t n, char **data);
/* Warns of all that was wrong with the input. */
void spans_print_faults(const struct span_faults *faults);
int spans_print_json(json_t *root, int status);
