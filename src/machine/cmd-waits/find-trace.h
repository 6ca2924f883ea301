/* Where a verb that reads events gets them: a file (--from), a mark's kept trace, or the recorder, frozen now. */
#pragma once

#include "machine/events/trace.h"
#include "machine/verb/verb.h"

/* mark: 0 = now. 0 and *ret (trace_clear()); -ENOENT when nothing records and no file was named: the verb may watch for
 * itself; other errors were said on standard error. What `common->viewer` may not see is taken out. */
int find_trace(const struct common *common, int64_t mark, struct trace *ret);
