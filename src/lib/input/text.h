/* Text files of the kernel (/proc, /sys, control groups): opened once, read whole at every sample, scanned in place.
 *
 * Scanners take a NUL-terminated text and stop at whatever they do not understand; they never run past the NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_FILE_MAX ((size_t)4 << 20) /* /proc/stat of a machine with thousands of CPUs and interrupts */

struct text_file {
	int fd;
	char *data; /* what was read last, NUL-terminated */
	size_t len, size;
};

/* The name is root/path. 0, -ENOMEM, or -errno of open; on error *f needs no closing. */
int text_file_open(struct text_file *f, const char *root, const char *path);
/* 0; -errno of pread; -EFBIG beyond TEXT_FILE_MAX. f->data is a text in any case. */
int text_file_read(struct text_file *f);
/* A zeroed *f may be closed too. */
void text_file_close(struct text_file *f);

/* An attribute of one line, as those of sysfs are: its descriptor, or -errno. */
int text_attribute_open(const char *root, const char *path);
/* Reads at most size - 1 bytes from the start; buf is a text in any case. Number of bytes, or -errno. */
int text_attribute_read(int fd, char *buf, size_t size);
/* The whole attribute opened, read and closed, without its line end. 0 or -errno. */
int text_attribute_take(const char *root, const char *path, char *buf, size_t size);

static inline const char *text_next_line(const char *at)
{
	const char *end = strchrnul(at, '\n');

	return *end ? end + 1 : end;
}

static inline const char *text_skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

static inline const char *text_skip_word(const char *at)
{
	while (*at && *at != ' ' && *at != '\t' && *at != '\n')
		at++;
	return at;
}

/* A decimal number after blanks; false, and *at unmoved, where none stands on this line. */
static inline bool text_scan_number(const char **at, uint64_t *ret)
{
	const char *c = text_skip_blanks(*at);
	uint64_t value = 0;

	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++)
		value = value * 10 + (uint64_t)(*c - '0');
	*at = c;
	*ret = value;
	return true;
}

/* The numbers that follow on this line, at most n; how many there were. */
static inline size_t text_scan_numbers(const char **at, uint64_t *numbers, size_t n)
{
	size_t i = 0;

	while (i < n && text_scan_number(at, &numbers[i]))
		i++;
	return i;
}

/* The number after a label that begins a line: "usage_usec" finds 12 in "usage_usec 12". */
bool text_find_number(const char *text, const char *label, uint64_t *ret);
