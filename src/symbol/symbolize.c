#include "symbol/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hmap.h"
#include "base/str.h"
#include "symbol/jit.h"
#include "symbol/kernel.h"
#include "symbol/object.h"

#define OBJECTS_MAX 512	   /* files open at a time; then all are closed and opened again as needed */
#define CACHED_MAX  500000 /* places */
#define INLINES_MAX 16

/* A file as it was found, or why it was not. */
struct opened {
	struct object *object; /* NULL: see `nameless` */
	enum nameless nameless;
};

struct named {
	size_t n;
	struct symbol symbols[];
};

struct process_jit {
	struct jit_map *map; /* NULL = none */
};

struct symbolizer {
	struct symbolizer_options options;
	char *root, *proc_root;
	struct hmap objects; /* (path or process+inode, build-id) -> struct opened */
	struct hmap names;   /* (place) -> struct named */
	struct hmap strings; /* (hash, length) -> char *: names outlive the objects they came from */
	struct hmap jits;    /* (pid, 0) -> struct process_jit */
	struct kernel_symbols *kernel;
	bool kernel_tried;
	int64_t lines_spent; /* ns */
};

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->options = *options;
	s->root = strdup(options->root ? options->root : "");
	s->proc_root = strdup(options->proc_root ? options->proc_root : "/proc");
	if (!s->root || !s->proc_root) {
		symbolizer_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static void close_objects(struct symbolizer *s)
{
	HMAP_FOREACH(slot, &s->objects)
	{
		object_close(((struct opened *)slot->value)->object);
		free(slot->value);
	}
	hmap_free(&s->objects);
}

static void free_values(struct hmap *m)
{
	HMAP_FOREACH(slot, m)
	free(slot->value);
	hmap_free(m);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	close_objects(s);
	HMAP_FOREACH(slot, &s->jits)
	jit_map_free(((struct process_jit *)slot->value)->map);
	free_values(&s->jits);
	free_values(&s->names);
	free_values(&s->strings);
	kernel_symbols_free(s->kernel);
	free(s->root);
	free(s->proc_root);
	free(s);
}

static const char *intern(struct symbolizer *s, const char *text)
{
	size_t n;
	uint64_t hash;
	char *kept;

	if (!text)
		return NULL;
	n = strlen(text);
	hash = hash_bytes(text, n);
	kept = hmap_get(&s->strings, hash, n);
	if (kept)
		return kept;
	kept = strdup(text);
	text_make_printable(kept);
	if (kept && hmap_put(&s->strings, hash, n, kept) < 0) {
		free(kept);
		return NULL;
	}
	return kept;
}

static const char *intern_name(struct symbolizer *s, const char *name)
{
	_cleanup_free_ char *plain =
		name ? strndup(name, strcspn(name, "@")) : NULL; /* without a symbol's version */
	_cleanup_free_ char *written = plain ? demangle(plain) : NULL;

	return intern(s, written ? written : plain);
}

/* --- files --- */

static struct opened *keep_opened(struct symbolizer *s, uint64_t key, uint64_t key2, struct opened found)
{
	struct opened *o = malloc(sizeof(*o));

	if (o)
		*o = found;
	if (!o || hmap_put(&s->objects, key, key2, o) < 0) {
		object_close(found.object);
		free(o);
		return NULL;
	}
	return o;
}

static struct opened open_object(int fd, const char *path, const struct build_id *expected, const char *root)
{
	struct opened o = {.nameless = NAMELESS_GONE};

	if (fd < 0)
		return o;
	if (object_open(fd, path, root, &o.object) < 0) {
		o.nameless = NAMELESS_NO_ELF;
		return o;
	}
	o.nameless = NAMELESS_STRIPPED;
	if (expected && expected->size && !build_id_equal(expected, object_build_id(o.object))) {
		object_close(o.object);
		return (struct opened){.nameless = NAMELESS_REPLACED};
	}
	return o;
}

/* The program itself may have been upgraded since while its debug file is still there. */
static struct opened open_debug_file(const char *root, const struct build_id *id)
{
	char hex[2 * BUILD_ID_MAX + 1], path[128];

	if (id->size < 2)
		return (struct opened){.nameless = NAMELESS_GONE};
	build_id_format(id, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return open_object(open_below(root, path), path, id, root);
}

static uint64_t hash_id(const struct build_id *id)
{
	return hash_bytes(id, 1 + (size_t)id->size);
}

static struct opened *stored_object(struct symbolizer *s, const struct place *p)
{
	uint64_t key = hash_text(p->path), key2 = hash_id(&p->build_id);
	struct opened *known = hmap_get(&s->objects, key, key2);
	struct opened found;

	if (known)
		return known;
	if (s->objects.n >= OBJECTS_MAX)
		close_objects(s);
	if (strcmp(p->path, "[vdso]") == 0) {
		found = (struct opened){.nameless = NAMELESS_STRIPPED};
		if (object_open_vdso(&found.object) < 0)
			found.nameless = NAMELESS_GONE;
	} else {
		found = open_object(open_below(s->root, p->path), p->path, &p->build_id, s->root);
	}
	if (!found.object) {
		struct opened debug = open_debug_file(s->root, &p->build_id);

		if (debug.object)
			found = debug;
	}
	return keep_opened(s, key, key2, found);
}

static struct opened *living_object(struct symbolizer *s, struct modules *process, uint32_t index)
{
	const struct module *module = &process->modules.v[index];
	const struct build_id *id = modules_identify(process, index);
	/* without a build-id a file is known only within its process */
	uint64_t key = hash_text(module->path),
		 key2 = id->size ? hash_id(id) : (uint64_t)process->pid << 32 ^ module->inode ^ 1ull << 63;
	struct opened *known = hmap_get(&s->objects, key, key2);

	if (known)
		return known;
	if (s->objects.n >= OBJECTS_MAX)
		close_objects(s);
	return keep_opened(s, key, key2,
			   open_object(modules_open(process, module), module->path, NULL, s->root));
}

/* --- names --- */

static bool may_read_lines(const struct symbolizer *s)
{
	return s->options.lines && (!s->options.lines_budget || s->lines_spent < s->options.lines_budget);
}

static size_t read_lines(struct symbolizer *s, struct object *o, uint64_t address, struct source_line *ret)
{
	int64_t began = boot_now();
	size_t n = object_lines(o, address, ret, INLINES_MAX);

	s->lines_spent += boot_now() - began;
	return n;
}

static size_t name_in_object(struct symbolizer *s, struct object *o, const char *path, uint64_t file_offset,
			     struct symbol *ret)
{
	struct symbol whole = {
		.module = intern(s, path), .module_offset = file_offset, .nameless = NAMELESS_STRIPPED};
	struct source_line lines[INLINES_MAX];
	const struct function *f;
	uint64_t start;
	size_t n = 0;

	if (object_address(o, file_offset, &whole.module_offset) < 0) {
		whole.nameless = NAMELESS_OUTSIDE;
		ret[0] = whole;
		return 1;
	}
	f = object_function(o, whole.module_offset);
	if (f) {
		whole.name = intern_name(s, f->name);
		whole.nameless = NAMELESS_NOT;
	}
	if (object_function_start(o, whole.module_offset, &start) == 0) {
		whole.offset = whole.module_offset - start;
		whole.bounded = true;
	}
	if (may_read_lines(s))
		n = read_lines(s, o, whole.module_offset, lines);
	for (size_t i = 0; i < n; i++) {
		ret[i] = whole;
		ret[i].file = intern(s, lines[i].file);
		ret[i].line = lines[i].line;
		ret[i].inlined = lines[i].function;
		if (!lines[i].function)
			continue;
		ret[i].name = intern_name(s, lines[i].function);
		ret[i].offset = 0;
		ret[i].bounded = false;
		ret[i].nameless = NAMELESS_NOT;
	}
	if (!n)
		ret[n++] = whole;
	return n;
}

static size_t give(const struct symbol *from, size_t n, struct symbol *ret, size_t max)
{
	/* where there is no room for all inlined calls, the innermost ones are left out */
	size_t skip = n > max ? n - max : 0;

	memcpy(ret, from + skip, (n - skip) * sizeof(*ret));
	return n - skip;
}

static size_t remember(struct symbolizer *s, uint64_t key, uint64_t key2, const struct symbol *symbols,
		       size_t n)
{
	struct named *named;

	if (s->names.n >= CACHED_MAX)
		free_values(&s->names);
	named = malloc(sizeof(*named) + n * sizeof(*symbols));
	if (!named)
		return n;
	named->n = n;
	memcpy(named->symbols, symbols, n * sizeof(*symbols));
	if (hmap_put(&s->names, key, key2, named) < 0)
		free(named);
	return n;
}

static size_t nameless(struct symbolizer *s, const char *path, uint64_t offset, enum nameless why,
		       struct symbol *ret)
{
	*ret = (struct symbol){.module = intern(s, path), .module_offset = offset, .nameless = why};
	return 1;
}

size_t symbolize_place(struct symbolizer *s, const struct place *place, struct symbol *ret, size_t max)
{
	struct symbol symbols[INLINES_MAX];
	const struct opened *o;
	const struct named *known;
	uint64_t key;
	size_t n;

	if (!place->path)
		return nameless(s, "[anon]", place->offset, NAMELESS_NO_ELF, ret);
	key = hash_text(place->path) ^ hash_id(&place->build_id);
	known = hmap_get(&s->names, key, place->offset);
	if (known)
		return give(known->symbols, known->n, ret, max);
	o = stored_object(s, place);
	n = o && o->object
		    ? name_in_object(s, o->object, place->path, place->offset, symbols)
		    : nameless(s, place->path, place->offset, o ? o->nameless : NAMELESS_GONE, symbols);
	remember(s, key, place->offset, symbols, n);
	return give(symbols, n, ret, max);
}

static const struct jit_map *jit_of(struct symbolizer *s, const struct modules *process)
{
	struct process_jit *jit = hmap_get(&s->jits, process->pid, 0);

	if (jit)
		return jit->map;
	jit = calloc(1, sizeof(*jit));
	if (!jit)
		return NULL;
	(void)jit_map_read(process, &jit->map);
	if (hmap_put(&s->jits, process->pid, 0, jit) < 0) {
		jit_map_free(jit->map);
		free(jit);
		return NULL;
	}
	return jit->map;
}

static size_t name_generated(struct symbolizer *s, const struct modules *process, const char *path,
			     uint64_t address, struct symbol *ret)
{
	const struct jit_map *jit = jit_of(s, process);
	uint64_t offset = 0;
	const char *name = jit ? jit_map_find(jit, address, &offset) : NULL;

	*ret = (struct symbol){
		.name = intern(s, name),
		.offset = offset,
		.bounded = name,
		.module = intern(s, path),
		.module_offset = address,
		.nameless = name ? NAMELESS_NOT : NAMELESS_NO_ELF,
	};
	return 1;
}

static size_t name_living(struct symbolizer *s, struct modules *process, const struct mapping *at,
			  uint64_t address, struct symbol *ret)
{
	const struct module *module = &process->modules.v[at->module];
	uint64_t offset = at->offset + (address - at->start);
	const struct opened *o;

	if (module->kind == MODULE_VDSO)
		return symbolize_place(s, &(struct place){.path = "[vdso]", .offset = address - module->low},
				       ret, INLINES_MAX);
	if (module->kind == MODULE_MEMORY)
		return name_generated(s, process, module->path, address, ret);
	o = living_object(s, process, at->module);
	if (o && o->object)
		return name_in_object(s, o->object, module->path, offset, ret);
	if (o && o->nameless == NAMELESS_NO_ELF)
		return name_generated(s, process, module->path, address, ret);
	return nameless(s, module->path, offset, NAMELESS_GONE, ret);
}

size_t symbolize_process(struct symbolizer *s, struct modules *process, uint64_t address, struct symbol *ret,
			 size_t max)
{
	const struct mapping *at = modules_find(process, address);
	const struct named *known = hmap_get(&s->names, address, process->pid);
	struct symbol symbols[INLINES_MAX];
	size_t n;

	if (known)
		return give(known->symbols, known->n, ret, max);
	if (!at)
		return nameless(s, "[unknown]", address, NAMELESS_OUTSIDE, ret);
	n = name_living(s, process, at, address, symbols);
	remember(s, address, process->pid, symbols, n);
	return give(symbols, n, ret, max);
}

void symbolize_kernel(struct symbolizer *s, uint64_t address, struct symbol *ret)
{
	const char *name = NULL, *module = NULL;
	uint64_t offset = 0;
	char brackets[160];

	if (!s->kernel_tried)
		(void)kernel_symbols_read(s->proc_root, &s->kernel);
	s->kernel_tried = true;
	if (s->kernel)
		name = kernel_symbols_find(s->kernel, address, &offset, &module);
	snprintf(brackets, sizeof(brackets), "[%s]", module ? module : "kernel");
	*ret = (struct symbol){
		.name = name,
		.offset = offset,
		.bounded = name,
		.module = intern(s, brackets),
		.module_offset = address,
		.kernel = true,
		.nameless = name	? NAMELESS_NOT
			    : s->kernel ? NAMELESS_OUTSIDE
					: NAMELESS_HIDDEN,
	};
}

/* --- words --- */

void symbol_write_place(const struct symbol *symbol, struct str *out)
{
	const char *module = symbol->module ? symbol->module : "[unknown]";
	const char *last = strrchr(module, '/');

	str_printf(out, "%s+0x%llx", last && last[1] ? last + 1 : module,
		   (unsigned long long)symbol->module_offset);
}

void symbol_write_start(const struct symbol *symbol, struct str *out)
{
	struct symbol start = *symbol;

	start.module_offset -= symbol->bounded ? symbol->offset : 0;
	symbol_write_place(&start, out);
}

void symbol_write(const struct symbol *symbol, bool offset, struct str *out)
{
	if (!symbol->name && offset)
		symbol_write_place(symbol, out);
	else if (!symbol->name)
		symbol_write_start(symbol, out);
	else if (offset && symbol->offset)
		str_printf(out, "%s+0x%llx", symbol->name, (unsigned long long)symbol->offset);
	else
		str_puts(out, symbol->name);
}

const char *nameless_text(enum nameless n)
{
	static const char *const texts[] = {
		[NAMELESS_STRIPPED] =
			"the file names no function there (stripped; its -dbgsym package would)",
		[NAMELESS_GONE] = "the file cannot be opened any more",
		[NAMELESS_REPLACED] = "the file was replaced since: another build lies there now",
		[NAMELESS_NO_ELF] = "generated code without a /tmp/perf-PID.map (node: --perf-basic-prof)",
		[NAMELESS_HIDDEN] = "the kernel hides its addresses: run as root",
		[NAMELESS_OUTSIDE] = "no code is mapped there",
	};

	return n < ARRAY_SIZE(texts) ? texts[n] : NULL;
}
