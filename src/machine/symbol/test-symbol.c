#include "machine/symbol/test-stress.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "machine/symbol/elf-check.h"
#include "machine/symbol/identify.h"
#include "machine/symbol/jit.h"
#include "machine/symbol/kernel.h"
#include "machine/symbol/object.h"
#include "machine/symbol/symbolize.h"

static struct symbolizer *new_symbolizer(const char *root)
{
	struct symbolizer_options options = {.root = root, .lines = true};
	struct symbolizer *s;

	assert_int_equal(symbolizer_new(&options, &s), 0);
	return s;
}

static const struct module *main_module(const struct modules *m, const char *name)
{
	for (size_t i = 0; i < m->modules.n; i++)
		if (strstr(m->modules.v[i].path, name))
			return &m->modules.v[i];
	fail_msg("%s is not mapped", name);
	return NULL;
}

/* In the process, of a function that nm sees at `address`: nm's addresses of a program that is not moved are
 * real. */
static uint64_t living_address(const struct module *m, const char *truth, uint64_t address)
{
	_cleanup_close_ int fd = open(truth, O_RDONLY);
	uint64_t first;
	struct object *o;

	assert_int_equal(object_open(dup(fd), truth, NULL, NULL, &o), 0);
	assert_int_equal(object_address(o, 0, &first), 0);
	object_close(o);
	return m->low + (address - first);
}

static struct symbol name_it(struct symbolizer *s, struct modules *m, uint64_t address)
{
	struct symbol symbols[8];
	size_t n = symbolize_process(s, m, address, symbols, 8);

	assert_in_range(n, 1, 8);
	return symbols[n - 1];
}

/* `program` is run, `truth` is the same build with its names. */
static struct symbol look_at(struct symbolizer *s, const char *program, const char *truth)
{
	struct stress stress = stress_start(program, "idle 1");
	uint64_t address = nm_address(truth, "busy_start");
	struct symbol symbol;
	struct modules m;

	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	symbol = name_it(s, &m, living_address(main_module(&m, "stress"), truth, address) + 2);
	assert_int_equal(symbol.module_offset, address + 2);
	modules_free(&m);
	stress_stop(&stress);
	return symbol;
}

static uint32_t addr2line(const char *program, uint64_t address)
{
	char command[512], *colon, text[4096] = "";
	FILE *f;

	snprintf(command, sizeof(command), "addr2line -e %s 0x%llx", program, (unsigned long long)address);
	f = popen(command, "r");
	assert_non_null(fgets(text, sizeof(text), f));
	pclose(f);
	colon = strrchr(text, ':');
	assert_non_null(colon);
	return (uint32_t)atoi(colon + 1);
}

static void names_a_function_with_its_line(const char *program)
{
	struct symbolizer *s = new_symbolizer("");
	struct symbol symbol = look_at(s, program, program);

	assert_string_equal(symbol.name, "busy_start");
	assert_int_equal(symbol.offset, 2);
	assert_non_null(strstr(symbol.file, "stress.c"));
	assert_int_equal(symbol.line, addr2line(program, symbol.module_offset));
	symbolizer_free(s);
}

static void position_independent(void **state)
{
	names_a_function_with_its_line(STRESS "/stress");
}

static void at_a_fixed_address(void **state)
{
	names_a_function_with_its_line(STRESS "/stress-fixed");
}

static void statically_linked(void **state)
{
	names_a_function_with_its_line(STRESS "/stress-static");
}

static void a_stripped_program_gives_module_and_offset(void **state)
{
	struct symbolizer *s = new_symbolizer("");
	struct symbol symbol = look_at(s, STRESS "/stress-stripped", STRESS "/stress");
	struct str text = {};

	assert_null(symbol.name);
	assert_null(symbol.file);
	assert_int_equal(symbol.nameless, NAMELESS_STRIPPED);
	/* the function's beginning is known all the same */
	assert_true(symbol.bounded);
	assert_int_equal(symbol.offset, 2);
	symbol_write(&symbol, true, &text);
	assert_int_equal(strncmp(text.data, "stress-stripped+0x", strlen("stress-stripped+0x")), 0);
	str_free(&text);
	symbolizer_free(s);
}

static void names_in_the_program_s_own_debug_data(void **state)
{
	struct symbolizer *s = new_symbolizer("");
	struct symbol symbol = look_at(s, STRESS "/stress-mini", STRESS "/stress");

	assert_string_equal(symbol.name, "busy_start");
	symbolizer_free(s);
}

static char *make_root(void)
{
	char *root = strdup("/tmp/whyslow-symbol-XXXXXX");

	assert_non_null(mkdtemp(root));
	return root;
}

static void shell(const char *format, ...)
{
	char command[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

/* What a recording keeps of an address, long after the process: path, build-id, offset. */
static struct code_place stored_place(const char *program, const char *path)
{
	_cleanup_close_ int fd = open(program, O_RDONLY);
	struct code_place p = {.path = path, .offset = nm_address(STRESS "/stress", "busy_start") + 2};

	assert_int_equal(elf_build_id_read(fd, &p.build_id), 0);
	return p;
}

static void a_separate_debug_file_is_found_by_build_id(void **state)
{
	_cleanup_free_ char *root = make_root();
	struct code_place p = stored_place(STRESS "/stress-stripped", "/usr/bin/stress");
	struct symbolizer *s = new_symbolizer(root);
	char hex[2 * BUILD_ID_MAX + 1];
	struct symbol symbols[4];

	module_build_id_format(&p.build_id, hex);
	shell("cd %s && mkdir -p usr/bin usr/lib/debug/.build-id/%.2s && cp %s usr/bin/stress && cp %s "
	      "usr/lib/debug/.build-id/%.2s/%s.debug",
	      root, hex, STRESS "/stress-stripped", STRESS "/stress.debug", hex, hex + 2);
	assert_int_equal(symbolize_place(s, &p, symbols, 4), 1);
	assert_string_equal(symbols[0].name, "busy_start");
	assert_non_null(strstr(symbols[0].file, "stress.c"));
	symbolizer_free(s);
	shell("rm -r %s", root);
}

static void a_replaced_file_is_not_believed(void **state)
{
	_cleanup_free_ char *root = make_root();
	struct code_place p = stored_place(STRESS "/stress", "/usr/bin/stress");
	struct symbolizer *s = new_symbolizer(root);
	struct symbol symbols[4];

	shell("cd %s && mkdir -p usr/bin && cp %s usr/bin/stress", root, STRESS "/stress-nofp");
	assert_int_equal(symbolize_place(s, &p, symbols, 4), 1);
	assert_null(symbols[0].name);
	assert_int_equal(symbols[0].nameless, NAMELESS_REPLACED);
	shell("rm %s/usr/bin/stress", root);
	symbolizer_free(s);
	s = new_symbolizer(root);
	assert_int_equal(symbolize_place(s, &p, symbols, 4), 1);
	assert_int_equal(symbols[0].nameless, NAMELESS_GONE);
	assert_int_equal(symbols[0].module_offset, p.offset);
	symbolizer_free(s);
	shell("rm -r %s", root);
}

/* map_files and exe lead to a file that has no name any more. */
static void a_deleted_program_is_still_read(void **state)
{
	_cleanup_free_ char *root = make_root();
	uint64_t address = nm_address(STRESS "/stress", "busy_start");
	struct symbolizer *s = new_symbolizer("");
	char program[256];
	struct stress stress;
	struct modules m;

	snprintf(program, sizeof(program), "%s/stress", root);
	shell("cp %s %s", STRESS "/stress", program);
	stress = stress_start(program, "idle 1");
	shell("rm -r %s", root);
	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	assert_true(main_module(&m, "stress")->deleted);
	assert_string_equal(main_module(&m, "stress")->path, program);
	assert_string_equal(name_it(s, &m, main_module(&m, "stress")->low + address).name, "busy_start");
	modules_free(&m);
	stress_stop(&stress);
	symbolizer_free(s);
}

/* A container: the program's path leads nowhere (or elsewhere) in our mount namespace. */
static void a_program_in_another_mount_namespace(void **state)
{
	_cleanup_free_ char *root = make_root();
	uint64_t address = nm_address(STRESS "/stress-static", "busy_start"), there;
	struct symbolizer *s = new_symbolizer("");
	char program[512];
	struct stress stress;
	struct modules m;

	if (geteuid() != 0)
		skip();
	snprintf(program, sizeof(program),
		 "unshare -m sh -c 'mount -t tmpfs none %s && cp %s %s/prog-stress && exec %s/prog-stress "
		 "\"$@\"' sh",
		 root, STRESS "/stress-static", root, root);
	stress = stress_start(program, "idle 1");
	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	snprintf(program, sizeof(program), "%s/prog-stress", root);
	assert_int_equal(access(program, F_OK), -1);
	assert_string_equal(main_module(&m, "stress")->path, program);
	there = living_address(main_module(&m, "stress"), STRESS "/stress-static", address);
	assert_string_equal(name_it(s, &m, there).name, "busy_start");
	modules_free(&m);
	stress_stop(&stress);
	rmdir(root);
	symbolizer_free(s);
}

static void the_vdso_has_names(void **state)
{
	struct symbolizer *s = new_symbolizer("");
	const struct module *vdso;
	bool found = false;
	struct modules m;

	assert_int_equal(modules_read("/proc", (uint32_t)getpid(), &m), 0);
	vdso = main_module(&m, "[vdso]");
	for (uint64_t address = vdso->low; address < vdso->high; address += 16) {
		const char *name = name_it(s, &m, address).name;

		found |= name && strstr(name, "clock_gettime");
	}
	assert_true(found);
	modules_free(&m);
	symbolizer_free(s);
}

static const char maps[] =
	"00400000-00401000 r--p 00000000 fd:01 17                      /opt/a b/prog (deleted)\n"
	"00401000-00500000 r-xp 00001000 fd:01 17                      /opt/a b/prog (deleted)\n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	"7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]\n";

static void write_tree(const char *root, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/42", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/42/maps", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_recorded_tree_can_stand_in(void **state)
{
	_cleanup_free_ char *root = make_root();
	const struct mapping *at;
	struct modules m;

	write_tree(root, maps);
	shell("printf 'Name:\\tprog\\nNSpid:\\t42\\t7\\n' >%s/42/status", root);
	assert_int_equal(modules_read(root, 42, &m), 0);
	assert_int_equal(m.inner_pid, 7);
	assert_int_equal(m.code.n, 3);
	at = modules_find(&m, 0x401234);
	assert_string_equal(m.modules.v[at->module].path, "/opt/a b/prog");
	assert_int_equal(at->offset + (0x401234 - at->start), 0x1234);
	at = modules_find(&m, 0x7f0000000010);
	assert_int_equal(m.modules.v[at->module].kind, MODULE_MEMORY);
	assert_null(modules_find(&m, 0x400010)); /* no code */
	assert_null(modules_find(&m, 0x500000));
	modules_free(&m);
	shell("rm -r %s", root);
}

static void damaged_maps_are_refused(void **state)
{
	_cleanup_free_ char *root = make_root();
	struct modules m;
	char text[sizeof(maps)];

	srandom(7);
	for (unsigned i = 0; i < 3000; i++) {
		memcpy(text, maps, sizeof(maps));
		for (unsigned k = 0; k <= i % 3; k++)
			text[(size_t)random() % (sizeof(maps) - 1)] = (char)random();
		write_tree(root, text);
		if (modules_read(root, 42, &m) == 0)
			modules_free(&m);
	}
	write_tree(root, "once upon a time\n");
	assert_int_equal(modules_read(root, 42, &m), -EBADMSG);
	assert_int_equal(modules_read(root, 43, &m), -ESRCH);
	shell("rm -r %s", root);
}

static void damaged_programs_name_nothing_and_crash_nothing(void **state)
{
	_cleanup_free_ char *root = make_root();
	char path[256];

	snprintf(path, sizeof(path), "%s/prog", root);
	srandom(11);
	for (unsigned i = 0; i < 300; i++) {
		struct object *o;
		int fd;

		shell("cp %s %s", STRESS "/stress-mini", path);
		fd = open(path, O_RDWR);
		for (unsigned k = 0; k < 20; k++) {
			uint8_t byte = (uint8_t)random();
			off_t at = i % 2 ? random() % 1024 : random() % lseek(fd, 0, SEEK_END);

			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		if (i % 5 == 0)
			assert_int_equal(ftruncate(fd, random() % 8000), 0);
		if (object_open(fd, path, NULL, NULL, &o) == 0) {
			struct source_line lines[4];

			for (uint64_t address = 0x1000; address < 0x1400; address += 13) {
				(void)object_function(o, address);
				(void)object_lines(o, address, lines, 4);
			}
			object_close(o);
		}
	}
	shell("rm -r %s", root);
}

static struct jit_map *jit_from(const char *text)
{
	_cleanup_fclose_ FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct jit_map *m;

	assert_int_equal(jit_map_parse(f, &m), 0);
	return m;
}

static void generated_code_has_the_newest_name(void **state)
{
	struct jit_map *m = jit_from("1000 100 LazyCompile:~old a.js:1\n"
				     "4000 10000 whole region\n"
				     "1040 40 *new a.js:1\n"
				     "nonsense\n"
				     "2000 0 empty\n"
				     "5000 10 inner\x1b[31m\n");
	uint64_t offset;

	assert_string_equal(jit_map_find(m, 0x1010, &offset), "LazyCompile:~old a.js:1");
	assert_int_equal(offset, 0x10);
	assert_string_equal(jit_map_find(m, 0x1044, &offset), "*new a.js:1");
	assert_string_equal(jit_map_find(m, 0x10f0, &offset), "LazyCompile:~old a.js:1");
	assert_null(jit_map_find(m, 0x2000, &offset));
	assert_string_equal(jit_map_find(m, 0x5008, &offset), "inner?[31m");
	assert_string_equal(jit_map_find(m, 0x5018, &offset), "whole region");
	assert_null(jit_map_find(m, 0x14000, &offset));
	jit_map_free(m);
}

static void kernel_names(void **state)
{
	_cleanup_free_ char *root = make_root();
	struct kernel_symbols *k;
	const char *module;
	uint64_t offset;

	shell("printf 'ffffffff81000000 T _stext\\nffffffff81000100 t schedule\\nffffffff81000080 D data\\n"
	      "ffffffffc0001000 t ext4_readdir\\t[ext4]\\n' >%s/kallsyms",
	      root);
	assert_int_equal(kernel_symbols_read(root, &k), 0);
	assert_string_equal(kernel_symbols_find(k, 0xffffffff81000110, &offset, &module), "schedule");
	assert_int_equal(offset, 0x10);
	assert_string_equal(module, "kernel");
	assert_string_equal(kernel_symbols_find(k, 0xffffffff81000090, &offset, &module), "_stext");
	assert_string_equal(kernel_symbols_find(k, 0xffffffffc0001000, &offset, &module), "ext4_readdir");
	assert_string_equal(module, "ext4");
	assert_null(kernel_symbols_find(k, 0x1000, &offset, &module));
	kernel_symbols_free(k);
	shell("printf '0000000000000000 T _stext\\n0000000000000000 t schedule\\n' >%s/kallsyms", root);
	assert_int_equal(kernel_symbols_read(root, &k), -EACCES);
	shell("echo hello world, kernel >%s/kallsyms", root);
	assert_int_equal(kernel_symbols_read(root, &k), -EBADMSG);
	shell("rm -r %s", root);
}

static void names_as_they_were_written(void **state)
{
	_cleanup_free_ char *cpp = symbol_demangle("_ZN5store6Reader4readEPKcm");
	_cleanup_free_ char *rust = symbol_demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE");
	_cleanup_free_ char *rust_v0 = symbol_demangle("_RNvCsh_5crate4main");

	assert_string_equal(cpp, "store::Reader::read");
	assert_string_equal(rust, "core::fmt::Formatter::pad");
	assert_string_equal(rust_v0, "crate::main");
	assert_null(symbol_demangle("main"));
	assert_null(symbol_demangle("_Znonsense"));
}

/* As many files as a process may map, each at the end of a long path: a quarter of a gigabyte. */
static void maps_without_end_are_refused(void **state)
{
	char root[] = "/tmp/whyslow-maps-XXXXXX", path[100];
	struct modules m;
	FILE *f;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/42", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/42/maps", root);
	f = fopen(path, "w");
	assert_non_null(f);
	for (unsigned long i = 0; i < 65530; i++)
		fprintf(f, "%lx-%lx r-xp 00000000 fd:01 %lu   /%0600lu\n", 4096 * (i + 1), 4096 * (i + 2), i + 1, i);
	fclose(f);
	assert_int_equal(modules_read(root, 42, &m), -E2BIG);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

static void build_ids_as_text(void **state)
{
	struct build_id id = {.size = 4, .bytes = {0x00, 0xff, 0x12, 0xab}};
	char hex[2 * BUILD_ID_MAX + 1];

	assert_string_equal(module_build_id_format(&id, hex), "00ff12ab");
}

/* --- hostile files --- */

static int file_of(const void *bytes, size_t n, off_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

struct small_program {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[20];
	} note;
};

static struct small_program sound_program(void)
{
	struct small_program p = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct small_program, segments),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2},
		.segments = {{.p_type = PT_LOAD, .p_filesz = 4096}, {.p_type = PT_NOTE, .p_offset = offsetof(struct small_program, note)}},
		.note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3}},
	};

	p.segments[1].p_filesz = sizeof(p.note);
	return p;
}

static int check_program(const struct small_program *p, struct build_id *ret)
{
	_cleanup_close_ int fd = file_of(p, sizeof(*p), 4096);
	int r = elf_check(fd);

	*ret = (struct build_id){};
	assert_int_equal(elf_build_id_read(fd, ret) == 0 || elf_build_id_read(fd, ret) == -ENOENT, r == 0);
	return r;
}

static void a_build_id_is_read_from_the_headers(void **state)
{
	struct small_program p = sound_program();
	struct build_id id;

	assert_int_equal(check_program(&p, &id), 0);
	assert_int_equal(id.size, 20);
	assert_int_equal(id.bytes[2], 3);
	p.note.header.n_descsz = 21; /* beyond the note, and longer than any */
	assert_int_equal(check_program(&p, &id), 0);
	assert_int_equal(id.size, 0);
	p.note.header.n_descsz = 0xfffffffe;
	assert_int_equal(check_program(&p, &id), 0);
	assert_int_equal(id.size, 0);
	p.note.header = (Elf64_Nhdr){0xfffffffd, 20, NT_GNU_BUILD_ID};
	assert_int_equal(check_program(&p, &id), 0);
	assert_int_equal(id.size, 0);
}

static void what_no_linker_wrote_is_refused(void **state)
{
	struct small_program p;
	struct build_id id;

#define REFUSED(field, value)                                           \
	p = sound_program();                                            \
	p.field = (value);                                              \
	assert_int_equal(check_program(&p, &id), -EBADMSG)
	REFUSED(header.e_type, ET_REL);
	REFUSED(header.e_type, ET_CORE);
	REFUSED(header.e_ident[EI_DATA], ELFDATA2MSB);
	REFUSED(header.e_ident[EI_CLASS], 3);
	REFUSED(header.e_phnum, 0);
	REFUSED(header.e_phnum, 0xffff);
	REFUSED(header.e_phentsize, 8);
	REFUSED(header.e_phoff, 4096 - 8);
	REFUSED(header.e_phoff, UINT64_MAX - 8);
	REFUSED(segments[1].p_filesz, 3ull << 30);
	REFUSED(header.e_shoff, 64); /* a table of sections whose length stands in itself */
#undef REFUSED
	p = sound_program();
	p.header.e_ident[0] = 'x';
	assert_int_equal(check_program(&p, &id), -ENOEXEC);
}

static pid_t only_child(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1)
		; /* the last one: the program that is looked at came before it */
	fclose(f);
	return pid;
}

/* It dies of a file, as libdw of a hostile one: that file's symbols are missing, others' are there. */
static void a_server_that_dies_costs_one_file(void **state)
{
	struct symbolizer *s = new_symbolizer("");
	struct stress stress = stress_start(STRESS "/stress", "idle 1");
	const struct module *program, *library;
	uint64_t address = nm_address(STRESS "/stress", "busy_start"), base;
	struct symbol symbol;
	struct modules m;

	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	program = main_module(&m, "/stress");
	library = main_module(&m, "libc.so");
	base = living_address(program, STRESS "/stress", address);
	assert_string_equal(name_it(s, &m, base).name, "busy_start");
	assert_null(symbolizer_damaged(s, 0));
	kill(only_child(), SIGKILL);
	for (uint64_t i = 1; i < 3; i++) {
		symbol = name_it(s, &m, base + i);
		assert_null(symbol.name);
		assert_int_equal(symbol.nameless, NAMELESS_DAMAGED);
	}
	assert_string_equal(symbolizer_damaged(s, 0), program->path);
	assert_null(symbolizer_damaged(s, 1));
	for (size_t i = 0; i < m.code.n; i++)
		if (&m.modules.v[m.code.v[i].module] == library)
			assert_int_not_equal(name_it(s, &m, m.code.v[i].start + 0x1000).nameless, NAMELESS_DAMAGED);
	modules_free(&m);
	stress_stop(&stress);
	symbolizer_free(s);
}

/* A process that maps ever new hostile files ends the reading, not the one who looks. */
static void servers_are_started_again_a_few_times(void **state)
{
	struct symbolizer *s = new_symbolizer("");
	struct modules m;
	unsigned damaged = 0;
	struct symbol last = {};

	assert_int_equal(modules_read("/proc", (uint32_t)getpid(), &m), 0);
	for (size_t i = 0; i < m.code.n; i++) {
		if (m.modules.v[m.code.v[i].module].kind != MODULE_FILE)
			continue;
		(void)name_it(s, &m, m.code.v[i].start);
		if (only_child())
			kill(only_child(), SIGKILL);
		last = name_it(s, &m, m.code.v[i].start + 1);
	}
	while (symbolizer_damaged(s, damaged))
		damaged++;
	assert_in_range(damaged, 1, 4);
	if (m.code.n > 8)
		assert_int_equal(last.nameless, NAMELESS_NOT_READ);
	modules_free(&m);
	symbolizer_free(s);
}

/* Reads a library's build-id as if it were a file that was never seen. */
static bool reads_anew(struct identifier *i, struct modules *m)
{
	struct module *library = NULL;

	for (size_t k = 0; k < m->code.n; k++) {
		struct module *one = &m->modules.v[m->code.v[k].module];

		one->identified = true;
		if (strstr(one->path, "libc.so"))
			library = one;
	}
	assert_non_null(library);
	library->identified = false;
	library->inode++;
	library->build_id.size = 0;
	identifier_identify(i, m);
	return library->build_id.size > 0;
}

/* Who can end the process that reads files ends the reading, but not for good. */
static void a_reader_that_is_lost_again_and_again_is_forgiven(void **state)
{
	struct identifier *i;
	struct modules m;
	unsigned lost = 0;

	assert_int_equal(identify_new(&i), 0);
	assert_int_equal(modules_read("/proc", (uint32_t)getpid(), &m), 0);
	for (; reads_anew(i, &m); lost++) {
		assert_int_equal(kill(only_child(), SIGKILL), 0);
		assert_false(reads_anew(i, &m));
		assert_in_range(lost, 0, 20);
	}
	assert_in_range(lost, 2, 20);
	assert_false(reads_anew(i, &m));
	identifier_rest(i);
	assert_true(reads_anew(i, &m));
	identify_free(i);
	modules_free(&m);
}

static void one_line_without_an_end_is_cut(void **state)
{
	size_t n = 9 << 20;
	_cleanup_free_ char *text = malloc(n + 1);
	struct jit_map *m;
	uint64_t offset;

	memset(text, 'x', n);
	memcpy(text, "1000 100 ", 9);
	text[n] = '\0';
	m = jit_from(text);
	assert_in_range(strlen(jit_map_find(m, 0x1010, &offset)), 1000, 5000);
	jit_map_free(m);
}

RUN_TESTS(cmocka_unit_test(position_independent), cmocka_unit_test(at_a_fixed_address),
	  cmocka_unit_test(statically_linked), cmocka_unit_test(a_stripped_program_gives_module_and_offset),
	  cmocka_unit_test(names_in_the_program_s_own_debug_data),
	  cmocka_unit_test(a_separate_debug_file_is_found_by_build_id),
	  cmocka_unit_test(a_replaced_file_is_not_believed),
	  cmocka_unit_test(a_deleted_program_is_still_read),
	  cmocka_unit_test(a_program_in_another_mount_namespace), cmocka_unit_test(the_vdso_has_names),
	  cmocka_unit_test(a_recorded_tree_can_stand_in), cmocka_unit_test(damaged_maps_are_refused),
	  cmocka_unit_test(maps_without_end_are_refused),
	  cmocka_unit_test(damaged_programs_name_nothing_and_crash_nothing),
	  cmocka_unit_test(generated_code_has_the_newest_name), cmocka_unit_test(kernel_names),
	  cmocka_unit_test(names_as_they_were_written), cmocka_unit_test(build_ids_as_text),
	  cmocka_unit_test(a_build_id_is_read_from_the_headers), cmocka_unit_test(what_no_linker_wrote_is_refused),
	  cmocka_unit_test(a_server_that_dies_costs_one_file), cmocka_unit_test(servers_are_started_again_a_few_times),
	  cmocka_unit_test(a_reader_that_is_lost_again_and_again_is_forgiven), cmocka_unit_test(one_line_without_an_end_is_cut))
