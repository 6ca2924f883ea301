#include "lib/data/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"

/* The bytes of a color's sequence, ESC [ ... m, at the beginning of the text; 0 = none. */
static size_t color(const char *text, size_t n)
{
	size_t at = 2;

	if (n < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (at < n && strchr("0123456789;", text[at]) && text[at])
		at++;
	return at < n && text[at] == 'm' ? at + 1 : 0;
}

/* The bytes of the character there, with the colors before it, 0 at the end; *ret_columns: 2 of East Asian ones, 0 of those that are put over the one before
 * and of colors alone. Bytes that are not UTF-8 take a column each. */
static size_t character(const char *text, size_t n, size_t *ret_columns)
{
	mbstate_t state = {};
	size_t at = 0, skip, used;
	wchar_t c;

	while ((skip = color(text + at, n - at)))
		at += skip;
	*ret_columns = 0;
	if (at == n || !text[at])
		return at;
	used = mbrtowc(&c, text + at, n - at, &state);
	*ret_columns = used > n - at || wcwidth(c) < 0 ? 1 : (size_t)wcwidth(c);
	return at + (used > n - at ? 1 : used);
}

size_t fold_columns(const char *text, size_t n)
{
	size_t sum = 0, one, used;

	for (size_t at = 0; (used = character(text + at, n - at, &one)); at += used)
		sum += one;
	return sum;
}

size_t fold_fit(const char *text, size_t columns)
{
	size_t n = strcspn(text, "\n"), at = 0, used, one;

	while ((used = character(text + at, n - at, &one)) && one <= columns) {
		columns -= one;
		at += used;
	}
	return at;
}

size_t fold_break(const char *text, size_t columns)
{
	size_t fits = fold_fit(text, columns), at = fits;

	if (text[fits] == '\0' || text[fits] == '\n' || text[fits] == ' ')
		return fits;
	while (at > 0 && text[at - 1] != ' ')
		at--;
	while (at > 0 && text[at - 1] == ' ')
		at--;
	if (at)
		return at;
	return fits ? fits : text[0] != '\0'; /* where not even one character fits, it is put all the same */
}

static size_t span(const char *text, size_t n, bool spaces)
{
	size_t at = 0;

	while (at < n && (text[at] == ' ') == spaces)
		at++;
	return at;
}

/* The column in which the line continues. */
static size_t hanging(const char *line, size_t n, size_t width)
{
	size_t at = span(line, n, true), column = at, hang = at + 2 < width / 2 ? at + 2 : 0;

	while (at < n && column <= width / 2) {
		size_t word = span(line + at, n - at, false), gap = span(line + at + word, n - at - word, true);

		column += fold_columns(line + at, word) + gap;
		at += word + gap;
		if (gap >= 2 && column <= width / 2)
			hang = column;
	}
	return hang;
}

static int new_line(struct str *to, size_t hang)
{
	return str_printf(to, to->len ? "\n%*s" : "%*s", (int)hang, "");
}

/* A word that is wider than a line. *column: the one in which it begins, and in which it ends. */
static int put_torn(const char *word, size_t n, size_t width, size_t *column, struct str *to)
{
	size_t used, one;
	int r = 0;

	for (size_t at = 0; r == 0 && (used = character(word + at, n - at, &one)); at += used, *column += one) {
		if (*column + one > width) {
			r = str_putc(to, '\n');
			*column = 0;
		}
		r = r ?: str_append(to, word + at, used);
	}
	return r;
}

int fold_line(const char *line, size_t n, size_t width, struct str *ret)
{
	size_t column = 0, hang;
	int r = 0;

	if (fold_columns(line, n) <= width)
		return str_append(ret, line, n);
	hang = hanging(line, n, width);
	for (size_t at = 0; at < n && r == 0;) {
		size_t gap = span(line + at, n - at, true), bytes = span(line + at + gap, n - at - gap, false), word = fold_columns(line + at + gap, bytes);

		if (!word && at + gap + bytes == n) /* spaces at the end, or a color's end */
			return str_append(ret, line + at + gap, bytes);
		if (column + gap + word <= width) {
			r = str_append(ret, line + at, gap + bytes);
			column += gap + word;
		} else if (word <= width) {
			size_t in = !ret->len ? width - word : word <= width - hang ? hang : 0;

			r = new_line(ret, in) ?: str_append(ret, line + at + gap, bytes);
			column = in + word;
		} else {
			r = column ? new_line(ret, 0) : 0;
			column = 0;
			r = r ?: put_torn(line + at + gap, bytes, width, &column, ret);
		}
		at += gap + bytes;
	}
	return r;
}

size_t fold_width(int fd)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t width;

	if (!isatty(fd))
		return 0;
	if (!text || str_parse_u64(text, &width) < 0)
		width = ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
	return width < FOLD_LEAST ? 0 : (size_t)width;
}

/* Writes the line that has its end now; what was shown of it before is not written again. */
static int end_line(struct fold *f, size_t width)
{
	_cleanup_str_ struct str folded = {};
	int r = f->line.len ? fold_line(f->line.data, f->line.len, width, &folded) : 0;
	bool continues = r == 0 && folded.len >= f->shown && memcmp(folded.data ?: "", f->line.data ?: "", f->shown) == 0;
	const struct str *all = continues ? &folded : &f->line;

	r = file_write(f->fd, all->data + f->shown, all->len - f->shown) ?: file_write(f->fd, "\n", 1);
	str_clear(&f->line);
	f->shown = 0;
	return r;
}

static int show_unended(struct fold *f)
{
	int r = file_write(f->fd, f->line.data + f->shown, f->line.len - f->shown);

	f->shown = f->line.len;
	return r;
}

int fold_write(struct fold *f, const char *bytes, size_t n)
{
	size_t width = fold_width(f->fd);
	int r = 0;

	if (f->kind == FOLD_NEW && n)
		f->kind = strchr("{[<", *bytes) || (*bytes == '\033' && !color(bytes, n)) ? FOLD_RAW : FOLD_WORDS;
	if (!width || f->kind == FOLD_RAW)
		return file_write(f->fd, bytes, n);
	while (n && r == 0) {
		const char *end = memchr(bytes, '\n', n);
		size_t some = end ? (size_t)(end - bytes) : n;

		r = str_append(&f->line, bytes, some);
		r = r ?: end ? end_line(f, width) : show_unended(f);
		some += end != NULL;
		bytes += some;
		n -= some;
	}
	return r;
}

void fold_free(struct fold *f)
{
	str_free(&f->line);
}

/* --- stdout --- */

static FILE *behind;

static ssize_t write_cookie(void *cookie, const char *bytes, size_t n)
{
	int r = fold_write(cookie, bytes, n);

	if (r < 0)
		errno = -r;
	return r < 0 ? 0 : (ssize_t)n;
}

static int close_cookie(void *cookie)
{
	fold_free(cookie);
	return 0;
}

void fold_stdout(void)
{
	static struct fold out = {.fd = STDOUT_FILENO};
	FILE *folded = fold_width(STDOUT_FILENO) ? fopencookie(&out, "w", (cookie_io_functions_t){.write = write_cookie, .close = close_cookie}) : NULL;

	if (!folded)
		return;
	setvbuf(folded, NULL, _IOLBF, BUFSIZ);
	behind = stdout;
	stdout = folded;
}

FILE *fold_behind_stdout(void)
{
	return behind ?: stdout;
}
