#include "machine/symbol/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/rights/outside.h"

#define ENTRIES_MAX 2000000 /* of 40 bytes; the largest Java programs have some 100,000 */
#define TEXT_MAX    ((size_t)128 << 20)
#define LINE_MAX_LEN 4096 /* what a longer line has beyond it is left out: signatures of methods take a few hundred */

struct entry {
	uint64_t address, size;
	uint32_t number; /* of its line: code that moved is listed again */
	uint32_t name;
	uint64_t reach; /* the highest end of this and all entries before it */
};

struct jit_map {
	VEC(struct entry) entries;
	struct str text;
};

void jit_map_free(struct jit_map *m)
{
	if (!m)
		return;
	VEC_FREE(m->entries);
	str_free(&m->text);
	free(m);
}

static void read_line(struct jit_map *m, char *line)
{
	struct entry e = {.number = (uint32_t)m->entries.n, .name = (uint32_t)m->text.len};
	int used = 0;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &e.address, &e.size, &used) < 2 || !used ||
	    !line[used] || e.address + e.size < e.address)
		return;
	str_make_printable(line + used);
	if (str_append(&m->text, line + used, strlen(line + used) + 1) == 0)
		(void)VEC_PUSH(m->entries, e);
}

/* Into line[LINE_MAX_LEN], without its end. False at the end of the file, and beyond `left` bytes of it. */
static bool next_line(FILE *f, char *line, size_t *left)
{
	size_t n = 0;
	int c = EOF;

	while (*left && (c = getc_unlocked(f)) != EOF && c != '\n') {
		(*left)--;
		if (n < LINE_MAX_LEN - 1)
			line[n++] = (char)c;
	}
	if (c == '\n')
		(*left)--;
	line[n] = '\0';
	return n || c == '\n';
}

ORDER(by_address, struct entry, ASCENDING(address) ?: ASCENDING(number))

int jit_map_parse(FILE *f, struct jit_map **ret)
{
	struct jit_map *m = calloc(1, sizeof(*m));
	size_t left = JIT_MAP_MAX;
	char line[LINE_MAX_LEN];
	uint64_t reach = 0;

	if (!m)
		return -ENOMEM;
	m->text.max = TEXT_MAX;
	while (m->entries.n < ENTRIES_MAX && next_line(f, line, &left))
		read_line(m, line);
	VEC_SORT(m->entries, by_address);
	VEC_EACH(e, m->entries) {
		if (e->address + e->size > reach)
			reach = e->address + e->size;
		e->reach = reach;
	}
	*ret = m;
	return 0;
}

static bool trusted(const struct modules *process, int fd)
{
	struct stat map, owner;

	return fstat(fd, &map) == 0 && stat(process->folder, &owner) == 0 &&
	       (map.st_uid == owner.st_uid || map.st_uid == 0);
}

int jit_map_open(const struct modules *process)
{
	_cleanup_free_ char *root = NULL, *path = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&root, "%s/root", process->folder) < 0 ||
	    asprintf(&path, "/tmp/perf-%u.map", process->inner_pid) < 0)
		return -ENOMEM;
	fd = outside_open_below(root, path);
	if (fd < 0)
		return fd;
	return trusted(process, fd) ? TAKE_FD(fd) : -EPERM;
}

const char *jit_map_find(const struct jit_map *m, uint64_t address, uint64_t *ret_offset)
{
	const struct entry *best = NULL;
	size_t low = FIRST_WHERE(i, m->entries.n, m->entries.v[i].address > address);

	while (low-- > 0 && m->entries.v[low].reach > address) {
		const struct entry *e = &m->entries.v[low];

		if (address - e->address < e->size && (!best || e->number > best->number))
			best = e;
	}
	if (!best)
		return NULL;
	*ret_offset = address - best->address;
	return m->text.data + best->name;
}
