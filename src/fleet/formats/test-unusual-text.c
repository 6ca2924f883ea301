/* No text may hurt a source: cut anywhere, or with bytes that do not belong. Run it with -Db_sanitize=address,undefined
 * to see reads beyond the end. */
#include "machine/sample/test-tree.h"

#include <fcntl.h>
#include <unistd.h>

#define NOISE_ROUNDS 300

static struct tree *the_tree;
static const char *the_part;
static size_t files_tried;

static void put(int fd, const char *text, size_t n)
{
	assert_int_equal(pwrite(fd, text, n, 0), n);
	assert_int_equal(ftruncate(fd, (off_t)n), 0);
}

static void sample_every_prefix(int fd, const char *text, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)i), 0);
		tree_sample(the_tree);
	}
	put(fd, text, n);
}

static void sample_noise(int fd, const char *text, size_t n)
{
	static const char odd[] = "\n\n  :;-,9999999999999999999999/\\0\t=cpu";
	char *noisy = malloc(n);

	for (int round = 0; noisy && round < NOISE_ROUNDS; round++) {
		memcpy(noisy, text, n);
		for (int i = 0; i < 1 + round / 20; i++)
			noisy[(size_t)rand() % n] = odd[(size_t)rand() % sizeof(odd)];
		put(fd, noisy, n);
		tree_sample(the_tree);
	}
	free(noisy);
	put(fd, text, n);
}

static int try_file(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
	size_t n = (size_t)s->st_size;
	char *text;
	int fd;

	(void)ftw;
	if (kind != FTW_F || !n || !strstr(path, the_part))
		return 0;
	fd = open(path, O_RDWR);
	text = malloc(n);
	assert_true(fd >= 0 && text && pread(fd, text, n, 0) == (ssize_t)n);
	sample_every_prefix(fd, text, n);
	sample_noise(fd, text, n);
	free(text);
	close(fd);
	files_tried++;
	return 0;
}

static void torment(const char *fixture, const char *source, const char *part)
{
	struct tree t = tree_new(fixture);

	srand(1);
	tree_open_source(&t, source_named(source));
	tree_sample(&t);
	the_tree = &t;
	the_part = part;
	files_tried = 0;
	assert_int_equal(nftw(t.root, try_file, 16, FTW_PHYS), 0);
	assert_true(files_tried > 0);
	tree_copy(&t, "first");
	tree_sample(&t);
	tree_free(&t);
}

static void system_survives(void **state)
{
	torment("laptop", "system", "/proc/stat");
	torment("laptop", "system", "/proc/meminfo");
	torment("laptop", "system", "/proc/vmstat");
	torment("laptop", "system", "/proc/net/");
	torment("laptop", "system", "/pressure/");
	torment("laptop", "system", "/cpufreq/");
	torment("vm", "system", "/proc/stat");
	torment("vm", "system", "/proc/vmstat");
	torment("vm", "system", "/proc/net/snmp");
}

static void disks_survive(void **state)
{
	torment("laptop", "disk", "/diskstats");
	torment("vm", "disk", "/diskstats");
}

static void interfaces_survive(void **state)
{
	torment("laptop", "interface", "/net/dev");
}

static void file_systems_survive(void **state)
{
	torment("laptop", "filesystem", "/self/mounts");
	torment("vm", "filesystem", "/self/mounts");
}

static void groups_survive(void **state)
{
	torment("laptop", "cgroup", "/nginx.service/");
	torment("server", "cgroup", "/docker/");
}

static void sensors_survive(void **state)
{
	torment("laptop", "sensor", "/thermal/");
}

static void notes_survive(void **state)
{
	torment("laptop", "packages", "/dpkg.log");
	torment("laptop", "kmsg", "/kmsg");
}

RUN_TESTS(cmocka_unit_test(system_survives), cmocka_unit_test(disks_survive),
	  cmocka_unit_test(interfaces_survive), cmocka_unit_test(file_systems_survive),
	  cmocka_unit_test(groups_survive), cmocka_unit_test(sensors_survive),
	  cmocka_unit_test(notes_survive))
