/* A SQLite file from anywhere: as a recording, as a loaded fleet and as a store of spans. */
#include <stdlib.h>

#include "fleet/store/fleet-store.h"
#include "fuzz/own-folder.h"
#include "fuzz/target.h"
#include "machine/recording/store.h"
#include "spans/store/span-store.h"

static int take_summary(const struct summary *summary, void *data)
{
	(void)summary, (void)data;
	return 0;
}

static int take_history(const struct segment_history *segment, void *data)
{
	(void)segment, (void)data;
	return 0;
}

static int take_part(void *state, const struct span_part *part)
{
	(void)part, (void)state;
	return 0;
}

static void read_marks(struct store *s)
{
	struct capture *captures;
	struct mark *marks;
	size_t n, n_captures;

	if (store_marks(s, INT64_MIN, INT64_MAX, &marks, &n) < 0)
		return;
	for (size_t i = 0; i < n && i < 8; i++) {
		free(store_read_answer(s, marks[i].id, 0));
		if (store_captures(s, marks[i].id, &captures, &n_captures) < 0)
			continue;
		for (size_t k = 0; k < n_captures; k++)
			capture_free(&captures[k]);
		free(captures);
	}
	marks_free(marks, n);
}

static void read_recording(struct store *s)
{
	struct dataset d = {};
	struct store_size size;
	unsigned damaged;
	int64_t from, to;
	uint32_t highest;

	read_marks(s);
	(void)store_size(s, &size);
	(void)store_extent(s, &from, &to);
	(void)store_highest_entity(s, &highest);
	(void)store_extend_window(s, INT64_MAX, 1000, &from);
	(void)store_load(s, INT64_MIN, INT64_MAX, &d, &damaged);
	for (enum summary_tier tier = SUMMARY_SEGMENT; tier <= SUMMARY_DAY; tier++)
		(void)store_summaries(s, tier, INT64_MIN, INT64_MAX, take_summary, NULL, &damaged);
	(void)store_history(s, ENTITY_PROCESS, FEATURE_CPU_TIME, INT64_MIN, INT64_MAX, take_history, NULL);
	free(store_damage(s));
	dataset_free(&d);
}

static void read_fleet(const char *path)
{
	char *error = NULL;
	struct fleet *f;

	if (fleet_store_open(path, NULL, &f, &error) == 0) {
		fleet_free(f);
		free(f);
	}
	free(error);
}

static void read_spans(const char *path)
{
	struct span_store *s;
	char *error = NULL;

	if (span_store_open(path, DATABASE_FOREIGN, &s, &error) == 0) {
		(void)span_store_each(s, INT64_MIN, INT64_MAX, NULL, take_part);
		span_store_close(s);
	}
	free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char path[128], *error = NULL;
	struct store *s;

	own_file("file.db", bytes, n, path, sizeof(path));
	if (store_open(&(struct store_paths){path, NULL}, STORE_READ, &s, &error) == 0) {
		read_recording(s);
		store_close(s);
	}
	free(error);
	if (fleet_store_is(path))
		read_fleet(path);
	read_spans(path);
	return 0;
}
