/* Gives back what nobody minds any more (act/hold-file.h): what a killed `confirm` and its guardian left, and
 * what `calm` kept of a process that ended. A thread that sleeps until a file comes or goes in RUN/held, or
 * somebody named there ends. */
#pragma once

struct keeper;

/* Looks through what an earlier run left at once, then waits. 0 or -errno. */
int keeper_start(const char *run_dir, struct keeper **ret);
void keeper_stop(struct keeper *k);
