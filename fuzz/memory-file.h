/* An input as an open file without a name. */
#pragma once

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* -1 where there is none available. */
static inline int memory_file(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, bytes, n) != (ssize_t)n) {
		close(fd);
		return -1;
	}
	return fd;
}
