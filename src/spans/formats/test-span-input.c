/* Files in pieces: whatever is asked for, every reader gets the file's bytes. */
#include "lib/data/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "spans/formats/span-input.h"

#define BYTES ((size_t)5 * INPUT_PIECE + 4711)

static uint8_t *bytes;
static char plain[] = "/tmp/whyslow-input-XXXXXX", packed[] = "/tmp/whyslow-input-XXXXXX", fifo[] = "/tmp/whyslow-input-XXXXXX";

static int make_files(void **state)
{
	int fd = mkstemp(plain), fd2 = mkstemp(packed);
	gzFile gz = gzdopen(fd2, "w1");

	bytes = malloc(BYTES);
	if (fd < 0 || !gz || !bytes || !mkdtemp(fifo))
		return -1;
	srand(3);
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(rand() % 7 + i / 1000);
	if (write(fd, bytes, BYTES) != (ssize_t)BYTES || gzwrite(gz, bytes, BYTES) != (int)BYTES || gzclose(gz))
		return -1;
	return close(fd);
}

static int remove_files(void **state)
{
	unlink(plain);
	unlink(packed);
	rmdir(fifo);
	free(bytes);
	return 0;
}

/* Asks for up to `most` bytes at a time, takes some of them, and so on to the end; how many agreed with the file's. */
static size_t read_through(struct input *in, unsigned seed, size_t most)
{
	size_t at = 0;

	for (;;) {
		size_t want = (size_t)rand_r(&seed) % most + 1, n;
		int64_t have = input_need(in, want);

		if (have <= 0)
			return at;
		n = (size_t)have < want ? (size_t)have : want;
		if (input_offset(in) != at || at + n > BYTES || memcmp(input_at(in), bytes + at, n) != 0)
			return at;
		n = (size_t)rand_r(&seed) % n + 1;
		in->at += n;
		at += n;
	}
}

static void test_bytes_are_the_files_however_they_are_asked_for(void **state)
{
	const char *paths[] = {plain, packed};
	const size_t sizes[] = {100, 70000, 3 * INPUT_PIECE};

	for (size_t p = 0; p < 2; p++)
		for (size_t s = 0; s < 3; s++) {
			struct input in;

			assert_int_equal(input_open(&in, paths[p]), 0);
			assert_int_equal(read_through(&in, (unsigned)s, sizes[s]), BYTES);
			assert_false(in.broken);
			input_close(&in);
		}
}

/* A scanner that asks for one byte more each time must not copy what it has each time. */
static void test_a_growing_piece_stays_where_it_begins(void **state)
{
	struct input in;

	assert_int_equal(input_open(&in, plain), 0);
	assert_int_equal(input_need(&in, 10), INPUT_PIECE);
	in.at = INPUT_PIECE - 5;
	for (size_t n = 1; n < 2 * INPUT_PIECE; n += 1 + n / 10) {
		assert_true(input_need(&in, n) >= (int64_t)n);
		assert_memory_equal(input_at(&in), bytes + INPUT_PIECE - 5, n);
	}
	input_close(&in);
}

struct one {
	struct input_file *file;
	unsigned reader;
	size_t most, got;
	bool leaves;
	pthread_t thread;
};

static void *read_one(void *argument)
{
	struct one *o = argument;
	struct input in;

	input_open_shared(&in, "shared", o->file, o->reader);
	if (o->leaves)
		input_need(&in, 10);
	else
		o->got = read_through(&in, o->reader, o->most);
	input_close(&in);
	return NULL;
}

static void read_by_three(const char *path, bool one_leaves)
{
	struct one readers[3] = {{.most = 50, .leaves = one_leaves}, {.most = 100000}, {.most = 2 * INPUT_PIECE}};
	struct input_file *file;

	assert_int_equal(input_file_open(path, 3, &file), 0);
	for (unsigned i = 0; i < 3; i++) {
		readers[i].file = file;
		readers[i].reader = i;
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_one, &readers[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(readers[i].thread, NULL);
	for (unsigned i = one_leaves; i < 3; i++)
		assert_int_equal(readers[i].got, BYTES);
}

static void test_each_of_several_readers_gets_all_of_it(void **state)
{
	read_by_three(plain, false);
	read_by_three(packed, false);
}

static void test_who_leaves_early_is_not_waited_for(void **state)
{
	read_by_three(packed, true);
}

static void *write_fifo(void *path)
{
	FILE *f = fopen(path, "we");

	if (f) {
		fwrite(bytes, 1, BYTES, f);
		fclose(f);
	}
	return NULL;
}

static void test_what_can_be_read_only_once_is_shared(void **state)
{
	char path[64];
	pthread_t writer;

	snprintf(path, sizeof(path), "%s/fifo", fifo);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_fifo, path), 0);
	read_by_three(path, false);
	pthread_join(writer, NULL);
	unlink(path);
}

static void test_a_damaged_archive_is_told(void **state)
{
	struct input in;
	struct stat s;

	assert_int_equal(stat(packed, &s), 0);
	assert_int_equal(truncate(packed, s.st_size / 2), 0);
	assert_int_equal(input_open(&in, packed), 0);
	assert_true(read_through(&in, 1, 1000) < BYTES);
	assert_true(in.broken);
	input_close(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_the_files_however_they_are_asked_for),
		cmocka_unit_test(test_a_growing_piece_stays_where_it_begins),
		cmocka_unit_test(test_each_of_several_readers_gets_all_of_it),
		cmocka_unit_test(test_who_leaves_early_is_not_waited_for),
		cmocka_unit_test(test_what_can_be_read_only_once_is_shared),
		cmocka_unit_test(test_a_damaged_archive_is_told),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
