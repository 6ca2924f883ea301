/* The feature table as data: what feature-table.h lists, for programs to walk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "machine/model/feature-table.h"

/* What a feature belongs to. Persisted: never renumber. */
enum entity_kind {
	ENTITY_PROCESS = 1,
	ENTITY_SYSTEM = 2,
	ENTITY_CPU = 3,
	ENTITY_DISK = 4,
	ENTITY_FILESYSTEM = 5,
	ENTITY_INTERFACE = 6,
	ENTITY_CGROUP = 7,
	ENTITY_SENSOR = 8,
	ENTITY_SHORT_LIVED = 9, /* all processes of one program that lived for less than a sample; process features */
	ENTITY_KERNEL = 10,	/* kernel work without a process, such as soft interrupts; process features */
	ENTITY_KIND_END
};

enum feature_kind { COUNTER = 1, GAUGE = 2, SAMPLED_GAUGE = 3 };

enum feature_flag {
	READ_FIRST = 1,	 /* an answer reads it of all programs, before it knows which to suspect: a store keeps these so that they can be read
			  * without the others */
	BOOKED_LATE = 2, /* a wait that a sleeper continues with unread: a reading books all that has passed since the one before, which may be
			  * a minute ago; dataset.c puts a growth into the time it is of */
	OF_EACH = 8,	 /* several processes do not have it together: theirs is what one has, the farthest from 0 (shared memory, a nice value) */
	MAY_BE_IDLE = 4, /* who has nothing to do grows it, too: of a program that is new it says nothing */
};

enum unit { NS = 1, BYTES = 2, COUNT = 3, HZ = 4, MILLIDEGREE = 5, MICROWATT = 6, PERMILLE = 7 };

enum resource {
	RESOURCE_OTHER,
	RESOURCE_CPU,
	RESOURCE_MEMORY,
	RESOURCE_IO,
	RESOURCE_HANDLES,
	RESOURCE_FAULTS,
	RESOURCE_THREADS,
	RESOURCE_NETWORK,
	RESOURCE_DELAY,
	RESOURCE_COUNT
};

/* Some features of one kind of entity, by their index. Its width is named here and as FEATURES_MAX alone; what is stored of it is a
 * variable-length number (feature_set_write()). */
__extension__ typedef unsigned __int128 feature_set;
#define FEATURE_BIT(feature)  ((feature_set)1 << (feature))
#define FEATURES_ALL	      (~(feature_set)0)
#define FEATURES_BELOW(count) ((count) >= FEATURES_MAX ? FEATURES_ALL : FEATURE_BIT((count) % FEATURES_MAX) - 1)
_Static_assert(FEATURES_MAX == 8 * sizeof(feature_set), "a bit for each feature");

/* The index of the first of them; there must be one. */
static inline size_t feature_set_first(feature_set set)
{
	return (uint64_t)set ? (size_t)__builtin_ctzll((uint64_t)set) : 64 + (size_t)__builtin_ctzll((uint64_t)(set >> 64));
}

static inline size_t feature_set_count(feature_set set)
{
	return (size_t)__builtin_popcountll((uint64_t)set) + (size_t)__builtin_popcountll((uint64_t)(set >> 64));
}

/* Unsigned LEB128, as str_put_varint() writes the first 64. */
void feature_set_write(feature_set set, struct str *out);
feature_set feature_set_read(struct reader *in);

struct feature {
	const char *name;
	enum unit unit;
	enum feature_kind kind;
	enum resource resource;
	int64_t quantum;
	unsigned flags; /* of enum feature_flag */
	const char *proof;
	const char *help;
};

/* The features of a kind, in the order of a sample's vector; *ret_n of them, at most FEATURES_MAX. */
const struct feature *features_of(enum entity_kind kind, size_t *ret_n);
/* Of programs: those that an answer reads first. */
#define FEATURE_IF_FIRST_(id, name, unit, kind, resource, quantum, flags, ...) | ((flags) & READ_FIRST ? FEATURE_BIT(FEATURE_##id) : 0)
#define FEATURES_READ_FIRST (0 THREAD_FEATURES(FEATURE_IF_FIRST_) PROCESS_FEATURES(FEATURE_IF_FIRST_))
bool feature_is_read_late(const struct feature *features, size_t i);
/* Several processes together have this, where the others have so much (0: none) and one more. */
double feature_together(const struct feature *f, double others, double one);
/* The index of a named feature among its kind's, or -1. */
int feature_index(enum entity_kind kind, const char *name);

const char *entity_kind_name(enum entity_kind kind);
const char *resource_name(enum resource resource);
const char *unit_name(enum unit unit);

/* A value in words a person reads: 3.2 MB/s, 41 %, 12 ms/s, 17. Counters are rates (per second).
 * Time rates are shown as a share of one CPU or of the second ("85 %"). Returns buf. */
char *feature_format(const struct feature *f, double value, char *buf, size_t n);
/* The same as a text that lasts as long as the block where it stands. */
#define FEATURE_TEXT(f, value) feature_format((f), (value), (char[48]){}, 48)
