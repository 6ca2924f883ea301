/* A recording in a store, made as a recorder makes it: ticks go to the journal, and each full segment becomes a chunk with its
 * summaries. Tests of what is read of a store share it. */
#pragma once

#include "lib/data/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/chunk/frame.h"
#include "machine/recording/journal.h"
#include "machine/recording/store.h"

#define START	(497222ll * 3600 * NS_PER_SEC) /* a full hour */
#define SEGMENT 600			       /* s */

struct stored {
	char folder[32], file[96], run_dir[64];
	struct tick tick;
	struct frame_encoder encoder;
	struct journal journal;
	struct store *store;
};

static inline void stored_begin(struct stored *s)
{
	struct store_paths paths = {s->file, s->run_dir};
	char *error = NULL;

	strcpy(s->folder, "/tmp/test-stored-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	snprintf(s->file, sizeof(s->file), "%s/recording.db", s->folder);
	snprintf(s->run_dir, sizeof(s->run_dir), "%s/run", s->folder);
	assert_int_equal(store_open(&paths, STORE_WRITE, &s->store, &error), 0);
	assert_int_equal(journal_open(s->run_dir, &s->journal), 0);
	s->encoder.next_id = 1;
}

static inline void stored_tick_begin(struct stored *s, int second)
{
	tick_begin(&s->tick, (second + 100) * NS_PER_SEC, START + second * NS_PER_SEC);
}

static inline void stored_tick_end(struct stored *s, int second)
{
	bool key = second % SEGMENT == 0;
	int64_t before = s->journal.segment;
	struct str frame = {};

	if (key)
		assert_int_equal(journal_begin(&s->journal, s->tick.wall / NS_PER_MS), 0);
	assert_int_equal(frame_encode(&s->encoder, &s->tick, key, &frame), 0);
	assert_int_equal(journal_append(&s->journal, frame.data, frame.len), 0);
	if (key && before)
		assert_int_equal(store_compact(s->store, before), 0);
	str_free(&frame);
}

static int stored_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void stored_end(struct stored *s)
{
	store_close(s->store);
	journal_close(&s->journal);
	tick_free(&s->tick);
	nftw(s->folder, stored_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
