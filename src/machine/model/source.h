/* A source of counters: one const table in one file under src/machine/sample or src/machine/process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/model/tick.h"

struct ring;

struct source_options {
	const char *proc_root; /* "/proc"; a recorded tree in tests */
	const char *sys_root;  /* "/sys" */
	bool sockets;	       /* count sockets among the open files */
	bool own_processes_only; /* without rights to see others' */
	uint32_t own_uid;
	bool probe;	       /* feel how responsive the machine is: a thread of normal priority */
	const char *probe_file; /* on the disk whose reads are felt; NULL = none are made */
	bool iterator; /* BPF: the kernel's iterator also where a walk of our own is possible */
	struct ring *ring; /* the flight recorder, which adds up what threads wait for; NULL = none */
};

struct source {
	const char *name;
	const char *help;
	/* 0 and *ret_state, or -errno: -EOPNOTSUPP where the machine or the rights do not give it; then *ret_why says
	 * in words what is missing and what would fix it (static text). It also may where something is had, but for more than normally. */
	int (*open)(const struct source_options *options, void **ret_state, const char **ret_why);
	/* Puts this moment's samples. Errors are the source's own to survive: it puts what it has. */
	void (*sample)(void *state, struct tick *tick);
	void (*close)(void *state);
	/* A descriptor that becomes readable when the source has more than it should leave until the next tick, or -1; `drain`
	 * takes that in, and is false where it is too much to keep: then it must be sampled at once. Both may be NULL. */
	int (*wake_fd)(void *state);
	bool (*drain)(void *state);
	unsigned every; /* sampled at every n-th tick; 0 = 1 */
};
