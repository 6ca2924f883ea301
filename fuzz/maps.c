/* /proc/PID/maps and, after the first zero byte, /proc/PID/status. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "machine/symbol/module.h"

static char root[] = "/dev/shm/whyslow-fuzz-XXXXXX";

static void path_of(const char *name, char path[64])
{
	snprintf(path, 64, "%s/7%s", root, name);
}

static void remove_root(void)
{
	static const char *const names[] = {"/maps", "/status", ""};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		path_of(names[i], path);
		(void)remove(path);
	}
	(void)rmdir(root);
}

static void make_root(void)
{
	static bool made;
	char path[64];

	if (made)
		return;
	made = true;
	if (!mkdtemp(root))
		abort();
	path_of("", path);
	if (mkdir(path, 0700) < 0)
		abort();
	atexit(remove_root);
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
}

static void check(const struct modules *m)
{
	for (size_t i = 0; i < m->code.n; i++) {
		const struct mapping *c = &m->code.v[i];

		if (c->module >= m->modules.n || c->end <= c->start || modules_find(m, c->start) != c || modules_find(m, c->end - 1) != c)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *zero = n ? memchr(bytes, 0, n) : NULL;
	size_t maps = zero ? (size_t)(zero - bytes) : n;
	struct modules m;

	make_root();
	write_file("/maps", bytes, maps);
	write_file("/status", bytes + maps, n - maps);
	if (modules_read(root, 7, &m) < 0)
		return 0;
	check(&m);
	modules_free(&m);
	return 0;
}
