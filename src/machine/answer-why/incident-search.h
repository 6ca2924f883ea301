/* One look at a trouble: where it is, who is suspected. Where nobody stands out, another one. */
#pragma once

#include "machine/answer-why/pressure.h"
#include "machine/answer-why/why.h"
#include "machine/judge/charges.h"

struct incident_search {
	struct method_question q;
	struct shortages there;
	struct charges charges;
	struct answer answer; /* without words */
	bool pressed;
};

void incident_search_free(struct incident_search *l);

/* The verdict on the window that was chosen, `marked`: with what a mark says. No window is chosen by that, so that a mark changes no suspect's score. */
void incident_search_judge(struct incident_search *l, const struct dataset *d, const struct why_request *request, bool marked);

/* q: the moment asked about, what is learnt from and how more is read; the request's method is set. 0 or -ENOMEM; the caller
 * frees *ret either way. */
int incident_search_run(const struct dataset *d, const struct why_request *request, const struct method_question *q, struct incident_search *ret);
