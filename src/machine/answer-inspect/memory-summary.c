#include "machine/answer-inspect/memory-summary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"

#define MAPPINGS_MAX 65536 /* more than the kernel allows by default (vm.max_map_count) are not read */

static struct inspected_memory *find(struct inspection *n, struct hmap *known, const char *name)
{
	const uint64_t hash = hmap_hash_text(name);
	uintptr_t index = (uintptr_t)hmap_get(known, hash, strlen(name));
	struct inspected_memory fresh = {};

	if (index)
		return &n->memory.v[index - 1];
	fresh.name = strdup(name);
	if (VEC_PUSH_OWNER(n->memory, fresh.name, fresh) < 0)
		return NULL;
	return hmap_put(known, hash, strlen(name), (void *)(uintptr_t)n->memory.n) < 0 ? NULL : &n->memory.v[n->memory.n - 1];
}

/* "7f2a...-7f2a... rw-p 00000000 00:00 0    [heap]": the name, without a program's own number of an anonymous area. */
static const char *name_of(char *line)
{
	char *name = line;

	for (int field = 0; field < 5; field++) {
		name += strcspn(name, " ");
		name += strspn(name, " ");
	}
	name[strcspn(name, "\n")] = '\0';
	return *name ? name : "anonymous";
}

/* "Rss:                 12 kB" */
static void add_line(struct inspected_memory *m, const char *line)
{
	static const struct {
		const char *word;
		size_t offset;
	} words[] = {{"Size", offsetof(struct inspected_memory, size)},
		     {"Rss", offsetof(struct inspected_memory, resident)},
		     {"Anonymous", offsetof(struct inspected_memory, anonymous)},
		     {"Swap", offsetof(struct inspected_memory, swapped)}};
	const size_t n = strcspn(line, ":");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == n && strncmp(line, words[i].word, n) == 0)
			*(uint64_t *)((char *)m + words[i].offset) += strtoull(line + n + 1, NULL, 10) << 10;
}

static int largest_first(const void *a, const void *b)
{
	const struct inspected_memory *x = a, *y = b;
	const uint64_t left = x->resident + x->swapped, right = y->resident + y->swapped;

	return left > right ? -1 : left < right;
}

/* Those behind the first ones become one. */
static void sum_up(struct inspection *n)
{
	struct inspected_memory *rest = &n->memory.v[MEMORY_KINDS_SHOWN];
	char *name;

	if (n->memory.n <= MEMORY_KINDS_SHOWN + 1 || asprintf(&name, "%zu others", n->memory.n - MEMORY_KINDS_SHOWN) < 0)
		return;
	free(rest->name);
	rest->name = name;
	while (n->memory.n > MEMORY_KINDS_SHOWN + 1) {
		struct inspected_memory *last = &n->memory.v[--n->memory.n];

		rest->mappings += last->mappings;
		rest->size += last->size;
		rest->resident += last->resident;
		rest->anonymous += last->anonymous;
		rest->swapped += last->swapped;
		free(last->name);
	}
}

int memory_summary_read(const char *proc_root, uint32_t pid, struct inspection *n)
{
	_cleanup_(hmap_free) struct hmap known = {};
	struct inspected_memory *m = NULL;
	size_t mappings = 0;
	FILE *f = fopen(STR_TEXT(PATH_MAX, "%s/%u/smaps", proc_root, pid), "re");

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	LINES_EACH(line, f) {
		if (mappings > MAPPINGS_MAX)
			break;
		if (line.text[strspn(line.text, "0123456789abcdef")] == '-') {
			m = find(n, &known, name_of(line.text));
			if (!m)
				return -ENOMEM;
			m->mappings++;
			mappings++;
		} else if (m) {
			add_line(m, line.text);
		}
	}
	if (n->memory.n)
		qsort(n->memory.v, n->memory.n, sizeof(*n->memory.v), largest_first);
	sum_up(n);
	return 0;
}
