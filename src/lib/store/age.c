#include "lib/store/age.h"

#include <stdbool.h>
#include <string.h>

#define STEP_LEAST (2 * NS_PER_SEC) /* what a clock is adjusted by without a step, and what ending and beginning take */

/* A damaged file has times that cannot be subtracted or added: they count for nothing. */
static int64_t difference(int64_t later, int64_t earlier)
{
	int64_t between;

	return __builtin_sub_overflow(later, earlier, &between) || between == INT64_MIN ? 0 : between;
}

static void add(int64_t *sum, int64_t more)
{
	int64_t both;

	if (!__builtin_add_overflow(*sum, more, &both))
		*sum = both;
}

static bool same_boot(const struct age_span *earlier, const struct age_span *later)
{
	return *earlier->boot && strcmp(earlier->boot, later->boot) == 0 && later->boot_first >= earlier->boot_last;
}

static int64_t length(const struct age_span *span)
{
	const int64_t n = *span->boot ? difference(span->boot_last, span->boot_first) : difference(span->last, span->first);

	return n >= 0 && n <= AGE_GAP_MAX ? n : 0;
}

/* A jump back that was no longer than what is believed takes back a jump forward before it: both are added with their signs. */
static int64_t believed_gap(const struct age *a, const struct age_span *span)
{
	const int64_t gap = difference(a->next.first, span->last), size = gap < 0 ? -gap : gap;

	if (same_boot(span, &a->next))
		return difference(a->next.boot_first, span->boot_last);
	if (size > AGE_GAP_MAX || (gap > AGE_GAP_SURE && a->recorded < AGE_CONFIRMED))
		return 0;
	return gap;
}

int64_t age_add(struct age *a, const struct age_span *span)
{
	if (a->spans) {
		const int64_t spanned = length(&a->next);

		add(&a->recorded, spanned);
		add(&a->passed, spanned);
		add(&a->passed, believed_gap(a, span));
	}
	a->next = *span;
	a->spans++;
	return a->passed;
}

int64_t age_step(const struct age_span *earlier, const struct age_span *later)
{
	const int64_t gap = difference(later->first, earlier->last);
	int64_t step;

	if (same_boot(earlier, later))
		step = difference(gap, difference(later->boot_first, earlier->boot_last));
	else
		step = gap < 0 || gap > AGE_GAP_MAX ? gap : 0;
	return step > STEP_LEAST || step < -STEP_LEAST ? step : 0;
}
