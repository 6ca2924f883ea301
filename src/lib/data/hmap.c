#include "lib/data/hmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct hmap *m, uint64_t key, uint64_t key2)
{
	uint64_t h = (key ^ (key2 * 0x9e3779b97f4a7c15ull)) * 0xd6e8feb86659fd93ull;

	return (size_t)(h ^ (h >> 32)) & (m->size - 1);
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
	const uint8_t *b = bytes;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return h;
}

uint64_t hmap_hash_text(const char *text)
{
	return hmap_hash_bytes(text, strlen(text));
}
