/* Which recording the files of a run directory belong to: RUN/recording holds the id that the recording was given when it was made, and in a
 * second line where it is.
 *
 * Without it the journal of one recording would be read, exported and compacted as the end of another, by any verb that gets --store
 * and no --run-dir, and by a recorder with another file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* 0 = it names none: no recorder ran there, or one from before. */
uint32_t run_dir_recording(const char *run_dir);
/* The recording's file, where a recorder wrote it last; the caller frees it. NULL: it names none. */
char *run_dir_recording_file(const char *run_dir);
/* For the one recorder that has the run directory's lock: from now on it is this recording's, which is in `file`. The journal and marks that a killed recorder
 * of another recording left there move to RUN/other-ID (those of recordings before that go: this is memory), and what moved away of this recording
 * comes back. *ret_set_aside says whether something moved away. 0 or -errno. */
int run_dir_claim(const char *run_dir, uint32_t recording, const char *file, bool *ret_set_aside);
