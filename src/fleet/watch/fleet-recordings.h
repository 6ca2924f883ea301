/* Recordings of many machines that lie in one place: files that `whyslow export --format store` wrote, named by their hosts. */
#pragma once

#include <glob.h>

#include "fleet/model/intake.h"
#include "machine/answer-history/recorded.h"

/* Those of a folder (HOST.db, HOST.whyslow), a file or a glob. 0, -ENOENT or -ENOMEM; globfree() in any case. */
int fleet_recordings_find(const char *location, glob_t *ret);
/* "web-1" of "folder/web-1.db"; the caller frees. NULL without memory. */
char *fleet_recording_host(const char *path);
/* Puts it into a fleet, as that server's. 0 or -ENOMEM. */
int fleet_recording_put(const struct recorded *r, const char *server, struct intake *into);
