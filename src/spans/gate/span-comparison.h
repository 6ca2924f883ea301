/* Two sets of requests and what changed between them: `whyslow spans why`, `compare`, `gate` and `watch`. */
#pragma once

#include "spans/compare/span-sides.h"
#include "spans/model/span-finding.h"

struct comparison_query {
	struct bucket_choice choice;
	const char *baseline, *candidate; /* VERSION or PACKAGE=VERSION; NULL = all others */
	int64_t slot;			  /* ns, of the sides' forest */
	double least;			  /* rise of the mean that matters, 0.05 = 5 %; 0 = SPAN_TOLERANCE */
	double level;			  /* chance of a false alarm; 0 = SPAN_Q */
};

/* An empty comparison: to be freed, after an error, too. 0 or -ENOMEM. */
int span_comparison_init(const struct comparison_query *q, struct span_comparison *ret);
void span_comparison_free(struct span_comparison *c);
/* The sides are empty and have no names again; what was found of versions and times stays. 0 or -ENOMEM. */
int span_comparison_restart(const struct comparison_query *q, struct span_comparison *c);

/* The sides, by one of the next three; `f` is finished and not needed afterwards. */

/* Requests that ran the versions of the query. -ENODATA with *ret_error (caller frees) where none ran one of them. */
int span_comparison_by_version(const struct comparison_query *q, const struct forest *f, struct span_comparison *ret, char **ret_error);
/* The version that is slower than the others of its bucket; where none is, all requests are the baseline and ret->changed says since when
 * they take longer. ret->deployments are known already. 0 or -ENOMEM. */
int span_comparison_by_suspect(const struct comparison_query *q, const struct forest *f, struct span_comparison *ret);
/* Adds requests to one side. -EEXIST: the other side was read with another rule or other dimensions. */
int span_comparison_add(const struct comparison_query *q, const struct forest *f, enum span_side side, struct span_comparison *ret);

/* The sides in words, by time. 0 or -ENOMEM. */
int span_comparison_name_times(const struct span_since *times, struct span_comparison *c);
/* Finds what changed, and for what became slower which requests and which deployment. Both sides are complete. 0 or -ENOMEM. */
int span_comparison_judge(const struct comparison_query *q, struct span_comparison *c);
/* A request that shows where the first bucket became slower, and the call that adds most; NULL: none is slower, or none was kept whole. */
const struct exemplar *span_comparison_example(const struct span_comparison *c, uint32_t *ret_vertex);
