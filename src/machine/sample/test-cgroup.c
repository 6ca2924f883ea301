#include "machine/sample/test-tree.h"

#include "lib/data/cleanup.h"

#define MS    1000000ll
#define NGINX "/system.slice/nginx.service"

static const struct expected version_2[] = {
	{NGINX, "cgroup.cpu", 1000 * MS, 1400 * MS},
	{NGINX, "cgroup.throttles", 5, 25},
	{NGINX, "cgroup.throttled", 70 * MS, 870 * MS},
	{NGINX, "cgroup.memory", 73728, 134213632},
	{NGINX, "cgroup.memory_limit", 134217728, 134217728},
	{NGINX, "cgroup.memory_high", 7, 57},
	{NGINX, "cgroup.memory_max", 3, 33},
	{NGINX, "cgroup.oom_kills", 0, 1},
	{NGINX, "cgroup.refaults", 12, 5012},
	{NGINX, "cgroup.psi_cpu", 4 * MS, 904 * MS},
	{NGINX, "cgroup.psi_io", 5 * MS, 405 * MS},
	{NGINX, "cgroup.psi_memory", 6 * MS, 706 * MS},
	{"/system.slice", "cgroup.cpu", 9000 * MS, 9500 * MS},
};

static const struct expected version_1[] = {
	{"/docker", "cgroup.cpu", 5000000, 5700000},
	{"/docker", "cgroup.throttles", 2, 3},
	{"/docker", "cgroup.throttled", 9000000, 9040000},
	{"/docker", "cgroup.memory", 65536, 131072},
	{"/docker", "cgroup.memory_limit", 1048576, 1048576},
	{"/docker", "cgroup.memory_max", 0, 12},
	{"/docker", "cgroup.oom_kills", 0, 1},
	{"/docker", "cgroup.refaults", 11, 5011},
	{"/docker", "cgroup.psi_io", 50000, 51000},
};

static void groups_of_version_2_are_measured(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	check_first(&t, ENTITY_CGROUP, version_2, ARRAY_SIZE(version_2));
	check_missing(&t, ENTITY_CGROUP, "/system.slice", "cgroup.memory_limit");
	assert_int_equal(count_of(&t, ENTITY_CGROUP), 8);
	tree_copy(&t, "second");
	tree_sample(&t);
	check_second(&t, ENTITY_CGROUP, version_2, ARRAY_SIZE(version_2));
	tree_free(&t);
}

static void groups_know_their_unit(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	assert_string_equal(sample_of(&t, ENTITY_CGROUP, NGINX)->entity->info.unit, "nginx.service");
	tree_free(&t);
}

static void groups_of_version_1_are_joined_from_several_trees(void **state)
{
	struct tree t = tree_new("server");

	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	check_first(&t, ENTITY_CGROUP, version_1, ARRAY_SIZE(version_1));
	check_value(&t, ENTITY_CGROUP, "/other", "cgroup.memory", 8192);
	check_missing(&t, ENTITY_CGROUP, "/other", "cgroup.memory_limit");
	check_missing(&t, ENTITY_CGROUP, "/other", "cgroup.cpu");
	assert_int_equal(count_of(&t, ENTITY_CGROUP), 2);
	tree_copy(&t, "second");
	tree_sample(&t);
	check_second(&t, ENTITY_CGROUP, version_1, ARRAY_SIZE(version_1));
	tree_free(&t);
}

static void a_quiet_groups_pressure_is_seen_within_sixteen_samples(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	tree_copy(&t, "second");
	for (int i = 0; i < 16; i++)
		tree_sample(&t);
	check_value(&t, ENTITY_CGROUP, "/init.scope", "cgroup.psi_io", 2000002000);
	tree_free(&t);
}

/* Next to the machine's own sample, which comes before it. */
static void sample_beside(struct tree *t, struct entity *machine, const int64_t *values)
{
	tick_begin(&t->tick, t->tick.boot + NS_PER_SEC, 1790000000 * NS_PER_SEC);
	tick_put(&t->tick, machine, values, FEATURE_BIT(FEATURE_PSI_CPU_SOME) | FEATURE_BIT(FEATURE_PSI_IO_SOME) | FEATURE_BIT(FEATURE_PSI_MEMORY_SOME));
	t->source->sample(t->state, &t->tick);
}

static void a_busy_groups_pressure_is_read_where_the_machines_has_grown(void **state)
{
	struct tree t = tree_new("laptop");
	struct entity *machine = entity_new(ENTITY_SYSTEM, "machine");
	int64_t values[SYSTEM_FEATURE_COUNT] = {[FEATURE_PSI_CPU_SOME] = 5 * MS, [FEATURE_PSI_IO_SOME] = 6 * MS};

	tree_open_source(&t, source_named("cgroup"));
	sample_beside(&t, machine, values);
	values[FEATURE_PSI_IO_SOME] += 25 * MS; /* enough together with the next */
	sample_beside(&t, machine, values);
	tree_copy(&t, "second");
	values[FEATURE_PSI_IO_SOME] += 25 * MS;
	values[FEATURE_PSI_CPU_SOME] += 49 * MS; /* too little to be read for */
	sample_beside(&t, machine, values);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.memory", 134213632);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.psi_io", 405 * MS);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.psi_cpu", 4 * MS);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.psi_memory", 6 * MS);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.memory_max", 3);
	for (int i = 0; i < 16; i++) /* in the end all is read next to which the machine's has grown at all */
		sample_beside(&t, machine, values);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.psi_cpu", 904 * MS);
	check_value(&t, ENTITY_CGROUP, NGINX, "cgroup.psi_memory", 6 * MS);
	values[FEATURE_PSI_MEMORY_SOME] += 1;
	for (int i = 0; i < 16; i++)
		sample_beside(&t, machine, values);
	check_second(&t, ENTITY_CGROUP, version_2, ARRAY_SIZE(version_2));
	tree_free(&t);
	entity_free(machine);
}

static void groups_come_and_go_with_a_walk(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	for (size_t i = 0; i < t.tick.samples.n; i++)
		t.tick.samples.v[i].entity->info.id = (uint32_t)i + 1;
	tree_remove(&t, "sys/fs/cgroup/init.scope");
	assert_int_equal(mkdir(strcat(strcpy((char[200]){}, t.sys), "/fs/cgroup/new.slice"), 0755), 0);
	tree_write(&t, "sys/fs/cgroup/new.slice/memory.current", "4096\n");
	for (int i = 0; i < 30; i++)
		tree_sample(&t);
	assert_null(sample_of(&t, ENTITY_CGROUP, "/init.scope"));
	assert_int_equal(t.tick.ended.n, 1);
	check_value(&t, ENTITY_CGROUP, "/new.slice", "cgroup.memory", 4096);
	tree_free(&t);
}

static void a_new_group_is_found_sooner_where_the_kernel_counts_them(void **state)
{
	struct tree t = tree_new("laptop");

	tree_write(&t, "sys/fs/cgroup/cgroup.stat", "nr_descendants 8\nnr_dying_descendants 2\n");
	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	assert_int_equal(mkdir(strcat(strcpy((char[200]){}, t.sys), "/fs/cgroup/new.slice"), 0755), 0);
	tree_write(&t, "sys/fs/cgroup/new.slice/memory.current", "4096\n");
	tree_write(&t, "sys/fs/cgroup/cgroup.stat", "nr_descendants 9\nnr_dying_descendants 2\n");
	for (int i = 0; i < 5; i++)
		tree_sample(&t);
	check_value(&t, ENTITY_CGROUP, "/new.slice", "cgroup.memory", 4096);
	tree_free(&t);
}

static void more_groups_than_can_be_kept_are_bounded(void **state)
{
	struct tree t = tree_new("laptop");

	for (int i = 0; i < 250; i++) {
		char path[200];

		snprintf(path, sizeof(path), "%s/fs/cgroup/system.slice/s%d.service", t.sys, i);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	tree_open_source(&t, source_named("cgroup"));
	tree_sample(&t);
	assert_true(count_of(&t, ENTITY_CGROUP) <= 200);
	assert_non_null(sample_of(&t, ENTITY_CGROUP, "/user.slice")); /* the widest first */
	tree_free(&t);
}

RUN_TESTS(cmocka_unit_test(groups_of_version_2_are_measured), cmocka_unit_test(groups_know_their_unit),
	  cmocka_unit_test(groups_of_version_1_are_joined_from_several_trees),
	  cmocka_unit_test(a_quiet_groups_pressure_is_seen_within_sixteen_samples),
	  cmocka_unit_test(a_busy_groups_pressure_is_read_where_the_machines_has_grown),
	  cmocka_unit_test(groups_come_and_go_with_a_walk),
	  cmocka_unit_test(a_new_group_is_found_sooner_where_the_kernel_counts_them),
	  cmocka_unit_test(more_groups_than_can_be_kept_are_bounded))
