/* The feature table as data: what feature-table.h lists, for programs to walk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/machine/feature-table.h"

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

struct feature {
	const char *name;
	enum unit unit;
	enum feature_kind kind;
	enum resource resource;
	int64_t quantum;
	const char *proof;
	const char *help;
};

/* The features of a kind, in the order of a sample's vector; *ret_n of them, at most FEATURES_MAX. */
const struct feature *features_of(enum entity_kind kind, size_t *ret_n);
/* Of programs, what an answer reads of everybody, before it knows whom to suspect: a store keeps these so that they can be read
 * without the others. */
#define FEATURES_READ_FIRST                                                                                           \
	(1ull << FEATURE_CPU_TIME | 1ull << FEATURE_CPU_RUN_DELAY | 1ull << FEATURE_IO_READ_BYTES |                    \
	 1ull << FEATURE_IO_WRITE_BYTES | 1ull << FEATURE_DELAY_BLOCK | 1ull << FEATURE_DELAY_SWAPIN |                 \
	 1ull << FEATURE_DELAY_RECLAIM | 1ull << FEATURE_DELAY_THRASHING | 1ull << FEATURE_WAIT_QUOTA |                \
	 1ull << FEATURE_WAIT_LOCK | 1ull << FEATURE_WAIT_DISK | 1ull << FEATURE_WAIT_NETWORK | 1ull << FEATURE_WAIT_PEER |          \
	 1ull << FEATURE_THREADS | 1ull << FEATURE_MEM_ANON |                                                           \
	 1ull << FEATURE_MEM_SHMEM | 1ull << FEATURE_MEM_LOCKED | 1ull << FEATURE_HANDLES_FILES |                      \
	 1ull << FEATURE_SCHED_NICE | 1ull << FEATURE_QUOTA_THROTTLED | 1ull << FEATURE_NET_RX_BYTES |                 \
	 1ull << FEATURE_NET_TX_BYTES | 1ull << FEATURE_NET_RX_CALLS | 1ull << FEATURE_NET_TX_CALLS |                  \
	 1ull << FEATURE_CHILDREN_SHORT | 1ull << FEATURE_CHILDREN_CPU)
/* Of programs, waits that a sleeper continues with unread: a reading books all that has passed since the one before, which may be a minute
 * ago. dataset.c puts a growth into the time it is of. */
#define FEATURES_READ_LATE \
	(1ull << FEATURE_WAIT_LOCK | 1ull << FEATURE_WAIT_DISK | 1ull << FEATURE_WAIT_NETWORK | 1ull << FEATURE_WAIT_PEER | 1ull << FEATURE_WAIT_OTHER)
bool feature_is_read_late(const struct feature *features, size_t i);
/* The index of a named feature among its kind's, or -1. */
int feature_index(enum entity_kind kind, const char *name);

const char *entity_kind_name(enum entity_kind kind);
const char *resource_name(enum resource resource);
const char *unit_name(enum unit unit);

/* A value in words a person reads: 3.2 MB/s, 41 %, 12 ms/s, 17. Counters are rates (per second).
 * Time rates are shown as a share of one CPU or of the second ("85 %"). Returns buf. */
char *format_value(const struct feature *f, double value, char *buf, size_t n);
