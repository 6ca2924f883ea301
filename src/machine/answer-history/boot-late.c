#include "machine/answer-history/boot-late.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define CALM	   (10 * NS_PER_SEC) /* without a new program: the start is over */
#define SLACK	   (50 * NS_PER_MS) /* a unit begins so soon after the last one that it waited for */
#define CHAIN_MAX  64
#define TOLD	   5 /* units, gaps, programs that are listed */
#define TOLD_LEAST (500 * NS_PER_MS)

/* The units that the end of the start waited for, the last one first. */
struct chain {
	const struct start_unit *v[CHAIN_MAX];
	size_t n;
};

struct late_start {
	const struct start_record *r;
	struct chain chain;
	const struct start_unit *unit; /* of the chain the one that took longest; NULL = none is known */
	const struct start_gap *gap;   /* the longest of the kernel's log; likewise */
	int64_t end;		       /* ns since the kernel began */
	int64_t whole;		       /* with firmware and loader */
};

static int64_t took(const struct start_unit *u)
{
	return u->began ? u->active - u->began : 0;
}

/* --- the critical chain --- */

static const struct start_unit *find_unit(const struct start_record *r, const char *name, size_t n)
{
	return VEC_FIND(x, r->units, strlen(x->name) == n && strncmp(x->name, name, n) == 0);
}

/* The unit, among those that `u` waited for, that was active last before `u` began. */
static const struct start_unit *last_before(const struct start_record *r, const struct start_unit *u)
{
	const struct start_unit *best = NULL;

	for (const char *at = u->after; at && *at;) {
		size_t n = strcspn(at, " ");
		const struct start_unit *x = find_unit(r, at, n);

		if (x && x != u && x->active <= u->began + SLACK && (!best || x->active > best->active))
			best = x;
		at += n;
		at += strspn(at, " ");
	}
	return best;
}

/* From what was active last when the start was over; `active` falls, but for ties, so that the chain ends. */
static void find_chain(const struct start_record *r, int64_t end, struct chain *ret)
{
	const struct start_unit *u = NULL;

	for (size_t i = 0; i < r->units.n; i++)
		if (r->units.v[i].active <= end && (!u || r->units.v[i].active > u->active))
			u = &r->units.v[i];
	while (u && ret->n < CHAIN_MAX) {
		ret->v[ret->n++] = u;
		u = last_before(r, u);
	}
}

/* --- what took long --- */

static int64_t end_of_start(const struct start_record *r)
{
	int64_t last = 0;

	if (r->finished)
		return r->finished;
	for (size_t i = 0; i < r->processes.n; i++) {
		if (last && r->processes.v[i].began - last >= CALM)
			break;
		last = r->processes.v[i].began;
	}
	return last;
}

static void find_longest(struct late_start *s)
{
	for (size_t i = 0; i < s->chain.n; i++)
		if (!s->unit || took(s->chain.v[i]) > took(s->unit))
			s->unit = s->chain.v[i];
	VEC_EACH(g, s->r->gaps) {
		/* later the log is quiet because nothing is wrong */
		if (g->to <= (s->r->userspace ? s->r->userspace : s->end) && (!s->gap || g->to - g->from > s->gap->to - s->gap->from))
			s->gap = g;
	}
}

static bool matters(const struct late_start *s, int64_t ns)
{
	return ns >= START_PART_LEAST && (double)ns >= START_PART_SHARE * (double)s->whole;
}

/* --- words --- */

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static void put_part(struct str *s, const char *name, int64_t ns)
{
	if (ns > 0)
		str_printf(s, "%s%s %.1f s", s->len ? ", " : "", name, seconds(ns));
}

static int tell_parts(const struct start_record *r, int64_t end, struct answer *a)
{
	_cleanup_str_ struct str s = {};
	int result = 0;

	put_part(&s, "firmware", r->loader && r->firmware > r->loader ? r->firmware - r->loader : 0);
	put_part(&s, "boot loader", r->loader);
	put_part(&s, "kernel", r->initrd ? r->initrd : r->userspace);
	put_part(&s, "initrd", r->initrd && r->userspace > r->initrd ? r->userspace - r->initrd : 0);
	put_part(&s, "units", r->userspace ? end - r->userspace : 0);
	if (s.len)
		result = VEC_PRINT(a->remarks, "by part: %s", s.data);
	return result;
}

static int tell_chain(const struct late_start *l, struct answer *a)
{
	_cleanup_str_ struct str s = {};
	size_t told = 0;
	int result = 0;

	for (size_t i = 0; i < l->chain.n && told < TOLD; i++) {
		if (took(l->chain.v[i]) < TOLD_LEAST)
			continue;
		put_part(&s, l->chain.v[i]->name, took(l->chain.v[i]));
		told++;
	}
	if (s.len)
		result = VEC_PRINT(a->remarks, "units that the end of the start waited for, the last one first: %s", s.data);
	return result;
}

static int tell_gaps(const struct late_start *l, struct answer *a)
{
	int result = 0;

	if (l->gap && l->gap->to - l->gap->from >= NS_PER_SEC)
		result = VEC_PRINT(a->remarks, "the kernel's log is silent for %.1f s between '%s' and '%s'", seconds(l->gap->to - l->gap->from), l->gap->before,
				l->gap->next);
	return result;
}

ORDER_OF_POINTERS(by_cpu, struct start_process, DESCENDING(cpu))

static int tell_processes(const struct late_start *l, struct answer *a)
{
	const struct start_process **list = calloc(l->r->processes.n + 1, sizeof(*list));
	_cleanup_str_ struct str s = {};
	size_t n = 0;
	int result = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < l->r->processes.n; i++)
		if (l->r->processes.v[i].began <= l->end)
			list[n++] = &l->r->processes.v[i];
	qsort(list, n, sizeof(*list), by_cpu);
	for (size_t i = 0; i < n && i < TOLD && list[i]->cpu >= NS_PER_SEC; i++)
		str_printf(&s, "%s%s (%u) %.1f s, since %.1f s", s.len ? ", " : "", list[i]->name, list[i]->pid, seconds(list[i]->cpu), seconds(list[i]->began));
	if (s.len)
		result = VEC_PRINT(a->remarks, "CPU that programs of the start have used until now: %s", s.data);
	free(list);
	return result;
}

static int tell_summary(const struct late_start *l, struct answer *a)
{
	struct str s = {};
	int64_t unit = l->unit ? took(l->unit) : 0, gap = l->gap ? l->gap->to - l->gap->from : 0, firmware = l->r->firmware;
	const char *cause = NULL;

	str_printf(&s, "the start took %.1f s", seconds(l->whole));
	if (matters(l, unit) && unit >= gap && unit >= firmware) {
		cause = "start-up: waiting for a unit";
		str_printf(&s, "; %.1f s of them it waited for %s", seconds(unit), l->unit->name);
	} else if (matters(l, gap) && gap >= firmware) {
		cause = "start-up: the kernel waited";
		str_printf(&s, "; %.1f s of them the kernel waited after '%s'", seconds(gap), l->gap->before);
	} else if (matters(l, firmware)) {
		cause = "start-up: firmware";
		str_printf(&s, "; %.1f s of them were the firmware's and the boot loader's", seconds(firmware));
	} else {
		str_puts(&s, "; no part of it took unusually long");
	}
	a->slow = cause != NULL;
	a->cause = cause ? strdup(cause) : NULL;
	a->summary = s.data;
	return s.error || (cause && !a->cause) ? -ENOMEM : 0;
}

static int tell(const struct late_start *l, struct answer *a)
{
	int r = tell_summary(l, a);

	r = r ?: VEC_PRINT(a->remarks, "it was not recorded: this is from systemd's unit times, the kernel's log and the programs that still run");
	r = r ?: tell_parts(l->r, l->end, a);
	r = r ?: tell_chain(l, a);
	r = r ?: tell_gaps(l, a);
	return r ?: tell_processes(l, a);
}

int boot_late_answer(const struct start_record *r, int64_t kernel_began, struct answer *ret)
{
	struct late_start l = {.r = r, .end = end_of_start(r)};
	struct answer a = {.at = kernel_began + l.end, .window_start = kernel_began, .window_end = kernel_began + l.end, .slow_since = kernel_began - r->firmware,
			   .slow_until = kernel_began + l.end, .confidence = NAN, .odds = {.nothing = NAN, .unlisted = NAN}, .ranking = {.method = "start", .unexplained = NAN}};
	int result;

	if (!l.end)
		return -ENODATA;
	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		a.pressure.usual[b] = NAN;
	l.whole = l.end + r->firmware;
	find_chain(r, l.end, &l.chain);
	find_longest(&l);
	result = tell(&l, &a);
	if (result < 0)
		answer_free(&a);
	else
		*ret = a;
	return result;
}
