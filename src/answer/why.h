/* From a recording to an answer: when did it begin, what was short, who did it. */
#pragma once

#include "analysis/method.h"
#include "model/dataset.h"
#include "model/finding.h"
#include "store/store.h"

struct why_request {
	int64_t at;		     /* wall ns */
	int64_t since;		     /* wall ns: the trouble is known to have begun here; 0 = find out */
	int64_t window;		     /* ns of past to learn from */
	const struct method *method; /* NULL = the default */
	bool block;		     /* learn from the whole block around `at`, event included (the paper's way) */
	bool marked;		     /* somebody said that it was slow then: less is needed to accuse */
	const char *only;	     /* pid, unit or name: suspects and victims other than this are left out; NULL = all */
	const struct mark *marks;    /* incidents that must not be learnt as usual */
	size_t n_marks;
};

/* Answers from a dataset that holds [at - window, at] (and beyond, for `block`). The dataset must outlive *ret.
 * 0; -ENODATA when nothing was recorded near `at`; -ENOMEM. */
int why_answer(const struct dataset *d, const struct why_request *request, struct answer *ret);
