#include "lib/input/json-tape.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <yajl/yajl_parse.h>

#include "lib/data/str.h"

#define NONE   ((uint32_t)TAPE_BYTES_MAX - 1)
#define BLOCKS 8 /* of memory that one parser has at once: itself, its lexer, two buffers in two parts each, its stack */

struct scan {
	struct tape *t;
	const char *begin, *end;
	yajl_handle parser;
	uint32_t open; /* the array or object at hand; its size is the one around it until it ends */
	bool done, no_memory;
	void *blocks[BLOCKS];
	jmp_buf starved;
};

void tape_free(struct tape *t)
{
	memory_budget_give(t->budget, t->values.allocated, sizeof(*t->values.v));
	memory_budget_give(t->budget, t->mended_allocated, 1);
	VEC_FREE(t->values);
	free(t->mended);
	*t = (struct tape){};
}

/* --- memory: the parser does not look whether it got any, so a refusal leaves it at once ------------------------------- */

static void *reallocate(void *context, void *block, size_t n)
{
	struct scan *s = context;
	size_t i = 0;
	void *grown;

	while (i < BLOCKS && s->blocks[i] != block)
		i++;
	grown = i < BLOCKS ? realloc(block, n) : NULL;
	if (!grown)
		longjmp(s->starved, 1);
	s->blocks[i] = grown;
	return grown;
}

static void *allocate(void *context, size_t n)
{
	return reallocate(context, NULL, n);
}

static void release(void *context, void *block)
{
	struct scan *s = context;

	for (size_t i = 0; block && i < BLOCKS; i++)
		if (s->blocks[i] == block)
			s->blocks[i] = NULL;
	free(block);
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

static void set_size(struct tape_value *v, uint32_t size)
{
	v->size = size & NONE;
}

/* Behind the value, bracket or quote at hand. */
static const char *here(const struct scan *s)
{
	return s->begin + yajl_get_bytes_consumed(s->parser);
}

/* By half, not twice as many: a text of some megabytes becomes twice its size in values. */
static int grow(struct tape *t)
{
	size_t more = t->values.allocated / 2 + 64;
	struct tape_value *grown;

	if (t->values.n < t->values.allocated)
		return 0;
	if (memory_budget_take(t->budget, more, sizeof(*grown)) < 0)
		return -ENOMEM;
	grown = reallocarray(t->values.v, t->values.allocated + more, sizeof(*grown));
	if (!grown) {
		memory_budget_give(t->budget, more, sizeof(*grown));
		return -ENOMEM;
	}
	t->values.v = grown;
	t->values.allocated += more;
	return 0;
}

static bool push(struct scan *s, enum tape_kind kind, const char *from, size_t n)
{
	struct tape_value v = {.text = from, .n = (uint32_t)n, .size = 1, .kind = (uint32_t)kind & 7};

	s->no_memory = grow(s->t) < 0;
	if (!s->no_memory)
		s->t->values.v[s->t->values.n++] = v;
	return !s->no_memory;
}

/* A value has ended. True = the whole has not: the parser continues. */
static bool go_on(struct scan *s)
{
	s->done = s->open == NONE;
	return !s->done;
}

static int take_null(void *context)
{
	struct scan *s = context;

	return push(s, TAPE_NULL, here(s) - 4, 4) && go_on(s);
}

static int take_boolean(void *context, int value)
{
	struct scan *s = context;
	size_t n = value ? 4 : 5;

	return push(s, value ? TAPE_TRUE : TAPE_FALSE, here(s) - n, n) && go_on(s);
}

static int take_number(void *context, const char *text, size_t n)
{
	struct scan *s = context;

	return push(s, TAPE_NUMBER, text, n) && go_on(s);
}

/* n bytes that stay: at the place where the text is written, which is no shorter. NULL without memory. */
static char *keep(struct scan *s, const char *text, size_t n)
{
	size_t all = (size_t)(s->end - s->begin);

	if (s->t->mended_allocated < all) { /* nothing points into it yet: the first text asks for all there may be */
		memory_budget_give(s->t->budget, s->t->mended_allocated, 1);
		free(s->t->mended);
		s->t->mended = memory_budget_take(s->t->budget, all, 1) < 0 ? NULL : malloc(all);
		s->t->mended_allocated = s->t->mended ? all : 0;
	}
	s->no_memory = !s->t->mended;
	return s->no_memory ? NULL : memcpy(s->t->mended + (here(s) - s->begin) - n - 1, text, n);
}

/* Texts with escapes lie in a buffer of the parser's. */
static bool push_text(struct scan *s, const char *text, size_t n)
{
	bool escaped = (uintptr_t)text < (uintptr_t)s->begin || (uintptr_t)text >= (uintptr_t)s->end, bad = !str_is_utf8(text, n);
	char *kept;

	if (!escaped && !bad)
		return push(s, TAPE_TEXT, text, n);
	kept = keep(s, text, n);
	if (!kept)
		return false;
	for (char *nul = kept; (nul = memchr(nul, '\0', (size_t)(kept + n - nul)));)
		*nul = '?';
	if (bad && !s->t->repaired)
		s->t->repaired = (size_t)(kept - s->t->mended) + 1;
	if (bad)
		(void)str_make_bytes_printable(kept, n);
	return push(s, TAPE_TEXT, kept, n);
}

static int take_key(void *context, const unsigned char *text, size_t n)
{
	return push_text(context, (const char *)text, n);
}

static int take_text(void *context, const unsigned char *text, size_t n)
{
	return push_text(context, (const char *)text, n) && go_on(context);
}

static int begin_value(struct scan *s, enum tape_kind kind)
{
	if (!push(s, kind, here(s) - 1, 0))
		return false;
	set_size(&s->t->values.v[s->t->values.n - 1], s->open);
	s->open = (uint32_t)s->t->values.n - 1;
	return true;
}

static int begin_object(void *context)
{
	return begin_value(context, TAPE_OBJECT);
}

static int begin_array(void *context)
{
	return begin_value(context, TAPE_ARRAY);
}

static int end_value(void *context)
{
	struct scan *s = context;
	struct tape_value *v = &s->t->values.v[s->open];

	s->open = v->size;
	v->n = (uint32_t)(here(s) - v->text);
	set_size(v, (uint32_t)(s->t->values.n - (size_t)(v - s->t->values.v)));
	return go_on(s);
}

static int parse(struct scan *s)
{
	static const yajl_callbacks take = {take_null,	  take_boolean, NULL,	   NULL,	take_number, take_text,
					    begin_object, take_key,	end_value, begin_array, end_value};
	yajl_alloc_funcs memory = {allocate, reallocate, release, s};
	yajl_status status;

	if (setjmp(s->starved))
		return -ENOMEM;
	s->parser = yajl_alloc(&take, &memory, s);
	yajl_config(s->parser, yajl_dont_validate_strings, 1); /* bytes that are not UTF-8 are replaced here */
	status = yajl_parse(s->parser, (const unsigned char *)s->begin, (size_t)(s->end - s->begin));
	s->t->end = yajl_get_bytes_consumed(s->parser);
	if (s->no_memory)
		return -ENOMEM;
	if (s->done || status == yajl_status_ok)
		return s->done ? 0 : -ENODATA;
	s->t->end -= s->t->end && s->begin[s->t->end - 1] == '{'; /* for some the place is behind the token; this one may begin a whole line */
	return -EINVAL;
}

int tape_read(struct tape *t, const char *bytes, size_t n)
{
	struct scan s = {.t = t, .begin = bytes, .end = bytes + n, .open = NONE};
	int r;

	t->values.n = 0;
	t->repaired = 0;
	t->end = 0;
	if (n >= TAPE_BYTES_MAX)
		return -E2BIG;
	r = parse(&s);
	for (size_t i = 0; i < BLOCKS; i++)
		free(s.blocks[i]);
	return memory_budget_result(t->budget, r);
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
