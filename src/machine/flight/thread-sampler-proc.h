/* The source of thread-sampler.c where there is no BPF: /proc for all threads at a moment, perf for what runs. */
#pragma once

#include "machine/flight/thread-sampler.h"

struct thread_sampler_proc;

/* 0; -ESRCH; -EACCES, -EPERM; -ENOMEM. Samples are only available of a living machine's /proc. */
int thread_sampler_proc_open(const char *proc_root, uint32_t pid, unsigned frequency, struct thread_sampler_proc **ret);
void thread_sampler_proc_close(struct thread_sampler_proc *l);
/* As their namesakes of look.h; `scratch` is handed to the callback for each thread. */
int thread_sampler_proc_read(struct thread_sampler_proc *l, struct capture_thread *scratch, const struct thread_sampler_callbacks *c);
void thread_sampler_proc_take_samples(struct thread_sampler_proc *l, struct capture_thread *scratch, const struct thread_sampler_callbacks *c);
uint64_t thread_sampler_proc_lost(const struct thread_sampler_proc *l);
unsigned thread_sampler_proc_missing(const struct thread_sampler_proc *l, const char *ret[THREAD_SAMPLER_MISSING_MAX]);
