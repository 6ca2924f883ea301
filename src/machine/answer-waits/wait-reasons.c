#include "machine/answer-waits/wait-reasons.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define KERNEL_MARK "_[k]"

/* Functions in which every sleeping thread is: they say nothing of what for. */
static const char *const sleepers[] = {
	"schedule", "__schedule", "schedule_*", "io_schedule*", "preempt_schedule*", "__traceiter_*", "bpf_*", "__bpf_*", "__cond_resched",
	"futex_wait_queue*", "__futex_wait", "futex_wait", "do_futex", "__x64_sys_*", "__arm64_sys_*", "do_syscall_64", "entry_SYSCALL*",
	"el0*", "invoke_syscall*", "ret_from_fork*", "kthread", "x64_sys_call", "do_nanosleep", "hrtimer_nanosleep", "common_nsleep",
};

static bool is_kernel(const char *name)
{
	const size_t n = strlen(name), k = strlen(KERNEL_MARK);

	return n > k && strcmp(name + n - k, KERNEL_MARK) == 0;
}

static bool says_nothing(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(sleepers); i++)
		if (fnmatch(sleepers[i], function, 0) == 0)
			return true;
	return false;
}

/* The innermost kernel function that says something; the caller frees. NULL = none. */
static char *kernel_function(const char *const *names, size_t n)
{
	while (n > 0 && is_kernel(names[n - 1])) {
		char *function = strndup(names[n - 1], strlen(names[n - 1]) - strlen(KERNEL_MARK));

		if (!function || !says_nothing(function))
			return function;
		free(function);
		n--;
	}
	return NULL;
}

/* Takes `name`. */
static int add(struct wait_reasons *r, enum wait_reason_kind kind, char *name, const char *words, uint64_t ns)
{
	struct wait_reason fresh = {.kind = kind, .name = name, .ns = ns};

	for (size_t i = 0; i < r->list.n; i++) {
		struct wait_reason *known = &r->list.v[i];

		if (known->kind == kind && (!name || strcmp(known->name, name) == 0)) {
			known->ns += ns;
			free(name);
			return 0;
		}
	}
	fresh.words = words ? strdup(words) : NULL;
	if ((words && !fresh.words) || VEC_PUSH(r->list, fresh) < 0) {
		free(fresh.words);
		free(name);
		return -ENOMEM;
	}
	return 0;
}

enum wait_reason_kind wait_reason_find(const struct signatures *signatures, const char *const *functions, size_t n, char **ret_name, const char **ret_words)
{
	const struct signature *s = signatures_find(signatures, functions, n);

	*ret_name = s ? strdup(s->name) : kernel_function(functions, n);
	*ret_words = s ? s->words : NULL;
	return s ? REASON_SIGNATURE : *ret_name ? REASON_KERNEL : REASON_UNKNOWN;
}

/* names: program, functions from the outermost to the innermost, and the state in brackets. */
static int add_path(struct wait_reasons *r, const struct signatures *signatures, const char *const *names, size_t n, uint64_t ns)
{
	const char *words;
	char *name;
	enum wait_reason_kind kind = wait_reason_find(signatures, names + 1, n > 2 ? n - 2 : 0, &name, &words);

	return words && !name ? -ENOMEM : add(r, kind, name, words, ns);
}

static int longest_first(const void *a, const void *b)
{
	const struct wait_reason *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

int wait_reasons_make(const struct path_tree *waits, const struct signatures *signatures, struct wait_reasons *ret)
{
	struct wait_reasons r = {};
	int result = 0;

	for (uint32_t i = 1; i < waits->nodes.n && result == 0; i++) {
		const struct tree_node *node = &waits->nodes.v[i];
		const char *names[TREE_DEPTH_MAX + 1];
		size_t n = node->depth;

		if (!node->self || !n || n > TREE_DEPTH_MAX)
			continue;
		for (uint32_t at = i; n > 0; at = waits->nodes.v[at].parent)
			names[--n] = waits->nodes.v[at].name;
		result = add_path(&r, signatures, names, node->depth, node->self);
		r.ns += node->self;
	}
	if (result < 0) {
		wait_reasons_free(&r);
		return result;
	}
	if (r.list.n)
		qsort(r.list.v, r.list.n, sizeof(r.list.v[0]), longest_first);
	*ret = r;
	return 0;
}
