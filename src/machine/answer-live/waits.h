/* Says in words what a system call waits for. */
#pragma once

#include "lib/data/str.h"
#include "machine/events/capture.h"

/* "a lock or another thread's signal", "data from pipe:[1234]", "the disk, for /var/log/x". */
void wait_words(const char *proc_root, unsigned pid, const struct capture_thread *t, struct str *out);
/* A system call's name on this machine; NULL = not known. */
const char *wait_call_name(int number);
