#include "model/span.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HASHED	  ((uint64_t)1 << 63) /* of ids that are no numbers */
#define TEXT_HIGH 0x7465787400000000ull /* "text": the low half is a name */

/* Value + 1; 0 = no digit. */
static const uint8_t digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,	['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static bool hex_number(const char *text, size_t n, uint64_t *ret)
{
	uint64_t value = 0;
	bool bad = false;

	if (!n || n > 16)
		return false;
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
	return hash_bytes(text, n) | HASHED;
}

void trace_id_of_text(struct names *names, const char *text, size_t n, uint64_t *ret_high, uint64_t *ret_low)
{
	size_t low = n < 16 ? n : 16;

	*ret_high = 0;
	if (n <= 32 && hex_number(text + n - low, low, ret_low) && (n == low || hex_number(text, n - low, ret_high)))
		return;
	*ret_high = n ? TEXT_HIGH : 0;
	*ret_low = names_text(names, text, n);
}

const char *trace_id_text(const struct names *names, uint64_t high, uint64_t low, char buf[33])
{
	if (high == TEXT_HIGH)
		return names_get(names, (uint32_t)low);
	if (high)
		snprintf(buf, 33, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
	else
		snprintf(buf, 33, "%016llx", (unsigned long long)low);
	return buf;
}

void span_fault(struct span_faults *faults, enum span_fault fault, const char *format, ...)
{
	va_list args;

	if (faults->n[fault]++)
		return;
	va_start(args, format);
	vsnprintf(faults->first[fault], sizeof(faults->first[fault]), format, args);
	va_end(args);
}

void span_faults_add(struct span_faults *to, const struct span_faults *from)
{
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
