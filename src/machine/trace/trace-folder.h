/* Traces of incidents: FOLDER/<mark>.trace, within a budget. */
#pragma once

#include <stdint.h>

/* next to the store's file; the caller frees. NULL without memory. */
char *trace_folder(const char *store_file);
char *trace_file_of(const char *folder, int64_t mark);
/* Deletes the oldest until all together have at most so many bytes; `keep` is not deleted (0 = none). Any user may press the button:
 * as long as the traces of ordinary users have more than half of the bytes, the oldest of the user who has most goes, and none of
 * root's or of a rule. Who pressed is looked up in the recording (NULL: nowhere); a mark that is not there is root's. 0 or -errno. */
int trace_trim(const char *folder, uint64_t bytes, int64_t keep, const char *store_file, const char *run_dir);
