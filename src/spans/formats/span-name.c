#include "spans/formats/span-name.h"

#include <ctype.h>
#include <string.h>

#include "lib/data/vec.h"

#define ID_LEAST     8	/* hexadecimal digits and dashes, a digit among them */
#define CODE_LEAST   16 /* letters and digits ... */
#define CODE_CHANGES 4	/* ... that follow each other so many times: a ULID, a key in base 62 */
#define TAIL_LEAST   4	/* digits at the end of a word */

struct writer {
	char *out;
	size_t n;
	bool path; /* what is written since the last space has a slash */
	bool unclosed[2]; /* a quote of either kind that nothing closes was seen: no other one is looked for */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_code(const char *text, size_t n)
{
	size_t changes = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)text[i]))
			return false;
		changes += i && is_digit(text[i]) != is_digit(text[i - 1]);
	}
	return n >= CODE_LEAST && changes >= CODE_CHANGES;
}

bool span_name_is_id(const char *text, size_t n)
{
	size_t digits = 0, hex = 0;

	if (n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return true;
	for (size_t i = 0; i < n; i++) {
		digits += is_digit(text[i]);
		hex += isxdigit((unsigned char)text[i]) || text[i] == '-';
	}
	return digits && (digits == n || (hex == n && n >= ID_LEAST) || is_code(text, n));
}

static void put(struct writer *w, const char *text, size_t n)
{
	if (n > NAME_TEXT_MAX - w->n)
		n = NAME_TEXT_MAX - w->n;
	memcpy(w->out + w->n, text, n);
	w->n += n;
}

static bool ends_with(const struct writer *w, size_t before, const char *end)
{
	size_t n = strlen(end);

	return before >= n && !memcmp(w->out + before - n, end, n);
}

/* The end of the element of a list that comes before, without the comma and the spaces around it; 0 = this one is the first. */
static size_t element_before(const struct writer *w, size_t at)
{
	while (at && w->out[at - 1] == ' ')
		at--;
	if (!at || w->out[at - 1] != ',')
		return 0;
	for (at--; at && w->out[at - 1] == ' ';)
		at--;
	return at;
}

/* A value; of a list of values, one. */
static void put_value(struct writer *w)
{
	size_t before = element_before(w, w->n);

	if (before && ends_with(w, before, "{}"))
		w->n = before;
	else
		put(w, "{}", 2);
}

/* The end of "({})"; of a list of those, one. */
static void put_closing(struct writer *w)
{
	size_t before = ends_with(w, w->n, "({}") ? element_before(w, w->n - 3) : 0;

	if (before && ends_with(w, before, "({})"))
		w->n = before;
	else
		put(w, ")", 1);
}

/* A part of a word between dashes and underscores. */
static void put_part(struct writer *w, const char *text, size_t n)
{
	size_t digits = 0;

	if (span_name_is_id(text, n)) {
		put(w, "{}", 2);
		return;
	}
	while (digits < n && is_digit(text[n - digits - 1]))
		digits++;
	put(w, text, digits >= TAIL_LEAST ? n - digits : n);
	if (digits >= TAIL_LEAST)
		put(w, "{}", 2);
}

static void put_word(struct writer *w, const char *text, size_t n)
{
	if (span_name_is_id(text, n)) {
		put_value(w);
		return;
	}
	for (size_t i = 0, from = 0; i <= n; i++) {
		if (i < n && text[i] != '-' && text[i] != '_')
			continue;
		put_part(w, text + from, i - from);
		put(w, text + i, i < n);
		from = i + 1;
	}
}

/* A word with dashes in it, or a number with points in it (2.5, 10.0.0.1). */
static size_t word_length(const char *text, size_t n)
{
	size_t i = 0, digits;

	while (i < n && (is_word(text[i]) || (text[i] == '-' && i && i + 1 < n && is_word(text[i + 1]))))
		i++;
	for (digits = 0; digits < i && is_digit(text[digits]);)
		digits++;
	while (digits == i && i + 1 < n && text[i] == '.' && is_digit(text[i + 1])) {
		for (i++; i < n && is_digit(text[i]);)
			i++;
		digits = i;
	}
	return i;
}

static bool has_points(const char *text, size_t n)
{
	return memchr(text, '.', n);
}

/* The length of a quoted value that begins here; 0 = it is none. In double quotes SQL has names as well, so that those are values only
 * behind what a value follows. */
static size_t quoted(struct writer *w, const char *text, size_t n)
{
	bool *unclosed = &w->unclosed[text[0] == '"'];
	size_t before = w->n;

	while (before && w->out[before - 1] == ' ')
		before--;
	if (text[0] == '\'' && w->n && is_word(w->out[w->n - 1]))
		return 0;
	if (text[0] == '"' && (!before || !strchr("=:(,", w->out[before - 1])))
		return 0;
	for (size_t i = 1; i < n && !*unclosed; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == text[0] && i + 1 < n && text[i + 1] == text[0])
			i++;
		else if (text[i] == text[0])
			return i + 1;
	}
	*unclosed = true;
	return 0;
}

/* "?" where a value is left out, "$1", ":1"; its length or 0. */
static size_t placeholder(const struct writer *w, const char *text, size_t n)
{
	size_t i = 1;

	if (text[0] == '?')
		return !w->n || strchr(" (,=", w->out[w->n - 1]) ? 1 : 0;
	if (text[0] != '$')
		return 0;
	while (i < n && is_digit(text[i]))
		i++;
	return i > 1 ? i : 0;
}

static size_t put_next(struct writer *w, const char *text, size_t n)
{
	size_t length = 0;

	if (is_word(text[0])) {
		length = word_length(text, n);
		if (has_points(text, length))
			put_value(w);
		else
			put_word(w, text, length);
		return length;
	}
	if (text[0] == '\'' || text[0] == '"')
		length = quoted(w, text, n);
	if (!length)
		length = placeholder(w, text, n);
	if (length) {
		put_value(w);
		return length;
	}
	if (text[0] == '?' && w->path) { /* the query of a path */
		while (length < n && text[length] != ' ')
			length++;
		return length;
	}
	w->path = text[0] == '/' || (w->path && text[0] != ' ');
	if (text[0] == ')')
		put_closing(w);
	else
		put(w, text, 1);
	return 1;
}

/* Most names have nothing in them that could be a value. */
static bool is_plain(const char *name, size_t n)
{
	return !ANY_WHERE(i, n, is_digit(name[i]) || name[i] == '?' || name[i] == '\'' || name[i] == '"');
}

size_t span_name_plain(const char *name, size_t n, char out[NAME_TEXT_MAX])
{
	struct writer w = {.out = out};

	n = n < NAME_READ_MAX ? n : NAME_READ_MAX;
	if (is_plain(name, n))
		put(&w, name, n);
	else
		for (size_t i = 0; i < n && w.n < NAME_TEXT_MAX;)
			i += put_next(&w, name + i, n - i);
	return w.n;
}
