#include "machine/symbol/object.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/symbol/elf-check.h"

#define SEGMENTS_MAX  64
#define FUNCTIONS_MAX 8000000 /* a browser has 1.5 million */

struct segment {
	uint64_t offset, address, size;
};

struct object {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwfl_Callbacks callbacks;
	debug_file_opener opener;
	void *opener_data;
	struct build_id build_id;
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
	bool indexed;
	VEC(struct function) functions; /* by address */
	VEC(uint64_t) starts;		/* of functions, ascending: .eh_frame_hdr */
	bool starts_read;
};

/* Asked for the file's own debug file, and, with a name and no checksum, for the one that several share (dwz), which would
 * need another build-id: there is none of those. */
static int find_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **ret_path)
{
	const struct object *o = *userdata;
	_cleanup_close_ int fd = -1;

	(void)module, (void)name, (void)base, (void)file;
	if (!o || !o->opener || !o->build_id.size || (link && !crc))
		return -1;
	fd = o->opener(o->opener_data, &o->build_id);
	if (fd < 0 || elf_check(fd) < 0)
		return -1;
	*ret_path = strdup("debug file");
	return *ret_path ? TAKE_FD(fd) : -1;
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
		return -EBADMSG;
	elf = dwfl_module_getelf(o->module, &bias);
	if (!elf || bias != 0)
		return -EBADMSG;
	dwfl_module_info(o->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = o;
	read_segments(o, elf);
	return o->n_segments ? 0 : -EBADMSG;
}

int object_open(int fd, const char *name, debug_file_opener opener, void *data, struct object **ret)
{
	int r = elf_check(fd);
	struct object *o = r == 0 ? calloc(1, sizeof(*o)) : NULL;

	r = r ?: (o ? begin(o) : -ENOMEM);
	if (r == 0) {
		o->opener = opener;
		o->opener_data = data;
		(void)elf_build_id_read(fd, &o->build_id);
		o->module = dwfl_report_elf(o->dwfl, name, name, fd, 0, true);
	}
	if (r < 0 || !o->module)
		close(fd);
	r = r ?: finish(o);
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

int object_open_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */
	_cleanup_close_ int fd = -1;
	size_t n;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
		return -ENOENT;
	n = image_size((const Elf64_Ehdr *)image);
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, image, n) == (ssize_t)n ? TAKE_FD(fd) : -EIO;
}

void object_close(struct object *o)
{
	if (!o)
		return;
	if (o->dwfl)
		dwfl_end(o->dwfl);
	VEC_FREE(o->functions);
	VEC_FREE(o->starts);
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
	/* labels of assembly have no type; mapping symbols of arm64 ($x, $d) and local labels are not names */
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && symbol->st_shndx != SHN_ABS && name[0] != '$' && name[0] != '.');
}

/* Of two names for the same code the longer code wins, then the name with fewer leading underscores. */
ORDER(by_address, struct function, ASCENDING(address) ?: DESCENDING(size) ?: CMP(a->name[0] == '_', b->name[0] == '_') ?: strcmp(a->name, b->name))

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
	VEC_SORT(o->functions, by_address);
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
};
#define FRAME_TABLE_COUNT 0x03 /* udata4 */
#define FRAME_TABLE_PAIRS 0x3b /* datarel, sdata4 */

/* Anywhere in a hostile file: bytes are not aligned, and the count may be any. */
static void take_starts(struct object *o, const uint8_t *bytes, size_t size, uint64_t address)
{
	struct frame_table table;
	int32_t pair[2];
	size_t room;

	if (size < sizeof(table))
		return;
	memcpy(&table, bytes, sizeof(table));
	room = (size - sizeof(table)) / sizeof(pair);
	if (table.version != 1 || table.count_encoding != FRAME_TABLE_COUNT || table.table_encoding != FRAME_TABLE_PAIRS ||
	    table.count > room)
		return;
	for (uint32_t i = 0; i < table.count; i++) {
		uint64_t start;

		memcpy(pair, bytes + sizeof(table) + i * sizeof(pair), sizeof(pair));
		start = address + (uint64_t)(int64_t)pair[0];
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
		if (data)
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

/* Each inlined call gives its own name to the line found so far, and continues where it was called from. */
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
