#include "answer/inspect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "answer/inspect-words.h"
#include "answer/owner.h"
#include "answer/waits.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbol/symbolize.h"
#include "symbol/unwind.h"

#define FRAMES_MAX   128
#define REFRESH	     NS_PER_SEC /* at most so often the process's mappings are read again */
#define THREADS_MAX  20000
#define PLACES_MAX   100000 /* distinct instructions of all threads */
#define LINES_BUDGET (2 * NS_PER_SEC)

_Static_assert(UNWIND_REGISTERS <= CAPTURE_REGISTERS, "registers of a capture");

/* A frame, named. */
struct frame {
	const char *name;  /* for trees: functions as a whole */
	const char *place; /* "stress+0x11e4" */
	const char *start; /* "stress+0x11d0" */
	const char *file;
	uint32_t line;
	bool kernel, foreign; /* foreign: the C library's, no function of the program's own */
	bool stub;	      /* where every thread begins */
};

struct inspector {
	char *proc_root;
	uint32_t pid;
	struct modules modules;
	struct unwinder *unwinder;
	struct symbolizer *symbolizer;
	int64_t modules_at; /* boot ns */
	int64_t began, ended;
	struct inspection result;
	struct hmap threads; /* (tid, start) -> index + 1 */
	struct hmap texts;   /* (hash, length) -> char * */
	struct hmap counted; /* ((thread, list), name) -> index + 1 of a place in the thread's list */
	uint64_t places;
	uint64_t nameless[16]; /* frames, by reason */
	uint64_t incomplete;   /* chains that did not reach their thread's beginning */
	uint64_t chains;
};

static const char *own(struct inspector *i, const char *text, size_t n)
{
	uint64_t hash = hash_bytes(text, n);
	char *kept = hmap_get(&i->texts, hash, n);

	if (kept)
		return kept;
	kept = strndup(text, n);
	if (kept && hmap_put(&i->texts, hash, n, kept) < 0) {
		free(kept);
		return "";
	}
	return kept ? kept : "";
}

static const char *take_text(struct inspector *i, struct str *text)
{
	const char *kept = own(i, text->data ? text->data : "", text->len);

	str_clear(text);
	return kept;
}

static void *as_value(size_t index)
{
	return (void *)((uintptr_t)index + 1); /* NOLINT(performance-no-int-to-ptr) */
}

/* --- the process's code --- */

static int read_modules(struct inspector *i)
{
	struct modules fresh;
	int r = modules_read(i->proc_root, i->pid, &fresh);

	i->modules_at = boot_now();
	if (r < 0)
		return r;
	unwinder_free(i->unwinder);
	i->unwinder = NULL;
	modules_free(&i->modules);
	i->modules = fresh;
	(void)unwinder_new(&i->modules, &i->unwinder);
	return 0;
}

/* Code that was mapped since: libraries opened late. */
static void refresh_modules(struct inspector *i, uint64_t address)
{
	if (modules_find(&i->modules, address) || boot_now() - i->modules_at < REFRESH)
		return;
	(void)read_modules(i);
}

int inspector_new(const char *proc_root, uint32_t pid, struct inspector **ret)
{
	const struct symbolizer_options options = {
		.root = "", .proc_root = proc_root, .lines = true, .lines_budget = LINES_BUDGET};
	struct inspector *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return -ENOMEM;
	i->pid = i->result.pid = pid;
	i->result.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	i->proc_root = strdup(proc_root);
	r = i->proc_root ? symbolizer_new(&options, &i->symbolizer) : -ENOMEM;
	if (r == 0)
		r = read_modules(i);
	if (r < 0) {
		inspector_free(i);
		return r;
	}
	i->began = boot_now();
	*ret = i;
	return 0;
}

void inspector_free(struct inspector *i)
{
	if (!i)
		return;
	unwinder_free(i->unwinder);
	modules_free(&i->modules);
	symbolizer_free(i->symbolizer);
	HMAP_FOREACH(slot, &i->texts)
	free(slot->value);
	hmap_free(&i->texts);
	hmap_free(&i->threads);
	hmap_free(&i->counted);
	inspection_free(&i->result);
	free(i->proc_root);
	free(i);
}

/* --- frames --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_library(const struct symbol *s)
{
	static const char *const libraries[] = {"libc.so", "libc-",	 "libc.musl", "ld-linux",
						"ld-musl", "libpthread", "libstdc++"};
	const char *module = last_part(s->module);

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (strncmp(module, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

/* Where threads and programs begin before their own code does. */
static bool is_stub(const struct symbol *s)
{
	static const char *const names[] = {"_start",
					    "__libc_start_main",
					    "__libc_start_call_main",
					    "__libc_start_main_impl",
					    "start_thread",
					    "clone",
					    "clone3",
					    "__clone",
					    "__clone3",
					    "_dl_start",
					    "_dl_start_user",
					    "__clone_internal"};
	for (size_t i = 0; s->name && i < ARRAY_SIZE(names); i++)
		if (strcmp(s->name, names[i]) == 0)
			return true;
	return false;
}

static struct frame make_frame(struct inspector *i, const struct symbol *s)
{
	struct frame f = {.file = s->file,
			  .line = s->line,
			  .kernel = s->kernel,
			  .foreign = is_library(s) || is_stub(s),
			  .stub = is_stub(s)};
	struct str text = {};

	symbol_write(s, false, &text);
	if (s->kernel)
		str_puts(&text, " [kernel]");
	f.name = take_text(i, &text);
	if (s->kernel)
		symbol_write(s, true, &text);
	else
		symbol_write_place(s, &text);
	f.place = take_text(i, &text);
	symbol_write_start(s, &text);
	f.start = take_text(i, &text);
	str_free(&text);
	if (s->nameless < ARRAY_SIZE(i->nameless))
		i->nameless[s->nameless]++;
	return f;
}

static size_t name_user(struct inspector *i, const uint64_t *addresses, size_t n, struct frame *ret,
			size_t max)
{
	size_t total = 0;

	for (size_t k = 0; k < n && total < max; k++) {
		struct symbol symbols[8];
		size_t parts;

		refresh_modules(i, addresses[k]);
		parts = symbolize_process(i->symbolizer, &i->modules, addresses[k], symbols,
					  ARRAY_SIZE(symbols));
		for (size_t p = 0; p < parts && total < max; p++)
			ret[total++] = make_frame(i, &symbols[p]);
	}
	return total;
}

static size_t name_kernel(struct inspector *i, const struct capture_thread *t, struct frame *ret, size_t max)
{
	size_t n = 0;

	for (unsigned k = 0; k < t->n_kernel && n < max; k++) {
		struct symbol symbol;

		/* entry code, the same for everybody */
		symbolize_kernel(i->symbolizer, t->kernel[k], &symbol);
		if (symbol.name &&
		    (strncmp(symbol.name, "entry_", 6) == 0 || strncmp(symbol.name, "asm_", 4) == 0 ||
		     strcmp(symbol.name, "ret_from_fork_asm") == 0))
			continue;
		ret[n++] = make_frame(i, &symbol);
	}
	return n;
}

/* By call frame information; where that ends early and frame pointers lead further, by those. */
static size_t unwind_user(struct inspector *i, const struct capture_thread *t, const uint64_t *user,
			  uint64_t *ret, size_t max, bool *ret_complete)
{
	size_t n = 0, from_pointers = t->n_user;

	*ret_complete = false;
	if (t->has_registers) {
		refresh_modules(i, t->registers[UNWIND_PC]);
		ret[0] = t->registers[UNWIND_PC];
		n = 1;
		if (i->unwinder)
			n = unwind(i->unwinder, (const uint64_t *)t->registers, t->stack, t->stack_size, ret,
				   max, ret_complete);
	}
	if (*ret_complete || from_pointers <= n)
		return n;
	for (n = 0; n < from_pointers && n < max; n++)
		ret[n] = user[n] - (n ? 1 : 0);
	return n;
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

/* The outermost frame that is no stub of the library's. */
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

static void take_sample(struct inspector *i, struct inspected_thread *thread, const struct frame *frames,
			size_t n)
{
	struct inspected_place p = place_of(&frames[0]);

	i->result.samples++;
	thread->samples++;
	count_place(i, thread, LIST_INSTRUCTIONS, &thread->instructions, &p);
	p.place = frames[0].start;
	count_place(i, thread, LIST_FUNCTIONS, &thread->functions, &p);
	add_path(&i->result.top_down, frames, n, false, NULL);
	add_path(&i->result.bottom_up, frames, n, true, NULL);
}

static void take_look(struct inspector *i, struct inspected_thread *thread, const struct capture_thread *t,
		      const struct frame *frames, size_t n, size_t n_kernel, int64_t now)
{
	const struct frame *mine = own_code(frames + n_kernel, n - n_kernel);
	struct inspected_place p = {};
	struct str words = {};

	if (!thread->looks) {
		/* what one that came meanwhile did, it did meanwhile */
		thread->cpu_first = thread->came ? 0 : t->cpu_ns;
		thread->ready_first = thread->came ? 0 : t->ready_ns;
	}
	thread->last_look = i->result.looks + 1;
	thread->ready_last = t->ready_ns;
	memcpy(thread->comm, t->comm, sizeof(thread->comm));
	thread->comm[sizeof(thread->comm) - 1] = '\0';
	thread->start_ns = t->start_ns;
	thread->looks++;
	thread->states[t->state < CAPTURE_STATE_COUNT ? t->state : CAPTURE_SLEEPING]++;
	thread->cpu_last = t->cpu_ns;
	thread->last_seen = now;
	if (t->state <= CAPTURE_RUNNABLE)
		return;
	wait_words(i->proc_root, i->pid, t, &words);
	p.function = take_text(i, &words);
	if (mine) {
		p.place = mine->name;
		p.file = mine->file;
		p.line = mine->line;
	}
	count_place(i, thread, LIST_WAITS, &thread->waits, &p);
	add_path(&i->result.waits, frames, n, true, p.function);
	str_free(&words);
}

void inspector_take(struct inspector *i, const struct capture_thread *t, const uint64_t *user, int64_t now)
{
	struct inspected_thread *thread = find_thread(i, t, now);
	struct frame frames[2 * FRAMES_MAX];
	uint64_t addresses[FRAMES_MAX];
	bool complete = false,
	     unwinds = t->kind == CAPTURE_SAMPLE || (t->state != CAPTURE_RUNNING && t->has_registers);
	size_t n_kernel, n;

	if (!thread)
		return;
	n = n_kernel = t->kind == CAPTURE_LOOK && t->state == CAPTURE_RUNNING
			       ? 0
			       : name_kernel(i, t, frames, FRAMES_MAX);
	if (unwinds) {
		size_t found = unwind_user(i, t, user, addresses, FRAMES_MAX, &complete);

		n += name_user(i, addresses, found, frames + n, ARRAY_SIZE(frames) - n);
		i->chains++;
		i->incomplete += !complete;
	}
	if ((complete || (!t->has_registers && n)) && !thread->begins)
		note_beginning(thread, frames, n);
	while (n > 1 && frames[n - 1].stub)
		n--; /* the same for everybody */
	if (t->kind == CAPTURE_SAMPLE && n)
		take_sample(i, thread, frames, n);
	else if (t->kind == CAPTURE_LOOK)
		take_look(i, thread, t, frames, n, n_kernel, now);
}

void inspector_end_look(struct inspector *i, int64_t now)
{
	i->result.looks++;
	i->ended = now;
}

/* --- the end --- */

static int by_count(const void *left, const void *right)
{
	const struct inspected_place *a = left, *b = right;

	return a->count > b->count ? -1 : a->count < b->count;
}

static int by_cpu(const void *left, const void *right)
{
	const struct inspected_thread *a = left, *b = right;
	double x = isnan(a->cpu) ? -1 : a->cpu, y = isnan(b->cpu) ? -1 : b->cpu;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void sort_places(struct inspected_places *places)
{
	if (places->n)
		qsort(places->v, places->n, sizeof(places->v[0]), by_count);
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

	for (size_t k = 0; k < n->threads.n; k++) {
		struct inspected_thread *t = &n->threads.v[k];

		finish_thread(i, t);
		used += (double)(t->cpu_last - t->cpu_first);
	}
	n->cpu = n->span > 0 ? used / (double)n->span : 0;
	if (n->threads.n)
		qsort(n->threads.v, n->threads.n, sizeof(n->threads.v[0]), by_cpu);
}

/* The kernel's device number to the one stat() gives; by the open descriptors of the process. */
static char *find_path(const struct inspector *i, const struct capture_file *f)
{
	for (unsigned fd = 0; fd < 4096; fd++) {
		char path[64], target[4096];
		struct stat st;
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%u/fd/%u", i->proc_root, i->pid, fd);
		if (stat(path, &st) < 0 || st.st_ino != f->inode || major(st.st_dev) != f->device >> 20 ||
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

		if (VEC_PUSH(i->result.files, file) < 0)
			free(file.path);
	}
}

static void finish_remarks(struct inspector *i)
{
	struct inspection *n = &i->result;
	uint64_t frames = 0;

	for (size_t k = 0; k < ARRAY_SIZE(i->nameless); k++)
		frames += i->nameless[k];
	for (size_t k = 1; k < ARRAY_SIZE(i->nameless); k++) {
		char *text;

		if (i->nameless[k] * 50 < frames || !nameless_text((enum nameless)k))
			continue;
		if (asprintf(&text, "%.0f %% of the frames have no name: %s",
			     100.0 * (double)i->nameless[k] / (double)frames,
			     nameless_text((enum nameless)k)) >= 0 &&
		    VEC_PUSH(n->remarks, text) < 0)
			free(text);
	}
	if (i->incomplete * 20 > i->chains) {
		char *text;

		if (asprintf(&text,
			     "%.0f %% of the call chains do not reach their thread's beginning (code without "
			     "call frame information, or deeper than 8 KiB of stack)",
			     100.0 * (double)i->incomplete / (double)i->chains) >= 0 &&
		    VEC_PUSH(n->remarks, text) < 0)
			free(text);
	}
	if (n->lost) {
		char *text;

		if (asprintf(&text, "%llu samples were lost: the machine was too busy to take them",
			     (unsigned long long)n->lost) >= 0 &&
		    VEC_PUSH(n->remarks, text) < 0)
			free(text);
	}
}

void inspector_describe(struct inspector *i, char *exe, char *cmdline, char *unit, char *container)
{
	struct inspection *n = &i->result;
	char root[64];

	n->exe = exe;
	n->cmdline = cmdline;
	n->unit = unit;
	n->container = container;
	snprintf(root, sizeof(root), "%s/%u/root", i->proc_root, i->pid);
	if (n->exe)
		(void)package_of(root, n->exe, &n->package, &n->version);
	read_limits(i->proc_root, i->pid, n);
	i->began = boot_now(); /* the looking itself */
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
	n->summary = summarise(n);
	*ret = *n;
	*n = (struct inspection){};
	return ret->summary ? 0 : -ENOMEM;
}
