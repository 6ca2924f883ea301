/* Within trace-file: what its bytes are, for who writes and who reads them. */
#pragma once

#include <stdint.h>

#define TRACE_MAGIC	   "WHYTRACE"
#define TRACE_BLOCK_EVENTS 65536

/* Persisted: never renumber. */
enum section {
	SECTION_META = 1,
	SECTION_CPUS = 2,
	SECTION_THREADS = 3,
	SECTION_MODULES = 4,
	SECTION_MAPPINGS = 5,
	SECTION_SYMBOLS = 6,
	SECTION_STACKS = 7,
	SECTION_EVENTS = 8,
	SECTION_END = 9, /* empty; the file is whole */
};

struct section_header {
	uint32_t kind;
	uint64_t raw, packed;
};
