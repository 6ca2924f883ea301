/* What is written is read again; what is damaged is refused with words, and never more than that. */
#include "machine/recording/store.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"

static void fill(struct trace *t)
{
	uint64_t frames[] = {0xffffffff81000000, 0x55d0c8a00000, 1};
	struct trace_module module = {.path = strdup("/usr/bin/bash"), .build_id = {1, 2, 3}, .build_id_size = 20};

	assert_int_equal(trace_begin(t, 2), 0);
	for (uint32_t i = 0; i < 70000; i++)
		trace_add(t, &(struct event){.time = 1000 + i * 10, .thread = i % 50, .cpu = i % 2, .kind = EVENT_SWITCH, .flags = (uint8_t)(i % 7), .out = {i % 9, 3, 1, 2, i}});
	trace_add_thread(t, &(struct trace_thread){.tid = 3, .tgid = 3, .comm = "three", .exe = strdup("/bin/three"), .prio = -1, .syscall = -2, .object = UINT64_MAX, .longest_lately = 7, .longest_before = 5, .slept_before = 9});
	trace_add_stack(t, 99, frames, 3);
	assert_int_equal(VEC_PUSH(t->modules, module), 0);
	assert_int_equal(VEC_PUSH(t->mappings, (struct trace_mapping){3, 0, 4096, 8192, 12}), 0);
	assert_int_equal(VEC_PUSH(t->symbols, (struct trace_symbol){0, 77, strdup("schedule")}), 0);
	t->wall_offset = -5;
	t->host = strdup("here");
	t->has_block = true;
	assert_int_equal(trace_finish(t), 0);
}

static int in_memory(const void *bytes, size_t n)
{
	int fd = memfd_create("trace", 0);

	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static size_t written(char **ret)
{
	_cleanup_(trace_clear) struct trace t = {};
	_cleanup_close_ int fd = memfd_create("trace", 0);
	struct stat st;

	fill(&t);
	assert_int_equal(trace_write(&t, fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	*ret = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, *ret, (size_t)st.st_size, 0), st.st_size);
	return (size_t)st.st_size;
}

static void comes_back_whole(void **state)
{
	_cleanup_(trace_clear) struct trace t = {}, back = {};
	_cleanup_free_ char *bytes = NULL, *error = NULL;
	size_t n = written(&bytes);
	_cleanup_close_ int fd = in_memory(bytes, n);

	fill(&t);
	assert_int_equal(trace_read(fd, &back, &error), 0);
	assert_int_equal(back.n_events, t.n_events);
	assert_memory_equal(back.events, t.events, t.n_events * sizeof(*t.events));
	assert_string_equal(trace_thread(&back, 3, 0)->exe, "/bin/three");
	assert_int_equal(trace_thread(&back, 3, 0)->prio, -1);
	assert_true(trace_thread(&back, 3, 0)->object == UINT64_MAX);
	assert_true(trace_thread(&back, 3, 0)->longest_lately == 7 && trace_thread(&back, 3, 0)->longest_before == 5 && trace_thread(&back, 3, 0)->slept_before == 9);
	assert_int_equal(trace_stack(&back, 99)->frames[1], 0x55d0c8a00000);
	assert_string_equal(back.modules.v[trace_mapping(&back, 3, 5000)->module].path, "/usr/bin/bash");
	assert_null(trace_mapping(&back, 3, 8192));
	assert_string_equal(trace_symbol(&back, 0, 77), "schedule");
	assert_int_equal(back.wall_offset, -5);
	assert_true(back.has_block);
	assert_string_equal(back.host, "here");
	assert_int_equal(back.from, t.from);
	assert_int_equal(back.to, t.to);
}

static int read_bytes(const void *bytes, size_t n, char **error)
{
	_cleanup_(trace_clear) struct trace back = {};
	_cleanup_close_ int fd = in_memory(bytes, n);

	return trace_read(fd, &back, error);
}

static void a_cut_file_is_refused(void **state)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n = written(&bytes);

	for (size_t cut = 0; cut < n; cut += cut < 200 ? 1 : n / 50) {
		_cleanup_free_ char *error = NULL;

		assert_int_equal(read_bytes(bytes, cut, &error), -EBADMSG);
		assert_non_null(error);
	}
}

static void a_newer_version_is_named(void **state)
{
	_cleanup_free_ char *bytes = NULL, *error = NULL;
	size_t n = written(&bytes);

	bytes[8] = 9;
	assert_int_equal(read_bytes(bytes, n, &error), -EPROTONOSUPPORT);
	assert_non_null(strstr(error, "format 9"));
}

static void an_unknown_section_is_skipped(void **state)
{
	_cleanup_free_ char *bytes = NULL, *error = NULL, *more = NULL;
	size_t n = written(&bytes);

	more = calloc(1, n + 27);
	memcpy(more, bytes, 12);
	more[12] = 77;
	more[16] = more[24] = 7;
	memcpy(more + 39, bytes + 12, n - 12);
	assert_int_equal(read_bytes(more, n + 27, &error), 0);
}

/* Any bit may be wrong: it is refused, or (in what zstd does not check) read, and nothing worse. */
static void flipped_bits_do_no_harm(void **state)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n = written(&bytes), refused = 0;
	uint64_t seed = 7;

	for (int i = 0; i < 300; i++) {
		_cleanup_free_ char *error = NULL;
		size_t at;
		char was;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = i < 150 ? (seed >> 33) % 600 : (seed >> 33) % n;
		was = bytes[at];
		bytes[at] = (char)(bytes[at] ^ (1 << (seed >> 20 & 7)));
		if (read_bytes(bytes, n, &error) < 0) {
			refused++;
			assert_non_null(error);
		}
		bytes[at] = was;
	}
	assert_true(refused > 290);
}

/* Each trace is a block, and one second younger than the one before. */
static void write_trace(const char *folder, int64_t mark)
{
	char path[80], block[8192] = {1};
	struct timespec times[2] = {{1000 + mark, 0}, {1000 + mark, 0}};
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/%d.trace", folder, (int)mark);
	f = fopen(path, "w");
	assert_int_equal(fwrite(block, 1, sizeof(block), f), sizeof(block));
	fflush(f);
	futimens(fileno(f), times);
}

static bool has_trace(const char *folder, int64_t mark)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/%d.trace", folder, (int)mark);
	return access(path, F_OK) == 0;
}

static void the_oldest_go_first(void **state)
{
	char folder[] = "/tmp/whyslow-traces-XXXXXX", command[60];

	assert_non_null(mkdtemp(folder));
	for (int i = 1; i <= 4; i++)
		write_trace(folder, i);
	assert_int_equal(trace_trim(folder, 2 * 8192, 1, NULL, NULL), 0);
	for (int i = 1; i <= 4; i++)
		assert_int_equal(has_trace(folder, i), i == 1 || i == 4);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static int64_t press(struct store *store, const char *folder, uint32_t uid)
{
	static int64_t wall;
	int64_t id;

	wall += 100 * NS_PER_SEC;
	assert_int_equal(store_mark(store, wall, uid, NULL, &id), 0);
	write_trace(folder, id);
	return id;
}

/* Room for six: a stranger presses six times and more, then many strangers do. */
static void strangers_do_not_evict_the_traces_of_root(void **state)
{
	char folder[] = "/tmp/whyslow-traces-XXXXXX", file[80], command[60], *error = NULL;
	struct store_paths paths = {file, folder}; /* as a recorder has it: its journal next to */
	struct store *store;
	int64_t of_root[2], of_user, last = 0;

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/recording.db", folder);
	assert_int_equal(store_open(&paths, STORE_WRITE, &store, &error), 0);
	of_root[0] = press(store, folder, 0);
	of_root[1] = press(store, folder, 0);
	of_user = press(store, folder, 1001);
	for (int i = 0; i < 20; i++) {
		last = press(store, folder, 1000);
		assert_int_equal(trace_trim(folder, 6 * 8192, last, file, folder), 0);
		assert_true(has_trace(folder, last));
	}
	assert_true(has_trace(folder, of_root[0]) && has_trace(folder, of_root[1]));
	assert_true(has_trace(folder, of_user));
	for (uint32_t uid = 100000; uid < 100020; uid++) {
		last = press(store, folder, uid);
		assert_int_equal(trace_trim(folder, 6 * 8192, last, file, folder), 0);
		assert_true(has_trace(folder, last));
	}
	assert_true(has_trace(folder, of_root[0]) && has_trace(folder, of_root[1]));
	store_close(store);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

RUN_TESTS(cmocka_unit_test(comes_back_whole), cmocka_unit_test(a_cut_file_is_refused),
	  cmocka_unit_test(a_newer_version_is_named), cmocka_unit_test(an_unknown_section_is_skipped),
	  cmocka_unit_test(flipped_bits_do_no_harm), cmocka_unit_test(the_oldest_go_first),
	  cmocka_unit_test(strangers_do_not_evict_the_traces_of_root))
