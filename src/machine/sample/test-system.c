#include "machine/sample/test-tree.h"

#include "lib/data/cleanup.h"

#define M     "machine"
#define KB(n) ((n)*1024ll)
#define MS    1000000ll

static const struct expected machine[] = {
	{M, "psi.cpu.some", 5000 * MS, 5900 * MS},
	{M, "psi.io.some", 7000 * MS, 7800 * MS},
	{M, "psi.io.full", 6000 * MS, 6500 * MS},
	{M, "psi.memory.some", 800 * MS, 1600 * MS},
	{M, "psi.memory.full", 700 * MS, 1400 * MS},
	{M, "psi.irq.full", 30 * MS, 31 * MS},
	{M, "tasks.runnable", 3, 7},
	{M, "tasks.blocked", 1, 4},
	{M, "tasks.forks", 88012, 88052},
	{M, "tasks.switches", 30123456, 30173456},
	{M, "tasks.interrupts", 9812345, 9822345},
	{M, "memory.total", KB(16116016), KB(16116016)},
	{M, "memory.free", KB(2204012), KB(204012)},
	{M, "memory.available", KB(9100444), KB(1100444)},
	{M, "memory.cached", KB(301220 + 5210044), KB(301220 + 5210044)},
	{M, "memory.dirty", KB(2204), KB(882204)},
	{M, "memory.writeback", 0, KB(40960)},
	{M, "memory.anon", KB(4620108), KB(4620108)},
	{M, "memory.slab", KB(511044), KB(511044)},
	{M, "swap.total", KB(8388604), KB(8388604)},
	{M, "swap.free", KB(8300204), KB(8100204)},
	{M, "swap.in", 1200, 3200},
	{M, "swap.out", 4100, 54100},
	{M, "disk.page_in", KB(5000000), KB(5040000)},
	{M, "disk.page_out", KB(3000000), KB(3000100)},
	{M, "memory.faults_major", 9012, 9112},
	{M, "reclaim.scan_kswapd", 850000, 950000},
	{M, "reclaim.scan_direct", 50300, 90300},
	{M, "reclaim.freed", 840000, 859000},
	{M, "reclaim.stalls", 321, 366},
	{M, "reclaim.refaults", 2100, 9600},
	{M, "memory.oom_kills", 0, 1},
	{M, "tcp.retransmits", 310, 360},
	{M, "tcp.segments_out", 600200, 601200},
	{M, "tcp.connects", 5000, 5020},
};

static const struct expected cpus[] = {
	{"cpu0", "core.user", 402100 * MS, 403100 * MS}, {"cpu0", "core.nice", 1200 * MS, 1200 * MS},
	{"cpu0", "core.system", 93210 * MS, 93310 * MS}, {"cpu0", "core.idle", 8010020 * MS, 8010020 * MS},
	{"cpu0", "core.iowait", 3310 * MS, 3330 * MS},	 {"cpu0", "core.irq", 12010 * MS, 12030 * MS},
	{"cpu0", "core.softirq", 8820 * MS, 8870 * MS},	 {"cpu1", "core.steal", 0, 30 * MS},
	{"cpu2", "core.nice", 3010 * MS, 3110 * MS},	 {"cpu3", "core.idle", 8030040 * MS, 8031030 * MS},
};

static const struct expected clocks[] = {
	{"cpu0", "core.frequency", 800000000, 3600000000},
	{"cpu1", "core.frequency", 800000000, 2400000000},
	{"cpu2", "core.frequency", 1200000000, 1200000000},
	{"cpu1", "core.throttles", 2, 7},
};

static const struct expected interrupts[] = {
	{"hardirq", "cpu.time", 38910 * MS, 38930 * MS},
	{"softirq", "cpu.time", 20210 * MS, 20260 * MS},
};

static void counters_are_those_of_the_kernels_text(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	check_first(&t, ENTITY_SYSTEM, machine, ARRAY_SIZE(machine));
	check_first(&t, ENTITY_CPU, cpus, ARRAY_SIZE(cpus));
	check_first(&t, ENTITY_CPU, clocks, ARRAY_SIZE(clocks));
	check_first(&t, ENTITY_KERNEL, interrupts, ARRAY_SIZE(interrupts));
	check_value(&t, ENTITY_SYSTEM, M, "tcp.listen_drops", 3);
	tree_copy(&t, "second");
	tree_sample(&t);
	check_second(&t, ENTITY_SYSTEM, machine, ARRAY_SIZE(machine));
	check_second(&t, ENTITY_CPU, cpus, ARRAY_SIZE(cpus));
	check_second(&t, ENTITY_KERNEL, interrupts, ARRAY_SIZE(interrupts));
	assert_int_equal(count_of(&t, ENTITY_CPU), 4);
	tree_free(&t);
}

static void slow_readings_follow_within_five_samples(void **state)
{
	struct tree t = tree_new("laptop");
	int64_t drops = 0;

	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	tree_copy(&t, "second");
	for (int i = 0; i < 5; i++) {
		const struct sample *s;

		tree_sample(&t);
		s = sample_of(&t, ENTITY_SYSTEM, M);
		if (s->present >> FEATURE_SYS_TCP_DROPS & 1)
			drops = s->values[FEATURE_SYS_TCP_DROPS];
	}
	check_second(&t, ENTITY_CPU, clocks, ARRAY_SIZE(clocks));
	assert_int_equal(drops, 11);
	tree_free(&t);
}

static void what_an_older_kernel_does_not_say_is_missing(void **state)
{
	struct tree t = tree_new("server");

	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	check_value(&t, ENTITY_SYSTEM, M, "reclaim.stalls", 4);
	check_value(&t, ENTITY_SYSTEM, M, "reclaim.refaults", 50);
	check_value(&t, ENTITY_CPU, "cpu15", "core.user", 160000 * MS);
	check_value(&t, ENTITY_CPU, "cpu15", "core.steal", 70 * MS);
	check_missing(&t, ENTITY_SYSTEM, M, "memory.oom_kills");
	check_missing(&t, ENTITY_SYSTEM, M, "psi.cpu.some");
	check_missing(&t, ENTITY_SYSTEM, M, "tcp.retransmits");
	check_missing(&t, ENTITY_CPU, "cpu0", "core.frequency");
	check_missing(&t, ENTITY_SYSTEM, M, "tasks.processes");
	tree_free(&t);
}

static void a_recorded_machine_gives_all_it_has(void **state)
{
	struct tree t = tree_new("vm");
	const struct sample *s;
	feature_set expected = FEATURES_BELOW(SYSTEM_FEATURE_COUNT);

	expected &=
		~(FEATURE_BIT(FEATURE_PSI_IRQ_FULL) | FEATURE_BIT(FEATURE_SYS_PROCESSES) | FEATURE_BIT(FEATURE_SYS_THREADS) |
		  FEATURE_BIT(FEATURE_SYS_LOST_EXITS) | FEATURE_BIT(FEATURE_SYS_TCP_HANDSHAKES) | FEATURE_BIT(FEATURE_SYS_TCP_HANDSHAKE_TIME) |
		  FEATURE_BIT(FEATURE_SYS_TCP_HANDSHAKE_LONGEST) | FEATURE_BIT(FEATURE_PROBE_WAKEUP) | FEATURE_BIT(FEATURE_PROBE_READ) |
		  FEATURE_BIT(FEATURE_PROBE_FORK));
	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	s = sample_of(&t, ENTITY_SYSTEM, M);
	assert_int_equal(s->present, expected);
	check_value(&t, ENTITY_SYSTEM, M, "memory.total", KB(24684092));
	assert_int_equal(count_of(&t, ENTITY_CPU), 2);
	tree_free(&t);
}

static void tasks_are_counted_from_the_processes_of_the_tick(void **state)
{
	struct tree t = tree_new("laptop");
	struct entity *e = entity_new(ENTITY_PROCESS, "x");
	int64_t living[PROCESS_FEATURE_COUNT] = {[FEATURE_THREADS] = 7}, dead[PROCESS_FEATURE_COUNT] = {};

	tree_open_source(&t, source_named("system"));
	tick_begin(&t.tick, 1, 1);
	tick_put(&t.tick, e, living, FEATURE_BIT(FEATURE_THREADS));
	tick_put(&t.tick, e, living, FEATURE_BIT(FEATURE_THREADS));
	tick_put(&t.tick, e, dead, FEATURE_BIT(FEATURE_THREADS));
	t.tick.hears_exits = true;
	t.tick.lost_exits = 5;
	t.tick.folded_names = 6;
	t.source->sample(t.state, &t.tick);
	check_value(&t, ENTITY_SYSTEM, M, "tasks.processes", 2);
	check_value(&t, ENTITY_SYSTEM, M, "tasks.threads", 14);
	check_value(&t, ENTITY_SYSTEM, M, "recorder.lost_exits", 5);
	check_value(&t, ENTITY_SYSTEM, M, "recorder.folded_names", 6);
	tree_free(&t);
	entity_free(e);
}

static void labels_that_move_are_found_again(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	tree_write(&t, "proc/meminfo", "New: 1 kB\nMemFree:  7 kB\nMemTotal: 9 kB\n");
	tree_sample(&t);
	check_value(&t, ENTITY_SYSTEM, M, "memory.free", KB(7));
	check_value(&t, ENTITY_SYSTEM, M, "memory.total", KB(9));
	check_missing(&t, ENTITY_SYSTEM, M, "memory.available");
	tree_free(&t);
}

static void a_cpu_switched_off_ends_and_comes_back_without_a_jump(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	for (size_t i = 0; i < t.tick.samples.n; i++)
		t.tick.samples.v[i].entity->info.id = (uint32_t)i + 1;
	tree_write(&t, "proc/stat", "cpu  1 0 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0\n");
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_CPU), 1);
	assert_int_equal(t.tick.ended.n, 3);
	assert_string_equal(t.tick.ended.v[0]->info.name, "cpu1");
	tree_copy(&t, "second");
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_CPU), 4);
	assert_int_equal(t.tick.ended.n, 0);
	assert_true(sample_of(&t, ENTITY_CPU, "cpu1")->entity->fresh);
	assert_false(sample_of(&t, ENTITY_CPU, "cpu1")->entity->born);
	tree_free(&t);
}

/* Two fast cores, whose second threads are off, and two slow ones of four: names have gaps, and only a fast core counts its throttling. */
static void cores_of_two_kinds_keep_their_own_counters(void **state)
{
	static const struct expected cores[] = {
		{"cpu0", "core.frequency", 5000000000, 0}, {"cpu2", "core.frequency", 4800000000, 0},
		{"cpu12", "core.frequency", 3900000000, 0}, {"cpu15", "core.frequency", 800000000, 0},
		{"cpu12", "core.user", 60000 * MS, 0},	    {"cpu15", "core.user", 40000 * MS, 0},
		{"cpu0", "core.throttles", 4, 0},
	};
	struct tree t = tree_new("hybrid");

	tree_open_source(&t, source_named("system"));
	tree_sample(&t);
	check_first(&t, ENTITY_CPU, cores, ARRAY_SIZE(cores));
	check_missing(&t, ENTITY_CPU, "cpu12", "core.throttles");
	assert_int_equal(count_of(&t, ENTITY_CPU), 4);
	tree_free(&t);
}

RUN_TESTS(cmocka_unit_test(counters_are_those_of_the_kernels_text),
	  cmocka_unit_test(slow_readings_follow_within_five_samples),
	  cmocka_unit_test(cores_of_two_kinds_keep_their_own_counters),
	  cmocka_unit_test(what_an_older_kernel_does_not_say_is_missing),
	  cmocka_unit_test(a_recorded_machine_gives_all_it_has),
	  cmocka_unit_test(tasks_are_counted_from_the_processes_of_the_tick),
	  cmocka_unit_test(labels_that_move_are_found_again),
	  cmocka_unit_test(a_cpu_switched_off_ends_and_comes_back_without_a_jump))
