/* Names of code that a living process generated, by its perf map (machine/symbol/jit.h): once it has ended they are lost.
 *
 * The map lies on a file system of the process's choice, which may have died: it is opened in a helper's thread, and waited for for a bounded
 * time. It is read by a process without rights, which ends with generated_names_rest(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "machine/symbol/module.h"

struct helper;

#define GENERATED_NAME_SIZE 256 /* of a longer name the beginning */

struct generated_names {
	struct helper *helper; /* lent */
	struct symbolizer *symbolizer; /* NULL = not asked yet */
	struct hmap nameless; /* (address, pid) that had no name since the last rest */
	bool given_up; /* a map did not open in time: none is asked for until the next rest */
};

/* The name of the function that has an address, which lies in `code`, a mapping of MODULE_MEMORY. False: it is not known. */
bool generated_name(struct generated_names *g, const struct modules *process, const struct mapping *code, uint64_t address,
		    char name[static GENERATED_NAME_SIZE]);
/* Forgets maps: the next question reads what was added since. */
void generated_names_rest(struct generated_names *g);
