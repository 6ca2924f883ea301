/* OTLP messages one after another, each with its length before it:
 *
 *   four bytes, big endian   the collector's file exporter: protobuf, and what it packs (each message by itself, with
 *                            zstd), protobuf or JSON
 *   a varint                 what protobuf libraries call delimited
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum otlp_framing { OTLP_UNKNOWN, OTLP_UNFRAMED, OTLP_FRAMED, OTLP_DELIMITED };

/* By a file's first bytes; OTLP_UNKNOWN: this is not OTLP in protobuf. */
enum otlp_framing otlp_framing_of(const uint8_t *head, size_t n);
/* The bytes of the length that stands at the beginning of a frame (OTLP_FRAMED or OTLP_DELIMITED), and that length; 0: it does not end within n bytes. */
size_t otlp_frame_head(enum otlp_framing framing, const uint8_t *at, size_t n, uint64_t *ret_length);

bool otlp_is_packed(const uint8_t *message, size_t n);
/* Unpacks a message that the collector packed. *ret has at most `most` bytes, and is the caller's to free. 0, or -EBADMSG: damaged, or larger. */
int otlp_unpack(const uint8_t *message, size_t n, size_t most, uint8_t **ret, size_t *ret_n);
