#include "fleet/formats/text-lines.h"

#include <errno.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/stream.h"

#define DAY (86400 * NS_PER_SEC)

int text_lines_take(struct text_lines *l, char *piece, size_t n, text_line_fn *take)
{
	int r = 0;

	for (char *p = piece, *end; r >= 0 && p < piece + n; p = end + 1) {
		end = memchr(p, '\n', (size_t)(piece + n - p));
		end = end ? end : piece + n;
		*end = 0;
		if (end > p && end[-1] == '\r')
			end[-1] = 0;
		l->line++;
		r = take(l, p);
	}
	return r;
}

int text_lines_each_file(struct text_lines *l, const char *const *endings, text_file_fn *take, const void *how, char **ret_error)
{
	struct file_list files;
	int r = files_list_in_words(l->input->location, endings, &files, ret_error);

	if (r < 0)
		return r;
	l->done = 0;
	l->total = files.bytes;
	for (size_t i = 0; r == 0 && i < files.paths.n; i++) {
		l->path = files.paths.v[i];
		l->name = files.names.v[i];
		l->line = 0;
		r = take(l, how);
		l->done += files.bytes / files.paths.n;
		intake_progress(l->into, l->done, l->total);
	}
	file_list_free(&files);
	return r;
}

/* The functions of a source that is read line by line. */
struct line_takers {
	text_line_fn *take;
	void (*end)(struct text_lines *l);
};

static int take_stream(struct text_lines *l, text_line_fn *take)
{
	struct stream *s;
	size_t n;
	char *piece;
	int r = stream_open(l->path, &s);

	if (r < 0) {
		intake_bad(l->into, l->path, 0, "%s", strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	while ((r = stream_next(s, &piece, &n)) == 1) {
		r = text_lines_take(l, piece, n, take);
		if (r < 0)
			break;
		intake_progress(l->into, l->done + stream_done(s), l->total);
	}
	if (r == -EBADMSG || r == -EIO)
		intake_bad(l->into, l->path, l->line, "cannot be read further: %s", r == -EIO ? "input/output error" : "it is damaged or cut off, or a line is too long");
	stream_close(s);
	return r == -ENOMEM ? r : 0;
}

static int take_lines(struct text_lines *l, const void *how)
{
	const struct line_takers *takers = how;
	int r = take_stream(l, takers->take);

	if (takers->end)
		takers->end(l);
	return r;
}

int text_lines_load(struct text_lines *l, const char *const *endings, void (*end)(struct text_lines *l), text_line_fn *take, char **ret_error)
{
	return text_lines_each_file(l, endings, take_lines, &(struct line_takers){take, end}, ret_error);
}

char *text_cut_field(char **at)
{
	char *field = *at, *to = field, *p = field;

	if (!field || *field != '"')
		return strsep(at, ",");
	for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
		p += *p == '"';
		*to++ = *p;
	}
	p += *p == '"';
	*at = *p == ',' ? p + 1 : NULL;
	*to = 0;
	return field;
}

int64_t text_day_time(struct text_day *d, int64_t first, int64_t of_day)
{
	if (!d->begun)
		d->midnight = first - (first % DAY + DAY) % DAY;
	else if (of_day < d->last - DAY / 2)
		d->midnight += DAY;
	d->begun = true;
	d->last = of_day;
	return d->midnight + of_day;
}

int text_lines_put(struct text_lines *l, int server, const char *name, const struct counter_info *info, int64_t time, double number)
{
	int counter = intake_counter(l->into, name, info);

	if (counter < 0)
		return counter;
	return intake_put(l->into, server, counter, time, intake_in_unit(l->into, counter, info->unit, number, l->path, l->line));
}
