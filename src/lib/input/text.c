#include "lib/input/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

#define TEXT_FILE_START 8192

int text_attribute_open(const char *root, const char *path)
{
	char name[PATH_MAX];
	int fd;

	if (snprintf(name, sizeof(name), "%s/%s", root, path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int text_attribute_read(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : (int)n;
}

int text_attribute_take(const char *root, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = text_attribute_open(root, path);
	int n = fd < 0 ? fd : text_attribute_read(fd, buf, size);

	if (n < 0)
		return n;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

int text_file_open(struct text_file *f, const char *root, const char *path)
{
	int fd = text_attribute_open(root, path);

	if (fd < 0)
		return fd;
	*f = (struct text_file){.fd = fd, .size = TEXT_FILE_START};
	f->data = malloc(f->size);
	if (!f->data) {
		close(fd);
		return -ENOMEM;
	}
	f->data[0] = '\0';
	return 0;
}

static int make_room(struct text_file *f)
{
	char *grown;

	if (f->len + 1 < f->size)
		return 0;
	if (f->size >= TEXT_FILE_MAX)
		return -EFBIG;
	grown = realloc(f->data, 2 * f->size);
	if (!grown)
		return -ENOMEM;
	f->data = grown;
	f->size *= 2;
	return 0;
}

/* The kernel hands out a page at a time where a file has many records (fs/seq_file.c), so one read is not enough. */
int text_file_read(struct text_file *f)
{
	int r = 0;

	f->len = 0;
	while ((r = make_room(f)) == 0) {
		ssize_t n = pread(f->fd, f->data + f->len, f->size - 1 - f->len, (off_t)f->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		f->len += (size_t)n;
	}
	f->data[f->len] = '\0';
	return r;
}

void text_file_close(struct text_file *f)
{
	if (f->data)
		close(f->fd);
	free(f->data);
	*f = (struct text_file){};
}

bool text_find_number(const char *text, const char *label, uint64_t *ret)
{
	size_t n = strlen(label);

	for (const char *line = text; *line; line = text_next_line(line)) {
		const char *at = line + n;

		if (strncmp(line, label, n) == 0 && *at == ' ')
			return text_scan_number(&at, ret);
	}
	return false;
}
