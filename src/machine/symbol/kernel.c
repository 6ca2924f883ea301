#include "machine/symbol/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/file.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define SYMBOLS_MAX 2000000
#define REACH_MAX   (1 << 20) /* no function is longer: beyond it an address is in no known code */

struct kernel_symbol {
	uint64_t address;
	uint32_t name, module; /* where in `text`; module 0 = the kernel itself */
};

struct kernel_symbols {
	VEC(struct kernel_symbol) symbols;
	struct str text;
	uint32_t last_module;
};

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	VEC_FREE(k->symbols);
	str_free(&k->text);
	free(k);
}

static uint32_t keep(struct kernel_symbols *k, const char *text)
{
	size_t at = k->text.len;

	str_append(&k->text, text, strlen(text) + 1);
	return (uint32_t)at;
}

/* Modules are listed one after the other. */
static uint32_t keep_module(struct kernel_symbols *k, const char *name)
{
	if (!k->last_module || strcmp(k->text.data + k->last_module, name) != 0)
		k->last_module = keep(k, name);
	return k->last_module;
}

static int read_line(struct kernel_symbols *k, char *line)
{
	struct kernel_symbol s = {};
	char name[512], module[128], type;
	int n = sscanf(line, "%" SCNx64 " %c %511s [%127[^]]]", &s.address, &type, name, module);

	if (n < 3)
		return -EBADMSG;
	if (!strchr("tTwW", type) || !s.address)
		return 0;
	s.name = keep(k, name);
	if (n == 4)
		s.module = keep_module(k, module);
	return k->symbols.n < SYMBOLS_MAX ? VEC_PUSH(k->symbols, s) : -E2BIG;
}

ORDER(by_address, struct kernel_symbol, ASCENDING(address))

/* Frees what was allocated for more to come: recorders keep the rest. */
static void give_back(struct kernel_symbols *k)
{
	char *text = realloc(k->text.data, k->text.len + 1);
	void *symbols = realloc(k->symbols.v, k->symbols.n * sizeof(*k->symbols.v));

	if (text) {
		k->text.data = text;
		k->text.allocated = k->text.len + 1;
	}
	if (symbols) {
		k->symbols.v = symbols;
		k->symbols.allocated = k->symbols.n;
	}
}

static int read_all(struct kernel_symbols *k, FILE *f)
{
	bool any = false;
	int r = 0;

	str_append(&k->text, "kernel", sizeof("kernel"));
	LINES_EACH(line, f) {
		any = true;
		r = read_line(k, line.text);
		if (r < 0)
			break;
	}
	r = r ?: k->text.error;
	if (r == 0 && !k->symbols.n)
		r = any ? -EACCES : -EBADMSG;
	if (r < 0)
		return r;
	VEC_SORT(k->symbols, by_address);
	give_back(k);
	return 0;
}

int kernel_symbols_read(const char *proc_root, struct kernel_symbols **ret)
{
	struct kernel_symbols *k = calloc(1, sizeof(*k));
	FILE *f = k ? fopen(STR_TEXT(PATH_MAX, "%s/kallsyms", proc_root), "re") : NULL;
	int r = f ? read_all(k, f) : -errno;

	if (r < 0) {
		kernel_symbols_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t address, uint64_t *ret_offset,
				const char **ret_module)
{
	size_t after = FIRST_WHERE(i, k->symbols.n, k->symbols.v[i].address > address);
	const struct kernel_symbol *s;

	if (!after)
		return NULL;
	s = &k->symbols.v[after - 1];
	while (s > k->symbols.v && s[-1].address == s->address)
		s--;
	if (address - s->address >= REACH_MAX)
		return NULL;
	*ret_offset = address - s->address;
	*ret_module = k->text.data + s->module;
	return k->text.data + s->name;
}
