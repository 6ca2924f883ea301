/* OTLP messages that are in memory: what a receiver gets. */
#pragma once

#include "spans/formats/span-reader.h"

/* Reads a TracesData or ExportTraceServiceRequest in protobuf. Damage is counted, with where it is: `offset` is that of
 * the message in what `name` names. 0 or -errno of the sink. */
int otlp_message(struct span_reader *r, const char *name, uint64_t offset, const uint8_t *bytes, size_t n);
/* Is it a request from the first byte to the last: messages, and fields of spans, that end where they say? */
bool otlp_is_request(const uint8_t *bytes, size_t n);
