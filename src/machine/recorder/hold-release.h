/* Gives back what no one minds any more (machine/act/hold-file.h): what a killed `confirm` and its guardian left, and
 * what `calm` kept of a process that ended. A thread that sleeps until a file comes or goes in RUN/held, or
 * someone named there ends. */
#pragma once

struct hold_release;

/* Looks through what an earlier run left at once, then waits. 0 or -errno. */
int hold_release_start(const char *run_dir, struct hold_release **ret);
void hold_release_stop(struct hold_release *k);
