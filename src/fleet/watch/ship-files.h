/* The files next to a recording that go with it: events kept of marks (traces), and profiles (machine/trace). */
#pragma once

#include <stdint.h>

/* Makes TO/NAME.traces and TO/NAME.profiles like the recording's own folders: what is new or changed is copied (each file replaced whole),
 * what is not there any more is deleted, of folders that an earlier call made (own_folder_open()). 0 or -errno, said in the log. */
int ship_files_to_folder(const char *store_file, const char *to, const char *name);
/* Calls back for each file that is newer than `since` (wall ns), open for reading, with where it belongs ("NAME.traces/3.trace"); stops where that
 * returns other than 0, and returns it. 0 or -errno. */
int ship_files_each(const char *store_file, const char *name, int64_t since, int (*each)(int fd, const char *place, void *data),
		    void *data);
