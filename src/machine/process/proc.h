/* The facts of a process in /proc/PID, taken from the text of its files (man 5 proc). */
#pragma once

#include <stdint.h>

#include "machine/model/feature.h"

#define PF_KTHREAD 0x00200000 /* of proc_stat.flags: include/linux/sched.h */

/* /proc/PID/stat: the whole process, its ended threads too. */
struct proc_stat {
	char comm[64];
	char state;
	uint32_t parent, group, session, flags;
	uint64_t terminal;  /* its controlling one, as stat.st_rdev has devices; 0 = none */
	int64_t foreground; /* the process group that this terminal belongs to at the moment; -1 = none */
	uint64_t minor_faults, major_faults;
	uint64_t user, system; /* ns, a clock tick exact */
	int64_t nice;
	uint64_t threads;
	uint64_t start; /* CLOCK_BOOTTIME, ns, a clock tick exact */
	uint64_t image; /* changes with exec, where the rights allow to see it */
	uint64_t policy;
};

/* 0, or -EBADMSG for what is not a whole stat line. */
int proc_parse_stat(const char *text, struct proc_stat *ret);
/* Its number in its own namespace of process ids: the last one of "NSpid:	4711	3" in /proc/PID/status, or in a thread's. 0 = the text has none. */
uint32_t proc_inner_number(const char *status);
/* One thread's time on a CPU, time ready to run, times put on a CPU. 0 or -EBADMSG. */
int proc_parse_schedstat(const char *text, int64_t ret[3]);
/* These set what the text has: values by feature, and its bits in *present. */
void proc_parse_status(const char *text, int64_t values[PROCESS_FEATURE_COUNT], feature_set *present, uint32_t *uid);
void proc_parse_io(const char *text, int64_t values[PROCESS_FEATURE_COUNT], feature_set *present);
