/* Records of branches, as the kernel writes them (perf_event_open(2): PERF_RECORD_SAMPLE with PERF_SAMPLE_TID and PERF_SAMPLE_BRANCH_STACK). */
#include "machine/flight/branches.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

struct taken {
	unsigned n;
	uint32_t tids[8];
	uint64_t to[8];
};

static void take(const struct capture_thread *t, const uint64_t *user, void *data)
{
	struct taken *k = data;

	assert_true(k->n < ARRAY_SIZE(k->to));
	assert_int_equal(t->kind, CAPTURE_SAMPLE);
	assert_int_equal(t->state, CAPTURE_RUNNING);
	assert_int_equal(t->n_user, 1);
	assert_int_equal(t->n_kernel, 0);
	k->tids[k->n] = t->tid;
	k->to[k->n++] = user[0];
}

static void read_record(const uint64_t *words, size_t bytes, struct taken *ret)
{
	const struct thread_sampler_callbacks callbacks = {take, ret};
	static struct capture_thread scratch;

	*ret = (struct taken){};
	samples_read_branches((const uint8_t *)words, bytes, &scratch, &callbacks);
}

/* pid and tid in one word, how many, then from, to and flags of each, the latest first. */
static const uint64_t record[] = {4711ull << 32 | 4700, 3, 0x401030, 0x401100, 1, 0x401108, 0x401020, 2, 0x7f0000001000, 0x401000, 1};

static void branches_come_in_the_order_of_time(void **state)
{
	struct taken k;

	read_record(record, sizeof(record), &k);
	assert_int_equal(k.n, 3);
	assert_int_equal(k.tids[0], 4711);
	assert_true(k.to[0] == 0x401000);
	assert_true(k.to[1] == 0x401020);
	assert_true(k.to[2] == 0x401100);
}

/* A branch from or to the kernel has no address for users. */
static void what_has_no_address_is_left_out(void **state)
{
	static const uint64_t hidden[] = {4711ull << 32 | 4700, 2, 0x401030, 0, 1, 0, 0x401020, 1};
	struct taken k;

	read_record(hidden, sizeof(hidden), &k);
	assert_int_equal(k.n, 1);
	assert_true(k.to[0] == 0x401020);
}

static void a_damaged_record_ends_where_it_ends(void **state)
{
	static const uint64_t endless[] = {4711ull << 32 | 4700, UINT64_MAX / 24 + 2, 0x401030, 0x401100, 1};
	struct taken k;

	read_record(endless, sizeof(endless), &k);
	assert_int_equal(k.n, 0);
	for (size_t n = 0; n < sizeof(record); n++) {
		read_record(record, n, &k);
		assert_int_equal(k.n, 0);
	}
}

/* as in /sys/bus/event_source/devices: the counters of a kind of core */
static void show_unit(const char *root, const char *unit, unsigned type, unsigned branches)
{
	char command[256];

	snprintf(command, sizeof(command), "d=%s/bus/event_source/devices/%s; mkdir -p $d/caps; echo %u >$d/type; echo %u >$d/caps/branches",
		 root, unit, type, branches);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of this test's own */
}

static void the_machine_says_how_many(void **state)
{
	char root[] = "/tmp/whyslow-sys-XXXXXX", command[256];
	struct samples_units units;

	assert_non_null(mkdtemp(root));
	assert_int_equal(branches_recorded(root, &units), 0);
	assert_int_equal(units.n, 0);
	show_unit(root, "cpu_core", 4, 32);
	assert_int_equal(branches_recorded(root, &units), 32);
	assert_int_equal(units.n, 1);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of this test's own */
}

static void each_kind_of_core_is_named(void **state)
{
	char root[] = "/tmp/whyslow-sys-XXXXXX", command[256];
	struct samples_units units;

	assert_non_null(mkdtemp(root));
	show_unit(root, "cpu_core", 4, 32);
	show_unit(root, "cpu_atom", 10, 16);
	snprintf(command, sizeof(command), "mkdir -p %s/bus/event_source/devices/software", root);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of this test's own */
	assert_int_equal(branches_recorded(root, &units), 16);
	assert_int_equal(units.n, 2);
	assert_int_equal(units.types[0] + units.types[1], 14);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of this test's own */
}

RUN_TESTS(cmocka_unit_test(branches_come_in_the_order_of_time), cmocka_unit_test(what_has_no_address_is_left_out),
	  cmocka_unit_test(a_damaged_record_ends_where_it_ends), cmocka_unit_test(the_machine_says_how_many),
	  cmocka_unit_test(each_kind_of_core_is_named))
