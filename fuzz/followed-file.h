/* A source that follows a file of the machine: the file grows by the input, in two parts, and the source is sampled. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/target.h"
#include "lib/data/clock.h"
#include "machine/sample/source.h"

static char root[] = "/tmp/whyslow-fuzz-XXXXXX";

static void remove_root(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	(void)!system(command);
}

static void make_root(const char *folder)
{
	static bool made;
	char path[256];

	if (made)
		return;
	made = true;
	if (!mkdtemp(root))
		abort();
	atexit(remove_root);
	snprintf(path, sizeof(path), "mkdir -p '%s/proc' '%s/%s'", root, root, folder);
	if (system(path) != 0)
		abort();
}

static void sample(const struct source *source, void *state, int fd, const uint8_t *bytes, size_t n)
{
	struct tick tick = {};

	for (int part = 0; part < 2; part++) {
		const uint8_t *at = part ? bytes + n / 2 : bytes;
		size_t length = part ? n - n / 2 : n / 2;

		if (write(fd, at, length) != (ssize_t)length)
			abort();
		tick_begin(&tick, (part + 1) * NS_PER_SEC, 1790000000 * NS_PER_SEC);
		source->sample(state, &tick);
	}
	tick_free(&tick);
}

static inline void follow(const struct source *source, const char *folder, const char *file, const uint8_t *bytes, size_t n)
{
	char path[256], proc[64];
	struct source_options options = {.proc_root = proc, .sys_root = proc};
	const char *why;
	void *state;
	int fd;

	make_root(folder);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	snprintf(path, sizeof(path), "%s/%s/%s", root, folder, file);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || source->open(&options, &state, &why) < 0)
		abort();
	sample(source, state, fd, bytes, n);
	source->close(state);
	close(fd);
}
