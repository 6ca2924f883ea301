/* test-other-kernels OBJECT...: each BPF program loads where a kernel built in another way lacks a member that the program reads. The types
 * that libbpf adapts the programs to are those of this kernel without that member. Needs root and BTF; skipped without. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

#define SKIPPED	    77
#define MAP_ENTRIES 64 /* of maps that the loader sizes by what the machine has */

static const struct absent {
	const char *type, *member, *where;
} absents[] = {
	{"rw_semaphore", "owner", "PREEMPT_RT"},
	{"task_struct", "blocked_on", "without CONFIG_DEBUG_MUTEXES, before 6.17"},
};

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN && getenv("LOUD") ? vfprintf(stderr, format, args) : 0;
}

/* libbpf has no call that renames a member: its struct is written to in place. */
static bool rename_member(struct btf *types, const struct absent *a)
{
	int id = btf__find_by_name_kind(types, a->type, BTF_KIND_STRUCT), name = btf__add_str(types, "absent_here");
	const struct btf_type *t = id < 0 || name < 0 ? NULL : btf__type_by_id(types, (unsigned)id);
	struct btf_member *m = t ? btf_members(t) : NULL;

	for (unsigned i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(types, m[i].name_off), a->member) == 0) {
			m[i].name_off = (unsigned)name;
			return true;
		}
	return false;
}

/* The types of a kernel without the member, as a file; NULL = this kernel has none either. */
static char *types_without(const struct absent *a)
{
	struct btf *types = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	_cleanup_close_ int fd = -1;
	char *path = NULL;
	unsigned size = 0;
	const void *data;

	if (types && rename_member(types, a) && (data = btf__raw_data(types, &size)) && (path = strdup("/tmp/whyslow-types-XXXXXX")) &&
	    ((fd = mkstemp(path)) < 0 || write(fd, data, size) != (ssize_t)size)) {
		free(path);
		path = NULL;
	}
	btf__free(types);
	return path;
}

/* The programs size some maps when they are opened. */
static void size_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (!bpf_map__max_entries(map) && bpf_map__type(map) != BPF_MAP_TYPE_TASK_STORAGE)
			bpf_map__set_max_entries(map, MAP_ENTRIES);
}

static int load(const char *file, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types);
	struct bpf_object *object = bpf_object__open_file(file, &options);
	int r;

	if (!object)
		return -errno;
	size_maps(object);
	r = bpf_object__load(object);
	bpf_object__close(object);
	return r;
}

static bool loads_without(const struct absent *a, char *const *files, const bool *loads, int n)
{
	char *types = types_without(a);
	bool good = true;

	for (int i = 0; types && i < n; i++) {
		int r = loads[i] ? load(files[i], types) : 0;

		if (r < 0)
			printf("%s does not load without %s.%s (%s): %s\n", files[i], a->type, a->member, a->where, strerror(-r));
		good = good && r == 0;
	}
	if (types)
		unlink(types);
	free(types);
	return good;
}

int main(int argc, char **argv)
{
	bool *loads = calloc((size_t)argc, sizeof(*loads)), good = true, any = false;

	libbpf_set_print(silent);
	for (int i = 1; i < argc; i++) {
		loads[i - 1] = load(argv[i], NULL) == 0;
		any = any || loads[i - 1];
		printf("%s %s\n", argv[i], loads[i - 1] ? "loads" : "does not load here");
	}
	for (size_t i = 0; any && i < ARRAY_SIZE(absents); i++)
		good = loads_without(&absents[i], argv + 1, loads, argc - 1) && good;
	free(loads);
	return !any ? SKIPPED : good ? 0 : 1;
}
