/* A file of spans, plain or gzip, read in pieces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_PIECE_MAX ((size_t)256 << 20) /* one message, one line, one trace */

struct input {
	const char *name;
	void *file; /* gzFile */
	uint8_t *data;
	size_t at, n, allocated;
	uint64_t before; /* bytes of the file that lie before data[0] */
	bool ended, broken;
};

/* "-" = standard input. 0 or -errno. */
int input_open(struct input *in, const char *path);
void input_close(struct input *in);
/* Bytes in memory; they stay there until the next input_need(). Zero-initialised otherwise. */
void input_of_memory(struct input *in, const char *name, const void *bytes, size_t n);
/* Tries to have n bytes from `at` on. Returns how many there are (fewer only at the end), or -E2BIG, -ENOMEM, -EIO. */
int64_t input_need(struct input *in, size_t n);
static inline const uint8_t *input_at(const struct input *in)
{
	return in->data + in->at;
}
static inline uint64_t input_offset(const struct input *in)
{
	return in->before + in->at;
}
