#include "source/span-input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define PIECE (1u << 18)

int input_open(struct input *in, const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	gzFile file;

	*in = (struct input){.name = strcmp(path, "-") ? path : "standard input"};
	if (fd < 0)
		return -errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	file = gzdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	gzbuffer(file, PIECE);
	in->file = file;
	return 0;
}

void input_of_memory(struct input *in, const char *name, const void *bytes, size_t n)
{
	*in = (struct input){.name = name, .data = (uint8_t *)bytes, .n = n, .ended = true};
}

void input_close(struct input *in)
{
	if (in->file) {
		gzclose(in->file);
		free(in->data);
	}
	*in = (struct input){};
}

static int make_room(struct input *in, size_t n)
{
	size_t want = in->allocated ? in->allocated : 2 * PIECE;
	uint8_t *grown;

	memmove(in->data, in->data + in->at, in->n - in->at);
	in->before += in->at;
	in->n -= in->at;
	in->at = 0;
	if (n > INPUT_PIECE_MAX)
		return -E2BIG;
	while (want < n + PIECE)
		want *= 2;
	if (want == in->allocated)
		return 0;
	grown = realloc(in->data, want);
	if (!grown)
		return -ENOMEM;
	in->data = grown;
	in->allocated = want;
	return 0;
}

int64_t input_need(struct input *in, size_t n)
{
	int r;

	if (in->n - in->at >= n || in->ended)
		return (int64_t)(in->n - in->at);
	if (!in->allocated) {
		in->data = malloc(2 * PIECE);
		if (!in->data)
			return -ENOMEM;
		in->allocated = 2 * PIECE;
	}
	if (in->at + n > in->allocated || in->at > in->allocated / 2) {
		r = make_room(in, n);
		if (r < 0)
			return r;
	}
	while (in->n - in->at < n && !in->ended) {
		size_t room = in->allocated - in->n;
		int got = gzread(in->file, in->data + in->n, room > PIECE ? PIECE : (unsigned)room);

		if (got < 0)
			in->broken = true;
		if (got <= 0)
			in->ended = true;
		else
			in->n += (size_t)got;
	}
	return (int64_t)(in->n - in->at);
}
