#include "symbol/unwind.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The one stack being walked: libdwfl asks for it in pieces. */
struct walk {
	const uint64_t *registers;
	const uint8_t *stack;
	size_t n;
	uint64_t *frames;
	size_t max, found;
};

struct unwinder {
	Dwfl *dwfl;
	const struct modules *modules;
	bool attached;
	struct walk walk;
};

static pid_t next_thread(Dwfl *dwfl, void *dwfl_arg, void **thread_arg)
{
	struct unwinder *u = dwfl_arg;

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
	const struct walk *w = &((struct unwinder *)dwfl_arg)->walk;
	uint64_t at = address - w->registers[UNWIND_SP];

	(void)dwfl;
	if (address < w->registers[UNWIND_SP] || at > w->n || w->n - at < sizeof(*ret))
		return false;
	memcpy(ret, w->stack + at, sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *thread_arg)
{
	const struct walk *w = &((struct unwinder *)thread_arg)->walk;
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

/* Called when the walk first meets a module. */
static int find_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base, char **file,
		    Elf **elf)
{
	struct unwinder *u = *userdata;
	int fd;

	(void)dwfl_module, (void)name;
	for (size_t i = 0; i < u->modules->modules.n; i++) {
		const struct module *m = &u->modules->modules.v[i];

		if (m->low != base)
			continue;
		if (m->kind == MODULE_VDSO)
			return open_vdso(m, elf);
		fd = modules_open(u->modules, m);
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

static void report(struct unwinder *u, const struct module *m)
{
	Dwfl_Module *reported;
	void **userdata;

	if (m->kind == MODULE_MEMORY)
		return;
	reported = dwfl_report_module(u->dwfl, m->path, m->low, m->high);
	if (reported && dwfl_module_info(reported, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = u;
}

int unwinder_new(const struct modules *modules, struct unwinder **ret)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->modules = modules;
	u->dwfl = dwfl_begin(&callbacks);
	if (!u->dwfl) {
		free(u);
		return -ENOMEM;
	}
	dwfl_report_begin(u->dwfl);
	for (size_t i = 0; i < modules->modules.n; i++)
		report(u, &modules->modules.v[i]);
	dwfl_report_end(u->dwfl, NULL, NULL);
	if (!dwfl_attach_state(u->dwfl, NULL, (pid_t)modules->pid, &thread_callbacks, u)) {
		unwinder_free(u);
		return -ENOEXEC;
	}
	*ret = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	dwfl_end(u->dwfl);
	free(u);
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
	struct walk *w = data;
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

size_t unwind(struct unwinder *u, const uint64_t registers[UNWIND_REGISTERS], const void *stack, size_t n,
	      uint64_t *ret, size_t max, bool *ret_complete)
{
	int r;

	u->walk = (struct walk){registers, stack, n, ret, max, 0};
	r = dwfl_getthread_frames(u->dwfl, (pid_t)u->modules->pid, take_frame, &u->walk);
	if (!u->walk.found) {
		ret[0] = registers[UNWIND_PC];
		u->walk.found = 1;
	}
	*ret_complete = r == 0;
	return u->walk.found;
}
