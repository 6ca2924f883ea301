#include "source/span/json-tape.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/data/str.h"

#define NONE	   UINT32_MAX
#define EVERY(byte) (0x0101010101010101ull * (byte))

struct scan {
	struct tape *t;
	const char *begin, *at, *end;
	uint32_t open; /* the array or object at hand; its size is the one around it until it ends */
};

void tape_free(struct tape *t)
{
	VEC_FREE(t->values);
	free(t->mended);
	*t = (struct tape){};
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Goes to the next byte that is not blank. 0, or -ENODATA at the end of the bytes. */
static int skip_blanks(struct scan *s)
{
	while (s->at < s->end && is_space(*s->at))
		s->at++;
	return s->at < s->end ? 0 : -ENODATA;
}

static void set_size(struct tape_value *v, uint32_t size)
{
	v->size = size & (uint32_t)(TAPE_BYTES_MAX - 1);
}

static int push(struct scan *s, enum tape_kind kind, const char *from, size_t n)
{
	struct tape_value v = {.text = from, .n = (uint32_t)n, .size = 1, .kind = (uint32_t)kind & 7};

	return VEC_PUSH(s->t->values, v);
}

/* --- texts ------------------------------------------------------------------------------------------------------------ */

/* The first byte that does not stand for itself: '"', '\\', a control character, or one beyond ASCII; eight at a time. */
static const char *plain_end(const char *at, const char *end)
{
	uint64_t word, quote, slash, special;

	for (; end - at >= 8; at += 8) {
		memcpy(&word, at, 8);
		word = le64toh(word);
		quote = word ^ EVERY('"');
		slash = word ^ EVERY('\\');
		special = ((quote - EVERY(1)) & ~quote) | ((slash - EVERY(1)) & ~slash) | (word - EVERY(' ')) | word;
		special &= EVERY(0x80);
		if (special)
			return at + __builtin_ctzll(special) / 8;
	}
	while (at < end && *at != '"' && *at != '\\' && (signed char)*at >= ' ')
		at++;
	return at;
}

static int hex_of(const char *at, unsigned *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)at[i];

		if (!isxdigit(c))
			return -EINVAL;
		*ret = *ret << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return 0;
}

static char *put_utf8(char *to, unsigned code)
{
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*to++ = (char)(0xe0 | code >> 12);
		} else {
			*to++ = (char)(0xf0 | code >> 18);
			*to++ = (char)(0x80 | (code >> 12 & 63));
		}
		*to++ = (char)(0x80 | (code >> 6 & 63));
	}
	*to++ = (char)(0x80 | (code & 63));
	return to;
}

/* "\ud83d\ude00" behind its first "\u": 4 or 10 bytes; what is no character is '?'. -EINVAL. */
static int put_code(const char **at, const char *end, char **to)
{
	unsigned code, low;

	if (end - *at < 4 || hex_of(*at, &code) < 0)
		return -EINVAL;
	*at += 4;
	if (code >> 10 == 0x36 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' && hex_of(*at + 2, &low) == 0 && low >> 10 == 0x37) {
		code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
		*at += 6;
	}
	*to = put_utf8(*to, !code || code >> 11 == 0x1b ? '?' : code);
	return 0;
}

/* Writes what n bytes with escapes mean to `to`, which is no longer. Its bytes, or -EINVAL. */
static int64_t unescape(const char *at, size_t n, char *to)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *end = at + n, *letter;
	char *begin = to;

	while (at < end) {
		if (*at != '\\') {
			*to++ = *at++;
			continue;
		}
		letter = at[1] ? strchr(letters, at[1]) : NULL;
		at += 2;
		if (letter)
			*to++ = meant[letter - letters];
		else if (at[-1] != 'u' || put_code(&at, end, &to) < 0)
			return -EINVAL;
	}
	return to - begin;
}

/* Where what differs from the text that begins at `from` is written. NULL without memory. */
static char *place_for(struct scan *s, const char *from)
{
	size_t n = (size_t)(s->end - s->begin);

	if (s->t->mended_allocated < n) { /* nothing points into it yet: the first text asks for all there may be */
		free(s->t->mended);
		s->t->mended = malloc(n);
		s->t->mended_allocated = s->t->mended ? n : 0;
	}
	return s->t->mended ? s->t->mended + (from - s->begin) : NULL;
}

static int mend(struct scan *s, struct tape_value *v, bool escapes)
{
	const char *from = v->text;
	bool bad = !str_is_utf8(from, v->n);
	char *to;
	int64_t n;

	if (!bad && !escapes)
		return 0;
	to = place_for(s, from);
	if (!to)
		return -ENOMEM;
	if (bad && !s->t->repaired)
		s->t->repaired = (size_t)(from - s->begin) + 1;
	n = v->n;
	if (escapes)
		n = unescape(from, v->n, to);
	else
		memcpy(to, from, v->n);
	if (n < 0)
		return (int)n;
	if (bad)
		(void)str_make_bytes_printable(to, (size_t)n);
	v->text = to;
	v->n = (uint32_t)n;
	return 0;
}

/* s->at is at '"'. */
static int read_text_value(struct scan *s)
{
	const char *from = ++s->at;
	bool escapes = false, beyond = false;
	int r;

	for (;;) {
		s->at = plain_end(s->at, s->end);
		if (s->at == s->end)
			return -ENODATA;
		if (*s->at == '"')
			break;
		if (*s->at == '\\' && s->end - s->at < 2)
			return -ENODATA;
		if ((unsigned char)*s->at < ' ')
			return -EINVAL;
		escapes |= *s->at == '\\';
		beyond |= *s->at != '\\';
		s->at += *s->at == '\\' ? 2 : 1;
	}
	r = push(s, TAPE_TEXT, from, (size_t)(s->at - from));
	if (r == 0 && (escapes || beyond))
		r = mend(s, &s->t->values.v[s->t->values.n - 1], escapes);
	s->at += r == 0;
	return r;
}

/* --- numbers, words --------------------------------------------------------------------------------------------------- */

static const char *digits(const char *at, const char *end)
{
	while (at < end && isdigit((unsigned char)*at))
		at++;
	return at;
}

/* Behind the number that begins there; NULL = none does. At the end of the bytes it may continue. */
static const char *number_end(const char *at, const char *end)
{
	const char *from;

	at += at < end && *at == '-';
	from = at;
	at = digits(at, end);
	if (at == end)
		return end;
	if (at == from || (*from == '0' && at > from + 1))
		return NULL;
	if (*at == '.') {
		from = ++at;
		at = digits(at, end);
		if (at == from && at < end)
			return NULL;
	}
	if (at < end && (*at | 32) == 'e') {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		from = at;
		at = digits(at, end);
		if (at == from && at < end)
			return NULL;
	}
	return at;
}

static int read_number(struct scan *s)
{
	const char *from = s->at, *end = number_end(from, s->end);

	if (!end)
		return -EINVAL;
	if (end == s->end)
		return -ENODATA;
	s->at = end;
	return push(s, TAPE_NUMBER, from, (size_t)(end - from));
}

static int read_word(struct scan *s)
{
	static const struct {
		const char *text;
		enum tape_kind kind;
	} words[] = {{"null", TAPE_NULL}, {"false", TAPE_FALSE}, {"true", TAPE_TRUE}};
	size_t left = (size_t)(s->end - s->at);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].text);

		if (memcmp(s->at, words[i].text, left < n ? left : n))
			continue;
		if (left < n)
			return -ENODATA;
		s->at += n;
		return push(s, words[i].kind, s->at - n, n);
	}
	return -EINVAL;
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

/* s->at is behind '{', or behind ',' in an object: the key and its colon. */
static int read_key(struct scan *s)
{
	int r = skip_blanks(s);

	if (r == 0)
		r = *s->at == '"' ? read_text_value(s) : -EINVAL;
	if (r == 0)
		r = skip_blanks(s);
	if (r < 0)
		return r;
	if (*s->at != ':')
		return -EINVAL;
	s->at++;
	return 0;
}

/* s->at is at ']' or '}' of the value at hand. */
static void end_value(struct scan *s)
{
	struct tape_value *v = &s->t->values.v[s->open];
	uint32_t around = v->size;

	s->at++;
	v->n = (uint32_t)(s->at - v->text);
	set_size(v, (uint32_t)s->t->values.n - s->open);
	s->open = around == TAPE_BYTES_MAX - 1 ? NONE : around;
}

/* 1: a value is to follow, 0: an empty one has ended. */
static int begin_value(struct scan *s)
{
	bool object = *s->at == '{';
	int r = push(s, object ? TAPE_OBJECT : TAPE_ARRAY, s->at, 0);

	if (r < 0)
		return r;
	set_size(&s->t->values.v[s->t->values.n - 1], s->open);
	s->open = (uint32_t)s->t->values.n - 1;
	s->at++;
	r = skip_blanks(s);
	if (r < 0)
		return r;
	if (*s->at == (object ? '}' : ']')) {
		end_value(s);
		return 0;
	}
	r = object ? read_key(s) : 0;
	return r < 0 ? r : 1;
}

/* s->at is where a value must begin. As begin_value(). */
static int read_value(struct scan *s)
{
	int r = skip_blanks(s);

	if (r < 0)
		return r;
	switch (*s->at) {
	case '{':
	case '[':
		return begin_value(s);
	case '"':
		return read_text_value(s);
	case '-':
	case '0' ... '9':
		return read_number(s);
	default:
		return read_word(s);
	}
}

/* Behind a value: ends what ends with it. 1: another one follows, 0: the whole has ended. */
static int go_on(struct scan *s)
{
	while (s->open != NONE) {
		bool object = s->t->values.v[s->open].kind == TAPE_OBJECT;
		int r = skip_blanks(s);

		if (r < 0)
			return r;
		if (*s->at == ',') {
			s->at++;
			r = object ? read_key(s) : 0;
			return r < 0 ? r : 1;
		}
		if (*s->at != (object ? '}' : ']'))
			return -EINVAL;
		end_value(s);
	}
	return 0;
}

int tape_read(struct tape *t, const char *bytes, size_t n)
{
	struct scan s = {.t = t, .begin = bytes, .at = bytes, .end = bytes + n, .open = NONE};
	int r = 1;

	t->values.n = 0;
	t->repaired = 0;
	t->end = 0;
	if (n >= TAPE_BYTES_MAX)
		return -E2BIG;
	while (r > 0) {
		r = read_value(&s);
		if (r == 0)
			r = go_on(&s);
	}
	t->end = (size_t)(s.at - bytes);
	return r;
}

/* --- what they say ---------------------------------------------------------------------------------------------------- */

/* All n bytes are one number. */
static bool read_whole(const char *text, size_t n, int64_t *ret)
{
	bool minus = n && *text == '-';
	uint64_t value = 0;

	if (n <= minus)
		return false;
	for (size_t i = minus; i < n; i++)
		if (!isdigit((unsigned char)text[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value) || value > INT64_MAX)
			return false;
	*ret = minus ? -(int64_t)value : (int64_t)value;
	return true;
}

double tape_number(const struct tape_value *v)
{
	char copy[64];

	if (!tape_is(v, TAPE_NUMBER) || v->n >= sizeof(copy))
		return 0;
	memcpy(copy, v->text, v->n);
	copy[v->n] = '\0';
	return strtod(copy, NULL);
}

bool tape_whole(const struct tape_value *v, int64_t *ret)
{
	double value;

	if (!tape_is(v, TAPE_NUMBER))
		return tape_is(v, TAPE_TEXT) && read_whole(v->text, v->n, ret);
	if (read_whole(v->text, v->n, ret))
		return true;
	value = tape_number(v);
	if (!(fabs(value) < 9e18) || v->n >= 64 || !(memchr(v->text, '.', v->n) || memchr(v->text, 'e', v->n) || memchr(v->text, 'E', v->n)))
		return false;
	*ret = (int64_t)value;
	return true;
}

const char *tape_text(const struct tape_value *v, size_t *ret_n)
{
	if (!v || v->kind == TAPE_NULL || v->kind > TAPE_TEXT)
		return NULL;
	*ret_n = v->n;
	return v->text;
}
