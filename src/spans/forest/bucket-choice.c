#include "spans/forest/bucket-choice.h"

#include <string.h>

static bool has_value(const struct forest *f, const struct bucket *b, const char *pair, size_t n)
{
	const char *equal = memchr(pair, '=', n);
	size_t key = equal ? (size_t)(equal - pair) : 0, value = equal ? n - key - 1 : 0;

	for (uint32_t d = 0; equal && d < f->n_dimensions; d++) {
		const char *name = names_get(f->names, f->dimensions[d]), *is = names_get(f->names, b->values[d]);

		if (strlen(name) == key && memcmp(name, pair, key) == 0)
			return strlen(is) == value && memcmp(is, equal + 1, value) == 0;
	}
	return false;
}

bool bucket_is_chosen(const struct bucket_choice *choice, const struct forest *f, const struct bucket *b)
{
	const char *pair = choice ? choice->where : NULL;

	if (choice && choice->entry && !strstr(names_get(f->names, b->entry), choice->entry))
		return false;
	while (pair) {
		size_t n = strcspn(pair, ",");

		if (!has_value(f, b, pair, n))
			return false;
		pair = pair[n] ? pair + n + 1 : NULL;
	}
	return true;
}
