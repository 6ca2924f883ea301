/* A file of spans, plain or packed (gzip, zstd, xz), read in pieces: by one reader, or by several that each look at all of it.
 *
 * A reader sees the pieces where they lie; only what straddles two of them is copied. Several readers may share the reading and
 * the unpacking: the one that comes first to the end of what is there brings the next piece, and nothing runs ahead of the slowest
 * by more than INPUT_AHEAD of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_PIECE_MAX ((size_t)256 << 20) /* one message, one line, one trace */
#define INPUT_PIECE	((size_t)256 << 10) /* bytes of the file in memory at a time */
#define INPUT_AHEAD	16

struct input_file;

/* "-" = standard input. 0, -ENOMEM or -errno of the file. It is closed with the last of its readers. */
int input_file_open(const char *path, unsigned readers, struct input_file **ret);

struct input {
	const char *name;
	const uint8_t *data;
	size_t at, n;
	uint64_t before; /* bytes of the file that lie before data[0] */
	bool ended, broken;
	/* private */
	struct input_file *file;
	unsigned reader;
	const uint8_t *piece; /* of the file, at hand */
	size_t piece_n;
	uint8_t *joined; /* the end of pieces before (`tail` bytes), then the beginning of this one */
	size_t tail, allocated;
};

/* A regular file that is not packed: cheaper read by each reader for itself than handed from one to the other. */
bool input_is_plain(const char *path);
/* The file alone. 0 or -errno. */
int input_open(struct input *in, const char *path);
/* As reader 0 ... readers - 1; each must come, and close it, or the others wait for it. */
void input_open_shared(struct input *in, const char *path, struct input_file *file, unsigned reader);
void input_close(struct input *in);
/* Bytes in memory; they stay there until the next input_need(). Zero-initialised otherwise. */
void input_of_memory(struct input *in, const char *name, const void *bytes, size_t n);
/* Tries to have n bytes from `at` on. Returns how many there are (fewer only at the end), or -E2BIG, -ENOMEM. */
int64_t input_need(struct input *in, size_t n);
static inline const uint8_t *input_at(const struct input *in)
{
	return in->data + in->at;
}
static inline uint64_t input_offset(const struct input *in)
{
	return in->before + in->at;
}
