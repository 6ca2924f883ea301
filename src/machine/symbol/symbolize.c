#include "machine/symbol/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/rights/outside.h"
#include "lib/rights/sandbox.h"
#include "machine/symbol/jit.h"
#include "machine/symbol/kernel.h"
#include "machine/symbol/name-server.h"
#include "machine/symbol/object.h"

#define OBJECTS_MAX  512	       /* files open at a time; then all are closed and opened again as needed */
#define CACHED_MAX   500000	       /* places */
#define PATIENCE     (10 * NS_PER_SEC) /* for one answer: the index of a browser takes two, from a cold disk */
#define RESTARTS_MAX 3		       /* hostile files, each of which ends a server, of one symbolizer */

/* A file as the server has it, or why it has not. */
struct opened {
	uint64_t key, key2; /* in symbolizer.objects */
	uint64_t id;	    /* 0: see `nameless` */
	enum nameless nameless;
};

struct named {
	size_t n;
	struct symbol symbols[];
};

struct process_jit {
	uint64_t id; /* 0 = none */
};

struct symbolizer {
	struct symbolizer_options options;
	char *root, *proc_root;
	struct sandbox sandbox;
	struct name_server server; /* the child's; empty here */
	struct str request, answer;
	uint64_t last_id;
	unsigned restarts;
	struct hmap objects; /* (path or process+inode, build-id) -> struct opened */
	struct hmap jits;    /* (pid, 0) -> struct process_jit */
	struct hmap refused; /* keys of both whose file ended a server -> any */
	VEC(const char *) damaged;
	struct hmap names;   /* (place) -> struct named */
	struct hmap strings; /* (hash, length) -> char *: names outlive the server that gave them */
	struct kernel_symbols *kernel;
	bool kernel_tried;
	int64_t lines_spent; /* ns */
};

#define JIT_KEY UINT64_MAX /* second key of a perf map in `refused` */

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->options = *options;
	s->root = strdup(options->root ? options->root : "");
	s->proc_root = strdup(options->proc_root ? options->proc_root : "/proc");
	s->request.max = SANDBOX_MESSAGE_MAX;
	if (!s->root || !s->proc_root) {
		symbolizer_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	sandbox_stop(&s->sandbox);
	str_free(&s->request);
	str_free(&s->answer);
	hmap_free_values(&s->objects);
	hmap_free_values(&s->jits);
	hmap_free(&s->refused);
	VEC_FREE(s->damaged);
	hmap_free_values(&s->names);
	hmap_free_values(&s->strings);
	kernel_symbols_free(s->kernel);
	FREE_ALL(s->root, s->proc_root, s);
}

const char *symbolizer_damaged(const struct symbolizer *s, size_t index)
{
	return index < s->damaged.n ? s->damaged.v[index] : NULL;
}

static const char *intern(struct symbolizer *s, const char *text)
{
	size_t n;
	uint64_t hash;
	char *kept;

	if (!text || !*text)
		return NULL;
	n = strlen(text);
	hash = hmap_hash_bytes(text, n);
	kept = hmap_get(&s->strings, hash, n);
	if (kept)
		return kept;
	kept = strdup(text);
	str_make_printable(kept);
	return hmap_keep(&s->strings, hash, n, kept);
}

/* --- the server --- */

/* "Which debug file has this build-id?" */
static int provide_debug_file(void *data, struct reader *question)
{
	const struct symbolizer *s = data;
	struct build_id id = {};
	size_t n;
	const char *bytes = str_read_blob(question, &n);

	if (!bytes || n > BUILD_ID_MAX)
		return -EINVAL;
	id.size = (uint8_t)n;
	memcpy(id.bytes, bytes, n);
	return module_open_debug_file(s->root, &id);
}

static struct str *begin_request(struct symbolizer *s, enum name_request kind)
{
	str_clear(&s->request);
	(void)str_put_varint(&s->request, kind);
	return &s->request;
}

/* What a server knew is gone with it. */
static void forget_files(struct symbolizer *s)
{
	hmap_free_values(&s->objects);
	hmap_free_values(&s->jits);
}

/* fd: of the file the request is about, or -1. 0; -EPERM where no server may run; -errno where it was lost. */
static int ask(struct symbolizer *s, int fd, struct reader *ret)
{
	const struct sandbox_call call = {.request = &s->request, .files = &fd, .n_files = fd >= 0, .provider = provide_debug_file,
					  .data = s, .patience = PATIENCE};
	int r = 0;

	if (s->restarts > RESTARTS_MAX)
		return -EPERM;
	if (s->sandbox.pid <= 0 && sandbox_start(name_server_handle, &s->server, &s->sandbox) < 0)
		return -EPERM;
	r = sandbox_call(&s->sandbox, &call, &s->answer);
	if (r < 0) {
		s->restarts++;
		forget_files(s);
		return r == -EPERM ? -EPIPE : r;
	}
	*ret = (struct reader){(const uint8_t *)s->answer.data, (const uint8_t *)s->answer.data + s->answer.len, false};
	return 0;
}

static void note_damage(struct symbolizer *s, const char *path)
{
	const char *kept = intern(s, path);

	for (size_t i = 0; i < s->damaged.n; i++)
		if (s->damaged.v[i] == kept)
			return;
	if (kept)
		(void)VEC_PUSH(s->damaged, kept);
}

/* The server died of a file, or never ended it: that file is handed to no other one. */
static enum nameless give_up(struct symbolizer *s, int error, uint64_t key, uint64_t key2, const char *path)
{
	if (error == -EPERM)
		return NAMELESS_NOT_READ;
	(void)hmap_put(&s->refused, key, key2, s);
	note_damage(s, path);
	return NAMELESS_DAMAGED;
}

/* --- files --- */

static void close_files(struct symbolizer *s)
{
	struct reader nothing;

	begin_request(s, NAME_CLOSE);
	if (ask(s, -1, &nothing) == 0)
		forget_files(s);
}

static enum nameless reason_of(int error)
{
	return error == -ENOEXEC ? NAMELESS_NO_ELF : error == -EBADMSG ? NAMELESS_DAMAGED : NAMELESS_GONE;
}

static struct opened open_object(struct symbolizer *s, uint64_t key, uint64_t key2, int fd, const char *path,
				 const struct build_id *expected)
{
	struct opened o = {.key = key, .key2 = key2, .id = ++s->last_id, .nameless = NAMELESS_STRIPPED};
	struct reader answer;
	const char *id;
	size_t n;
	int r;

	(void)str_put_varint(begin_request(s, NAME_OPEN), o.id);
	(void)str_put_blob(&s->request, path, strlen(path));
	r = ask(s, fd, &answer);
	if (r < 0)
		return (struct opened){key, key2, 0, give_up(s, r, key, key2, path)};
	r = (int)reader_svarint(&answer);
	if (r == -EBADMSG)
		note_damage(s, path);
	if (r < 0)
		return (struct opened){key, key2, 0, reason_of(r)};
	id = str_read_blob(&answer, &n);
	if (expected && expected->size && (!id || n != expected->size || memcmp(id, expected->bytes, n) != 0))
		return (struct opened){key, key2, 0, NAMELESS_REPLACED};
	return o;
}

static struct opened open_file(struct symbolizer *s, uint64_t key, uint64_t key2, int file, const char *path,
			       const struct build_id *expected)
{
	_cleanup_close_ int fd = file;

	if (hmap_get(&s->refused, key, key2))
		return (struct opened){key, key2, 0, NAMELESS_DAMAGED};
	return fd < 0 ? (struct opened){key, key2, 0, NAMELESS_GONE} : open_object(s, key, key2, fd, path, expected);
}

static struct opened *keep_opened(struct symbolizer *s, struct opened found)
{
	struct opened *o = malloc(sizeof(*o));

	if (o)
		*o = found;
	return hmap_keep(&s->objects, found.key, found.key2, o);
}

static uint64_t hash_id(const struct build_id *id)
{
	return hmap_hash_bytes(id, 1 + (size_t)id->size);
}

/* The program itself may have been upgraded since while its debug file is still there. */
static struct opened open_stored(struct symbolizer *s, uint64_t key, uint64_t key2, const struct code_place *p)
{
	bool vdso = strcmp(p->path, "[vdso]") == 0;
	struct opened found = open_file(s, key, key2, vdso ? object_open_vdso() : outside_open_below(s->root, p->path), p->path, &p->build_id), debug;

	if (found.id || !p->build_id.size)
		return found;
	debug = open_file(s, key, key2, module_open_debug_file(s->root, &p->build_id), p->path, &p->build_id);
	return debug.id ? debug : found;
}

static struct opened *find_opened(struct symbolizer *s, uint64_t key, uint64_t key2)
{
	struct opened *known = hmap_get(&s->objects, key, key2);

	if (!known && s->objects.n >= OBJECTS_MAX)
		close_files(s);
	return known;
}

static struct opened *stored_object(struct symbolizer *s, const struct code_place *p)
{
	uint64_t key = hmap_hash_text(p->path), key2 = hash_id(&p->build_id);
	struct opened *known = find_opened(s, key, key2);

	return known ? known : keep_opened(s, open_stored(s, key, key2, p));
}

static struct opened *living_object(struct symbolizer *s, const struct modules *process, uint32_t index)
{
	const struct module *module = &process->modules.v[index];
	uint64_t key = hmap_hash_text(module->path), key2 = (uint64_t)process->pid << 32 ^ module->inode ^ 1ull << 63;
	struct opened *known = find_opened(s, key, key2);

	return known ? known : keep_opened(s, open_file(s, key, key2, modules_open(process, module), module->path, NULL));
}

/* --- names --- */

static bool may_read_lines(const struct symbolizer *s)
{
	return s->options.lines && (!s->options.lines_budget || s->lines_spent < s->options.lines_budget);
}

static size_t nameless(struct symbolizer *s, const char *path, uint64_t offset, enum nameless why,
		       struct symbol *ret)
{
	*ret = (struct symbol){.module = intern(s, path), .module_offset = offset, .nameless = why};
	return 1;
}

static size_t take_symbols(struct symbolizer *s, struct reader *answer, const char *path, struct symbol *ret)
{
	uint64_t n = reader_varint(answer);
	size_t taken = 0;

	while (taken < n && taken < INLINES_MAX) {
		_cleanup_free_ char *name = NULL, *file = NULL;

		if (name_server_take(answer, &ret[taken], &name, &file) < 0)
			break;
		ret[taken].module = intern(s, path);
		ret[taken].name = intern(s, name);
		ret[taken++].file = intern(s, file);
	}
	return taken;
}

static size_t name_in_object(struct symbolizer *s, const struct opened *opened, const char *path, uint64_t file_offset,
			     struct symbol *ret)
{
	struct opened o = *opened; /* it goes with its server */
	bool lines = may_read_lines(s);
	int64_t began = clock_boot();
	struct reader answer;
	size_t n;
	int r;

	(void)str_put_varint(begin_request(s, NAME_PLACE), o.id);
	(void)str_put_varint(&s->request, file_offset);
	(void)str_put_varint(&s->request, lines);
	r = ask(s, -1, &answer);
	if (lines)
		s->lines_spent += clock_boot() - began;
	if (r < 0)
		return nameless(s, path, file_offset, give_up(s, r, o.key, o.key2, path), ret);
	n = take_symbols(s, &answer, path, ret);
	return n ? n : nameless(s, path, file_offset, NAMELESS_DAMAGED, ret);
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
		hmap_free_values(&s->names);
	named = malloc(sizeof(*named) + n * sizeof(*symbols));
	if (!named)
		return n;
	named->n = n;
	memcpy(named->symbols, symbols, n * sizeof(*symbols));
	(void)hmap_keep(&s->names, key, key2, named);
	return n;
}

size_t symbolize_place(struct symbolizer *s, const struct code_place *place, struct symbol *ret, size_t max)
{
	struct symbol symbols[INLINES_MAX];
	const struct opened *o;
	const struct named *known;
	uint64_t key;
	size_t n;

	if (!place->path)
		return nameless(s, "[anon]", place->offset, NAMELESS_NO_ELF, ret);
	key = hmap_hash_text(place->path) ^ hash_id(&place->build_id);
	known = hmap_get(&s->names, key, place->offset);
	if (known)
		return give(known->symbols, known->n, ret, max);
	o = stored_object(s, place);
	n = o && o->id ? name_in_object(s, o, place->path, place->offset, symbols)
		       : nameless(s, place->path, place->offset, o ? o->nameless : NAMELESS_GONE, symbols);
	remember(s, key, place->offset, symbols, n);
	return give(symbols, n, ret, max);
}

/* --- generated code --- */

static uint64_t open_map(struct symbolizer *s, const struct modules *process)
{
	_cleanup_close_ int fd = hmap_get(&s->refused, process->pid, JIT_KEY) ? -1 : jit_map_open(process);
	uint64_t id = ++s->last_id;
	struct reader answer;
	int r;

	if (fd < 0)
		return 0;
	(void)str_put_varint(begin_request(s, NAME_MAP), id);
	r = ask(s, fd, &answer);
	if (r < 0) {
		(void)give_up(s, r, process->pid, JIT_KEY, "its perf map");
		return 0;
	}
	return reader_svarint(&answer) == 0 ? id : 0;
}

static uint64_t map_of(struct symbolizer *s, const struct modules *process)
{
	struct process_jit *jit = hmap_get(&s->jits, process->pid, 0);
	uint64_t id;

	if (jit)
		return jit->id;
	id = open_map(s, process);
	jit = malloc(sizeof(*jit));
	if (!jit)
		return id;
	jit->id = id;
	(void)hmap_keep(&s->jits, process->pid, 0, jit);
	return id;
}

static const char *find_generated(struct symbolizer *s, const struct modules *process, uint64_t address, uint64_t *ret_offset)
{
	uint64_t id = map_of(s, process);
	_cleanup_free_ char *name = NULL;
	struct reader answer;
	int r;

	if (!id)
		return NULL;
	(void)str_put_varint(begin_request(s, NAME_GENERATED), id);
	(void)str_put_varint(&s->request, address);
	r = ask(s, -1, &answer);
	if (r < 0) {
		(void)give_up(s, r, process->pid, JIT_KEY, "its perf map");
		return NULL;
	}
	*ret_offset = reader_varint(&answer);
	name = reader_text(&answer);
	return intern(s, name);
}

static size_t name_generated(struct symbolizer *s, const struct modules *process, const char *path,
			     uint64_t address, struct symbol *ret)
{
	uint64_t offset = 0;
	const char *name = find_generated(s, process, address, &offset);

	*ret = (struct symbol){
		.name = name,
		.offset = name ? offset : 0,
		.bounded = name,
		.module = intern(s, path),
		.module_offset = address,
		.nameless = name ? NAMELESS_NOT : NAMELESS_NO_ELF,
	};
	return 1;
}

static size_t name_living(struct symbolizer *s, const struct modules *process, const struct mapping *at,
			  uint64_t address, struct symbol *ret)
{
	const struct module *module = &process->modules.v[at->module];
	uint64_t offset = at->offset + (address - at->start);
	const struct opened *o;

	if (module->kind == MODULE_VDSO)
		return symbolize_place(s, &(struct code_place){.path = "[vdso]", .offset = address - module->low},
				       ret, INLINES_MAX);
	if (module->kind == MODULE_MEMORY)
		return name_generated(s, process, module->path, address, ret);
	o = living_object(s, process, at->module);
	if (o && o->id)
		return name_in_object(s, o, module->path, offset, ret);
	if (o && o->nameless == NAMELESS_NO_ELF)
		return name_generated(s, process, module->path, address, ret);
	return nameless(s, module->path, offset, o ? o->nameless : NAMELESS_GONE, ret);
}

size_t symbolize_process(struct symbolizer *s, const struct modules *process, uint64_t address, struct symbol *ret,
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

const char *symbolizer_nameless_text(enum nameless n)
{
	static const char *const texts[] = {
		[NAMELESS_STRIPPED] =
			"the file names no function there (stripped; its -dbgsym package would)",
		[NAMELESS_GONE] = "the file cannot be opened any more",
		[NAMELESS_REPLACED] = "the file was replaced since: another build lies there now",
		[NAMELESS_NO_ELF] = "generated code without a /tmp/perf-PID.map (node: --perf-basic-prof)",
		[NAMELESS_HIDDEN] = "the kernel hides its addresses: run as root",
		[NAMELESS_OUTSIDE] = "no code is mapped there",
		[NAMELESS_DAMAGED] = "the file is damaged, or takes too long to read",
		[NAMELESS_NOT_READ] = "no file is read: too many of them are damaged, or this machine lets no process give up its rights "
				      "(seccomp)",
	};

	return n < ARRAY_SIZE(texts) ? texts[n] : NULL;
}
