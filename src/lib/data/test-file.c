#include "lib/data/test.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "lib/data/cleanup.h"
#include "lib/data/file.h"

/* A pipe gives and takes a part at a time. */
static void what_comes_in_parts_is_read_whole(void **state)
{
	char text[8] = "";
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(file_write(ends[1], "abc", 3), 0);
	if (fork() == 0) {
		usleep(1000); /* the other one has read "abc" by then, and waits for more */
		_exit(file_write(ends[1], "defg", 4) < 0);
	}
	close(ends[1]);
	assert_int_equal(file_read(ends[0], text, 5), 5);
	assert_string_equal(text, "abcde");
	assert_int_equal(file_read(ends[0], text, 5), 2);
	assert_int_equal(file_read(ends[0], text, 5), 0);
	close(ends[0]);
	assert_int_equal(file_read(ends[0], text, 5), -EBADF);
	assert_int_equal(file_write(ends[0], text, 5), -EBADF);
}

static void a_text_takes_what_its_bound_allows(void **state)
{
	_cleanup_str_ struct str all = {}, some = {.max = 1000};
	_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
	char block[20000];

	memset(block, 'x', sizeof(block));
	assert_int_equal(file_write(fd, block, sizeof(block)), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(file_read_all(fd, &all), 0);
	assert_true(all.len == sizeof(block) && memcmp(all.data, block, all.len) == 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(file_read_all(fd, &some), -E2BIG);
}

static void each_line_is_walked_without_its_end(void **state)
{
	static char text[] = "a\n\nlast without end";
	size_t length = 0;
	unsigned n = 0;

	LINES_EACH(line, fmemopen(text, strlen(text), "r")) {
		assert_null(strchr(line.text, '\n'));
		assert_int_equal(line.number, ++n);
		length += line.length;
	}
	assert_true(n == 3 && length == strlen(text) - 2);
	LINES_EACH(line, NULL)
		fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_in_parts_is_read_whole),
		cmocka_unit_test(a_text_takes_what_its_bound_allows),
		cmocka_unit_test(each_line_is_walked_without_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
