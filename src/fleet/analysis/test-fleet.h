/* Small fleets for tests. */
#pragma once

#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "fleet/model/intake.h"

static const struct counter_info gauge = {.kind = FLEET_GAUGE};

static void release(struct fleet *f)
{
	fleet_free(f);
	free(f);
}

/* Servers s0, s1 ... with a row of one counter at each of n times: values has servers x n. */
static struct fleet *fleet_of(size_t servers, size_t n, const int64_t *times, const double *values)
{
	struct intake *in = intake_new();
	int counter = intake_counter(in, "c", &gauge);
	struct fleet *f;

	for (size_t s = 0; s < servers; s++) {
		char name[16];
		int server;

		snprintf(name, sizeof(name), "s%zu", s);
		server = intake_server(in, name);
		for (size_t t = 0; t < n; t++)
			assert_int_equal(intake_put(in, server, counter, times[t], values[s * n + t]), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}
