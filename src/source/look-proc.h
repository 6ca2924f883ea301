/* What look.c has of a process where there is no BPF: /proc for all threads at a moment, perf for what runs. */
#pragma once

#include "source/look.h"

struct look_proc;

/* 0; -ESRCH; -EACCES, -EPERM; -ENOMEM. Samples are only available of a living machine's /proc. */
int look_proc_open(const char *proc_root, uint32_t pid, unsigned frequency, struct look_proc **ret);
void look_proc_close(struct look_proc *l);
/* As their namesakes of look.h; `scratch` is handed to the callback for each thread. */
int look_proc_at_threads(struct look_proc *l, struct capture_thread *scratch, const struct look_callbacks *c);
void look_proc_take_samples(struct look_proc *l, struct capture_thread *scratch, const struct look_callbacks *c);
uint64_t look_proc_lost(const struct look_proc *l);
unsigned look_proc_missing(const struct look_proc *l, const char *ret[LOOK_MISSING_MAX]);
