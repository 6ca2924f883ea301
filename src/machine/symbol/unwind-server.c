#include "machine/symbol/unwind-server.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/symbol/elf-check.h"

static pid_t next_thread(Dwfl *dwfl, void *dwfl_arg, void **thread_arg)
{
	struct unwind_server *u = dwfl_arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = u;
	return (pid_t)u->modules->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *dwfl_arg, void **thread_arg)
{
	(void)dwfl, (void)tid;
	*thread_arg = dwfl_arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *dwfl_arg)
{
	const struct unwind_walk *w = &((struct unwind_server *)dwfl_arg)->walk;
	uint64_t at = address - w->registers[UNWIND_SP];

	(void)dwfl;
	if (address < w->registers[UNWIND_SP] || at > w->n || w->n - at < sizeof(*ret))
		return false;
	memcpy(ret, w->stack + at, sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *thread_arg)
{
	const struct unwind_walk *w = &((struct unwind_server *)thread_arg)->walk;
	bool set = dwfl_thread_state_registers(thread, 0, UNWIND_PC, (const Dwarf_Word *)w->registers);

#if defined(__x86_64__)
	set = set &&
	      dwfl_thread_state_registers(thread, UNWIND_PC, 1, (const Dwarf_Word *)&w->registers[UNWIND_PC]);
#endif
	dwfl_thread_state_register_pc(thread, w->registers[UNWIND_PC]);
	return set;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int open_vdso(const struct module *module, Elf **ret)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */

	if (!image)
		return -1;
	*ret = elf_memory((char *)image, module->high - module->low);
	return -1;
}

static int ask_for_module(const struct unwind_server *u, size_t index)
{
	_cleanup_str_ struct str question = {};
	int fd;

	if (hmap_get(u->refused, index, 0))
		return -EPERM;
	(void)str_put_varint(&question, index);
	fd = question.error ? question.error : sandbox_ask(&question);
	if (fd >= 0 && elf_check(fd) < 0) {
		close(fd);
		return -EBADMSG;
	}
	return fd;
}

/* Called when the walk first meets a module. */
static int find_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base, char **file,
		    Elf **elf)
{
	struct unwind_server *u = *userdata;
	int fd;

	(void)dwfl_module, (void)name;
	for (size_t i = 0; i < u->modules->modules.n; i++) {
		const struct module *m = &u->modules->modules.v[i];

		if (m->low != base)
			continue;
		if (m->kind == MODULE_VDSO)
			return open_vdso(m, elf);
		fd = ask_for_module(u, i);
		if (fd >= 0)
			*file = strdup(m->path);
		return fd < 0 ? -1 : fd;
	}
	return -1;
}

/* Call frame information lies in the program's own file; nothing else is looked for. */
static int find_no_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			      const char *file, const char *link, GElf_Word crc, char **ret_path)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc,
		(void)ret_path;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = find_no_debug_file};

static void report(struct unwind_server *u, const struct module *m)
{
	Dwfl_Module *reported;
	void **userdata;

	if (m->kind == MODULE_MEMORY)
		return;
	reported = dwfl_report_module(u->dwfl, m->path, m->low, m->high);
	if (reported && dwfl_module_info(reported, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = u;
}

static int begin(struct unwind_server *u)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return -ENOMEM;
	u->dwfl = dwfl;
	dwfl_report_begin(dwfl);
	for (size_t i = 0; i < u->modules->modules.n; i++)
		report(u, &u->modules->modules.v[i]);
	dwfl_report_end(dwfl, NULL, NULL);
	return dwfl_attach_state(dwfl, NULL, (pid_t)u->modules->pid, &thread_callbacks, u) ? 0 : -ENOEXEC;
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
	struct unwind_walk *w = data;
	Dwarf_Addr pc;
	bool activation;

	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	if (pc < 4096)
		return DWARF_CB_ABORT;
	w->frames[w->found] = activation || !w->found ? pc : pc - 1;
	w->found++;
	return w->found < w->max ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static bool take_request(struct reader *in, struct unwind_walk *w, uint64_t *registers)
{
	const char *bytes;
	size_t n;

	w->max = reader_varint(in);
	bytes = str_read_blob(in, &n);
	if (n != UNWIND_REGISTERS * sizeof(uint64_t) || !w->max || w->max > UNWIND_FRAMES_MAX)
		return false;
	memcpy(registers, bytes, n);
	w->registers = registers;
	w->stack = (const uint8_t *)str_read_blob(in, &w->n);
	return !in->bad;
}

void unwind_server_handle(void *data, struct sandbox_request *request, struct str *answer)
{
	struct unwind_server *u = data;
	uint64_t registers[UNWIND_REGISTERS], frames[UNWIND_FRAMES_MAX];
	int r = u->dwfl ? 0 : begin(u);

	u->walk = (struct unwind_walk){.frames = frames};
	if (r < 0 || !take_request(&request->bytes, &u->walk, registers))
		return;
	r = dwfl_getthread_frames(u->dwfl, (pid_t)u->modules->pid, take_frame, &u->walk);
	(void)str_put_varint(answer, r == 0);
	(void)str_put_blob(answer, frames, u->walk.found * sizeof(frames[0]));
	u->walk = (struct unwind_walk){};
}
