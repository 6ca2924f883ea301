/* Which version of which package is slower than the others of its bucket, when no version is named.
 *
 * A package that is a service is judged by its own time (span-own.h): what the versions that it calls, or that call it, did at the same
 * time is not its doing. Any other package (a kernel, an agent) is judged by whole requests, of those that ran none of the
 * versions found so; one of which no such request is left is told together with the version with which it always ran.
 *
 * There every version of every package is held against the other versions of that package in the same bucket: Welch's test of
 * means and the rank test by sketches (twice the smaller p), Benjamini-Hochberg over all that were compared, and at
 * least SPAN_TOLERANCE slower. Works for two versions as well as for a hundred. Versions that ran at other times are
 * compared at the times they share (span-strata.h); where that moves what the others take, by Welch's test alone: ranks are not
 * kept by time. A version that all others of its bucket followed and that nobody runs any more is no suspect: what followed is faster.
 */
#pragma once

#include "analysis/span/span-change.h"

struct suspect_version {
	uint32_t bucket; /* index */
	uint32_t package, version; /* texts */
	double mean, others; /* ns, end to end */
	double requests;
	bool replaced; /* by all others, which came later; it has ended */
	bool levelled; /* mean and others are of the same times, in the suspect's proportions */
	double superiority, p, q;
	bool is_service; /* own_mean and own_others are known: judged by what it did itself */
	double own_mean, own_others; /* ns a request on the critical path (span-own.h), what it does with its calls included */
	const struct suspect_version *without; /* private: requests that ran it are on neither side */
	bool deployed; /* a deployment of it is known, of the time of these requests */
	char *label; /* of the bucket */
	char *together; /* "kernel 6.1, agent 2": that never ran without it, so that nothing tells them apart; NULL = none */
};

struct suspects {
	VEC(struct suspect_version) list; /* by the time they cost all together, most first */
	unsigned compared, slower, buckets;
	unsigned alone; /* buckets with nothing to compare: one version only, */
	unsigned few;	/* or in so many of them several, of fewer than SPAN_LEAST requests each or together */
	unsigned replaced; /* versions that were slower, and are no suspects */
};

int suspects_find(const struct forest *f, bool (*selected)(const struct forest *f, const struct bucket *b), struct suspects *ret);
void suspects_free(struct suspects *s);
/* Which side a group of the suspect's bucket is on. */
enum span_side suspect_side(const struct forest *f, const struct suspect_version *s, const struct group *g);
/* Texts of one table of names as those of another. */
void suspects_translate(struct suspects *s, const struct names *from, struct names *to);
