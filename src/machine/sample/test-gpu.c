#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/sample/gpu.h"

/* Documentation/gpu/drm-usage-stats.rst, as i915 prints it */
static const char i915[] = "pos:\t0\n"
			   "flags:\t02100002\n"
			   "mnt_id:\t22\n"
			   "ino:\t587\n"
			   "drm-driver:\ti915\n"
			   "drm-client-id:\t18\n"
			   "drm-pdev:\t0000:00:02.0\n"
			   "drm-total-system0:\t20224 KiB\n"
			   "drm-shared-system0:\t0\n"
			   "drm-resident-system0:\t10112 KiB\n"
			   "drm-engine-render:\t25662044495 ns\n"
			   "drm-engine-copy:\t1000000 ns\n"
			   "drm-engine-video:\t0 ns\n"
			   "drm-engine-capacity-video:\t2\n"
			   "drm-engine-video-enhance:\t0 ns\n";

static const char amdgpu_old[] = "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\n"
				 "drm-memory-vram:\t3 MiB\ndrm-memory-gtt: \t1024 KiB\ndrm-engine-gfx:\t5000 ns\n";

static void engines_and_regions_are_added_up(void **state)
{
	struct gpu_client c;

	assert_int_equal(gpu_parse_fdinfo(i915, &c), 0);
	assert_int_equal(c.id, 18);
	assert_int_equal(c.time, 25663044495ll);
	assert_int_equal(c.memory, 10112 << 10);
	assert_int_equal(gpu_parse_fdinfo(amdgpu_old, &c), 0);
	assert_int_equal(c.memory, 4 << 20);
	assert_int_equal(c.time, 5000);
	assert_int_equal(gpu_parse_fdinfo("pos:\t0\nflags:\t02\n", &c), -ENODATA);
}

static void every_prefix_is_survived(void **state)
{
	struct gpu_client c;

	for (size_t n = 0; n < sizeof(i915); n++) {
		char *text = strndup(i915, n);

		if (gpu_parse_fdinfo(text, &c) == 0)
			assert_true(c.time <= 25663044495ll && c.memory <= 20224 << 10);
		free(text);
	}
}

static void put_file(const char *folder, const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_link(const char *folder, const char *name, const char *target)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(symlink(target, path), 0);
}

/* A process with the GPU open twice by one client (after dup or fork), once by another device's, and a plain file. */
static void make_process(const char *folder)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/fd", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/fdinfo", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	put_link(folder, "fd/0", "/dev/null");
	put_link(folder, "fd/3", "/dev/dri/renderD128");
	put_link(folder, "fd/4", "/dev/dri/renderD128");
	put_link(folder, "fd/5", "/dev/dri/card1");
	put_file(folder, "fdinfo/0", "pos:\t0\n");
	put_file(folder, "fdinfo/3", i915);
	put_file(folder, "fdinfo/4", i915);
	put_file(folder, "fdinfo/5", amdgpu_old);
}

static void a_client_counts_once_and_closing_takes_nothing_back(void **state)
{
	char folder[] = "/tmp/test-gpu-XXXXXX", path[300], command[100];
	struct gpu_process p = {}, none = {};
	int dir;

	assert_non_null(mkdtemp(folder));
	make_process(folder);
	dir = open(folder, O_PATH | O_DIRECTORY);
	assert_true(gpu_read(dir, 1, 1, &p));
	assert_int_equal(p.time, 25663044495ll + 5000);
	assert_int_equal(p.memory, (10112 << 10) + (4 << 20));
	snprintf(path, sizeof(path), "%s/fd/5", folder);
	assert_int_equal(unlink(path), 0);
	assert_true(gpu_read(dir, 1, 2, &p));
	assert_int_equal(p.time, 25663044495ll + 5000);
	assert_int_equal(p.memory, 10112 << 10);
	close(dir);
	/* one without a GPU is not read again until its turn */
	snprintf(command, sizeof(command), "rm -rf '%s'/fd/[345]", folder);
	assert_int_equal(system(command), 0);
	dir = open(folder, O_PATH | O_DIRECTORY);
	assert_false(gpu_read(dir, 1, 1, &none));
	put_link(folder, "fd/3", "/dev/dri/renderD128");
	assert_false(gpu_read(dir, 1, 2, &none));
	assert_true(gpu_read(dir, 1, GPU_LOOK_EVERY - 1, &none));
	close(dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

static void a_machine_without_a_gpu_is_known(void **state)
{
	char folder[] = "/tmp/test-gpu-XXXXXX", command[200];

	assert_non_null(mkdtemp(folder));
	assert_false(gpu_is_there(folder));
	snprintf(command, sizeof(command), "mkdir -p '%s/class/drm' && touch '%s/class/drm/version'", folder, folder);
	assert_int_equal(system(command), 0);
	assert_false(gpu_is_there(folder));
	snprintf(command, sizeof(command), "mkdir '%s/class/drm/renderD128'", folder);
	assert_int_equal(system(command), 0);
	assert_true(gpu_is_there(folder));
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

RUN_TESTS(cmocka_unit_test(engines_and_regions_are_added_up), cmocka_unit_test(every_prefix_is_survived),
	  cmocka_unit_test(a_client_counts_once_and_closing_takes_nothing_back),
	  cmocka_unit_test(a_machine_without_a_gpu_is_known))
