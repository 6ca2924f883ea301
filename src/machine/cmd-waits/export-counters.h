/* `export --format counters`: this machine's counters as another machine's `fleet watch` takes them, one JSON object
 * {"server", "times": [ns, ...], "counters": [{"name", "unit", "values": [...]}]}. Nothing recorded = no times. */
#pragma once

#include <stdio.h>

#include "machine/recording/store.h"

#define EXPORT_COUNTERS_MAX (3600ll * 1000000000) /* ns from the beginning on; who wants more asks again */

/* 0 or -errno (store_error() has words). */
int export_counters(struct store *s, int64_t from, int64_t to, FILE *out);
