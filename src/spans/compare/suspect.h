/* Which version of which package is slower than the others of its bucket, or fails more often, when no version is named.
 *
 * A package that is a service is judged by its own time (span-own.h): what the versions that it calls, or that call it, did at the same
 * time is not its doing. Requests that ran two of its versions are on neither side: a second call is often made because the first was
 * slow or failed. Any other package (a kernel, an agent) is judged by whole requests, of those that ran none of the
 * versions found so; one of which no such request is left is reported together with the version with which it always ran.
 *
 * There every version of every package is held against the other versions of that package in the same bucket: Welch's test of
 * means and the rank test by sketches (twice the smaller p), Benjamini-Hochberg over all that were compared, and at
 * least SPAN_TOLERANCE slower. Works for two versions as well as for a hundred. Versions that ran at other times are
 * compared at the times they share (span-strata.h); where that moves what the others take, by Welch's test alone: ranks are not
 * kept by time. Failures are held against those of the versions that ran at the same times, with a Benjamini-Hochberg of their own.
 * A version that all others of its bucket followed and that no one runs any more is not a suspect: what followed is faster.
 */
#pragma once

#include "spans/compare/span-change.h"
#include "spans/forest/bucket-choice.h"
#include "spans/model/span-finding.h"

int suspects_find(const struct forest *f, const struct bucket_choice *choice, struct suspects *ret);
void suspects_free(struct suspects *s);
/* Which side a group of the suspect's bucket is on. */
enum span_side suspect_side(const struct forest *f, const struct suspect_version *s,
			    const struct forest_group *g);
/* Both sides' means at the times that both share, in the suspect's proportions, of calls or requests; the share and the number of the
 * suspect's, and how many of the others' their mean is as sure as: few of them may stand for many of the suspect's. */
struct suspect_times {
	double others, mean, share, n, n_others;
};
struct strata;
/* `vertex` as of strata_add(); least: the share that they are to have, at least. False: they share less, or nothing. */
bool suspect_at_same_times(const struct forest *f, const struct suspect_version *s, const struct strata *strata, uint32_t vertex, double least,
			   struct suspect_times *ret);
/* Texts of one table of names as those of another. */
void suspects_translate(struct suspects *s, const struct names *from, struct names *to);
