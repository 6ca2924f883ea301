/* Control groups: CPU, quota, memory and pressure of each (Documentation/admin-guide/cgroup-v2.rst).
 *
 *   cpu.stat        usage_usec 4123 ... nr_throttled 2 / throttled_usec 51000      (a line each)
 *   memory.current  73728                     memory.max  max
 *   memory.events   low 0 / high 7 / max 3 / oom 1 / oom_kill 1
 *   memory.stat     ... workingset_refault_anon 0 / workingset_refault_file 41 (version 1 has total_... of the group with those in it, too)
 *   cpu.pressure    some avg10=0.00 avg60=0.00 avg300=0.00 total=11
 *
 * Version 1 has a tree for each controller, distinguished by their folder; one group there is the same path in several:
 *
 *   cpuacct/cpuacct.usage  1234567 (ns)       cpu/cpu.stat  nr_throttled 2 / throttled_time 51000000 (ns)
 *   memory/memory.usage_in_bytes 73728        memory/memory.limit_in_bytes  9223372036854771712 (no limit)
 *   memory/memory.failcnt 3                   memory/memory.oom_control  ... oom_kill 1
 *
 * Files stay open. The tree is walked again every 30 samples. Where the root's cgroup.stat counts the groups
 * ("nr_descendants 41", version 2 only) every 60 is enough, and a change of that number brings the next walk forward.
 * The widest are taken first, so that where there are more groups than can be kept the deep ones are left out.
 *
 * Nearly all the cost of a tick is the kernel's work for each read. Of a group that used no CPU nothing else is read but now
 * and then: little can have moved in it. Pressure in a group is pressure on the machine as well, and a group that hits a limit
 * of memory or is robbed of a process waits for memory: where the machine's stood still, those files are not read even then; of
 * CPU and disk else only now and then where it grew by less than LATE since, for the group's cannot have grown by more.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/process/describe.h"
#include "machine/process/entity-set.h"
#include "machine/sample/source.h"
#include "machine/sample/system.h"

#define GROUPS_MAX   200
#define DEPTH_MAX    8
#define WALK_EVERY   30
#define WALK_COUNTED 60
#define WALK_SOONER  5	/* a walk costs as much as many samples: not at every container that starts */
#define QUIET_EVERY  16 /* samples between full looks at a group where nothing happens */
#define LATE	     (50 * NS_PER_MS) /* by so much what is said of a group's pressure may lag, for up to QUIET_EVERY samples */
#define REFAULTS_LEAST 20 /* of the machine: what is fewer slows no group, and the file is a long one */
#define FILES_MAX    9
#define NO_LIMIT     (1ull << 62) /* version 1 writes LONG_MAX, rounded to pages, for none */

/* Version 2 has one; those of version 1. */
enum tree { ONLY = 0, CPUACCT = 0, MEMORY, UNIFIED, CPU, TREES_MAX };

struct group_file {
	enum tree tree;
	const char *name;
	void (*take)(const char *text, struct entity_slot *m, int feature);
	int feature;  /* is nothing for a file that has several */
	int beside;   /* the machine's feature that grows whenever this file changes, and at least as much */
	int64_t late; /* growth of that one below which the file is not read; 0 = it changes without */
	bool is_part; /* it is a part of that one; else it is read at every walk, in case it changed without after all */
};

struct layout {
	struct group_file files[FILES_MAX + 1]; /* the first that a group has, and is read always, tells whether anything happened in it */
	const char *trees[TREES_MAX]; /* folders below /sys/fs/cgroup */
	enum tree limit_tree;
	const char *limit_file;
};

struct group {
	unsigned trees;		   /* those it was seen in, a bit each: elsewhere it has no files */
	int fd[FILES_MAX];	   /* < 0 = not there */
	int64_t beside[FILES_MAX]; /* what the machine's feature was when it was read; -1 = it never was */
};

struct cgroup_source {
	const struct layout *layout;
	char *root;
	struct entity_set groups;
	int root_stat; /* < 0 = not there */
	uint64_t n_groups;
	uint64_t samples, since_walk;
};

static void take_scaled(const char *text, const char *label, struct entity_slot *m, int feature, uint64_t scale)
{
	uint64_t value;

	if (text_find_number(text, label, &value))
		entity_slot_set(m, feature, value * scale);
}

/* Of either version: each has some of these lines. */
static void take_cpu_stat(const char *text, struct entity_slot *m, int feature)
{
	(void)feature;
	take_scaled(text, "usage_usec", m, FEATURE_CG_CPU, 1000);
	take_scaled(text, "nr_throttled", m, FEATURE_CG_THROTTLES, 1);
	take_scaled(text, "throttled_usec", m, FEATURE_CG_THROTTLED, 1000);
	take_scaled(text, "throttled_time", m, FEATURE_CG_THROTTLED, 1);
}

static void take_alone(const char *text, struct entity_slot *m, int feature)
{
	uint64_t value;

	if (text_scan_number(&text, &value))
		entity_slot_set(m, feature, value);
}

/* Version 1's oom_control has the last of these lines. */
static void take_memory_events(const char *text, struct entity_slot *m, int feature)
{
	(void)feature;
	take_scaled(text, "high", m, FEATURE_CG_MEMORY_HIGH, 1);
	take_scaled(text, "max", m, FEATURE_CG_MEMORY_MAX, 1);
	take_scaled(text, "oom_kill", m, FEATURE_CG_OOM_KILLS, 1);
}

/* The sums of version 1 are those that have the groups inside, as version 2 has them. */
static void take_refaults(const char *text, struct entity_slot *m, int feature)
{
	uint64_t anon = 0, file;

	if (text_find_number(text, "total_workingset_refault_file", &file)) {
		(void)text_find_number(text, "total_workingset_refault_anon", &anon);
	} else if (text_find_number(text, "workingset_refault_file", &file)) {
		(void)text_find_number(text, "workingset_refault_anon", &anon);
	} else {
		return;
	}
	entity_slot_set(m, feature, anon + file);
}

static void take_pressure(const char *text, struct entity_slot *m, int feature)
{
	uint64_t ns;

	if (system_psi_total(text, "some", &ns))
		entity_slot_set(m, feature, ns);
}

static const struct layout version_2 = {
	.files = {{ONLY, "cpu.stat", take_cpu_stat, 0},
		  {ONLY, "memory.current", take_alone, FEATURE_CG_MEMORY},
		  {ONLY, "memory.events", take_memory_events, 0, FEATURE_PSI_MEMORY_SOME, 1},
		  {ONLY, "memory.stat", take_refaults, FEATURE_CG_REFAULTS, FEATURE_SYS_REFAULTS, REFAULTS_LEAST, true},
		  {ONLY, "cpu.pressure", take_pressure, FEATURE_CG_PSI_CPU, FEATURE_PSI_CPU_SOME, LATE, true},
		  {ONLY, "io.pressure", take_pressure, FEATURE_CG_PSI_IO, FEATURE_PSI_IO_SOME, LATE, true},
		  {ONLY, "memory.pressure", take_pressure, FEATURE_CG_PSI_MEMORY, FEATURE_PSI_MEMORY_SOME, 1, true}},
	.trees = {[ONLY] = ""},
	.limit_tree = ONLY,
	.limit_file = "memory.max",
};

/* With systemd's "hybrid" layout the unified tree has the pressures of the same groups. */
static const struct layout version_1 = {
	.files = {{CPUACCT, "cpuacct.usage", take_alone, FEATURE_CG_CPU},
		  {MEMORY, "memory.usage_in_bytes", take_alone, FEATURE_CG_MEMORY},
		  {CPU, "cpu.stat", take_cpu_stat, 0},
		  {MEMORY, "memory.failcnt", take_alone, FEATURE_CG_MEMORY_MAX, FEATURE_PSI_MEMORY_SOME, 1},
		  {MEMORY, "memory.oom_control", take_memory_events, 0, FEATURE_PSI_MEMORY_SOME, 1},
		  {MEMORY, "memory.stat", take_refaults, FEATURE_CG_REFAULTS, FEATURE_SYS_REFAULTS, REFAULTS_LEAST, true},
		  {UNIFIED, "cpu.pressure", take_pressure, FEATURE_CG_PSI_CPU, FEATURE_PSI_CPU_SOME, LATE, true},
		  {UNIFIED, "io.pressure", take_pressure, FEATURE_CG_PSI_IO, FEATURE_PSI_IO_SOME, LATE, true},
		  {UNIFIED, "memory.pressure", take_pressure, FEATURE_CG_PSI_MEMORY, FEATURE_PSI_MEMORY_SOME, 1, true}},
	.trees = {[CPUACCT] = "cpuacct", [MEMORY] = "memory", [UNIFIED] = "unified", [CPU] = "cpu"},
	.limit_tree = MEMORY,
	.limit_file = "memory.limit_in_bytes",
};

static void group_release(void *own)
{
	struct group *g = own;

	for (size_t i = 0; i < FILES_MAX; i++)
		if (g->fd[i] >= 0)
			close(g->fd[i]);
	free(g);
}

static struct group *group_new(void)
{
	struct group *g = calloc(1, sizeof(*g));

	for (size_t i = 0; g && i < FILES_MAX; i++)
		g->beside[i] = g->fd[i] = -1;
	return g;
}

/* False where it has no files: in a tree in which it was not seen. */
static bool find_file(const struct cgroup_source *src, const struct entity_slot *m, enum tree tree, const char *name,
		      char *path, size_t size)
{
	const struct group *g = m->own;

	return g->trees >> tree & 1 &&
	       snprintf(path, size, "%s%s/%s", src->layout->trees[tree], m->entity->info.name, name) < (int)size;
}

/* A controller may be switched on for a group at any time: what is not there is tried again at every walk. */
static void open_files(const struct cgroup_source *src, struct entity_slot *m)
{
	struct group *g = m->own;

	for (size_t i = 0; src->layout->files[i].name; i++) {
		const struct group_file *file = &src->layout->files[i];
		char path[PATH_MAX];

		if (!file->is_part)
			g->beside[i] = -1;
		if (g->fd[i] < 0 && find_file(src, m, file->tree, file->name, path, sizeof(path)))
			g->fd[i] = text_attribute_open(src->root, path);
	}
}

static void read_limit(const struct cgroup_source *src, struct entity_slot *m)
{
	char path[PATH_MAX], text[32];
	const char *at = text;
	uint64_t limit;

	m->present &= ~(FEATURE_BIT(FEATURE_CG_MEMORY_LIMIT));
	if (find_file(src, m, src->layout->limit_tree, src->layout->limit_file, path, sizeof(path)) &&
	    text_attribute_take(src->root, path, text, sizeof(text)) == 0 && text_scan_number(&at, &limit) && limit < NO_LIMIT)
		entity_slot_set(m, FEATURE_CG_MEMORY_LIMIT, limit);
}

static void describe(struct entity *e)
{
	char line[PATH_MAX + 8], *unit, *container;

	snprintf(line, sizeof(line), "0::%s\n", e->info.name);
	describe_cgroup(line, &unit, &container);
	entity_describe(e, NULL, NULL, unit, container);
}

static void see_group(struct cgroup_source *src, enum tree tree, const char *path)
{
	bool is_new;
	struct entity_slot *m = entity_set_see(&src->groups, path, strlen(path), &is_new);
	struct group *g = m ? m->own : NULL;

	if (m && is_new) {
		m->own = g = group_new();
		describe(m->entity);
	}
	if (g)
		g->trees |= 1u << tree;
}

/* Paths to look into, in the order they were found. */
struct walk {
	VEC(char *) paths;
	size_t depth_ends; /* where the paths of the current depth end */
};

/* The kernel counts a folder's folders in its links: a leaf need not be opened. Other file systems say 1. */
static bool is_leaf(const char *path)
{
	struct stat s;

	return stat(path, &s) < 0 || s.st_nlink == 2;
}

static void look_into(struct cgroup_source *src, enum tree tree, const char *path, struct walk *walk)
{
	char folder[PATH_MAX];

	if (snprintf(folder, sizeof(folder), "%s/%s%s", src->root, src->layout->trees[tree], path) >= (int)sizeof(folder) ||
	    is_leaf(folder))
		return;
	FOLDER_EACH(entry, opendir(folder)) {
		char *child;

		if (walk->paths.n >= src->groups.max)
			break;
		if (entry.type != DT_DIR || entry.name[0] == '.' || asprintf(&child, "%s/%s", path, entry.name) < 0)
			continue;
		if (VEC_PUSH_OWNER(walk->paths, child, child) < 0)
			break;
		see_group(src, tree, child);
	}
}

/* The root is the machine itself: no group. */
static void walk_tree(struct cgroup_source *src, enum tree tree)
{
	struct walk walk = {};
	size_t next = 0;

	look_into(src, tree, "", &walk);
	for (int depth = 1; depth < DEPTH_MAX; depth++)
		for (walk.depth_ends = walk.paths.n; next < walk.depth_ends; next++)
			look_into(src, tree, walk.paths.v[next], &walk);
	VEC_FREE_EACH(walk.paths, free(*each));
}

static void walk_trees(struct cgroup_source *src)
{
	for (enum tree i = 0; i < TREES_MAX && src->layout->trees[i]; i++)
		walk_tree(src, i);
	for (size_t i = 0; i < src->groups.members.n; i++) {
		struct entity_slot *m = src->groups.members.v[i];

		if (!m->own || !entity_set_saw(&src->groups, m))
			continue;
		open_files(src, m);
		read_limit(src, m);
	}
}

/* Its source was sampled before this one; NULL = it was not. */
static const struct sample *find_machine(const struct tick *tick)
{
	for (size_t i = tick->samples.n; i-- > 0;)
		if (tick->samples.v[i].entity->info.kind == ENTITY_SYSTEM)
			return &tick->samples.v[i];
	return NULL;
}

static bool machine_has(const struct sample *machine, const struct group_file *file)
{
	return file->late && machine && machine->present >> file->beside & 1;
}

static bool has_changed(const struct group_file *file, int64_t when_read, const struct sample *machine, bool all)
{
	return !machine_has(machine, file) || machine->values[file->beside] - when_read >= (all ? 1 : file->late);
}

/* False when the group was removed: the kernel then says ENODEV. */
static bool read_file(const struct group_file *file, size_t i, struct entity_slot *m, const struct sample *machine)
{
	struct group *g = m->own;
	char text[4096];
	int n = text_attribute_read(g->fd[i], text, sizeof(text));

	if (n > 0)
		file->take(text, m, file->feature);
	if (machine_has(machine, file))
		g->beside[i] = machine->values[file->beside];
	return n != -ENODEV;
}

static bool read_group(const struct cgroup_source *src, struct entity_slot *m, const struct sample *machine, bool all)
{
	const struct group *g = m->own;
	int64_t cpu = m->values[FEATURE_CG_CPU], memory = m->values[FEATURE_CG_MEMORY];
	bool looked = false;

	for (size_t i = 0; g && src->layout->files[i].name; i++) {
		const struct group_file *file = &src->layout->files[i];

		if (g->fd[i] < 0)
			continue;
		if (looked && !all && m->values[FEATURE_CG_CPU] == cpu && m->values[FEATURE_CG_MEMORY] == memory)
			break;
		if (!has_changed(file, g->beside[i], machine, all))
			continue;
		if (!read_file(file, i, m, machine))
			return false;
		m->same = false;
		looked |= !file->late;
	}
	return g;
}

static bool number_of_groups_changed(struct cgroup_source *src)
{
	char text[256];
	uint64_t n, before = src->n_groups;

	if (src->root_stat < 0 || text_attribute_read(src->root_stat, text, sizeof(text)) <= 0 ||
	    !text_find_number(text, "nr_descendants", &n))
		return false;
	src->n_groups = n;
	return n != before;
}

static bool must_walk(struct cgroup_source *src)
{
	unsigned every = src->root_stat >= 0 ? WALK_COUNTED : WALK_EVERY;

	if (src->samples++ == 0 || ++src->since_walk >= every ||
	    (src->since_walk >= WALK_SOONER && number_of_groups_changed(src))) {
		src->since_walk = 0;
		return true;
	}
	return false;
}

static void cgroup_sample(void *state, struct tick *tick)
{
	struct cgroup_source *src = state;
	bool walked = must_walk(src);
	const struct sample *machine = find_machine(tick);

	entity_set_begin(&src->groups);
	if (walked)
		walk_trees(src);
	for (size_t i = 0; i < src->groups.members.n; i++) {
		struct entity_slot *m = src->groups.members.v[i];
		bool was_found = !walked || entity_set_saw(&src->groups, m);
		bool full_look = walked || (src->samples + i) % QUIET_EVERY == 0;

		entity_set_fetch(&src->groups, i);
		m->same = !walked;
		m->sample = was_found && read_group(src, m, machine, full_look) ? src->groups.sample : 0;
	}
	entity_set_put(&src->groups, tick);
}

static void cgroup_close(void *state)
{
	struct cgroup_source *src = state;

	entity_set_free(&src->groups);
	if (src->root_stat >= 0)
		close(src->root_stat);
	FREE_ALL(src->root, src);
}

/* Half of the descriptors this process may have are left to others. */
static size_t most_groups(void)
{
	struct rlimit files;
	rlim_t most = GROUPS_MAX;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 / FILES_MAX < most)
		most = files.rlim_cur / 2 / FILES_MAX;
	return (size_t)most;
}

static const struct layout *find_layout(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	if (access(path, F_OK) == 0)
		return &version_2;
	for (enum tree i = 0; i < TREES_MAX && version_1.trees[i]; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, version_1.trees[i]);
		if (access(path, F_OK) == 0)
			return &version_1;
	}
	return NULL;
}

static int cgroup_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct cgroup_source *src = calloc(1, sizeof(*src));

	if (!src || asprintf(&src->root, "%s/fs/cgroup", options->sys_root) < 0) {
		free(src);
		return -ENOMEM;
	}
	src->groups = (struct entity_set){.kind = ENTITY_CGROUP, .max = most_groups(), .release = group_release};
	src->layout = find_layout(src->root);
	src->root_stat = text_attribute_open(src->root, "cgroup.stat");
	(void)number_of_groups_changed(src);
	if (!src->layout) {
		cgroup_close(src);
		*ret_why = "no control groups: mount them at /sys/fs/cgroup to see containers and services";
		return -EOPNOTSUPP;
	}
	*ret_state = src;
	return 0;
}

const struct source source_cgroup = {
	.name = "cgroup",
	.help = "CPU, quota, memory and pressure of control groups",
	.open = cgroup_open,
	.sample = cgroup_sample,
	.close = cgroup_close,
};
