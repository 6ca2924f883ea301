#include "lib/data/hmap.h"

#include <errno.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

struct seed {
	uint64_t a, b;
};

/* 16 random bytes that the kernel gives each program that it starts; a process that is forked has those of its parent. */
static struct seed seed_of_process(void)
{
	static const struct seed none = {0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull};
	static const void *_Atomic kept;
	const void *s = atomic_load_explicit(&kept, memory_order_relaxed);
	struct seed seed;

	if (!s) {
		s = (const void *)getauxval(AT_RANDOM); /* NOLINT(performance-no-int-to-ptr) */
		s = s ? s : &none;
		atomic_store_explicit(&kept, s, memory_order_relaxed);
	}
	memcpy(&seed, s, sizeof(seed)); /* the kernel puts it at any address */
	return seed;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hmap_hash(uint64_t key, uint64_t key2)
{
	const struct seed s = seed_of_process();

	return mix(mix(key ^ s.a, s.b | 1) ^ key2, s.a | 1);
}

static size_t slot_of(const struct hmap *m, uint64_t key, uint64_t key2)
{
	return (size_t)hmap_hash(key, key2) & (m->size - 1);
}

static struct hmap_slot *find(const struct hmap *m, uint64_t key, uint64_t key2)
{
	size_t i = slot_of(m, key, key2);

	while (m->slots[i].value && (m->slots[i].key != key || m->slots[i].key2 != key2))
		i = (i + 1) & (m->size - 1);
	return &m->slots[i];
}

void hmap_free(struct hmap *m)
{
	free(m->slots);
	*m = (struct hmap){};
}

void hmap_free_values(struct hmap *m)
{
	HMAP_FOREACH(slot, m)
		free(slot->value);
	hmap_free(m);
}

void *hmap_get(const struct hmap *m, uint64_t key, uint64_t key2)
{
	return m->n ? find(m, key, key2)->value : NULL;
}

void hmap_prefetch(const struct hmap *m, uint64_t key, uint64_t key2)
{
	if (m->n)
		__builtin_prefetch(&m->slots[slot_of(m, key, key2)]);
}

static int grow(struct hmap *m)
{
	struct hmap bigger = {.size = m->size ? 2 * m->size : 16, .n = m->n};

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++)
		if (m->slots[i].value)
			*find(&bigger, m->slots[i].key, m->slots[i].key2) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int hmap_put(struct hmap *m, uint64_t key, uint64_t key2, void *value)
{
	struct hmap_slot *slot;

	if (2 * (m->n + 1) > m->size && grow(m) < 0)
		return -ENOMEM;
	slot = find(m, key, key2);
	if (!slot->value)
		m->n++;
	*slot = (struct hmap_slot){key, key2, value};
	return 0;
}

void *hmap_keep(struct hmap *m, uint64_t key, uint64_t key2, void *value)
{
	if (value && hmap_put(m, key, key2, value) == 0)
		return value;
	free(value);
	return NULL;
}

void *hmap_remove(struct hmap *m, uint64_t key, uint64_t key2)
{
	struct hmap_slot *slot;
	size_t hole, i;
	void *value;

	if (!m->n)
		return NULL;
	slot = find(m, key, key2);
	value = slot->value;
	if (!value)
		return NULL;
	hole = i = (size_t)(slot - m->slots);
	for (;;) {
		size_t home;

		m->slots[hole].value = NULL;
		do {
			i = (i + 1) & (m->size - 1);
			if (!m->slots[i].value) {
				m->n--;
				return value;
			}
			home = slot_of(m, m->slots[i].key, m->slots[i].key2);
			/* an element may fill the hole unless its home lies between the hole and itself */
		} while (hole <= i ? (hole < home && home <= i) : (hole < home || home <= i));
		m->slots[hole] = m->slots[i];
		hole = i;
	}
}

uint64_t hmap_hash_bytes(const void *bytes, size_t n)
{
	const struct seed s = seed_of_process();
	const uint8_t *at = bytes;
	uint64_t h = s.a ^ n, word;

	for (; n >= sizeof(word); at += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = mix(h ^ word, s.b | 1);
	}
	word = 0;
	if (n)
		memcpy(&word, at, n);
	return mix(mix(h ^ word, s.b | 1), s.a | 1);
}

uint64_t hmap_hash_text(const char *text)
{
	return hmap_hash_bytes(text, strlen(text));
}
