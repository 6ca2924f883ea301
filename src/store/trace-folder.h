/* Traces of incidents: FOLDER/<mark>.trace, within a budget. */
#pragma once

#include <stdint.h>

/* beside the store's file; the caller frees. NULL without memory. */
char *trace_folder(const char *store_file);
char *trace_file_of(const char *folder, int64_t mark);
/* Deletes the oldest until all together have at most so many bytes; `keep` is not deleted (0 = none). 0 or -errno. */
int trace_trim(const char *folder, uint64_t bytes, int64_t keep);
