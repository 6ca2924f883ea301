/* OTLP messages one after another, each with its length before it:
 *
 *   four bytes, big endian   the collector's file exporter: protobuf, and what it packs (each message by itself, with
 *                            zstd), protobuf or JSON
 *   a varint                 what protobuf libraries call delimited
 */
#pragma once

#include "spans/formats/span-reader.h"

enum otlp_framing { OTLP_UNKNOWN, OTLP_UNFRAMED, OTLP_FRAMED, OTLP_DELIMITED };

/* By a file's first bytes; OTLP_UNKNOWN: this is not OTLP in protobuf. */
enum otlp_framing otlp_framing_of(const uint8_t *head, size_t n);
/* Reads all messages; damage is counted. 0 or -errno of the sink, of memory. */
int otlp_read_frames(struct span_reader *r, struct input *in, enum otlp_framing framing);
