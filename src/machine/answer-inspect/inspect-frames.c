#include "machine/answer-inspect/inspect-frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/vec.h"

#define REFRESH	     NS_PER_SEC /* at most so often the process's mappings are read again */
#define LINES_BUDGET (2 * NS_PER_SEC)
#define DAMAGED_MAX  3

_Static_assert(UNWIND_REGISTERS <= CAPTURE_REGISTERS, "registers of a capture");

static const char *own(struct frame_namer *n, const char *text, size_t size)
{
	uint64_t hash = hmap_hash_bytes(text, size);
	char *kept = hmap_get(&n->texts, hash, size);

	if (kept)
		return kept;
	kept = hmap_keep(&n->texts, hash, size, strndup(text, size));
	return kept ? kept : "";
}

const char *frame_namer_keep(struct frame_namer *n, struct str *text)
{
	const char *kept;

	str_make_printable(text->data); /* paths, names of threads and functions: the process's user chose them */
	kept = own(n, text->data ? text->data : "", text->len);

	str_clear(text);
	return kept;
}

/* --- the process's code --- */

static void end_unwinder(struct frame_namer *n)
{
	const char *path;

	for (size_t i = 0; n->unwinder && (path = unwinder_damaged(n->unwinder, i)); i++) {
		struct str text = {};

		str_puts(&text, path);
		path = frame_namer_keep(n, &text);
		(void)VEC_PUSH(n->damaged, path);
		str_free(&text);
	}
	unwinder_free(n->unwinder);
	n->unwinder = NULL;
}

static int read_modules(struct frame_namer *n)
{
	struct modules fresh;
	int r = modules_read(n->proc_root, n->pid, &fresh);

	n->modules_at = clock_boot();
	if (r < 0)
		return r;
	end_unwinder(n);
	modules_free(&n->modules);
	n->modules = fresh;
	if (n->damaged.n <= DAMAGED_MAX) /* a hostile process may map ever new files: each costs seconds */
		(void)unwinder_new(&n->modules, &n->unwinder);
	return 0;
}

/* Code that was mapped since: libraries opened late. */
static void refresh_modules(struct frame_namer *n, uint64_t address)
{
	if (modules_find(&n->modules, address) || clock_boot() - n->modules_at < REFRESH)
		return;
	(void)read_modules(n);
}

int frame_namer_open(const char *proc_root, uint32_t pid, struct frame_namer *ret)
{
	const struct symbolizer_options options = {
		.root = "", .proc_root = proc_root, .lines = true, .lines_budget = LINES_BUDGET};
	int r;

	*ret = (struct frame_namer){.pid = pid, .proc_root = strdup(proc_root)};
	r = ret->proc_root ? symbolizer_new(&options, &ret->symbolizer) : -ENOMEM;
	return r < 0 ? r : read_modules(ret);
}

void frame_namer_close(struct frame_namer *n)
{
	end_unwinder(n);
	VEC_FREE(n->damaged);
	modules_free(&n->modules);
	symbolizer_free(n->symbolizer);
	hmap_free_values(&n->texts);
	free(n->proc_root);
}

const char *frame_namer_damaged(const struct frame_namer *n, size_t index)
{
	if (index < n->damaged.n)
		return n->damaged.v[index];
	return n->unwinder ? unwinder_damaged(n->unwinder, index - n->damaged.n) : NULL;
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

	return ANY_WHERE(i, ARRAY_SIZE(libraries), strncmp(module, libraries[i], strlen(libraries[i])) == 0);
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

static struct frame make_frame(struct frame_namer *n, const struct symbol *s)
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
	f.name = frame_namer_keep(n, &text);
	if (s->kernel)
		symbol_write(s, true, &text);
	else
		symbol_write_place(s, &text);
	f.place = frame_namer_keep(n, &text);
	symbol_write_start(s, &text);
	f.start = frame_namer_keep(n, &text);
	str_free(&text);
	if (s->nameless < ARRAY_SIZE(n->nameless))
		n->nameless[s->nameless]++;
	return f;
}

static size_t name_user(struct frame_namer *n, const uint64_t *addresses, size_t depth, struct frame *ret, size_t max)
{
	size_t total = 0;

	for (size_t k = 0; k < depth && total < max; k++) {
		struct symbol symbols[8];
		size_t parts;

		refresh_modules(n, addresses[k]);
		parts = symbolize_process(n->symbolizer, &n->modules, addresses[k], symbols,
					  ARRAY_SIZE(symbols));
		for (size_t p = 0; p < parts && total < max; p++)
			ret[total++] = make_frame(n, &symbols[p]);
	}
	return total;
}

static size_t name_kernel(struct frame_namer *n, const struct capture_thread *t, struct frame *ret, size_t max)
{
	size_t total = 0;

	for (unsigned k = 0; k < t->n_kernel && total < max; k++) {
		struct symbol symbol;

		/* entry code, the same for everybody */
		symbolize_kernel(n->symbolizer, t->kernel[k], &symbol);
		if (symbol.name &&
		    (strncmp(symbol.name, "entry_", 6) == 0 || strncmp(symbol.name, "asm_", 4) == 0 ||
		     strcmp(symbol.name, "ret_from_fork_asm") == 0))
			continue;
		ret[total++] = make_frame(n, &symbol);
	}
	return total;
}

/* By call frame information; where that ends early and frame pointers lead further, by those. */
static size_t unwind_user(struct frame_namer *n, const struct capture_thread *t, const uint64_t *user,
			  uint64_t *ret, size_t max, bool *ret_complete)
{
	size_t depth = 0, from_pointers = t->n_user;

	*ret_complete = false;
	if (t->has_registers) {
		refresh_modules(n, t->registers[UNWIND_PC]);
		ret[0] = t->registers[UNWIND_PC];
		depth = 1;
		if (n->unwinder)
			depth = unwind(n->unwinder, (const uint64_t *)t->registers, t->stack, t->stack_size, ret, max,
				       ret_complete);
	}
	if (*ret_complete || from_pointers <= depth)
		return depth;
	for (depth = 0; depth < from_pointers && depth < max; depth++)
		ret[depth] = user[depth] - (depth ? 1 : 0);
	return depth;
}

void frame_namer_name(struct frame_namer *n, const struct capture_thread *t, const uint64_t *user, struct chain *ret)
{
	bool runs = t->kind == CAPTURE_LOOK && t->state == CAPTURE_RUNNING;
	uint64_t addresses[FRAMES_MAX];

	ret->complete = false;
	ret->n = ret->n_kernel = runs ? 0 : name_kernel(n, t, ret->frames, FRAMES_MAX);
	if (t->kind == CAPTURE_SAMPLE || (!runs && t->has_registers)) {
		size_t depth = unwind_user(n, t, user, addresses, FRAMES_MAX, &ret->complete);

		ret->n += name_user(n, addresses, depth, ret->frames + ret->n, ARRAY_SIZE(ret->frames) - ret->n);
		if (t->has_registers || t->n_user != 1) { /* else it is one address */
			n->chains++;
			n->incomplete += !ret->complete;
		}
	}
}
