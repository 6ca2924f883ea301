#include "machine/answer-live/name-query.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define STACK_BYTES (64u << 10) /* above the stack pointer: the resolver's frames have a few KB each */
#define PAGE_BYTES  4096u
#define HEADER	    12
#define LABEL_MAX   63
#define CLASS_IN    1

/* "shop.test" of 4 s h o p 4 t e s t 0, and the type and class behind it; 0 = these are other bytes. */
static size_t parse_name(const uint8_t *at, const uint8_t *end, char *ret)
{
	size_t n = 0;

	while (at < end && *at) {
		size_t length = *at++;

		if (length > LABEL_MAX || (size_t)(end - at) < length || n + length + 1 >= NAME_MAX_LENGTH)
			return 0;
		for (size_t i = 0; i < length; i++)
			if (!isalnum(at[i]) && at[i] != '-' && at[i] != '_')
				return 0;
		memcpy(ret + n, at, length);
		n += length;
		ret[n++] = '.';
		at += length;
	}
	if (!n || end - at < 5 || at[3] != 0 || at[4] != CLASS_IN)
		return 0;
	ret[n - 1] = '\0';
	return n;
}

/* Behind two bytes of its number: a standard query (recursion desired, DNSSEC bits as they may be), one question, no answer, no authority, and
 * an option record or none. */
static bool is_query(const uint8_t *header)
{
	static const uint8_t counts[7] = {0, 1, 0, 0, 0, 0, 0};

	return header[2] == 1 && !(header[3] & (uint8_t)~0x30) && memcmp(header + 4, counts, sizeof(counts)) == 0 && header[11] <= 1;
}

static bool find_in(const uint8_t *bytes, size_t n, char *ret)
{
	for (size_t i = 0; i + HEADER < n; i++)
		if (is_query(bytes + i) && parse_name(bytes + i + HEADER, bytes + n, ret))
			return true;
	return false;
}

/* Page by page: the stack ends somewhere. */
static size_t read_stack(const char *proc_root, const struct live_thread *t, uint8_t *buf)
{
	size_t n = 0;

	while (n < STACK_BYTES) {
		size_t want = PAGE_BYTES - (size_t)((t->stack + n) % PAGE_BYTES);

		want = want < STACK_BYTES - n ? want : STACK_BYTES - n;
		if (!live_thread_memory(proc_root, t, t->stack + n, buf + n, want))
			break;
		n += want;
	}
	return n;
}

bool name_query_find(const char *proc_root, const struct live_thread *t, char ret[NAME_MAX_LENGTH])
{
	uint8_t bytes[STACK_BYTES];

	return t->stack && find_in(bytes, read_stack(proc_root, t, bytes), ret);
}
