#include "machine/answer-inspect/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/rights/outside.h"
#include "machine/answer-inspect/inspect-frames.h"
#include "machine/answer-inspect/inspect-words.h"
#include "machine/answer-inspect/owner.h"
#include "machine/answer-live/waits.h"
#include "machine/rule/signature.h"

#define THREADS_MAX 20000
#define PLACES_MAX  100000 /* distinct instructions of all threads */
#define KERNEL_NAME_MAX 136 /* KSYM_NAME_LEN was 128 for long; a longer one is cut off, and matches patterns all the same */

struct inspector {
	struct frame_namer namer;
	int64_t began, ended; /* boot ns */
	struct inspection result;
	struct hmap threads; /* (tid, start) -> index + 1 */
	struct hmap counted; /* ((thread, list), name) -> index + 1 of a place in the thread's list */
	uint64_t places;
	struct signatures signatures; /* of what threads of runtimes and libraries wait for */
	char *signature_error;	      /* NULL = all could be read */
};

static void *as_value(size_t index)
{
	return (void *)((uintptr_t)index + 1); /* NOLINT(performance-no-int-to-ptr) */
}

int inspector_new(const char *proc_root, uint32_t pid, struct inspector **ret)
{
	struct inspector *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return -ENOMEM;
	i->result.pid = pid;
	i->result.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	r = frame_namer_open(proc_root, pid, &i->namer);
	if (r < 0) {
		inspector_free(i);
		return r;
	}
	(void)signatures_load(SYSTEM_SIGNATURES, &i->signatures, &i->signature_error);
	i->began = clock_boot();
	*ret = i;
	return 0;
}

void inspector_free(struct inspector *i)
{
	if (!i)
		return;
	frame_namer_close(&i->namer);
	hmap_free(&i->threads);
	hmap_free(&i->counted);
	inspection_free(&i->result);
	signatures_free(&i->signatures);
	FREE_ALL(i->signature_error, i);
}

/* --- threads --- */

static struct inspected_thread *find_thread(struct inspector *i, const struct capture_thread *t, int64_t now)
{
	void *known = hmap_get(&i->threads, t->tid, 0);
	struct inspected_thread fresh = {
		.tid = t->tid, .first_seen = now, .came = i->result.looks > 0, .cpu = NAN, .ready = NAN};

	/* a thread's number may be given again; samples do not say when it began */
	if (known) {
		struct inspected_thread *thread = &i->result.threads.v[(uintptr_t)known - 1];

		if (t->kind == CAPTURE_SAMPLE || !thread->start_ns || thread->start_ns == t->start_ns)
			return thread;
	}
	if (i->result.threads.n >= THREADS_MAX || VEC_PUSH(i->result.threads, fresh) < 0)
		return NULL;
	if (hmap_put(&i->threads, t->tid, 0, as_value(i->result.threads.n - 1)) < 0)
		return NULL;
	return &i->result.threads.v[i->result.threads.n - 1];
}

enum list { LIST_INSTRUCTIONS, LIST_FUNCTIONS, LIST_WAITS };

/* Adds one to a place of a thread's list; texts are the inspector's own, so their addresses are their
 * identity. */
static void count_place(struct inspector *i, const struct inspected_thread *thread, enum list list,
			struct inspected_places *into, const struct inspected_place *p)
{
	uint64_t key = (uint64_t)(thread - i->result.threads.v) << 2 | list;
	uint64_t key2 = (uintptr_t)p->function * 31 + (uintptr_t)(list == LIST_FUNCTIONS ? NULL : p->place);
	void *known = hmap_get(&i->counted, key, key2);

	if (known) {
		into->v[(uintptr_t)known - 1].count++;
		return;
	}
	if (i->places >= PLACES_MAX || VEC_PUSH(*into, *p) < 0)
		return;
	into->v[into->n - 1].count = 1;
	i->places++;
	(void)hmap_put(&i->counted, key, key2, as_value(into->n - 1));
}

/* The outermost frame that is not a stub of the library's. */
static void note_beginning(struct inspected_thread *thread, const struct frame *frames, size_t n)
{
	const struct frame *begin = NULL;

	for (size_t k = n; k-- > 0 && !begin;)
		if (!frames[k].foreign && !frames[k].kernel)
			begin = &frames[k];
	if (!begin && n)
		begin = &frames[n - 1];
	if (!begin)
		return;
	thread->begins = begin->name;
	thread->begins_at = begin->start;
}

/* The innermost frame of the program's own: what a reader knows. */
static const struct frame *own_code(const struct frame *frames, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!frames[k].foreign && !frames[k].kernel)
			return &frames[k];
	return n ? &frames[0] : NULL;
}

static void add_path(struct path_tree *tree, const struct frame *frames, size_t n, bool reversed,
		     const char *first)
{
	const char *names[2 * FRAMES_MAX + 1];
	size_t count = 0;

	if (first)
		names[count++] = first;
	for (size_t k = 0; k < n; k++)
		names[count++] = frames[reversed ? k : n - 1 - k].name;
	(void)path_tree_add(tree, names, count, 1);
}

static struct inspected_place place_of(const struct frame *f)
{
	return (struct inspected_place){f->name, f->place, f->file, f->line, 0};
}

static void take_sample(struct inspector *i, struct inspected_thread *thread, const struct chain *c)
{
	struct inspected_place p = place_of(&c->frames[0]);

	i->result.samples++;
	thread->samples++;
	count_place(i, thread, LIST_INSTRUCTIONS, &thread->instructions, &p);
	p.place = c->frames[0].start;
	count_place(i, thread, LIST_FUNCTIONS, &thread->functions, &p);
	add_path(&i->result.top_down, c->frames, c->n, false, NULL);
	add_path(&i->result.bottom_up, c->frames, c->n, true, NULL);
}

/* The wait is named by its call chain where a signature has it, else by its system call. Kernel functions are "futex_wait_[k]" in signatures. */
static void put_wait(struct inspector *i, const struct capture_thread *t, const struct chain *c, struct str *words)
{
	static const char mark[] = " [kernel]";
	char kernel[FRAMES_MAX][KERNEL_NAME_MAX];
	const char *names[2 * FRAMES_MAX];
	const struct signature *s;

	for (size_t k = 0; k < c->n; k++) {
		const char *name = c->frames[c->n - 1 - k].name;
		const char *end = c->frames[c->n - 1 - k].kernel ? strstr(name, mark) : NULL;

		names[k] = name;
		if (!end || c->n - 1 - k >= FRAMES_MAX)
			continue;
		snprintf(kernel[c->n - 1 - k], KERNEL_NAME_MAX, "%.*s_[k]", (int)(end - name), name);
		names[k] = kernel[c->n - 1 - k];
	}
	s = t->state == CAPTURE_STOPPED ? NULL : signatures_find(&i->signatures, names, c->n); /* who is stopped waits for nothing that its stack shows */
	if (s)
		(void)str_puts(words, s->words);
	else
		wait_words(i->namer.proc_root, i->namer.pid, t, words);
}

static void take_look(struct inspector *i, struct inspected_thread *thread, const struct capture_thread *t,
		      const struct chain *c, int64_t now)
{
	const struct frame *mine = own_code(c->frames + c->n_kernel, c->n - c->n_kernel);
	struct inspected_place p = {};
	_cleanup_str_ struct str words = {};

	if (!thread->looks) {
		/* what one that came in the meantime did, it did in the meantime */
		thread->cpu_first = thread->came ? 0 : t->cpu_ns;
		thread->ready_first = thread->came ? 0 : t->ready_ns;
	}
	thread->last_look = i->result.looks + 1;
	thread->ready_last = t->ready_ns;
	memcpy(thread->comm, t->comm, sizeof(thread->comm));
	thread->comm[sizeof(thread->comm) - 1] = '\0';
	str_make_printable(thread->comm);
	thread->start_ns = t->start_ns;
	thread->looks++;
	thread->states[t->state < CAPTURE_STATE_COUNT ? t->state : CAPTURE_SLEEPING]++;
	thread->cpu_last = t->cpu_ns;
	thread->last_seen = now;
	if (t->state <= CAPTURE_RUNNABLE)
		return;
	put_wait(i, t, c, &words);
	p.function = frame_namer_keep(&i->namer, &words);
	if (mine) {
		p.place = mine->name;
		p.file = mine->file;
		p.line = mine->line;
	}
	count_place(i, thread, LIST_WAITS, &thread->waits, &p);
	add_path(&i->result.waits, c->frames, c->n, true, p.function);
}

/* A thread of the kernel has no registers. A single address has no beginning either. */
static bool shows_beginning(const struct capture_thread *t, const struct chain *c)
{
	return c->complete || (!t->has_registers && t->n_user != 1 && c->n);
}

/* Names the chain, and takes from it where the thread began if that is not known yet. */
static void name_chain(struct inspector *i, struct inspected_thread *thread, const struct capture_thread *t, const uint64_t *user,
		       struct chain *ret)
{
	frame_namer_name(&i->namer, t, user, ret);
	if (!thread->begins && shows_beginning(t, ret))
		note_beginning(thread, ret->frames, ret->n);
}

void inspector_take_beginning(struct inspector *i, const struct capture_thread *t, const uint64_t *user, int64_t now)
{
	struct inspected_thread *thread = find_thread(i, t, now);
	struct chain chain;

	if (thread && !thread->begins)
		name_chain(i, thread, t, user, &chain);
}

void inspector_take(struct inspector *i, const struct capture_thread *t, const uint64_t *user, int64_t now)
{
	struct inspected_thread *thread = find_thread(i, t, now);
	struct chain chain;

	if (!thread)
		return;
	name_chain(i, thread, t, user, &chain);
	while (chain.n > 1 && chain.frames[chain.n - 1].stub)
		chain.n--; /* the same for everybody */
	if (t->kind == CAPTURE_SAMPLE && chain.n)
		take_sample(i, thread, &chain);
	else if (t->kind == CAPTURE_LOOK)
		take_look(i, thread, t, &chain, now);
}

void inspector_end_look(struct inspector *i, int64_t now)
{
	i->result.looks++;
	i->ended = now;
}

/* --- the end --- */

ORDER(by_count, struct inspected_place, DESCENDING(count))

ORDER(by_cpu, struct inspected_thread, CMP(isnan(b->cpu) ? -1 : b->cpu, isnan(a->cpu) ? -1 : a->cpu) ?: DESCENDING(samples) ?: ASCENDING(tid))

static void sort_places(struct inspected_places *places)
{
	VEC_SORT(*places, by_count);
}

static void finish_thread(struct inspector *i, struct inspected_thread *t)
{
	if (t->looks && i->result.span > 0) {
		t->cpu = (double)(t->cpu_last - t->cpu_first) / (double)i->result.span;
		t->ready = (double)(t->ready_last - t->ready_first) / (double)i->result.span;
	}
	t->went = t->last_look < i->result.looks;
	sort_places(&t->instructions);
	sort_places(&t->functions);
	sort_places(&t->waits);
}

static void finish_threads(struct inspector *i)
{
	struct inspection *n = &i->result;
	double used = 0;

	VEC_EACH(t, n->threads) {
		finish_thread(i, t);
		used += (double)(t->cpu_last - t->cpu_first);
	}
	n->cpu = n->span > 0 ? used / (double)n->span : 0;
	VEC_SORT(n->threads, by_cpu);
}

/* The kernel's device number to the one stat() gives; by the open descriptors of the process. */
static char *find_path(const struct inspector *i, const struct capture_file *f)
{
	for (unsigned fd = 0; fd < 4096; fd++) {
		char path[64], target[4096];
		struct stat st;
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%u/fd/%u", i->namer.proc_root, i->namer.pid, fd);
		if (outside_stat(AT_FDCWD, path, 0, &st) < 0 || st.st_ino != f->inode || major(st.st_dev) != f->device >> 20 ||
		    minor(st.st_dev) != (f->device & 0xfffff))
			continue;
		n = readlink(path, target, sizeof(target) - 1);
		return n > 0 ? strndup(target, (size_t)n) : NULL;
	}
	return NULL;
}

static void finish_files(struct inspector *i, const struct inspected_counts *counts)
{
	for (unsigned k = 0; k < counts->n_files; k++) {
		const struct capture_file *f = &counts->files[k];
		struct inspected_file file = {find_path(i, f), f->read_bytes, f->written_bytes, f->read_calls,
					      f->write_calls};

		str_make_printable(file.path);
		if (VEC_PUSH(i->result.files, file) < 0)
			free(file.path);
	}
}

#define DAMAGED_SHOWN 8

static void remark_damage(struct inspection *n, const struct frame_namer *namer)
{
	const char *path;

	for (size_t k = 0; k < DAMAGED_SHOWN && (path = symbolizer_damaged(namer->symbolizer, k)); k++)
		(void)VEC_PRINT(n->remarks, "symbols of %s are missing: the file is damaged, or takes too long to read", path);
	for (size_t k = 0; k < DAMAGED_SHOWN && (path = frame_namer_damaged(namer, k)); k++)
		(void)VEC_PRINT(n->remarks, "call chains end at %s: the file is damaged, or takes too long to read", path);
}

static void finish_remarks(struct inspector *i)
{
	const struct frame_namer *namer = &i->namer;
	struct inspection *n = &i->result;
	uint64_t frames = 0;

	for (size_t k = 0; k < ARRAY_SIZE(namer->nameless); k++)
		frames += namer->nameless[k];
	for (size_t k = 1; frames && k < ARRAY_SIZE(namer->nameless); k++)
		if (namer->nameless[k] * 50 >= frames && symbolizer_nameless_text((enum nameless)k))
			(void)VEC_PRINT(n->remarks, "%.0f %% of the frames have no name: %s",
			       100.0 * (double)namer->nameless[k] / (double)frames, symbolizer_nameless_text((enum nameless)k));
	remark_damage(n, namer);
	if (namer->incomplete * 20 > namer->chains)
		(void)VEC_PRINT(n->remarks,
		       "%.0f %% of the call chains do not reach their thread's beginning (code without call frame "
		       "information, or deeper than 8 KiB of stack)",
		       100.0 * (double)namer->incomplete / (double)namer->chains);
	if (i->signature_error)
		(void)VEC_PRINT(n->remarks, "reasons of waits are missing: %s", i->signature_error);
	if (n->lost)
		(void)VEC_PRINT(n->remarks, "%llu samples were lost: the machine was too busy to take them", (unsigned long long)n->lost);
}

void inspector_describe(struct inspector *i, char *exe, char *cmdline, char *unit, char *container)
{
	struct inspection *n = &i->result;

	n->exe = exe;
	n->cmdline = cmdline;
	n->unit = unit;
	n->container = container;
	if (n->exe)
		(void)owner_package(STR_TEXT(64, "%s/%u/root", i->namer.proc_root, i->namer.pid), n->exe, &n->package, &n->version);
	inspect_read_limits(i->namer.proc_root, i->namer.pid, n);
	i->began = clock_boot(); /* the looking itself */
}

int inspector_finish(struct inspector *i, const struct inspected_counts *counts, struct inspection *ret)
{
	struct inspection *n = &i->result;

	n->span = i->ended > i->began ? i->ended - i->began : 0;
	n->lost = counts->lost;
	finish_threads(i);
	finish_files(i, counts);
	finish_remarks(i);
	path_tree_sort(&n->top_down);
	path_tree_sort(&n->bottom_up);
	path_tree_sort(&n->waits);
	n->summary = inspect_summary(n);
	*ret = *n;
	*n = (struct inspection){};
	return ret->summary ? 0 : -ENOMEM;
}
