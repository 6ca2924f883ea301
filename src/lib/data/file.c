#include "lib/data/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t file_read(int fd, void *to, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = read(fd, (char *)to + have, n - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : (ssize_t)have;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

int file_read_all(int fd, struct str *out)
{
	char piece[16384];
	ssize_t n;

	while ((n = file_read(fd, piece, sizeof(piece))) > 0)
		if (str_append(out, piece, (size_t)n) < 0)
			return out->error;
	return (int)n;
}

int file_write(int fd, const void *bytes, size_t n)
{
	for (const char *at = bytes; n;) {
		ssize_t written = write(fd, at, n);

		if (written < 0 && errno != EINTR)
			return -errno;
		at += written > 0 ? written : 0;
		n -= written > 0 ? (size_t)written : 0;
	}
	return 0;
}

bool file_first_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");

	*buf = '\0';
	if (f && fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	if (f)
		fclose(f);
	return *buf;
}

bool line_walk_next(struct line_walk *w)
{
	ssize_t n = w->file ? getline(&w->text, &w->allocated, w->file) : -1;

	if (n < 0)
		return false;
	if (w->text[n - 1] == '\n')
		w->text[--n] = '\0';
	w->length = (size_t)n;
	w->number++;
	return true;
}

void line_walk_end(struct line_walk *w)
{
	free(w->text);
	if (w->file)
		fclose(w->file);
}
