#include "fleet/formats/text-lines.h"

#include <errno.h>
#include <string.h>

#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/stream.h"

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

static int load_file(struct text_lines *l, text_line_fn *take, uint64_t done, uint64_t total)
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
		intake_progress(l->into, done + stream_done(s), total);
	}
	if (r == -EBADMSG || r == -EIO)
		intake_bad(l->into, l->path, l->line, "cannot be read further: %s", r == -EIO ? "input/output error" : "it is damaged or cut off, or a line is too long");
	stream_close(s);
	return r == -ENOMEM ? r : 0;
}

int text_lines_load(struct text_lines *l, const char *const *endings, void (*end)(struct text_lines *l), text_line_fn *take, char **ret_error)
{
	struct file_list files;
	uint64_t done = 0;
	int r = files_list_in_words(l->input->location, endings, &files, ret_error);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < files.paths.n; i++) {
		l->path = files.paths.v[i];
		l->name = files.names.v[i];
		l->line = 0;
		r = load_file(l, take, done, files.bytes);
		if (end)
			end(l);
		done += files.bytes / files.paths.n;
	}
	file_list_free(&files);
	return r;
}

int text_lines_put(struct text_lines *l, int server, const char *name, const struct counter_info *info, int64_t time, double number)
{
	int counter = intake_counter(l->into, name, info);

	if (counter < 0)
		return counter;
	return intake_put(l->into, server, counter, time, intake_in_unit(l->into, counter, info->unit, number, l->path, l->line));
}
