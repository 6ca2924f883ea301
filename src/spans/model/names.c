#include "spans/model/names.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define ARENA_BLOCK 65536
#define BYTES_EACH  384 /* bytes of texts and sets that a bounded table has for each text */
#define VALUES_EACH 4 /* values of attributes that a bounded table has for each text */

struct text {
	const char *data;
	uint32_t length;
	uint32_t hash;
};

/* Ids by hash: open addressing, at most half full, ids next to 32 bits of their hash. */
struct index {
	uint64_t *slots; /* hash << 32 | id */
	size_t size, n;
};

struct names {
	VEC(struct text) texts;		/* 0 = "" */
	VEC(struct attribute_set) sets; /* 0 = the empty one */
	struct index text_index, set_index;
	struct hmap values;	 /* (key, value) -> seen */
	struct hmap value_count; /* (key, 0) -> how many */
	VEC(char *) blocks;
	size_t used; /* of the last block */
	size_t kept; /* bytes of all texts and sets */
	uint32_t most, others; /* names_bound(): 0 = none; the text that stands for others */
	uint64_t *seen;	       /* a bit for each value of some bits of their hashes */
};

static uint32_t hash_of(const void *bytes, size_t n)
{
	return (uint32_t)hmap_hash_bytes(bytes, n);
}

static int index_grow(struct index *x)
{
	size_t size = x->size ? 2 * x->size : 256;
	uint64_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < x->size; i++) {
		size_t at = (size_t)(x->slots[i] >> 32) & (size - 1);

		if (!(uint32_t)x->slots[i])
			continue;
		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = x->slots[i];
	}
	free(x->slots);
	x->slots = slots;
	x->size = size;
	return 0;
}

static int index_put(struct index *x, uint32_t hash, uint32_t id)
{
	size_t at;

	if (2 * (x->n + 1) > x->size && index_grow(x) < 0)
		return -ENOMEM;
	for (at = hash & (x->size - 1); x->slots[at]; at = (at + 1) & (x->size - 1))
		;
	x->slots[at] = (uint64_t)hash << 32 | id;
	x->n++;
	return 0;
}

/* Memory that lives as long as the table. */
static void *keep(struct names *names, const void *bytes, size_t n, size_t extra)
{
	size_t used = (names->used + 7) & ~(size_t)7, need = n + extra;
	char *at;

	if (!names->blocks.n || used + need > ARENA_BLOCK) {
		char *block = malloc(need > ARENA_BLOCK ? need : ARENA_BLOCK);

		if (VEC_PUSH_OWNER(names->blocks, block, block) < 0)
			return NULL;
		used = 0;
	}
	at = names->blocks.v[names->blocks.n - 1] + used;
	memcpy(at, bytes, n);
	memset(at + n, 0, extra);
	names->used = used + need;
	names->kept += need;
	return at;
}

struct names *names_new(void)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names || VEC_PUSH(names->texts, (struct text){.data = ""}) < 0 ||
	    VEC_PUSH(names->sets, (struct attribute_set){}) < 0 || index_grow(&names->text_index) < 0 ||
	    index_grow(&names->set_index) < 0) {
		names_free(names);
		return NULL;
	}
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	VEC_FREE_EACH(names->blocks, free(*each));
	VEC_FREE(names->texts);
	VEC_FREE(names->sets);
	FREE_ALL(names->text_index.slots, names->set_index.slots, names->seen);
	hmap_free(&names->values);
	hmap_free(&names->value_count);
	free(names);
}

static uint32_t find_text(const struct names *names, const char *text, size_t n, uint32_t hash)
{
	const struct index *x = &names->text_index;

	for (size_t at = hash & (x->size - 1); x->slots[at]; at = (at + 1) & (x->size - 1)) {
		const struct text *t = &names->texts.v[(uint32_t)x->slots[at]];

		if (x->slots[at] >> 32 == hash && t->length == n && !memcmp(t->data, text, n))
			return (uint32_t)x->slots[at];
	}
	return 0;
}

/* Names come from the one that was recorded, and go to terminals. What is known already is clean: it is asked only of what is new. */
static const char *clean(const char *text, size_t n, char buf[NAME_TEXT_MAX])
{
	memcpy(buf, text, n);
	return str_make_bytes_printable(buf, n) ? buf : text;
}

static bool is_full(const struct names *names, size_t n)
{
	return names->most && (n >= names->most || names->kept >= BYTES_EACH * (size_t)names->most);
}

#define SEEN_BITS ((size_t)1 << 20)

static uint32_t note_other(struct names *names, uint64_t hash)
{
	size_t bit = (size_t)(hash >> 32) & (SEEN_BITS - 1);

	names->seen[bit / 64] |= (uint64_t)1 << bit % 64;
	return names->others;
}

int names_bound(struct names *names, uint32_t most)
{
	names->seen = calloc(SEEN_BITS / 64, sizeof(*names->seen));
	names->others = names->seen ? names_text(names, NAME_OTHERS, strlen(NAME_OTHERS)) : 0;
	if (!names->others)
		return -ENOMEM;
	names->most = most;
	return 0;
}

/* Each of n texts sets one bit of m: about m x (1 - e^(-n/m)) bits are set. */
uint64_t names_others(const struct names *names)
{
	size_t set = 0;

	for (size_t i = 0; names->seen && i < SEEN_BITS / 64; i++)
		set += (size_t)__builtin_popcountll(names->seen[i]);
	return (uint64_t)llround(-(double)SEEN_BITS * log1p(-(double)(set < SEEN_BITS ? set : SEEN_BITS - 1) / (double)SEEN_BITS));
}

uint32_t names_text(struct names *names, const char *text, size_t n)
{
	char buf[NAME_TEXT_MAX];
	uint32_t hash, id;
	const char *kept;

	if (n > NAME_TEXT_MAX)
		n = NAME_TEXT_MAX;
	if (!n)
		return 0;
	hash = hash_of(text, n);
	id = find_text(names, text, n, hash);
	if (id)
		return id;
	kept = clean(text, n, buf);
	if (kept != text)
		return names_text(names, kept, n);
	if (is_full(names, names->texts.n - 1))
		return note_other(names, hmap_hash_bytes(text, n));
	kept = keep(names, text, n, 1);
	if (!kept || VEC_PUSH(names->texts, (struct text){kept, (uint32_t)n, hash}) < 0)
		return 0;
	id = (uint32_t)names->texts.n - 1;
	if (index_put(&names->text_index, hash, id) < 0) {
		names->texts.n--;
		return 0;
	}
	return id;
}

uint32_t names_find(const struct names *names, const char *text)
{
	size_t n = strlen(text);

	return n ? find_text(names, text, n, hash_of(text, n)) : 0;
}

const char *names_get(const struct names *names, uint32_t text)
{
	return text < names->texts.n ? names->texts.v[text].data : "";
}

uint32_t names_count(const struct names *names)
{
	return (uint32_t)names->texts.n;
}

uint32_t names_values(const struct names *names, uint32_t key)
{
	return (uint32_t)(uintptr_t)hmap_get(&names->value_count, key, 0);
}

bool names_too_fine(const struct names *names, uint32_t key)
{
	return (uintptr_t)hmap_get(&names->value_count, key, 0) > NAME_VALUES_MAX;
}

uint32_t names_value(struct names *names, uint32_t key, const char *value, size_t n)
{
	uintptr_t count = (uintptr_t)hmap_get(&names->value_count, key, 0);
	char buf[NAME_TEXT_MAX];
	uint32_t hash, id;

	if (count > NAME_VALUES_MAX || !n)
		return 0;
	if (n > NAME_TEXT_MAX)
		n = NAME_TEXT_MAX;
	hash = hash_of(value, n);
	id = find_text(names, value, n, hash);
	if (!id && clean(value, n, buf) == buf)
		return names_value(names, key, buf, n);
	if (id && hmap_get(&names->values, key, id))
		return id;
	if (names->most && names->values.n >= VALUES_EACH * (size_t)names->most)
		return 0;
	count++;
	if (hmap_put(&names->value_count, key, 0, (void *)count) < 0 || count > NAME_VALUES_MAX)
		return 0;
	id = names_text(names, value, n);
	if (id && hmap_put(&names->values, key, id, names) < 0)
		return 0;
	return id;
}

ORDER(by_key, struct attribute, ASCENDING(key))

/* By key, of a key the last one; insertion sort: stable, and sets are short. */
static size_t arrange(struct attribute *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 1; i < n; i++) {
		struct attribute one = v[i];
		size_t at = i;

		for (; at > 0 && by_key(&v[at - 1], &one) > 0; at--)
			v[at] = v[at - 1];
		v[at] = one;
	}
	for (size_t i = 0; i < n; i++) {
		if (!v[i].value || (i + 1 < n && v[i + 1].key == v[i].key))
			continue;
		v[kept++] = v[i];
	}
	return kept;
}

uint32_t names_set(struct names *names, uint32_t service, struct attribute *v, size_t n)
{
	struct index *x = &names->set_index;
	struct attribute_set set = {.service = service};
	uint32_t hash;

	n = arrange(v, n);
	if (!n && !service)
		return 0;
	hash = hash_of(v, n * sizeof(*v)) ^ (service * 0x9e3779b1u);
	for (size_t at = hash & (x->size - 1); x->slots[at]; at = (at + 1) & (x->size - 1)) {
		const struct attribute_set *s = &names->sets.v[(uint32_t)x->slots[at]];

		if (x->slots[at] >> 32 == hash && s->n == n && s->service == service &&
		    (!n || !memcmp(s->v, v, n * sizeof(*v))))
			return (uint32_t)x->slots[at];
	}
	if (is_full(names, names->sets.n) || names->sets.n >= NAME_SETS_MAX)
		return 0;
	set.n = (uint32_t)n;
	set.v = keep(names, v, n * sizeof(*v), 0);
	if (!set.v || VEC_PUSH(names->sets, set) < 0)
		return 0;
	if (index_put(x, hash, (uint32_t)names->sets.n - 1) < 0) {
		names->sets.n--;
		return 0;
	}
	return (uint32_t)names->sets.n - 1;
}

const struct attribute_set *names_get_set(const struct names *names, uint32_t set)
{
	return &names->sets.v[set < names->sets.n ? set : 0];
}

uint32_t names_set_count(const struct names *names)
{
	return (uint32_t)names->sets.n;
}

uint32_t attribute_set_value(const struct attribute_set *set, uint32_t key)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->v[i].key == key)
			return set->v[i].value;
	return 0;
}

static bool is_said(const char *value)
{
	return *value && strcmp(value, "false") != 0;
}

static bool is_http_failure(const char *value)
{
	return strlen(value) == 3 && (*value == '4' || *value == '5');
}

static bool is_grpc_failure(const char *value)
{
	return strcasecmp(value, "OK") != 0 && strcmp(value, "0") != 0;
}

/* The rank of an attribute as the type of a failure, from 1 on; 0 = it is none. */
static size_t error_rank(const struct names *names, const struct attribute *a)
{
	static const struct {
		const char *key;
		bool (*failed)(const char *value);
	} types[] = {{"error.type", is_said}, {"exception.type", is_said}, {"error.kind", is_said}, {"rpc.grpc.status_code", is_grpc_failure},
		     {"grpc.status", is_grpc_failure}, {"http.response.status_code", is_http_failure}, {"http.status_code", is_http_failure}};
	const char *key = names_get(names, a->key);

	for (size_t i = 0; a->key && i < ARRAY_SIZE(types); i++)
		if (strcmp(key, types[i].key) == 0)
			return types[i].failed(names_get(names, a->value)) ? i + 1 : 0;
	return 0;
}

void names_take_error_type(const struct names *names, const struct attribute *one, struct attribute *type)
{
	size_t rank = error_rank(names, one), best = error_rank(names, type);

	if (rank && (!best || rank < best))
		*type = *one;
}
