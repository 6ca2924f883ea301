#include "symbol/object.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"

#define SEGMENTS_MAX  64
#define FUNCTIONS_MAX 8000000 /* a browser has 1.5 million */

struct segment {
	uint64_t offset, address, size;
};

struct object {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwfl_Callbacks callbacks;
	char *debug_root;
	struct build_id build_id;
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
	bool indexed;
	VEC(struct function) functions; /* by address */
	VEC(uint64_t) starts;		/* of functions, ascending: .eh_frame_hdr */
	bool starts_read;
};

/* /usr/lib/debug/.build-id/ab/cdef....debug: no other place, and no server. */
static int find_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **ret_path)
{
	const struct object *o = *userdata;
	char hex[2 * BUILD_ID_MAX + 1];
	char path[128];
	int fd;

	(void)module, (void)name, (void)base, (void)file, (void)link, (void)crc;
	if (!o || o->build_id.size < 2)
		return -1;
	build_id_format(&o->build_id, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	fd = open_below(o->debug_root, path);
	if (fd < 0)
		return -1;
	*ret_path = strdup(path);
	return fd;
}

static int find_nothing(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file,
			Elf **elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static void read_segments(struct object *o, Elf *elf)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n) < 0)
		return;
	for (size_t i = 0; i < n && o->n_segments < SEGMENTS_MAX; i++) {
		GElf_Phdr storage, *p = gelf_getphdr(elf, (int)i, &storage);

		if (p && p->p_type == PT_LOAD)
			o->segments[o->n_segments++] = (struct segment){p->p_offset, p->p_vaddr, p->p_filesz};
	}
}

static void take_build_id(struct object *o, Elf *elf)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);

	if (n <= 0 || n > BUILD_ID_MAX)
		return;
	o->build_id.size = (uint8_t)n;
	memcpy(o->build_id.bytes, bytes, (size_t)n);
}

static int begin(struct object *o)
{
	o->callbacks = (Dwfl_Callbacks){.find_elf = find_nothing, .find_debuginfo = find_debug_file};
	o->dwfl = dwfl_begin(&o->callbacks);
	if (!o->dwfl)
		return -ENOMEM;
	dwfl_report_begin(o->dwfl);
	return 0;
}

static int finish(struct object *o)
{
	GElf_Addr bias;
	void **userdata;
	Elf *elf;

	if (!o->module || dwfl_report_end(o->dwfl, NULL, NULL) != 0)
		return -ENOEXEC;
	elf = dwfl_module_getelf(o->module, &bias);
	if (!elf || bias != 0)
		return -ENOEXEC;
	dwfl_module_info(o->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = o;
	read_segments(o, elf);
	take_build_id(o, elf);
	return o->n_segments ? 0 : -ENOEXEC;
}

int object_open(int fd, const char *name, const char *debug_root, struct object **ret)
{
	struct object *o = calloc(1, sizeof(*o));
	int r = o ? begin(o) : -ENOMEM;

	if (r == 0) {
		o->debug_root = strdup(debug_root);
		r = o->debug_root ? 0 : -ENOMEM;
	}
	if (r == 0)
		o->module = dwfl_report_elf(o->dwfl, name, name, fd, 0, true);
	if (r < 0 || !o->module)
		close(fd);
	if (r == 0)
		r = finish(o);
	if (r < 0) {
		object_close(o);
		return r;
	}
	*ret = o;
	return 0;
}

/* As the kernel mapped it: its section headers end it. */
static size_t image_size(const Elf64_Ehdr *header)
{
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

static int copy_image(const void *image, size_t n)
{
	_cleanup_fclose_ FILE *f = tmpfile();

	if (!f)
		return -errno;
	if (fwrite(image, 1, n, f) != n || fflush(f) != 0)
		return -EIO;
	return dup(fileno(f));
}

int object_open_vdso(struct object **ret)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */
	int fd;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
		return -ENOENT;
	fd = copy_image(image, image_size(image));
	return fd < 0 ? fd : object_open(fd, "[vdso]", "", ret);
}

void object_close(struct object *o)
{
	if (!o)
		return;
	if (o->dwfl)
		dwfl_end(o->dwfl);
	VEC_FREE(o->functions);
	VEC_FREE(o->starts);
	free(o->debug_root);
	free(o);
}

const struct build_id *object_build_id(const struct object *o)
{
	return &o->build_id;
}

int object_address(const struct object *o, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < o->n_segments; i++) {
		const struct segment *s = &o->segments[i];

		if (file_offset >= s->offset && file_offset - s->offset < s->size) {
			*ret = s->address + (file_offset - s->offset);
			return 0;
		}
	}
	return -ENOENT;
}

static bool is_code(const GElf_Sym *symbol, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	if (!name || !*name || symbol->st_shndx == SHN_UNDEF)
		return false;
	/* labels of assembly have no type; mapping symbols of arm64 ($x, $d) and local labels are no names */
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && symbol->st_shndx != SHN_ABS && name[0] != '$' && name[0] != '.');
}

/* Of two names for the same code the longer code wins, then the name with fewer leading underscores. */
static int by_address(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if ((a->name[0] == '_') != (b->name[0] == '_'))
		return a->name[0] == '_' ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void drop_aliases(struct object *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->functions.n; i++)
		if (!kept || o->functions.v[kept - 1].address != o->functions.v[i].address)
			o->functions.v[kept++] = o->functions.v[i];
	o->functions.n = kept;
}

static void index_functions(struct object *o)
{
	int n = dwfl_module_getsymtab(o->module);

	o->indexed = true;
	for (int i = 1; i < n && o->functions.n < FUNCTIONS_MAX; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name = dwfl_module_getsym_info(o->module, i, &symbol, &address, NULL, NULL, NULL);

		if (is_code(&symbol, name))
			(void)VEC_PUSH(o->functions, (struct function){address, symbol.st_size, name});
	}
	if (o->functions.n)
		qsort(o->functions.v, o->functions.n, sizeof(o->functions.v[0]), by_address);
	drop_aliases(o);
}

const struct function *object_function(struct object *o, uint64_t address)
{
	const struct function *f;
	size_t after;

	if (!o->indexed)
		index_functions(o);
	after = FIRST_WHERE(i, o->functions.n, o->functions.v[i].address > address);
	f = after ? &o->functions.v[after - 1] : NULL;
	/* a label without a size reaches to the next one; one with a size may lie inside of a larger function
	 */
	for (unsigned back = 0; f && back < 16 && f >= o->functions.v; back++, f--)
		if (f->size == 0 || address - f->address < f->size)
			return f;
	return NULL;
}

/* version, three encodings, the frames' place, a count, and pairs of a function's start and its frame, both
 * relative to the table: sorted by the linker (LSB 5.0, 10.6.2). Other encodings than the linkers' own are
 * not read. */
struct frame_table {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frames;
	uint32_t count;
	int32_t pairs[];
};
#define FRAME_TABLE_COUNT 0x03 /* udata4 */
#define FRAME_TABLE_PAIRS 0x3b /* datarel, sdata4 */

static void take_starts(struct object *o, const struct frame_table *table, size_t size, uint64_t address)
{
	size_t room = (size - sizeof(*table)) / (2 * sizeof(int32_t));

	if (size < sizeof(*table) || table->version != 1 || table->count_encoding != FRAME_TABLE_COUNT ||
	    table->table_encoding != FRAME_TABLE_PAIRS || table->count > room)
		return;
	for (uint32_t i = 0; i < table->count; i++) {
		uint64_t start = address + (uint64_t)(int64_t)table->pairs[2 * i];

		if (!o->starts.n || start > o->starts.v[o->starts.n - 1])
			(void)VEC_PUSH(o->starts, start);
	}
}

static void read_starts(struct object *o)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(o->module, &bias);
	size_t n = 0;

	o->starts_read = true;
	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr storage, *p = gelf_getphdr(elf, (int)i, &storage);
		Elf_Data *data;

		if (!p || p->p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_BYTE);
		if (data && data->d_size >= sizeof(struct frame_table))
			take_starts(o, data->d_buf, data->d_size, p->p_vaddr);
	}
}

int object_function_start(struct object *o, uint64_t address, uint64_t *ret)
{
	const struct function *f = object_function(o, address);
	size_t after;

	if (f) {
		*ret = f->address;
		return 0;
	}
	if (!o->starts_read)
		read_starts(o);
	after = FIRST_WHERE(i, o->starts.n, o->starts.v[i] > address);
	if (!after)
		return -ENOENT;
	*ret = o->starts.v[after - 1];
	return 0;
}

static bool number_of(Dwarf_Die *die, unsigned attribute, Dwarf_Word *ret)
{
	Dwarf_Attribute storage;

	return dwarf_formudata(dwarf_attr(die, attribute, &storage), ret) == 0;
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *call)
{
	Dwarf_Files *files;
	Dwarf_Word index;
	size_t n;

	if (!number_of(call, DW_AT_call_file, &index) || dwarf_getsrcfiles(unit, &files, &n) != 0 ||
	    index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static struct source_line innermost(struct object *o, uint64_t address)
{
	Dwfl_Line *line = dwfl_module_getsrc(o->module, address);
	struct source_line l = {};
	int number = 0;

	if (line)
		l.file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	l.line = (uint32_t)number;
	return l;
}

/* Each inlined call gives its own name to the line found so far, and goes on where it was called from. */
static size_t add_calls(Dwarf_Die *unit, Dwarf_Die *scopes, int n_scopes, struct source_line *ret, size_t max)
{
	size_t n = 1;

	for (int i = 0; i < n_scopes && n < max; i++) {
		Dwarf_Word line = 0;

		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		ret[n - 1].function = dwarf_diename(&scopes[i]);
		(void)number_of(&scopes[i], DW_AT_call_line, &line);
		ret[n++] = (struct source_line){.file = call_file(unit, &scopes[i]), .line = (uint32_t)line};
	}
	return n;
}

size_t object_lines(struct object *o, uint64_t address, struct source_line *ret, size_t max)
{
	_cleanup_free_ Dwarf_Die *scopes = NULL;
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit;
	int n;

	if (!max)
		return 0;
	unit = dwfl_module_addrdie(o->module, address, &bias);
	if (!unit)
		return 0;
	ret[0] = innermost(o, address);
	n = dwarf_getscopes(unit, address - bias, &scopes);
	return n > 0 ? add_calls(unit, scopes, n, ret, max) : ret[0].file ? 1 : 0;
}
