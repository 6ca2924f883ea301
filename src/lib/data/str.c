#include "lib/data/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/data/cleanup.h"

#define SPELLED_MAX 24 /* letters of a word whose spelling is compared */
#define LONG_WORD   6

void str_free(struct str *s)
{
	free(s->data);
	*s = (struct str){.max = s->max};
}

void str_clear(struct str *s)
{
	s->len = 0;
	s->error = 0;
	if (s->data)
		s->data[0] = '\0';
}

int str_reserve(struct str *s, size_t extra)
{
	size_t max = s->max ? s->max : STR_MAX_DEFAULT;
	size_t want = s->len + extra + 1;
	char *grown;

	if (s->error)
		return s->error;
	if (want <= s->allocated)
		return 0;
	if (want > max)
		return s->error = -E2BIG;
	if (want < 2 * s->allocated)
		want = 2 * s->allocated;
	if (want < 64)
		want = 64;
	if (want > max)
		want = max;
	grown = realloc(s->data, want);
	if (!grown)
		return s->error = -ENOMEM;
	s->data = grown;
	s->allocated = want;
	return 0;
}

int str_append(struct str *s, const void *bytes, size_t n)
{
	int r = str_reserve(s, n);

	if (r < 0)
		return r;
	if (n)
		memcpy(s->data + s->len, bytes, n);
	s->len += n;
	s->data[s->len] = '\0';
	return 0;
}

int str_puts(struct str *s, const char *text)
{
	return str_append(s, text, strlen(text));
}

int str_putc(struct str *s, char c)
{
	return str_append(s, &c, 1);
}

int str_vprintf(struct str *s, const char *format, va_list args)
{
	va_list again;
	int n, r;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0)
		return -EINVAL;
	r = str_reserve(s, (size_t)n);
	if (r < 0)
		return r;
	vsnprintf(s->data + s->len, (size_t)n + 1, format, args);
	s->len += (size_t)n;
	return 0;
}

int str_printf(struct str *s, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = str_vprintf(s, format, args);
	va_end(args);
	return r;
}

char *str_text(char *room, size_t n, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(room, n, format, args);
	va_end(args);
	return room;
}

int str_put_varint(struct str *s, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	return str_append(s, bytes, n);
}

int str_put_svarint(struct str *s, int64_t value)
{
	return str_put_varint(s, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

int str_put_blob(struct str *s, const void *bytes, size_t n)
{
	str_put_varint(s, n);
	return str_append(s, bytes, n);
}

const char *str_read_blob(struct reader *r, size_t *ret_n)
{
	uint64_t n = reader_varint(r);
	const char *bytes = (const char *)r->at;

	*ret_n = 0;
	if (r->bad || n > (size_t)(r->end - r->at)) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	r->at += n;
	*ret_n = n;
	return bytes;
}

/* The bytes of the character of UTF-8 that begins there (RFC 3629: no overlong form, no surrogate); 0 = none does. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
	static const struct {
		unsigned char first, last, low, high; /* lead bytes, and what may follow them */
		size_t n;
	} forms[] = {
		{0x00, 0x7f, 0, 0, 1},		 {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	size_t form = 0;

	while (form < sizeof(forms) / sizeof(forms[0]) && (*at < forms[form].first || *at > forms[form].last))
		form++;
	if (form == sizeof(forms) / sizeof(forms[0]) || forms[form].n > left)
		return 0;
	for (size_t i = 1; i < forms[form].n; i++)
		if (at[i] < (i == 1 ? forms[form].low : 0x80) || at[i] > (i == 1 ? forms[form].high : 0xbf))
			return 0;
	return forms[form].n;
}

/* U+202A to U+202E, U+2066 to U+2069: what follows is shown in another order, to the end of the line and beyond the name (Unicode
 * Standard Annex 9). U+2028 and U+2029 end the line. */
static bool changes_order(const unsigned char *at, size_t n)
{
	return n == 3 && at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

/* The replacement of a character of n bytes (0: a byte that is none); 0 = it may stay. */
static char replacement(const unsigned char *at, size_t n)
{
	if (changes_order(at, n))
		return '?';
	if (n == 1 && iscntrl(*at))
		return isspace(*at) ? ' ' : '?';
	return n == 0 || (at[0] == 0xc2 && n == 2 && at[1] < 0xa0) ? '?' : 0;
}

bool str_make_bytes_printable(char *text, size_t n)
{
	bool changed = false;
	size_t length;

	for (size_t i = 0; i < n; i += length ? length : 1) {
		bool plain = text[i] >= ' ' && text[i] < 0x7f; /* nearly all are */
		char instead;

		length = plain ? 1 : utf8_length((unsigned char *)text + i, n - i);
		instead = plain ? 0 : replacement((unsigned char *)text + i, length);
		if (instead)
			memset(text + i, instead, length ? length : 1);
		changed |= instead;
	}
	return changed;
}

/* 8 or 1 where so many bytes of ASCII begin there; 0 = none does. */
static size_t ascii_length(const char *at, size_t left)
{
	uint64_t word;

	if (left >= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		if (!(word & 0x8080808080808080))
			return sizeof(word);
	}
	return !(*at & 0x80);
}

bool str_is_utf8(const char *text, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = ascii_length(text + i, n - i) ?: utf8_length((const unsigned char *)text + i, n - i);
		if (!length)
			return false;
	}
	return true;
}

void str_make_printable(char *text)
{
	if (text)
		(void)str_make_bytes_printable(text, strlen(text));
}

void str_make_lines_printable(char *text)
{
	for (char *end; text; text = end ? end + 1 : NULL) {
		end = strchr(text, '\n');
		(void)str_make_bytes_printable(text, end ? (size_t)(end - text) : strlen(text));
	}
}

/* The four digits behind "\u"; 0 = they are none. */
static size_t escape_bytes(const char *digits, char bytes[3])
{
	char copy[5] = {}, *end;
	unsigned long code;

	strncpy(copy, digits, 4);
	code = strtoul(copy, &end, 16);
	if (end != copy + 4)
		return 0;
	bytes[0] = (char)(code < 0x80 ? code : code < 0x800 ? 0xc0 | code >> 6 : 0xe0 | code >> 12);
	bytes[1] = (char)(0x80 | (code < 0x800 ? code & 0x3f : code >> 6 & 0x3f));
	bytes[2] = (char)(0x80 | (code & 0x3f));
	return code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
}

static bool is_surrogate(const char *digits)
{
	return (digits[0] == 'd' || digits[0] == 'D') && strchr("89abcdefABCDEF", digits[1]);
}

void str_make_json_printable(char *json)
{
	str_make_printable(json);
	for (char *at = json ? strchr(json, '\\') : NULL; at && at[1]; at = strchr(at, '\\')) {
		char bytes[3];
		size_t n;

		if (strchr("bfnrt", at[1])) {
			memcpy(at, "  ", 2);
		} else if (at[1] == 'u' && !is_surrogate(at + 2)) { /* pairs of them are beyond what a terminal obeys */
			n = escape_bytes(at + 2, bytes);
			if (n && str_make_bytes_printable(bytes, n))
				memcpy(at + 2, "003f", 4);
		}
		at += 2;
	}
}

/* NULL: it stands for itself. */
static const char *xml_entity(char c)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (entities[i].c == c)
			return entities[i].entity;
	return NULL;
}

int str_puts_xml(struct str *s, const char *text)
{
	int r = 0;

	for (; r == 0 && *text; text++)
		r = xml_entity(*text) ? str_puts(s, xml_entity(*text)) : str_putc(s, *text);
	return r;
}

static void str_print_xml(const char *text, FILE *out)
{
	for (; *text; text++) {
		const char *entity = xml_entity(*text);

		if (entity)
			fputs(entity, out);
		else
			fputc(*text, out);
	}
}

/* One directive of str_print_markup(), as it stands in `directive`, with its argument. */
static void print_directive(const char *directive, FILE *out, va_list *args)
{
	const size_t n = strlen(directive);
	const char *text;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	switch (directive[n - 1]) {
	case 's':
		text = va_arg(*args, const char *);
		str_print_xml(text ? text : "?", out);
		break;
	case 'e':
	case 'f':
	case 'g':
		fprintf(out, directive, va_arg(*args, double));
		break;
	case '%':
		fputc('%', out);
		break;
	default: /* the lengths of an integer: none, z, ll */
		if (directive[n - 2] == 'z' || directive[n - 2] == 'l')
			fprintf(out, directive, va_arg(*args, long long));
		else
			fprintf(out, directive, va_arg(*args, int));
	}
#pragma GCC diagnostic pop
}

void str_print_markup(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format) {
		size_t plain = strcspn(format, "%"), n;
		char directive[16] = "";

		fwrite(format, 1, plain, out);
		format += plain;
		n = *format ? 2 + strcspn(format + 1, "cdefgsu%") : 0;
		if (n && n < sizeof(directive))
			print_directive(memcpy(directive, format, n), out, &args);
		format += n;
	}
	va_end(args);
}

char *reader_text(struct reader *r)
{
	size_t n;
	const char *bytes = str_read_blob(r, &n);

	return bytes ? strndup(bytes, n) : NULL;
}

char *reader_printable(struct reader *r)
{
	char *text = reader_text(r);

	str_make_printable(text);
	return text;
}

/* Whether this process was given a bound of memory (memory_budget_bound_question()). */
static bool is_bounded(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

const char *str_error(int r)
{
	static const struct {
		int code;
		const char *words;
	} own[] = {
		{EDQUOT, "its content would take more memory than a file of its size may (64 MiB, and up to 128 times its size): it is damaged, or made to"
			 " use up memory; ask about a shorter time, or leave it out"},
		{E2BIG, "it does not fit into the memory reserved for it"},
		{EBADE, "the sums of the answer do not agree with each other: this is a bug, please report it"},
		{EBADMSG, "the data are damaged"},
		{EUCLEAN, "the file is damaged"},
		{ENODATA, "nothing is recorded there"},
		{0, "the reason is not known"},
	};

	r = r < 0 ? -r : r;
	if (r == ENOMEM && is_bounded())
		return "this would take more memory than one question may (half of the machine's, or what the setting or service that bounds it says):"
		       " ask about a shorter time or less";
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i].code == r)
			return own[i].words;
	return strerror(r);
}

int str_fail(char **ret_error, int code, const char *format, ...)
{
	va_list args;

	if (!ret_error)
		return code;
	va_start(args, format);
	if (vasprintf(ret_error, format, args) < 0)
		*ret_error = NULL;
	va_end(args);
	return code;
}

int str_fail_again(char **error, int code, const char *format, ...)
{
	va_list args;

	free(*error);
	va_start(args, format);
	if (vasprintf(error, format, args) < 0)
		*error = NULL;
	va_end(args);
	return code;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The distance of Damerau and Levenshtein, where no letter is moved twice. */
bool str_is_misspelled(const char *typed, const char *word)
{
	unsigned d[SPELLED_MAX + 1][SPELLED_MAX + 1];
	const size_t n = strlen(typed), m = strlen(word);

	if (n > SPELLED_MAX || m > SPELLED_MAX)
		return false;
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++) {
			const unsigned changed = i && k && typed[i - 1] != word[k - 1];

			if (!i || !k) {
				d[i][k] = (unsigned)(i + k);
				continue;
			}
			d[i][k] = least(d[i - 1][k - 1] + changed, least(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && typed[i - 1] == word[k - 2] && typed[i - 2] == word[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[n][m] <= (m >= LONG_WORD ? 2 : 1);
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

int str_parse_u64(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return -ERANGE;
	}
	*ret = value;
	return 0;
}

int str_parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "kmgt";
	uint64_t value = 0;
	const char *unit;
	unsigned shift = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return -EINVAL;
	while (*text == ' ')
		text++;
	unit = *text ? strchr(units, tolower((unsigned char)*text)) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		text++;
		if (*text == 'i')
			text++;
	}
	if (*text == 'B' || *text == 'b')
		text++;
	if (*text || value > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = value << shift;
	return 0;
}

uint64_t str_stable_hash(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return h;
}
