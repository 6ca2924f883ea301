/* Files that are read line by line. */
#pragma once

#include "fleet/model/fleet-source.h"

/* Where a source is; the first member of its own state. */
struct text_lines {
	const struct fleet_input *input;
	struct intake *into;
	const char *path, *name; /* of the file: as it is opened, and as it is called */
	uint64_t line;
	uint64_t done, total; /* bytes of all files, for the progress: those of the files before this one, and of all */
};

/* Takes a line without its end, which may be changed. 0 or more, or -ENOMEM. */
typedef int text_line_fn(struct text_lines *l, char *line);

/* Takes the file at l->path. 0, -ENOMEM, or another -errno that ends the loading. */
typedef int text_file_fn(struct text_lines *l, const void *how);

/* Calls `take` for each file of l->input's location that ends in one of `endings`, in order of names, each beginning with line 0. `how` is handed on. 0, -ENOMEM, or
 * -errno with *ret_error. */
int text_lines_each_file(struct text_lines *l, const char *const *endings, text_file_fn *take, const void *how, char **ret_error);
/* Takes the lines of a piece of text, which may be changed; the byte behind it, too, where its last line has no end. */
int text_lines_take(struct text_lines *l, char *piece, size_t n, text_line_fn *take);
/* Reads all files of l->input's location that end in one of `endings`; each begins with line 1. A file that cannot be read further is reported. `end`
 * (NULL = nothing to do) is called after each. 0, -ENOMEM, or -errno with *ret_error. */
int text_lines_load(struct text_lines *l, const char *const *endings, void (*end)(struct text_lines *l), text_line_fn *take, char **ret_error);

/* The next field between commas, terminated in place and without its quotes; NULL at the end of the line. *at begins as the line. */
char *text_cut_field(char **at);

/* Times of day without a date, in order. Begins as {}. */
struct text_day {
	bool begun;
	int64_t midnight, last; /* wall ns, ns since it */
};

/* The wall ns of a time of day that follows the ones before: the first is of the day that `first` (wall ns) is in, and after midnight the day is the next one. */
int64_t text_day_time(struct text_day *d, int64_t first, int64_t of_day);

/* Puts a number in the unit of its counter, which the first one that is given decides; what measures something else is reported, and is missing. 0 or -ENOMEM. */
int text_lines_put(struct text_lines *l, int server, const char *name, const struct counter_info *info, int64_t time, double number);
