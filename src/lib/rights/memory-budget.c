#include "lib/rights/memory-budget.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/rights/sandbox-enter.h"

#define QUESTION_LEAST ((uint64_t)256 << 20)
#define KEPT_BLOCK     (1 << 30) /* bytes */

static uint64_t most_of(const struct memory_budget *b)
{
	uint64_t most;

	if (b->most)
		return b->most;
	return __builtin_mul_overflow(b->fed, BUDGET_TIMES, &most) || __builtin_add_overflow(most, BUDGET_LEAST, &most) ? UINT64_MAX : most;
}

void memory_budget_feed(struct memory_budget *b, uint64_t bytes)
{
	if (b)
		b->fed += bytes;
}

int memory_budget_take(struct memory_budget *b, uint64_t n, uint64_t each)
{
	uint64_t bytes, used;

	if (!b)
		return 0;
	if (!__builtin_mul_overflow(n, each, &bytes) && !__builtin_add_overflow(b->used, bytes, &used) && used <= most_of(b)) {
		b->used += bytes;
		return 0;
	}
	b->exceeded = true;
	return -ENOMEM;
}

void memory_budget_give(struct memory_budget *b, uint64_t n, uint64_t each)
{
	if (b)
		b->used -= n * each;
}

int memory_budget_result(const struct memory_budget *b, int r)
{
	return r == -ENOMEM && b && b->exceeded ? -EDQUOT : r;
}

void memory_budget_bound_question(void)
{
	const uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	const uint64_t most = half > QUESTION_LEAST ? half : QUESTION_LEAST;
	struct rlimit limit;

	if (SANDBOX_SANITIZED || getrlimit(RLIMIT_DATA, &limit) < 0 || limit.rlim_cur <= most)
		return;
	limit.rlim_cur = most;
	(void)setrlimit(RLIMIT_DATA, &limit);
}

void memory_budget_keep_freed(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
}
