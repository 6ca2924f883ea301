/* Profiles as pprof has them (github.com/google/pprof, proto/profile.proto), in gzip.
 *
 * What is kept is a file that 'pprof' and what reads its format open. Gzip may consist of several members, and of a protobuf message the
 * repeated fields of parts that follow each other are one list: so each minute a member is appended with what is new.
 *
 *   Profile   1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 string_table, 9 time_nanos, 10 duration_nanos, 11 period_type,
 *             12 period
 *   Sample    1 location_id (innermost first), 2 value, 3 label        Label    1 key, 2 str, 3 num, 4 num_unit
 *   Mapping   1 id, 2 memory_start, 3 memory_limit, 4 file_offset, 5 filename, 6 build_id
 *   Location  1 id, 2 mapping_id, 3 address, 4 line { 1 function_id }  Function 1 id, 2 name
 *
 * Ours: values "cpu" and "wait" in nanoseconds; labels program, minute, uid and woken_by_uid. A mapping begins at 0: addresses are offsets
 * in the file. Of another program's profile the value called cpu, or its last one, counts as cpu; wait, delay (Go's locks) as waited.
 */
#pragma once

#include <stddef.h>

#include "lib/data/str.h"
#include "machine/events/profile.h"

/* How much of a profile a file has already. All zero: nothing. */
struct pprof_written {
	size_t texts, modules, frames, rows;
};

/* Appends a gzip member with what the profile has beyond *written, and brings that up to date. `began`: wall ns; of the first member. 0,
 * -ENOMEM or -E2BIG. */
int pprof_write(struct profile *p, int64_t began, struct pprof_written *written, struct str *out);

/* Reads a file into *ret, an empty profile: all whole members; one that is cut off at the end is left out. A profile that is not packed is
 * read as well. *ret_unit: of the values: "ns", or another program's word ("bytes", "count"); the caller frees. -EBADMSG; -E2BIG beyond
 * 256 MB unpacked; -ENOMEM. */
int pprof_read(const void *bytes, size_t n, struct profile *ret, char **ret_unit);
