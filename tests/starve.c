#include "tests/starve.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (1u << 20) /* of the set of live blocks, open addressing: a test has some thousands */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static void *blocks[SLOTS];
static size_t live;
static unsigned count, fails_at;
static bool fails_on;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t n);
void *__real_reallocarray(void *block, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
int __real_vasprintf(char **ret, const char *format, va_list list);
void __real_free(void *block);

/* what the linker calls in place of the names without __wrap_ */
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t n);
void *__wrap_reallocarray(void *block, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
int __wrap_vasprintf(char **ret, const char *format, va_list list);
int __wrap_asprintf(char **ret, const char *format, ...);
void __wrap_free(void *block);

void starve_at(unsigned n, bool lasts)
{
	fails_at = n;
	fails_on = lasts;
	count = 0;
}

unsigned starve_count(void)
{
	return count;
}

size_t starve_live(void)
{
	return live;
}

/* --- the set of live blocks --- */

static size_t slot_of(const void *block)
{
	return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15ull >> 44) % SLOTS;
}

static void *note(void *block)
{
	size_t at;

	if (!block)
		return NULL;
	pthread_mutex_lock(&lock);
	for (at = slot_of(block); blocks[at]; at = (at + 1) % SLOTS)
		;
	blocks[at] = block;
	live++;
	pthread_mutex_unlock(&lock);
	return block;
}

/* Those behind it may have been displaced by it. */
static void close_gap(size_t at)
{
	for (size_t i = (at + 1) % SLOTS; blocks[i]; i = (i + 1) % SLOTS) {
		size_t home = slot_of(blocks[i]);

		if ((i > at && (home <= at || home > i)) || (i < at && home <= at && home > i)) {
			blocks[at] = blocks[i];
			at = i;
		}
	}
	blocks[at] = NULL;
}

/* What a library allocated is not among them. */
static void forget(const void *block)
{
	size_t at;

	pthread_mutex_lock(&lock);
	for (at = slot_of(block); blocks[at] && blocks[at] != block; at = (at + 1) % SLOTS)
		;
	if (blocks[at]) {
		close_gap(at);
		live--;
	}
	pthread_mutex_unlock(&lock);
}

static bool fails(void)
{
	bool now;

	pthread_mutex_lock(&lock);
	count++;
	now = fails_at && (count == fails_at || (fails_on && count > fails_at));
	pthread_mutex_unlock(&lock);
	if (now)
		errno = ENOMEM;
	return now;
}

/* --- in place of the C library's --- */

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : note(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : note(__real_calloc(n, size));
}

/* Before it is moved: its place may be another thread's at once. */
static void *move_from(void *block)
{
	if (block)
		forget(block);
	return block;
}

void *__wrap_realloc(void *block, size_t n)
{
	return fails() ? NULL : note(__real_realloc(move_from(block), n));
}

void *__wrap_reallocarray(void *block, size_t n, size_t size)
{
	return fails() ? NULL : note(__real_reallocarray(move_from(block), n, size));
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : note(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t n)
{
	return fails() ? NULL : note(__real_strndup(text, n));
}

/* A failure leaves the result as it was, as glibc does. */
int __wrap_vasprintf(char **ret, const char *format, va_list list)
{
	int n = fails() ? -1 : __real_vasprintf(ret, format, list);

	if (n >= 0)
		note(*ret);
	return n;
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = __wrap_vasprintf(ret, format, list);
	va_end(list);
	return n;
}

void __wrap_free(void *block)
{
	if (block)
		forget(block);
	__real_free(block);
}
