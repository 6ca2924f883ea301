#include "lib/stat/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART_BITS 6
#define EXACT	  (2u << PART_BITS) /* below it every value is a bucket */

struct sketch {
	uint64_t *counts; /* of buckets first .. first + n - 1 */
	uint32_t first, n;
	uint64_t weight;
	uint64_t least, greatest;
};

static uint32_t bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < EXACT)
		return (uint32_t)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - PART_BITS;
	return (uint32_t)((shift << PART_BITS) + (value >> shift));
}

static uint64_t bucket_start(uint32_t bucket)
{
	unsigned shift;

	if (bucket < EXACT)
		return bucket;
	shift = (bucket >> PART_BITS) - 1;
	return (uint64_t)(bucket - (shift << PART_BITS)) << shift;
}

static uint64_t bucket_end(uint32_t bucket)
{
	return bucket + 1 == SKETCH_BUCKETS ? UINT64_MAX : bucket_start(bucket + 1) - 1;
}

/* The value whose relative distance to both ends is the same, and least. */
static double bucket_value(uint32_t bucket)
{
	double start = (double)bucket_start(bucket), end = (double)bucket_end(bucket);

	return start + end > 0 ? 2 * start * end / (start + end) : 0;
}

struct sketch *sketch_new(void)
{
	return calloc(1, sizeof(struct sketch));
}

void sketch_free(struct sketch *s)
{
	if (s)
		free(s->counts);
	free(s);
}

/* Makes the window hold buckets a..b. */
static int widen(struct sketch *s, uint32_t a, uint32_t b)
{
	uint32_t first = s->n && s->first < a ? s->first : a;
	uint32_t last = s->n && s->first + s->n - 1 > b ? s->first + s->n - 1 : b;
	uint64_t *counts;

	if (s->n && first == s->first && last == s->first + s->n - 1)
		return 0;
	counts = calloc(last - first + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	if (s->n)
		memcpy(counts + (s->first - first), s->counts, s->n * sizeof(*counts));
	free(s->counts);
	s->counts = counts;
	s->first = first;
	s->n = last - first + 1;
	return 0;
}

static void extend(struct sketch *s, uint64_t least, uint64_t greatest)
{
	if (!s->weight || least < s->least)
		s->least = least;
	if (!s->weight || greatest > s->greatest)
		s->greatest = greatest;
}

int sketch_add(struct sketch *s, uint64_t value, uint64_t weight)
{
	uint32_t bucket = bucket_of(value);

	if (!weight)
		return 0;
	if (widen(s, bucket, bucket) < 0)
		return -ENOMEM;
	extend(s, value, value);
	s->counts[bucket - s->first] += weight;
	s->weight += weight;
	return 0;
}

void sketch_prefetch(const struct sketch *s, uint64_t value)
{
	uint32_t bucket = bucket_of(value);

	if (bucket >= s->first && bucket - s->first < s->n)
		__builtin_prefetch(&s->counts[bucket - s->first], 1);
}

int sketch_merge(struct sketch *s, const struct sketch *part)
{
	if (!part->weight)
		return 0;
	if (widen(s, part->first, part->first + part->n - 1) < 0)
		return -ENOMEM;
	extend(s, part->least, part->greatest);
	for (uint32_t i = 0; i < part->n; i++)
		s->counts[part->first - s->first + i] += part->counts[i];
	s->weight += part->weight;
	return 0;
}

static double within(const struct sketch *s, double value)
{
	return fmin(fmax(value, (double)s->least), (double)s->greatest);
}

double sketch_quantile(const struct sketch *s, double q)
{
	double target = q * (double)s->weight;
	uint64_t below = 0;

	if (!s->weight)
		return NAN;
	if (q <= 0 || q >= 1)
		return (double)(q <= 0 ? s->least : s->greatest);
	for (uint32_t i = 0; i < s->n; i++) {
		below += s->counts[i];
		if ((double)below >= target && s->counts[i])
			return within(s, bucket_value(s->first + i));
	}
	return (double)s->greatest;
}

/* How likely a value of `a` is below `factor` times one of `b`; 0 as a factor takes b's as they are. */
static double share_below(const struct sketch *a, const struct sketch *b, double factor)
{
	double wins = 0, below = 0;
	uint32_t at = 0;

	if (!a->weight || !b->weight)
		return NAN;
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t bucket = b->first + i;

		if (!b->counts[i])
			continue;
		bucket = factor > 0 ? bucket_of((uint64_t)(factor * bucket_value(bucket))) : bucket;
		while (at < a->n && a->first + at < bucket)
			below += (double)a->counts[at++];
		wins += (double)b->counts[i] * (below + (at < a->n && a->first + at == bucket ? (double)a->counts[at] / 2 : 0));
	}
	return wins / ((double)a->weight * (double)b->weight);
}

double sketch_superiority(const struct sketch *a, const struct sketch *b)
{
	return share_below(a, b, 0);
}

double sketch_superiority_of(const struct sketch *s, double factor)
{
	return share_below(s, s, factor);
}

double sketch_above(const struct sketch *s, double value)
{
	double above = 0;
	uint32_t bucket = bucket_of(value < 0 ? 0 : (uint64_t)value);

	if (!s->weight)
		return NAN;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->first + i > bucket)
			above += (double)s->counts[i];
	return above / (double)s->weight;
}

/* Version, weight, least, greatest, filled buckets, then of each its distance to the one before and its count. */
int sketch_write(const struct sketch *s, struct str *out)
{
	uint64_t filled = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < s->n; i++)
		filled += s->counts[i] != 0;
	str_put_varint(out, SKETCH_VERSION);
	str_put_varint(out, s->weight);
	str_put_varint(out, s->least);
	str_put_varint(out, s->greatest);
	str_put_varint(out, filled);
	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->counts[i])
			continue;
		str_put_varint(out, s->first + i - last);
		str_put_varint(out, s->counts[i]);
		last = s->first + i;
	}
	return out->error;
}

static int read_buckets(struct reader *r, struct sketch *s, uint64_t filled)
{
	uint32_t bucket = bucket_of(s->least), end = bucket_of(s->greatest);
	uint64_t weight = 0;

	if (!filled)
		return r->bad || s->weight || s->least || s->greatest ? -EBADMSG : 0;
	if (s->least > s->greatest || filled > end - bucket + 1)
		return -EBADMSG;
	if (widen(s, bucket, end) < 0)
		return -ENOMEM;
	bucket = 0;
	for (uint64_t i = 0; i < filled; i++) {
		uint64_t step = reader_varint(r), count = reader_varint(r);

		if (r->bad || !count || (i && !step) || step > end - bucket || __builtin_add_overflow(weight, count, &weight))
			return -EBADMSG;
		bucket += (uint32_t)step;
		if (bucket < s->first)
			return -EBADMSG;
		s->counts[bucket - s->first] = count;
	}
	return weight == s->weight && s->counts[0] && s->counts[s->n - 1] ? 0 : -EBADMSG;
}

int sketch_read(struct reader *r, struct sketch **ret)
{
	struct sketch *s = sketch_new();
	uint64_t filled;
	int e;

	if (!s)
		return -ENOMEM;
	e = reader_varint(r) == SKETCH_VERSION ? 0 : -EBADMSG;
	s->weight = reader_varint(r);
	s->least = reader_varint(r);
	s->greatest = reader_varint(r);
	filled = reader_varint(r);
	e = e ?: (r->bad ? -EBADMSG : read_buckets(r, s, filled));
	if (e < 0)
		sketch_free(s);
	else
		*ret = s;
	return e;
}
