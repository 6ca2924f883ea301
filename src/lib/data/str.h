/* A growing byte buffer with a stated maximum.
 *
 * Every append returns 0, -ENOMEM, or -E2BIG when the buffer's bound would be
 * crossed; after the first failure the buffer keeps what it had and remembers
 * the error in `error`, so that a writer may append freely and check once.
 * `data` is always NUL-terminated once something was appended.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STR_MAX_DEFAULT ((size_t)256 << 20) /* an answer or a chunk never comes near this */

struct str {
	char *data;
	size_t len;
	size_t allocated;
	size_t max; /* 0 = STR_MAX_DEFAULT */
	int error;
};

void str_free(struct str *s);
void str_clear(struct str *s); /* keeps the memory */
int str_reserve(struct str *s, size_t extra);
int str_append(struct str *s, const void *bytes, size_t n);
int str_puts(struct str *s, const char *text);
/* The same as text or attribute of XML and HTML. */
int str_puts_xml(struct str *s, const char *text);
/* fprintf() of a page or a drawing: the format is markup, and each argument of %s is text that is escaped (NULL: "?").
 * Of the others it knows %d, %u, %zu, %lld, %llu, %c, %e, %f and %g, with flags, width and precision. */
void str_print_markup(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int str_putc(struct str *s, char c);
int str_printf(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int str_vprintf(struct str *s, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* snprintf(), but returns the room. */
char *str_text(char *room, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A text of less than n bytes that lasts as long as the block where it stands; what does not fit is cut off. */
#define STR_TEXT(n, ...) str_text((char[n]){}, (n), __VA_ARGS__)

/* Unsigned LEB128, and the same over zigzag for signed values. */
int str_put_varint(struct str *s, uint64_t value);
int str_put_svarint(struct str *s, int64_t value);
int str_put_blob(struct str *s, const void *bytes, size_t n); /* length, then bytes */

#define _cleanup_str_ _cleanup_(str_free)

/* Reads from memory it does not own. After a read beyond the end `bad` is set,
 * every later read gives 0, and the caller checks once. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t reader_varint(struct reader *r)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (r->at < r->end && shift < 64) {
		uint8_t byte = *r->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
		shift += 7;
	}
	r->bad = true;
	r->at = r->end;
	return 0;
}

static inline int64_t reader_svarint(struct reader *r)
{
	uint64_t z = reader_varint(r);

	return (int64_t)(z >> 1) ^ -(int64_t)(z & 1);
}

/* A length and that many bytes; *ret_n = 0 and r->bad on damage. Returned memory belongs to the reader's buffer. */
const char *str_read_blob(struct reader *r, size_t *ret_n);
/* As str_read_blob, copied and NUL-terminated; the caller frees. NULL on damage or without memory. */
char *reader_text(struct reader *r);
/* The same, made printable: all texts of files that others may have written. */
char *reader_printable(struct reader *r);

/* 64-bit FNV-1a of n bytes: the same in each process, and so for what is stored or sent. An attacker finds texts that share one: as a key
 * of a table hmap_hash_bytes() serves. */
uint64_t str_stable_hash(const void *bytes, size_t n);

/* What a -errno means, in words of this program where the C library's speak of something else ("Argument list too long" for E2BIG).
 * Never NULL. */
const char *str_error(int r);
/* Puts words into *ret_error (which the caller frees; NULL without memory, or may itself be NULL) and returns `code`. */
int str_fail(char **ret_error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for an error that is kept: what *error held before is freed. */
int str_fail_again(char **error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What a terminal would obey (C0, DEL, C1), and bytes that are not UTF-8, which JSON cannot carry, become a space or '?', in place: names, notes and command
 * lines are chosen by the one that is recorded, not by the one that reads them. NULL stays. */
void str_make_printable(char *text);
/* The same of n bytes, NULs among them. Whether there was something to change. */
bool str_make_bytes_printable(char *text, size_t n);
/* The same of a report of many lines, which stay lines; and of JSON as text, also where it escapes such a character ("\\u001b"). */
void str_make_lines_printable(char *text);
void str_make_json_printable(char *json);
/* RFC 3629: no overlong form, no surrogate. */
bool str_is_utf8(const char *text, size_t n);
/* Whether a person may have meant `word`: the typed one becomes it by a letter more, less, changed or exchanged with its neighbor; by two of a long word. */
bool str_is_misspelled(const char *typed, const char *word);
bool str_starts(const char *text, const char *prefix);
/* Whole decimal numbers only: "12" yes, "12x", "" and "-1" no. Returns 0 or -EINVAL / -ERANGE. */
int str_parse_u64(const char *text, uint64_t *ret);
/* "64M", "2 GiB", "900k", "512" -> bytes (powers of 1024). 0 or -EINVAL. */
int str_parse_size(const char *text, uint64_t *ret);
