/* A folder of the target's own, for parsers that open files. It is in memory where there is /dev/shm, and goes with the process. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/folder.h"

static char own_folder[64];

static void remove_own_folder(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", own_folder);
	(void)!system(command);
}

static inline void own_path(const char *name, char *path, size_t n)
{
	if (!*own_folder) {
		snprintf(own_folder, sizeof(own_folder), "%s/whyslow-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		if (!mkdtemp(own_folder))
			abort();
		atexit(remove_own_folder);
	}
	snprintf(path, n, "%s/%s", own_folder, name);
}

/* Writes `n` bytes into the file NAME of it, and says where that is. */
static inline void own_file(const char *name, const uint8_t *bytes, size_t n, char *path, size_t n_path)
{
	int fd;

	own_path(name, path, n_path);
	(void)folder_make_parent(path, 0700);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}
