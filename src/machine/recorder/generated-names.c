#include "machine/recorder/generated-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/system/helper-thread.h"
#include "machine/symbol/symbolize.h"

#define PATIENCE (3 * NS_PER_SEC)

/* A question, with all that it needs: its thread may be left behind with it. */
struct asking {
	struct symbolizer *symbolizer;
	struct modules process; /* as much of it as has the address */
	uint64_t address;
	char *name; /* NULL = none */
};

static void ask(void *data)
{
	struct asking *a = data;
	struct symbol symbol;

	if (symbolize_process(a->symbolizer, &a->process, a->address, &symbol, 1) == 1 && symbol.name)
		a->name = strndup(symbol.name, GENERATED_NAME_SIZE - 1);
}

static void free_asking(struct asking *a)
{
	modules_free(&a->process);
	FREE_ALL(a->name, a);
}

static void release(void *data)
{
	struct asking *a = data;

	symbolizer_free(a->symbolizer);
	free_asking(a);
}

static int copy_process(const struct modules *from, const struct mapping *code, struct modules *to)
{
	const struct mapping alone = {code->start, code->end, code->offset, 0};
	struct module module = {.kind = MODULE_MEMORY, .path = strdup("[anon]")};

	to->pid = from->pid;
	to->inner_pid = from->inner_pid;
	to->folder = strdup(from->folder);
	if (VEC_PUSH_OWNER(to->modules, module.path, module) < 0)
		return -ENOMEM;
	return to->folder && VEC_PUSH(to->code, alone) == 0 ? 0 : -ENOMEM;
}

static struct asking *new_asking(struct generated_names *g, const struct modules *process, const struct mapping *code, uint64_t address)
{
	const struct symbolizer_options options = {.root = "", .proc_root = "/proc"};
	struct asking *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->address = address;
	if (copy_process(process, code, &a->process) < 0 || (!g->symbolizer && symbolizer_new(&options, &g->symbolizer) < 0)) {
		free_asking(a);
		return NULL;
	}
	a->symbolizer = g->symbolizer;
	return a;
}

bool generated_name(struct generated_names *g, const struct modules *process, const struct mapping *code, uint64_t address,
		    char name[static GENERATED_NAME_SIZE])
{
	struct asking *a;
	bool found;
	int r;

	if (g->given_up || hmap_get(&g->nameless, address, process->pid))
		return false;
	a = new_asking(g, process, code, address);
	if (!a)
		return false;
	r = helper_do(g->helper, ask, release, a, PATIENCE);
	if (r == -ETIMEDOUT) {
		g->symbolizer = NULL; /* the thread's */
		g->given_up = true;
		return false;
	}
	found = r == 0 && a->name;
	if (found) {
		strcpy(name, a->name); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): cut off to its size by ask() */
		str_make_printable(name);
	} else {
		(void)hmap_put(&g->nameless, address, process->pid, g);
	}
	free_asking(a);
	return found;
}

void generated_names_rest(struct generated_names *g)
{
	symbolizer_free(g->symbolizer);
	hmap_free(&g->nameless);
	*g = (struct generated_names){.helper = g->helper};
}
