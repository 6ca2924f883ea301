/* One process looked at closely: its threads on the CPUs, by a sampling clock, and all of them at single
 * moments. Neither stops it, and no process is traced. By BPF; where that is not available (others than root, kernels
 * without it) through /proc and perf, for less, which thread_sampler_missing() says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/events/capture.h"

struct thread_sampler;

struct thread_sampler_options {
	uint32_t pid;
	unsigned frequency;    /* samples a second and CPU */
	const char *proc_root; /* "/proc" */
};

struct thread_sampler_callbacks {
	/* One thread at a moment. Of samples, `user` are the t->n_user frames that frame pointers gave. */
	void (*thread)(const struct capture_thread *t, const uint64_t *user, void *data);
	void *data;
};

/* Opens everything beforehand. 0; -ESRCH; -EACCES for another user's process; -errno. */
int thread_sampler_open(const struct thread_sampler_options *options, struct thread_sampler **ret);
void thread_sampler_close(struct thread_sampler *l);
/* All threads as they are now. Number of threads, 0 = the process is gone; or -errno. */
int thread_sampler_read(struct thread_sampler *l, const struct thread_sampler_callbacks *c);
/* Samples that came since the last call; call it at least every 200 ms. */
void thread_sampler_take_samples(struct thread_sampler *l, const struct thread_sampler_callbacks *c);
/* Samples the kernel had no room for. */
uint64_t thread_sampler_lost(const struct thread_sampler *l);
/* The files read and written most, by bytes; returns how many, at most `max`. */
unsigned thread_sampler_files(const struct thread_sampler *l, struct capture_file *ret, unsigned max);
#define THREAD_SAMPLER_MISSING_MAX 8
/* The gaps in what is seen, a line each, with what would fix it (static text). Returns how many. */
unsigned thread_sampler_missing(const struct thread_sampler *l, const char *ret[THREAD_SAMPLER_MISSING_MAX]);
