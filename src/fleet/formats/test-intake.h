/* Shared by tests of a fleet's sources: a fixture or a text becomes a fleet, and values are looked up in it by name. */
#pragma once

#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/model/fleet-source.h"
#include "lib/data/clock.h"

struct loaded {
	struct fleet *fleet;
	struct intake *intake;
	int result; /* of the source's load() */
	char *error;
};

static inline struct loaded load_input(const struct fleet_source *source, const struct fleet_input *input)
{
	struct loaded l = {.intake = intake_new()};

	assert_non_null(l.intake);
	l.result = source->load(input, l.intake, &l.error);
	if (intake_finish(l.intake, &l.fleet) < 0)
		l.fleet = NULL;
	return l;
}

static inline struct loaded load_location(const struct fleet_source *source, const char *location)
{
	return load_input(source, &(struct fleet_input){.location = location, .from = INT64_MIN, .to = INT64_MAX});
}

static inline struct loaded load_fixture(const struct fleet_source *source, const char *name)
{
	char path[300];
	struct loaded l;

	snprintf(path, sizeof(path), "%s/fleet/%s", FIXTURES, name);
	assert_true(source->recognise(path) > 0);
	l = load_location(source, path);
	if (l.result < 0)
		fail_msg("%s", l.error);
	assert_non_null(l.fleet);
	return l;
}

static inline void loaded_free(struct loaded *l)
{
	if (l->fleet)
		fleet_free(l->fleet);
	free(l->fleet);
	intake_free(l->intake);
	free(l->error);
	*l = (struct loaded){};
}

/* NaN where the server has no such value at that moment. */
static inline double value_at(const struct loaded *l, const char *server, const char *counter, int64_t time)
{
	int s = fleet_find_server(l->fleet, server), c = fleet_find_counter(l->fleet, counter);
	const struct fleet_server *found;
	uint32_t row, n;

	if (s < 0 || c < 0 || !l->fleet->servers.v[s].column[c])
		return NAN;
	found = &l->fleet->servers.v[s];
	n = fleet_rows(found, time, time + 1, &row);
	return n == 1 ? (double)found->column[c][row] : NAN;
}

static inline void check_at(const struct loaded *l, const char *server, const char *counter, int64_t seconds, double value)
{
	double found = value_at(l, server, counter, seconds * NS_PER_SEC);

	if (!(fabs(found - value) <= 1e-6 * fabs(value)))
		fail_msg("%s of %s at %lld: %g, not %g", counter, server, (long long)seconds, found, value);
}

static inline const struct fleet_counter *counter_named(const struct loaded *l, const char *name)
{
	int c = fleet_find_counter(l->fleet, name);

	if (c < 0)
		fail_msg("no counter %s", name);
	return &l->fleet->counters.v[c];
}

/* That the source reported this of a file's line. */
static inline void check_bad(const struct loaded *l, const char *place_and_words)
{
	size_t n;
	char *const *rows = intake_bad_rows(l->intake, &n);

	for (size_t i = 0; i < n; i++)
		if (strstr(rows[i], place_and_words))
			return;
	for (size_t i = 0; i < n; i++)
		print_message("%s\n", rows[i]);
	fail_msg("the answer is empty of: %s", place_and_words);
}

static inline char *read_fixture(const char *name, size_t *ret_n)
{
	static char bytes[1 << 16];
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/fleet/%s", FIXTURES, name);
	f = fopen(path, "r");
	assert_non_null(f);
	*ret_n = fread(bytes, 1, sizeof(bytes) - 1, f);
	bytes[*ret_n] = '\0';
	fclose(f);
	return bytes;
}

/* Changes some bytes, cuts out or repeats a part: what a damaged or unusual file looks like. */
static inline size_t mutate(char *bytes, size_t n, int round)
{
	for (int i = 0; i < 1 + round % 4; i++)
		bytes[random() % (long)n] = random() % 3 ? (char)random() : "\"{}[],:\n\\0"[random() % 10];
	if (round % 5 == 0) {
		size_t at = (size_t)random() % n, length = (size_t)random() % (n - at);

		memmove(bytes + at, bytes + at + length, n - at - length);
		n -= length;
	}
	return n;
}

/* Loads `rounds` damaged versions of a fixture: refused or not, never a crash, and only finite values. */
static inline void load_mutated(const struct fleet_source *source, const char *name, int rounds)
{
	static char copy[1 << 16];
	const char *dot = strrchr(name, '.');
	char path[64];
	size_t n;

	srandom(7);
	snprintf(path, sizeof(path), "/tmp/whyslow-mutated-%d%s", (int)getpid(), dot);
	for (int i = 0; i < rounds; i++) {
		const char *bytes = read_fixture(name, &n);
		struct loaded l;
		FILE *f;

		memcpy(copy, bytes, n + 1);
		n = mutate(copy, n, i);
		f = fopen(path, "w");
		assert_non_null(f);
		fwrite(copy, 1, n, f);
		fclose(f);
		(void)source->recognise(path);
		l = load_location(source, path);
		for (size_t s = 0; l.fleet && s < l.fleet->servers.n; s++)
			for (size_t c = 0; c < l.fleet->counters.n; c++)
				for (uint32_t k = 0; l.fleet->servers.v[s].column[c] && k < l.fleet->servers.v[s].n; k++)
					assert_false(isinf(l.fleet->servers.v[s].column[c][k]));
		loaded_free(&l);
	}
	unlink(path);
}
