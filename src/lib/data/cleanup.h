/* Owned things release themselves at the end of their scope.
 *
 *   _cleanup_free_ char *text = NULL;
 *   return TAKE(text);            // hands ownership to the caller
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_pointer(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_  _cleanup_(cleanup_pointer)
#define _cleanup_close_ _cleanup_(cleanup_fd)
#define _cleanup_fclose_ _cleanup_(cleanup_file)

#define TAKE(pointer)                            \
	({                                       \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                \
		taken_;                          \
	})
#define TAKE_FD(fd)              \
	({                       \
		int taken_ = (fd); \
		(fd) = -1;       \
		taken_;          \
	})

/* free() of each. */
#define FREE_ALL(...)                                                          \
	do {                                                                   \
		void *all_[] = {__VA_ARGS__};                                  \
		for (size_t i_ = 0; i_ < sizeof(all_) / sizeof(*all_); i_++)   \
			free(all_[i_]);                                        \
	} while (0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
