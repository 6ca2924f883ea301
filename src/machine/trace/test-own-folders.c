/* Two recordings in one folder do not take each other's traces and profiles, and earlier recorders' common folders are shared out without loss. */
#include "machine/trace/own-folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/test.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-folder.h"

#define HOUR  (3600 * NS_PER_SEC)
#define START (1790000000 * NS_PER_SEC)

static char folder[40];

static char *path_of(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

static bool there(const char *name)
{
	_cleanup_free_ char *path = path_of(name);

	return folder_path_exists(path);
}

static void make_folder(const char *name)
{
	_cleanup_free_ char *path = path_of(name);

	assert_int_equal(folder_make(path, 0700), 0);
}

/* With one mark, of that time. */
static void record(const char *name, int64_t wall)
{
	_cleanup_free_ char *file = path_of(name), *error = NULL;
	struct store_paths paths = {file, NULL};
	struct store *store;
	int64_t id;

	assert_int_equal(store_open(&paths, STORE_WRITE, &store, &error), 0);
	assert_int_equal(store_mark(store, wall, 0, NULL, &id), 0);
	assert_int_equal(id, 1);
	store_close(store);
}

/* A trace of ten seconds up to that time. */
static void write_trace(const char *name, int64_t wall)
{
	_cleanup_free_ char *path = path_of(name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct trace t;

	assert_int_equal(trace_begin(&t, 1), 0);
	for (int i = 0; i <= 10; i++)
		trace_add(&t, &(struct event){.time = (uint64_t)((i + 1) * NS_PER_SEC), .thread = 1, .kind = EVENT_SWITCH});
	t.from = (uint64_t)NS_PER_SEC;
	t.to = (uint64_t)(11 * NS_PER_SEC);
	t.wall_offset = wall - 11 * NS_PER_SEC;
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(trace_write(&t, fd), 0);
	trace_clear(&t);
}

static void write_file(const char *name)
{
	_cleanup_free_ char *path = path_of(name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static void own(const char *name)
{
	_cleanup_free_ char *file = path_of(name);

	assert_int_equal(own_folders_make(&(struct store_paths){file, NULL}), 0);
}

static int set_up(void **state)
{
	strcpy(folder, "/tmp/whyslow-folders-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	_cleanup_free_ char *command = NULL;

	return asprintf(&command, "rm -r %s", folder) < 0 || system(command);
}

static void each_recording_has_folders_of_its_own(void **state)
{
	_cleanup_free_ char *one = path_of("one.db"), *two = path_of("two.db"), *link = path_of("link.db"), *of_one = NULL, *of_two = NULL,
			    *of_link = NULL;

	own("one.db"); /* the recorder makes the file later */
	record("one.db", START);
	own("two.db");
	record("two.db", START);
	assert_int_equal(symlink("one.db", link), 0);
	of_one = trace_folder(one);
	of_two = trace_folder(two);
	of_link = trace_folder(link);
	assert_string_not_equal(of_one, of_two);
	assert_string_equal(of_one, of_link);
}

static void what_was_common_goes_to_whose_mark_it_is_of(void **state)
{
	record("one.db", START);
	record("two.db", START + HOUR);
	make_folder("traces");
	write_trace("traces/1.trace", START + HOUR + 5 * NS_PER_SEC); /* the second wrote over the first one's */
	write_trace("traces/2.trace", START + 5 * NS_PER_SEC);	      /* a mark that is no longer there */
	write_file("traces/notes.txt");
	own("one.db");
	assert_true(there("one.traces") && !there("one.traces/1.trace"));
	assert_true(there("traces/1.trace"));
	own("two.db");
	assert_true(there("two.traces/1.trace") && !there("traces/1.trace"));
	assert_true(there("traces/2.trace") && there("traces/notes.txt"));
}

static void what_only_one_recording_can_have_is_its(void **state)
{
	record("only.db", START);
	make_folder("traces");
	make_folder("profiles");
	write_trace("traces/1.trace", START + 5 * NS_PER_SEC);
	write_file("profiles/1790000000.pb.gz");
	own("only.db");
	assert_true(there("only.traces/1.trace") && there("only.profiles/1790000000.pb.gz"));
	assert_true(!there("traces") && !there("profiles"));
}

static void a_new_recording_takes_nothing(void **state)
{
	make_folder("traces");
	write_trace("traces/1.trace", START);
	own("new.db");
	record("new.db", START + HOUR);
	own("new.db");
	assert_true(there("traces/1.trace") && !there("new.traces/1.trace"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

RUN_TESTS(CASE(each_recording_has_folders_of_its_own), CASE(what_was_common_goes_to_whose_mark_it_is_of),
	  CASE(what_only_one_recording_can_have_is_its), CASE(a_new_recording_takes_nothing))
