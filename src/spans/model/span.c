#include "spans/model/span.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/str.h"

#define HASHED	  ((uint64_t)1 << 63) /* of ids that are not numbers */
#define TEXT_HIGH 0x7465787400000000ull /* "text": the low half is a name */

/* Value + 1; 0 = no digit. */
static const uint8_t digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,	['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

void span_call_text(const struct names *names, uint32_t service, uint32_t operation, char ret[2 * NAME_TEXT_MAX + 2])
{
	const char *name = names_get(names, service);
	const bool known = strcmp(name, SPAN_SERVICE_UNKNOWN) != 0;

	snprintf(ret, 2 * NAME_TEXT_MAX + 2, "%s%s%s", known ? name : "", known ? " " : "", names_get(names, operation));
}

#define EACH(byte) (0x0101010101010101ull * (byte))

/* Eight hexadecimal digits at once (little-endian, as all machines that this is built for); sums stay within their bytes, as none of
 * them has its high bit set. */
static bool hex_eight(const char *text, uint32_t *ret)
{
	uint64_t v, lower, valid;

	memcpy(&v, text, 8);
	if (v & EACH(0x80))
		return false;
	lower = v | EACH(0x20);
	valid = ((v + EACH(0x80 - '0')) & ~(v + EACH(0x7f - '9'))) | ((lower + EACH(0x80 - 'a')) & ~(lower + EACH(0x7f - 'f')));
	v = (v & EACH(0x0f)) + 9 * (v >> 6 & EACH(1));
	v = (v << 4 | v >> 8) & 0x00ff00ff00ff00ffull;
	v = (v | v >> 8) & 0x0000ffff0000ffffull;
	*ret = __builtin_bswap32((uint32_t)(v | v >> 16));
	return (valid & EACH(0x80)) == EACH(0x80);
}

static bool hex_number(const char *text, size_t n, uint64_t *ret)
{
	uint64_t value = 0;
	bool bad = false;

	if (!n || n > 16)
		return false;
	if (n == 16) {
		uint32_t high, low;

		if (!hex_eight(text, &high) || !hex_eight(text + 8, &low))
			return false;
		*ret = (uint64_t)high << 32 | low;
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t digit = digits[(uint8_t)text[i]];

		bad |= !digit;
		value = value << 4 | (uint8_t)(digit - 1);
	}
	*ret = value;
	return !bad;
}

uint64_t span_id_of_text(const char *text, size_t n)
{
	uint64_t id;

	if (!n)
		return 0;
	if (hex_number(text, n, &id))
		return id;
	return str_stable_hash(text, n) | HASHED;
}

/* "550e8400-e29b-41d4-a716-446655440000" without its dashes. */
static bool uuid_digits(const char *text, size_t n, char digits_only[32])
{
	size_t kept = 0;

	if (n != 36)
		return false;
	for (size_t i = 0; i < 36; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (text[i] != '-')
				return false;
		} else {
			digits_only[kept++] = text[i];
		}
	}
	return true;
}

/* True for a number; a text's key is its hash. */
static bool make_key(const char *text, size_t n, uint64_t *ret_high, uint64_t *ret_low)
{
	size_t low = n < 16 ? n : 16;
	char plain[32];

	*ret_high = *ret_low = 0;
	if (uuid_digits(text, n, plain) && hex_number(plain, 16, ret_high) && hex_number(plain + 16, 16, ret_low))
		return true;
	*ret_high = 0;
	if (n <= 32 && hex_number(text + n - low, low, ret_low) && (n == low || hex_number(text, n - low, ret_high)))
		return true;
	*ret_high = n ? TEXT_HIGH : 0;
	*ret_low = n ? str_stable_hash(text, n) : 0;
	return !n;
}

void span_trace_id_key(const char *text, size_t n, uint64_t *ret_high, uint64_t *ret_low)
{
	make_key(text, n, ret_high, ret_low);
}

void span_trace_id_of_text(struct names *names, const char *text, size_t n, uint64_t *ret_high,
			   uint64_t *ret_low)
{
	if (!make_key(text, n, ret_high, ret_low))
		*ret_high |= names_text(names, text, n);
}

struct span_trace_ids span_trace_ids_of_text(struct names *names, const char *text)
{
	struct span_trace_ids ids = {};

	for (size_t n; *text && ids.n < 2; text += n + (text[n] == ',')) {
		n = ids.n ? strlen(text) : strcspn(text, ",");
		span_trace_id_of_text(names, text, n, &ids.high[ids.n], &ids.low[ids.n]);
		ids.n++;
	}
	return ids;
}

int span_trace_ids_find(const struct span_trace_ids *ids, uint64_t high, uint64_t low)
{
	for (int i = 0; i < ids->n; i++)
		if (ids->high[i] == high && ids->low[i] == low)
			return i;
	return -1;
}

static bool is_text(uint64_t high)
{
	return high >> 32 == TEXT_HIGH >> 32;
}

uint64_t span_trace_id_lot(uint64_t high, uint64_t low)
{
	uint64_t h;

	if (is_text(high))
		high = TEXT_HIGH; /* where its text lies differs from table to table */
	h = (low + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull ^ high * 0x94d049bb133111ebull;
	h ^= h >> 29;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

const char *span_trace_id_text(const struct names *names, uint64_t high, uint64_t low, char buf[33])
{
	if (is_text(high) && (uint32_t)high && (uint32_t)high < names_count(names))
		return names_get(names, (uint32_t)high);
	if (high)
		snprintf(buf, 33, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
	else
		snprintf(buf, 33, "%016llx", (unsigned long long)low);
	return buf;
}

uint16_t span_links_add(struct span_links *links, const struct span_link *one)
{
	uint16_t at = (uint16_t)(links->added % SPAN_LINKS_MAX + 1);

	if (!links->v)
		links->v = calloc((size_t)SPAN_LINKS_MAX + 1, sizeof(*links->v));
	if (!links->v)
		return 0;
	links->v[at] = *one;
	links->added++;
	return at;
}

const struct span_link *span_links_of(const struct span_links *links, const struct span *span)
{
	return span->link && links->v && links->v[span->link].span == span->id ? &links->v[span->link] : NULL;
}

void span_links_free(struct span_links *links)
{
	free(links->v);
	*links = (struct span_links){};
}

void span_fault(struct span_faults *faults, enum span_fault fault, const char *format, ...)
{
	va_list args;

	if (faults->n[fault]++)
		return;
	va_start(args, format);
	vsnprintf(faults->first[fault], sizeof(faults->first[fault]), format, args);
	va_end(args);
	str_make_printable(faults->first[fault]); /* it may quote what was read */
}

void span_assume(struct span_faults *faults, const char *format, ...)
{
	va_list args;

	if (*faults->assumed)
		return;
	va_start(args, format);
	vsnprintf(faults->assumed, sizeof(faults->assumed), format, args);
	va_end(args);
	str_make_printable(faults->assumed);
}

void span_faults_add(struct span_faults *to, const struct span_faults *from)
{
	if (!*to->assumed)
		memcpy(to->assumed, from->assumed, sizeof(to->assumed));
	for (int i = 0; i < SPAN_FAULT_COUNT; i++) {
		if (!to->n[i])
			memcpy(to->first[i], from->first[i], sizeof(to->first[i]));
		to->n[i] += from->n[i];
	}
}

const char *span_fault_name(enum span_fault fault)
{
	static const char *const names[] = {
		[SPAN_FAULT_SYNTAX] = "not of the format", [SPAN_FAULT_ID] = "without a usable id",
		[SPAN_FAULT_TIME] = "with impossible times", [SPAN_FAULT_FIELD] = "fields of the wrong type",
		[SPAN_FAULT_TRUNCATED] = "cut off at the end",
	};

	return fault < SPAN_FAULT_COUNT ? names[fault] : "unknown";
}

const char *span_kind_name(enum span_kind kind)
{
	static const char *const names[] = {"", "internal", "server", "client", "producer", "consumer"};

	return kind <= SPAN_CONSUMER ? names[kind] : "";
}
