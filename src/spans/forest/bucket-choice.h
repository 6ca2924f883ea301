/* Which buckets of a forest are asked for: a query, passed on as it is. */
#pragma once

#include "spans/forest/forest.h"

struct bucket_choice {
	const char *where; /* "KEY=VALUE[,KEY=VALUE]": dimensions that have these values; NULL = all */
	const char *entry; /* a part of the entry point's name; NULL = all */
};

/* choice NULL = all buckets. A `where` chooses none if a pair lacks its '=' or its key is not a dimension. */
bool bucket_is_chosen(const struct bucket_choice *choice, const struct forest *f, const struct bucket *b);
