/* Disks, interfaces, file systems, sensors. */
#include "machine/sample/test-tree.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "lib/data/cleanup.h"

#define MS 1000000ll

static const struct expected laptop_disks[] = {
	{"nvme0n1", "disk.reads", 91000, 91500},
	{"nvme0n1", "disk.read_bytes", 7100800ll * 512, 7180800ll * 512},
	{"nvme0n1", "disk.read_time", 30112 * MS, 40112 * MS},
	{"nvme0n1", "disk.writes", 60200, 60300},
	{"nvme0n1", "disk.write_bytes", 5200400ll * 512, 5210400ll * 512},
	{"nvme0n1", "disk.write_time", 80300 * MS, 90300 * MS},
	{"nvme0n1", "disk.queue", 0, 17},
	{"nvme0n1", "disk.busy", 45000 * MS, 45950 * MS},
	{"nvme0n1", "disk.wait", 111000 * MS, 131000 * MS},
	{"nvme0n1", "disk.flushes", 4400, 4410},
	{"dm-0", "disk.reads", 90210, 90210},
};

static void disks_are_measured_in_the_tables_units(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("disk"));
	tree_sample(&t);
	check_first(&t, ENTITY_DISK, laptop_disks, ARRAY_SIZE(laptop_disks));
	assert_int_equal(count_of(&t, ENTITY_DISK), 2); /* no partitions, no unused loop device */
	tree_copy(&t, "second");
	tree_sample(&t);
	check_second(&t, ENTITY_DISK, laptop_disks, ARRAY_SIZE(laptop_disks));
	check_value(&t, ENTITY_DISK, "loop1", "disk.reads", 14); /* in use by now */
	assert_int_equal(count_of(&t, ENTITY_DISK), 3);
	tree_free(&t);
}

static void a_server_has_many_disks(void **state)
{
	struct tree t = tree_new("server");

	tree_open_source(&t, source_named("disk"));
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_DISK),
			 30); /* 28 and a RAID controller's and md's, without the drive */
	check_value(&t, ENTITY_DISK, "sdab", "disk.reads", 28000);
	check_value(&t, ENTITY_DISK, "cciss/c0d0", "disk.reads", 77);
	check_missing(&t, ENTITY_DISK, "sdab", "disk.flushes"); /* this kernel does not count them */
	tree_copy(&t, "second");
	tree_sample(&t);
	check_value(&t, ENTITY_DISK, "sdab", "disk.reads", 28027);
	check_value(&t, ENTITY_DISK, "sdab", "disk.busy", 112900 * MS);
	tree_free(&t);
}

static const struct expected laptop_interfaces[] = {
	{"wlp3s0", "if.rx_bytes", 880112233, 881112233},
	{"wlp3s0", "if.rx_packets", 700100, 701100},
	{"wlp3s0", "if.tx_bytes", 90112233, 90122233},
	{"wlp3s0", "if.tx_packets", 600200, 600300},
	{"wlp3s0", "if.errors", 4, 5},
	{"wlp3s0", "if.drops", 24, 59},
	{"lo", "if.rx_bytes", 1000, 1000},
};

static void interfaces_are_measured(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("interface"));
	tree_sample(&t);
	check_first(&t, ENTITY_INTERFACE, laptop_interfaces, ARRAY_SIZE(laptop_interfaces));
	assert_int_equal(count_of(&t, ENTITY_INTERFACE), 2); /* docker0 was never used */
	tree_copy(&t, "second");
	tree_sample(&t);
	check_second(&t, ENTITY_INTERFACE, laptop_interfaces, ARRAY_SIZE(laptop_interfaces));
	tree_free(&t);
}

static void an_interface_that_vanishes_has_ended(void **state)
{
	struct tree t = tree_new("server");

	tree_open_source(&t, source_named("interface"));
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_INTERFACE), 4);
	for (size_t i = 0; i < t.tick.samples.n; i++)
		t.tick.samples.v[i].entity->info.id = (uint32_t)i + 1;
	tree_copy(&t, "second");
	tree_sample(&t);
	assert_int_equal(t.tick.ended.n, 1);
	assert_string_equal(t.tick.ended.v[0]->info.name, "veth0a1b");
	check_value(&t, ENTITY_INTERFACE, "bond0", "if.rx_bytes", 1000000125000000);
	tree_sample(&t);
	assert_int_equal(t.tick.ended.n, 0);
	tree_free(&t);
}

/* The fixture mounts a laptop's root where every machine has one, and others where nothing may look: a server's share,
 * a stick below it, the root's device once more. */
static void only_local_file_systems_are_asked_and_once(void **state)
{
	struct tree t = tree_new("laptop");
	struct statvfs root;

	assert_int_equal(statvfs("/", &root), 0);
	tree_open_source(&t, source_named("filesystem"));
	tree_sample(&t);
	check_value(&t, ENTITY_FILESYSTEM, "/", "fs.size", (int64_t)(root.f_blocks * root.f_frsize));
	assert_non_null(sample_of(&t, ENTITY_FILESYSTEM, "/")->entity);
	for (size_t i = 0; i < t.tick.samples.n; i++) {
		const char *name = t.tick.samples.v[i].entity->info.name;

		if (strcmp(name, "/") != 0 && strcmp(name, "/dev/shm") != 0)
			fail_msg("%s was asked", name);
	}
	tree_free(&t);
}

static void what_lies_below_a_share_is_not_asked(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("filesystem"));
	tree_write(&t, "proc/self/mounts", "server:/root / nfs4 rw 0 0\n/dev/sda1 /tmp ext4 rw 0 0\n");
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_FILESYSTEM), 0);
	tree_write(&t, "proc/self/mounts",
		   "/dev/sdb1 / ext4 rw 0 0\n/dev/sda1 /tmp ext4 rw 0 0\nx:/y /tmp nfs rw 0 0\n");
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_FILESYSTEM), 1);
	assert_non_null(sample_of(&t, ENTITY_FILESYSTEM, "/"));
	tree_free(&t);
}

static void escaped_names_are_read(void **state)
{
	struct tree t = tree_new("laptop");
	char mounts[200], folder[100];

	snprintf(folder, sizeof(folder), "%s/a b", t.root);
	snprintf(mounts, sizeof(mounts), "/dev/sda1 %s/a\\040b ext4 rw 0 0\n", t.root);
	tree_write(&t, "proc/self/mounts", mounts);
	snprintf(mounts, sizeof(mounts), "mkdir '%s'", folder);
	assert_int_equal(system(mounts), 0);
	tree_open_source(&t, source_named("filesystem"));
	tree_sample(&t);
	assert_non_null(sample_of(&t, ENTITY_FILESYSTEM, folder));
	tree_free(&t);
}

/* The unit of the recorder has its own /tmp, and no /home. */
static void the_mounts_of_the_first_process_are_asked(void **state)
{
	struct tree t = tree_new("laptop");
	char folder[100];

	snprintf(folder, sizeof(folder), "%s/proc/1", t.root);
	(void)mkdir(folder, 0755);
	snprintf(folder, sizeof(folder), "%s/proc/1/root", t.root);
	assert_int_equal(mkdir(folder, 0755), 0);
	snprintf(folder, sizeof(folder), "%s/proc/1/root/only-there", t.root);
	assert_int_equal(mkdir(folder, 0755), 0);
	tree_write(&t, "proc/1/mounts", "/dev/sda1 /only-there ext4 rw 0 0\n");
	tree_open_source(&t, source_named("filesystem"));
	tree_sample(&t);
	assert_int_equal(count_of(&t, ENTITY_FILESYSTEM), 1);
	assert_non_null(sample_of(&t, ENTITY_FILESYSTEM, "/only-there"));
	tree_free(&t);
}

static const struct expected laptop_sensors[] = {
	{"acpitz (thermal_zone0)", "sensor.temperature", 45000, 52000},
	{"x86_pkg_temp (thermal_zone1)", "sensor.temperature", 47000, 96000},
	{"iwlwifi_1 (thermal_zone2)", "sensor.temperature", -5000, 38000},
	{"package-0 long_term (intel-rapl:0)", "sensor.power_limit", 28000000, 15000000},
	{"package-0 short_term (intel-rapl:0)", "sensor.power_limit", 64000000, 64000000},
};

static void sensors_are_measured(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("sensor"));
	tree_sample(&t);
	check_first(&t, ENTITY_SENSOR, laptop_sensors, ARRAY_SIZE(laptop_sensors));
	check_missing(&t, ENTITY_SENSOR, "acpitz (thermal_zone0)", "sensor.power_limit");
	assert_int_equal(count_of(&t, ENTITY_SENSOR), 5);
	tree_copy(&t, "second");
	tree_sample(&t);
	check_second(&t, ENTITY_SENSOR, laptop_sensors, ARRAY_SIZE(laptop_sensors));
	tree_free(&t);
}

static void a_machine_without_sensors_has_no_such_source(void **state)
{
	struct tree t = tree_new("vm");

	assert_int_equal(tree_try_source(&t, source_named("sensor")), -EOPNOTSUPP);
	tree_free(&t);
}

RUN_TESTS(cmocka_unit_test(disks_are_measured_in_the_tables_units), cmocka_unit_test(a_server_has_many_disks),
	  cmocka_unit_test(interfaces_are_measured), cmocka_unit_test(an_interface_that_vanishes_has_ended),
	  cmocka_unit_test(only_local_file_systems_are_asked_and_once),
	  cmocka_unit_test(what_lies_below_a_share_is_not_asked), cmocka_unit_test(escaped_names_are_read),
		cmocka_unit_test(the_mounts_of_the_first_process_are_asked),
	  cmocka_unit_test(sensors_are_measured),
	  cmocka_unit_test(a_machine_without_sensors_has_no_such_source))
