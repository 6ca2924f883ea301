/* One process looked at closely: its threads on the CPUs, by a sampling clock, and all of them at single
 * moments. Neither stops it, and no process is traced. By BPF; where that is not available (others than root, kernels
 * without it) through /proc and perf, for less, which look_missing() says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/capture.h"

struct look;

struct look_options {
	uint32_t pid;
	unsigned frequency;    /* samples a second and CPU */
	const char *proc_root; /* "/proc" */
};

struct look_callbacks {
	/* One thread at a moment. Of samples, `user` are the t->n_user frames that frame pointers gave. */
	void (*thread)(const struct capture_thread *t, const uint64_t *user, void *data);
	void *data;
};

/* Opens everything beforehand. 0; -ESRCH; -EACCES for another user's process; -errno. */
int look_open(const struct look_options *options, struct look **ret);
void look_close(struct look *l);
/* All threads as they are now. Number of threads, 0 = the process is gone; or -errno. */
int look_at_threads(struct look *l, const struct look_callbacks *c);
/* Samples that came since the last call; call it at least every 200 ms. */
void look_take_samples(struct look *l, const struct look_callbacks *c);
/* Samples the kernel had no room for. */
uint64_t look_lost(const struct look *l);
/* The files read and written most, by bytes; returns how many, at most `max`. */
unsigned look_files(const struct look *l, struct capture_file *ret, unsigned max);
#define LOOK_MISSING_MAX 8
/* What is not seen, a line each, with what would fix it (static text). Returns how many. */
unsigned look_missing(const struct look *l, const char *ret[LOOK_MISSING_MAX]);
