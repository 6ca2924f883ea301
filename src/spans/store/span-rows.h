/* Spans into ClickHouse's flat table (docs/clickhouse.md), which it makes where it is missing. */
#pragma once

#include "spans/model/span.h"

struct span_rows;

/* `names`: of the spans that will come. 0 or -errno with *ret_error (caller frees). */
int span_rows_open(const char *url, const struct names *names, struct span_rows **ret, char **ret_error);
/* For struct assembler_options. 0 or -errno; after an error nothing more is sent. */
int span_rows_put(void *rows, const struct span *spans, uint32_t n);
/* Sends what is left and frees; *ret_error in words. 0 when every span has arrived. */
int span_rows_close(struct span_rows *s, uint64_t *ret_spans, char **ret_error);
