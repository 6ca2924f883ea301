/* An open-addressing map from two 64-bit words to a pointer (never NULL).
 *
 * Two words hold every key this program has: (pid, start time), (kind, hash of a name), (id, 0).
 * The map owns its slots, not what they point to. Deletion shifts the chain back, so there are no tombstones.
 *
 * Hashes depend on a secret of the process: who chooses keys cannot choose those that share a slot. So they mean nothing in a file or to
 * another process (str_stable_hash() does), and the order of HMAP_FOREACH differs from run to run.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hmap_slot {
	uint64_t key, key2;
	void *value; /* NULL = free */
};

struct hmap {
	struct hmap_slot *slots;
	size_t n, size; /* size is a power of two, at most half full */
};

void hmap_free(struct hmap *m);
/* The same with free() of each value before. */
void hmap_free_values(struct hmap *m);
void *hmap_get(const struct hmap *m, uint64_t key, uint64_t key2);
/* Fetches the memory where the search for this key begins. */
void hmap_prefetch(const struct hmap *m, uint64_t key, uint64_t key2);
/* Inserts or replaces. 0 or -ENOMEM. */
int hmap_put(struct hmap *m, uint64_t key, uint64_t key2, void *value);
/* The same of what the map is to own: `value`, or NULL where it is NULL or was freed, because there is no memory. */
void *hmap_keep(struct hmap *m, uint64_t key, uint64_t key2, void *value);
/* Removes and returns what was there, or NULL. */
void *hmap_remove(struct hmap *m, uint64_t key, uint64_t key2);

/* Also for tables of another form. */
uint64_t hmap_hash(uint64_t key, uint64_t key2);
/* Hashes n bytes, for keys made of text. */
uint64_t hmap_hash_bytes(const void *bytes, size_t n);
uint64_t hmap_hash_text(const char *text);

#define HMAP_FOREACH(slot, map) \
	for (struct hmap_slot *slot = (map)->slots, *slot##_end = slot ? slot + (map)->size : slot; slot < slot##_end; slot++) \
		if (slot->value)
