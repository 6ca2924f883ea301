/* Who is to be held back: processes with all that descend from them, and whether that may be done.
 *
 * /proc/PID/stat: PID (NAME) STATE PPID PGRP SESSION TTY_NR TPGID FLAGS ... THREADS(20th) 0 STARTTIME
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define PROCESS_NAME 32

struct process {
	uint32_t pid, parent, group, session;
	int terminal;	/* 0 = none */
	int foreground; /* process group in the foreground of its terminal */
	uint64_t start; /* clock ticks since boot */
	uint32_t uid;	/* of its files: root's for those that may not be looked into */
	bool kernel;
	bool ended; /* waits for its parent to take note */
	char name[PROCESS_NAME + 1];
};

struct processes {
	VEC(struct process) list;
};
void processes_free(struct processes *p);
/* Everybody, in order of pid. 0 or -errno. */
int processes_read(const char *proc_root, struct processes *ret);
/* One process. 0, -ESRCH. */
int process_read(const char *proc_root, uint32_t pid, struct process *ret);
/* Among all processes; NULL = not there. */
const struct process *processes_find(const struct processes *p, uint32_t pid);
/* The very process, and it has not ended. */
bool process_lives(const char *proc_root, uint32_t pid, uint64_t start);
/* One of them does. */
bool processes_live(const char *proc_root, const struct processes *p);
bool processes_have(const struct processes *p, uint32_t pid);
/* 0 or -ENOMEM. */
int processes_copy(const struct processes *from, struct processes *ret);

struct target {
	struct processes heads;	  /* who was asked for, as first found, those that have ended, too; at least one */
	struct processes members; /* the heads that live, then all that descend from them */
	bool open;		  /* what begins later may be one of the heads: target_takes() */
};
void target_free(struct target *t);
/* Several processes, each known by its number and its start, and their descendants as they are now; of an open one with the one that has
 * joined them. 0, -ENOMEM; -ESRCH: none of them lives. */
int target_of(const char *proc_root, const struct processes *heads, bool open, struct target *ret);
bool target_has(const struct target *t, uint32_t pid);
/* Whether a process of this name and parent is one more of an open target: begun by the one that began a head of the same name. */
bool target_takes(const struct target *t, uint32_t parent, const char *name);
/* Who stands for all of it in words. */
const struct process *target_head(const struct target *t);

struct refusal_options {
	uint32_t viewer; /* who asks: root, or the owner of all of it */
	bool force;	 /* even the foreground program */
	bool others_are_hidden; /* the one who asks sees no other users' processes: what is refused of them does not say that they are there */
};
/* Whether it must be left alone: pid 1 and the kernel's threads; whyslow itself, and the one that it was started
 * by; what the session needs (display server, message bus, login, terminals, shells that people sit at); the
 * foreground program; other users' processes. 0; -EPERM with *ret_why in words (the caller frees), or -errno.
 */
int target_refuse(const char *proc_root, const struct target *t, const struct refusal_options *o,
		  char **ret_why);
/* The same of one process: for the other members of a unit. */
int process_refuse(const char *proc_root, const struct processes *all, const struct process *p,
		   const struct refusal_options *o, char **ret_why);
