/* A store in a folder of its own, and a recorder that feeds it ticks of one process. Tests of the store share it. */
#pragma once

#include "lib/data/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/chunk/frame.h"
#include "machine/recording/journal.h"
#include "machine/recording/store.h"

#define START (1790000000ll * NS_PER_SEC) /* wall time of the first tick */

struct fixture {
	char folder[32], file[96], run_dir[64];
	struct store_paths paths;
	struct store *store;
	struct journal journal;
	struct frame_encoder encoder;
	struct entity *worker;
	struct tick tick;
	int64_t values[PROCESS_FEATURE_COUNT];
	int64_t seconds;
	int64_t booted;	  /* `seconds` when the machine started */
	int64_t off_by;	  /* ns that the wall clock is ahead of what it should be */
};

static inline struct store *open_store(struct fixture *f, enum store_mode mode)
{
	struct store *s = NULL;
	char *error = NULL;

	assert_int_equal(store_open(&f->paths, mode, &s, &error), 0);
	free(error);
	return s;
}

/* An empty folder; the store is made by fixture_begin(), perhaps in another process. */
static inline struct fixture *fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->folder, "/tmp/test-store-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof(f->file), "%s/recording.db", f->folder);
	snprintf(f->run_dir, sizeof(f->run_dir), "%s/run", f->folder);
	f->paths = (struct store_paths){f->file, f->run_dir};
	f->journal.fd = -1;
	return f;
}

static inline void fixture_begin(struct fixture *f)
{
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(journal_open(f->run_dir, &f->journal), 0);
	f->encoder.next_id = 1;
	f->worker = entity_new(ENTITY_PROCESS, "worker");
	f->worker->born = true;
}

static inline int set_up(void **state)
{
	struct fixture *f = fixture_new();

	fixture_begin(f);
	*state = f;
	return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void fixture_free(struct fixture *f)
{
	store_close(f->store);
	journal_close(&f->journal);
	entity_free(f->worker);
	tick_free(&f->tick);
	nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
}

static inline int tear_down(void **state)
{
	fixture_free(*state);
	return 0;
}

/* n seconds in which the worker uses 1 s of CPU each, as a segment; returns its id. `waits`: it waits all the time instead, and what it
 * waited is read every 20 s. */
static inline int64_t record_as(struct fixture *f, int n, bool waits)
{
	struct str frame = {};

	for (int i = 0; i < n; i++, f->seconds++) {
		tick_begin(&f->tick, (f->seconds - f->booted + 100) * NS_PER_SEC, START + f->seconds * NS_PER_SEC + f->off_by);
		if (!waits)
			f->values[FEATURE_CPU_TIME] += NS_PER_SEC;
		else if (i % 20 == 19)
			f->values[FEATURE_WAIT_PEER] += 20 * NS_PER_SEC;
		f->values[FEATURE_THREADS] = 1 + f->seconds % 3;
		tick_put(&f->tick, f->worker, f->values,
			 FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_THREADS) | (waits ? FEATURE_BIT(FEATURE_WAIT_PEER) : 0));
		if (i == 0)
			assert_int_equal(journal_begin(&f->journal, f->tick.wall / NS_PER_MS), 0);
		str_clear(&frame);
		assert_int_equal(frame_encode(&f->encoder, &f->tick, i == 0, &frame), 0);
		assert_int_equal(journal_append(&f->journal, frame.data, frame.len), 0);
	}
	str_free(&frame);
	return f->journal.segment;
}

static inline int64_t record(struct fixture *f, int n)
{
	return record_as(f, n, false);
}

static inline void holds(struct store *s, int64_t first, int64_t n, unsigned damaged_segments)
{
	struct dataset d = {};
	unsigned damaged;

	assert_int_equal(store_load(s, INT64_MIN, INT64_MAX, &d, &damaged), 0);
	assert_int_equal(damaged, damaged_segments);
	assert_int_equal(d.ticks.n, n);
	if (n) {
		const struct subject *w = dataset_subject(&d, 1);

		assert_int_equal(d.ticks.v[0].wall, START + first * NS_PER_SEC);
		assert_int_equal(d.ticks.v[n - 1].wall, START + (first + n - 1) * NS_PER_SEC);
		assert_non_null(w);
		assert_int_equal(w->last, n - 1);
		assert_true(subject_growth(&d, w, FEATURE_CPU_TIME, 0, (uint32_t)n - 1) == (double)n * 1e9);
		for (uint32_t t = 0; t < n; t++)
			assert_true(subject_value(&d, w, FEATURE_THREADS, t) ==
				    (double)(1 + (first + t) % 3));
	}
	dataset_free(&d);
}
