/* Quantiles of a stream of integers, within SKETCH_ERROR of the exact value, mergeable in any order.
 *
 * As DDSketch (Masson, Rim, Lee: VLDB 2019), but an octave is split into 64 equal parts instead of by a logarithm: the
 * bucket of a value is its exponent and the six bits after its leading one, so it is the same on every machine. Counts
 * are integers, and nothing is ever collapsed: parts merged are the whole, bit for bit. Values below 128 are exact.
 * Memory: 8 bytes a bucket between the least and the greatest, at most SKETCH_BUCKETS.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/data/str.h"

#define SKETCH_ERROR   (1.0 / 129) /* relative, of any quantile */
#define SKETCH_BUCKETS 3776	   /* of all values of 64 bits: at most 30 KB */
#define SKETCH_VERSION 1	   /* of sketch_write()'s bytes */

struct sketch;

struct sketch *sketch_new(void); /* NULL without memory */
void sketch_free(struct sketch *s);
/* A value that occurred `weight` times (any unit; nothing for 0). 0 or -ENOMEM, then it was not added. */
int sketch_add(struct sketch *s, uint64_t value, uint64_t weight);
/* Fetches the memory that sketch_add() of this value will touch. */
void sketch_prefetch(const struct sketch *s, uint64_t value);
/* 0 or -ENOMEM, then `s` is as before. */
int sketch_merge(struct sketch *s, const struct sketch *part);
/* The least value with at least the share q (0..1) of the weight at or below it; q = 0 and 1 are the exact least and
 * greatest. NaN of nothing. */
double sketch_quantile(const struct sketch *s, double q);
/* One test for every pair of quantile functions: P(b > a) + P(b = a)/2, buckets as ties. NaN if one is empty. */
double sketch_superiority(const struct sketch *a, const struct sketch *b);
/* The share of the weight that lies in buckets above that of `value`. NaN of nothing. */
double sketch_above(const struct sketch *s, double value);
/* P(x * factor > y) + half of equal, x and y both of `s`: how surely a change by that factor would be seen by ranks. */
double sketch_superiority_of(const struct sketch *s, double factor);
/* The canonical bytes; equal sketches give equal bytes. 0 or -errno of `out`. */
int sketch_write(const struct sketch *s, struct str *out);
/* Reads sketch_write()'s bytes. -EBADMSG on damage or an unknown version, -ENOMEM. */
int sketch_read(struct reader *r, struct sketch **ret);
