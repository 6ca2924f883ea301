/* Files read and written whole, and by lines. What a signal interrupts or the kernel does by parts is continued. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/data/str.h"

/* Reads until there are n bytes or the file ends: how many there are, or -errno. */
ssize_t file_read(int fd, void *to, size_t n);
/* Appends what is left of the file. 0, -errno, or the error of `out`. */
int file_read_all(int fd, struct str *out);
/* 0, or -errno when only a part was written. */
int file_write(int fd, const void *bytes, size_t n);
/* The first line without its end; "" and false where there is none. */
bool file_first_line(const char *path, char *buf, size_t size);

struct line_walk {
	FILE *file;
	char *text; /* until the next one; without its line end */
	size_t length, allocated;
	unsigned number; /* from 1 */
};

/* The next line; false behind the last one. */
bool line_walk_next(struct line_walk *w);
void line_walk_end(struct line_walk *w);
/* For each line of a file: `x.text`. `opened` is a FILE *, which is closed in the end, or NULL for no lines. */
#define LINES_EACH(x, opened) \
	for (__attribute__((cleanup(line_walk_end))) struct line_walk x = {.file = (opened)}; line_walk_next(&x);)
