#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/model/intake.h"
#include "fleet/store/fleet-store.h"
#include "lib/data/clock.h"

static struct fleet *make(void)
{
	struct intake *in = intake_new();
	const struct counter_info info = {.kind = FLEET_GAUGE, .unit = "ms", .help = "how long"};
	struct fleet *f;

	for (int s = 0; s < 5; s++) {
		char name[16];
		int server;

		snprintf(name, sizeof(name), "s%d", s);
		server = intake_server(in, name);
		assert_int_equal(intake_role(in, server, s < 3 ? "web" : "db"), 0);
		for (int t = 0; t < 100 + s; t++) {
			assert_int_equal(intake_put(in, server, intake_counter(in, "latency", &info), t * NS_PER_SEC, s + sin(t)), 0);
			if (s != 2)
				assert_int_equal(intake_put(in, server, intake_counter(in, "load", NULL), t * NS_PER_SEC, t % 7 ? (double)(t % 5) : (double)NAN), 0);
		}
	}
	intake_bad(in, "x.csv", 3, "no time");
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static void release(struct fleet *f)
{
	fleet_free(f);
	free(f);
}

static void same(const struct fleet *a, const struct fleet *b)
{
	assert_int_equal(a->servers.n, b->servers.n);
	assert_int_equal(a->counters.n, b->counters.n);
	assert_int_equal(a->interval, b->interval);
	assert_int_equal(a->remarks.n, b->remarks.n);
	assert_string_equal(a->counters.v[0].unit, b->counters.v[0].unit);
	for (size_t s = 0; s < a->servers.n; s++) {
		assert_string_equal(a->servers.v[s].role, b->servers.v[s].role);
		assert_memory_equal(a->servers.v[s].time, b->servers.v[s].time, a->servers.v[s].n * sizeof(int64_t));
		for (size_t c = 0; c < a->counters.n; c++) {
			assert_int_equal(a->servers.v[s].column[c] != NULL, b->servers.v[s].column[c] != NULL);
			if (a->servers.v[s].column[c])
				assert_memory_equal(a->servers.v[s].column[c], b->servers.v[s].column[c], a->servers.v[s].n * sizeof(float));
		}
	}
}

static void what_was_kept_is_opened_again(void **state)
{
	char path[] = "/tmp/whyslow-test-XXXXXX", *error = NULL;
	struct fleet *f = make(), *again;

	close(mkstemp(path));
	unlink(path);
	assert_int_equal(fleet_store_write(f, path, &error), 0);
	assert_true(fleet_store_is(path));
	assert_int_equal(fleet_store_open(path, NULL, &again, &error), 0);
	same(f, again);
	release(again);
	assert_int_equal(fleet_store_open(path, "lat*", &again, &error), 0);
	assert_non_null(again->servers.v[0].column[0]);
	assert_null(again->servers.v[0].column[1]);
	release(again);
	assert_int_equal(fleet_store_write(f, path, &error), 0); /* a fleet's own file may be replaced */
	unlink(path);
	release(f);
}

static void times_that_no_intake_leaves_are_damage(void **state)
{
	const int64_t wrong[] = {INT64_MAX, 5 * NS_PER_SEC, 4 * NS_PER_SEC}; /* too late; twice; backwards */

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char path[] = "/tmp/whyslow-test-XXXXXX", *error = NULL;
		struct fleet *f = make(), *again;

		close(mkstemp(path));
		unlink(path);
		f->servers.v[1].time[i ? 6 : 100] = wrong[i];
		assert_int_equal(fleet_store_write(f, path, &error), 0);
		assert_int_equal(fleet_store_open(path, NULL, &again, &error), -EBADMSG);
		assert_non_null(strstr(error, "damaged"));
		free(error);
		unlink(path);
		release(f);
	}
}

static void other_files_are_not_overwritten(void **state)
{
	char path[] = "/tmp/whyslow-test-XXXXXX", *error = NULL;
	struct fleet *f = make();
	int fd = mkstemp(path);

	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(fleet_store_write(f, path, &error), -EEXIST);
	assert_non_null(error);
	free(error);
	unlink(path);
	release(f);
}

static void damage_is_refused_or_harmless(void **state)
{
	char path[] = "/tmp/whyslow-test-XXXXXX", *error = NULL;
	struct fleet *f = make();
	char *bytes;
	off_t size;
	int fd;

	close(mkstemp(path));
	unlink(path);
	assert_int_equal(fleet_store_write(f, path, &error), 0);
	release(f);
	fd = open(path, O_RDWR);
	size = lseek(fd, 0, SEEK_END);
	bytes = malloc((size_t)size);
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	srand(6);
	for (int i = 0; i < 300; i++) {
		char *damaged = malloc((size_t)size);

		memcpy(damaged, bytes, (size_t)size);
		for (int k = 0; k < 8; k++)
			damaged[100 + rand() % (size - 100)] = (char)rand();
		assert_int_equal(pwrite(fd, damaged, (size_t)size, 0), size);
		free(damaged);
		error = NULL;
		if (fleet_store_open(path, NULL, &f, &error) == 0)
			release(f);
		else
			assert_non_null(error);
		free(error);
	}
	close(fd);
	unlink(path);
	free(bytes);
}

RUN_TESTS(cmocka_unit_test(times_that_no_intake_leaves_are_damage), cmocka_unit_test(what_was_kept_is_opened_again), cmocka_unit_test(other_files_are_not_overwritten),
	  cmocka_unit_test(damage_is_refused_or_harmless))
