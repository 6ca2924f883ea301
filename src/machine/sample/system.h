/* The readers of the machine's own counters; system.c joins them into one entity. A reader is one const table in one
 * file. It opens its files once and reads them with pread(), so that a sample opens nothing. */
#pragma once

#include <stdint.h>

#include "machine/model/source.h"

struct system_reader {
	/* 0 and *ret_state, or -errno where the kernel does not have the file. */
	int (*open)(const struct source_options *options, void **ret_state);
	/* Sets what was measured of the machine, with its bits; may put entities of its own into the tick. */
	void (*read)(void *state, struct tick *tick, int64_t *values, feature_set *present);
	void (*close)(void *state);
	const char *missing; /* what to say when it cannot be opened */
};

extern const struct system_reader psi_reader;
extern const struct system_reader stat_reader;
extern const struct system_reader meminfo_reader;
extern const struct system_reader vmstat_reader;
extern const struct system_reader snmp_reader;
extern const struct system_reader connect_reader;
extern const struct system_reader probe_reader; /* after psi_reader, whose values it looks at */

/* From the text of a pressure file, what follows "total=" on the line that begins with `line` ("some", "full"): time
 * in ns. False where the line is not there. */
bool system_psi_total(const char *text, const char *line, uint64_t *ret_ns);
