#include "machine/answer-waits/wait-reasons.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define KERNEL_MARK "_[k]"

/* Functions in which every sleeping thread is: they say nothing of what for. */
static const char *const sleepers[] = {
	"schedule", "__schedule", "schedule_*", "io_schedule*", "preempt_schedule*", "__traceiter_*", "bpf_*", "__bpf_*", "__cond_resched",
	"futex_wait_queue*", "futex_do_wait", "__futex_wait", "futex_wait", "do_futex", "__x64_sys_*", "__arm64_sys_*", "do_syscall_64", "entry_SYSCALL*",
	"el0*", "invoke_syscall*", "ret_from_fork*", "kthread", "x64_sys_call", "do_nanosleep", "hrtimer_nanosleep", "common_nsleep",
};

static bool is_kernel(const char *name)
{
	const size_t n = strlen(name), k = strlen(KERNEL_MARK);

	return n > k && strcmp(name + n - k, KERNEL_MARK) == 0;
}

static bool says_nothing(const char *function)
{
	return ANY_WHERE(i, ARRAY_SIZE(sleepers), fnmatch(sleepers[i], function, 0) == 0);
}

/* The innermost kernel function that says something; the caller frees. NULL = none. */
static char *kernel_function(const char *const *names, size_t n)
{
	n -= n > 0 && strncmp(names[n - 1], WOKEN_BY, strlen(WOKEN_BY)) == 0;
	while (n > 0 && is_kernel(names[n - 1])) {
		char *function = strndup(names[n - 1], strlen(names[n - 1]) - strlen(KERNEL_MARK));

		if (!function || !says_nothing(function))
			return function;
		free(function);
		n--;
	}
	return NULL;
}

char *wait_reason_words(const struct signatures *signatures, const char *const *functions, size_t n)
{
	const struct signature *s = signatures_find(signatures, functions, n);
	_cleanup_free_ char *function = NULL;
	char *words = NULL;

	if (s)
		return strdup(s->words);
	function = kernel_function(functions, n);
	return function && asprintf(&words, "the kernel's %s", function) >= 0 ? words : NULL;
}
