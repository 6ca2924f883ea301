/* One look at a trouble: where it is, who is suspected. Where nobody stands out, another one. */
#pragma once

#include "analysis/charges.h"
#include "answer/pressure.h"
#include "answer/why.h"

struct look {
	struct question q;
	struct shortages there;
	struct charges charges;
	struct answer answer; /* without words */
	bool pressed;
};

void look_free(struct look *l);

/* q: the moment asked about, what is learnt from and how more is read; the request's method is set. 0 or -ENOMEM; the caller
 * frees *ret either way. */
int look_for_culprit(const struct dataset *d, const struct why_request *request, const struct question *q, struct look *ret);
