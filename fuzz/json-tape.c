/* JSON texts one behind the other: each value is where its size says, and every text lies in what was read. */
#include <stdlib.h>

#include "fuzz/target.h"
#include "lib/input/json-tape.h"

#define TEXTS_MAX 64 /* of one input */

static size_t walk(const struct tape *t, const struct tape_value *v);

static size_t walk_pairs(const struct tape *t, const struct tape_value *object)
{
	size_t n = 1;

	TAPE_PAIRS(key, object) {
		if (key->kind != TAPE_TEXT || !tape_find(object, key->text, key->n))
			abort();
		n += 1 + walk(t, key + 1);
	}
	return n;
}

/* How many values it found, which is what the value says. */
static size_t walk(const struct tape *t, const struct tape_value *v)
{
	size_t n = 1, length, sum = 0;
	const char *text;
	int64_t whole;

	if (v < t->values.v || v->size == 0 || tape_next(v) > t->values.v + t->values.n)
		abort();
	(void)tape_whole(v, &whole);
	(void)tape_number(v);
	text = tape_text(v, &length);
	for (size_t i = 0; text && i < length; i++)
		sum += (uint8_t)text[i]; /* all of it can be read */
	if (v->kind == TAPE_OBJECT)
		n = walk_pairs(t, v);
	TAPE_EACH(element, v)
		n += walk(t, element);
	if (n != v->size || sum == SIZE_MAX)
		abort();
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *at = (const char *)bytes, *end = at + n;
	struct tape t = {};

	for (int i = 0; i < TEXTS_MAX && at < end && tape_read(&t, at, (size_t)(end - at)) == 0; i++) {
		if (t.end == 0 || t.end > (size_t)(end - at))
			abort();
		walk(&t, t.values.v);
		at += t.end;
	}
	tape_free(&t);
	return 0;
}
