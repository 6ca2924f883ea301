#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/flight/instructions.h"

/* As perf script -F tid,ip prints a decoded trace, with what else it may say. */
static char script[] = "  4711      55f0c0de1139 \n"
		       "  4711      55f0c0de1145 \n"
		       "  4712  ffffffff81234567 \n"
		       " instruction trace error type 1 cpu 0 pid 4711 tid 4711 ip 0 code 7: Overflow packet\n"
		       "  4711                 0 \n"
		       "\n"
		       "  4712      7f00deadbeef \n";

struct counted {
	unsigned n;
	uint32_t tids[8];
	uint64_t addresses[8];
};

static void count(uint32_t tid, uint64_t address, void *data)
{
	struct counted *c = data;

	assert_true(c->n < 8);
	c->tids[c->n] = tid;
	c->addresses[c->n++] = address;
}

static void addresses_are_read_by_thread(void **state)
{
	struct counted c = {};
	FILE *f = fmemopen(script, strlen(script), "r");

	assert_int_equal(instructions_read(f, count, &c), 4);
	fclose(f);
	assert_int_equal(c.n, 4);
	assert_int_equal(c.tids[0], 4711);
	assert_true(c.addresses[0] == 0x55f0c0de1139);
	assert_int_equal(c.tids[2], 4712);
	assert_true(c.addresses[2] == 0xffffffff81234567);
	assert_true(c.addresses[3] == 0x7f00deadbeef);
}

static void a_machine_without_it_is_told(void **state)
{
	char root[] = "/tmp/whyslow-sys-XXXXXX", command[200];
	const char *words;

	assert_non_null(mkdtemp(root));
	words = instructions_missing(root);
	assert_non_null(words);
	assert_non_null(strstr(words, "no Intel PT"));
	snprintf(command, sizeof(command), "mkdir -p %s/bus/event_source/devices/intel_pt; echo 8 >%s/bus/event_source/devices/intel_pt/type", root, root);
	assert_int_equal(system(command), 0);
	words = instructions_missing(root);
	assert_true(!words || strstr(words, "linux-perf"));
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

RUN_TESTS(cmocka_unit_test(addresses_are_read_by_thread), cmocka_unit_test(a_machine_without_it_is_told))
