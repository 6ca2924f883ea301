/* By what errors requests fail: in which call, and of which type.
 *
 * The type is what the call says about its failure: the class of its exception, or the status of its protocol (semantic conventions, old and new; the
 * first of them that it has). Counted in the sample of the requests (struct sampled_request), a request once for each call and type.
 */
#pragma once

#include "spans/model/span-finding.h"

#define ERRORS_LEAST 3 /* requests of the sample in which an error was seen, on either side */

/* `f` has the two sides as span_sides_of() makes them. Fills *ret, the type of which most more requests have one first; to be freed in both cases.
 * 0 or -ENOMEM. */
int span_errors_find(const struct forest *f, struct span_errors *ret);
void span_errors_free(struct span_errors *e);
