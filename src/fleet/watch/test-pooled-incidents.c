/* Incidents of three recordings in one folder: two hosts had the same one, and their users wrote of it in their own words. */
#include "machine/answer-why/test-stored.h"

#include "fleet/watch/pooled-incidents.h"

#include <errno.h>

struct folder {
	char path[32];
};

static void add(struct store *store, int64_t wall, const char *note, const char *answer, enum feedback feedback)
{
	int64_t id;

	assert_int_equal(store_mark(store, wall, 0, note, &id), 0);
	assert_int_equal(store_tell(store, id, 0, answer), 0);
	if (feedback)
		assert_int_equal(store_mark_feedback(store, id, 0, feedback), 0);
}

static struct store *recording(const struct folder *f, const char *host)
{
	char file[96], *error = NULL;
	struct store_paths paths = {file, NULL};
	struct store *store;

	snprintf(file, sizeof(file), "%s/%s.db", f->path, host);
	assert_int_equal(store_open(&paths, STORE_WRITE, &store, &error), 0);
	return store;
}

#define HOUR (3600 * NS_PER_SEC)

static void make(struct folder *f)
{
	static const char backup[] = "{\"at\": 1, \"slow\": true, \"summary\": \"backup reads\", \"culprit\": \"backup\", \"bottleneck\": \"disk\","
				     " \"fingerprint\": {\"disk\": 1, \"backup\": 2}}";
	static const char build[] = "{\"at\": 1, \"slow\": true, \"summary\": \"cc computes\", \"culprit\": \"cc\", \"bottleneck\": \"cpu\","
				    " \"fingerprint\": {\"cpu\": 1, \"cc\": 2}}";
	struct store *web, *db;

	strcpy(f->path, "/tmp/test-pooled-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	web = recording(f, "web-1");
	add(web, START, "editor hangs", backup, FEEDBACK_RIGHT);
	add(web, START + HOUR, "editor again", backup, FEEDBACK_NONE);
	add(web, START + 2 * HOUR, "the build", build, FEEDBACK_NONE);
	store_close(web);
	db = recording(f, "db-1");
	add(db, START + 3 * HOUR, "Editor, the third time", backup, FEEDBACK_WRONG);
	add(db, START + 4 * HOUR, "a build of it", build, FEEDBACK_NONE);
	add(db, START + 5 * HOUR, "this build", build, FEEDBACK_NONE);
	store_close(db);
}

static void destroy(const struct folder *f)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", f->path);
	assert_int_equal(system(command), 0);
}

static void incidents_of_two_hosts_are_one_group(void **state)
{
	struct pooled_incidents p;
	struct folder f;
	unsigned said[4] = {};

	make(&f);
	assert_int_equal(pooled_incidents_read(f.path, INT64_MIN, INT64_MAX, HOUR, &p), 0);
	assert_int_equal(p.hosts, 2);
	assert_int_equal(p.unreadable, 0);
	assert_int_equal(p.list.n, 6);
	assert_int_equal(p.groups.n, 2);
	for (size_t g = 0; g < 2; g++) {
		assert_int_equal(p.groups.v[g].incidents.n, 3);
		assert_int_equal(p.groups.v[g].hosts, 2);
	}
	assert_int_equal(p.groups.v[0].right + p.groups.v[1].right, 1);
	assert_int_equal(p.groups.v[0].wrong + p.groups.v[1].wrong, 1);
	for (size_t i = 0; i < p.list.n; i++)
		said[p.list.v[i].feedback]++;
	assert_int_equal(said[FEEDBACK_RIGHT], 1);
	assert_int_equal(said[FEEDBACK_WRONG], 1);
	assert_string_equal(p.list.v[0].host, "db-1");
	assert_string_equal(p.list.v[0].culprit, "backup");
	assert_int_equal(p.words.list.n, 2); /* editor with the disk, build with the CPU */
	pooled_incidents_free(&p);
	destroy(&f);
}

static void a_recording_that_is_none_costs_itself_alone(void **state)
{
	struct pooled_incidents p;
	struct folder f;
	char file[96];
	FILE *none;

	make(&f);
	snprintf(file, sizeof(file), "%s/torn.db", f.path);
	none = fopen(file, "w");
	fputs("this is no recording", none);
	fclose(none);
	assert_int_equal(pooled_incidents_read(f.path, START + 2 * HOUR, INT64_MAX, HOUR, &p), 0);
	assert_int_equal(p.unreadable, 1);
	assert_non_null(strstr(p.first_error, "torn.db"));
	assert_int_equal(p.list.n, 4);
	pooled_incidents_free(&p);
	destroy(&f);
}

static void a_folder_without_recordings_is_said(void **state)
{
	struct pooled_incidents p;

	assert_int_equal(pooled_incidents_read("/nowhere", INT64_MIN, INT64_MAX, HOUR, &p), -ENOENT);
}

RUN_TESTS(cmocka_unit_test(incidents_of_two_hosts_are_one_group), cmocka_unit_test(a_recording_that_is_none_costs_itself_alone),
	  cmocka_unit_test(a_folder_without_recordings_is_said))
