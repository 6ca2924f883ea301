/* What a rule has done about an event, each in a process of its own that no one waits for: a command, a POST to someone's
 * server, an inspection. The recorder itself speaks no HTTP and touches no disk for it. In its unit it has no network: there
 * the service manager starts commands and POSTs in units whyslow-hook-NUMBER.service, with bounds of their own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/rule/rule.h"

struct hook_event {
	const char *rule, *note;
	const char *host; /* where it happened; NULL = here */
	bool over;    /* it ended, not began */
	int64_t id;   /* of the incident; 0 = not kept */
	int64_t wall; /* ns */
};

/* Each: 0 and *ret = who does it; -errno. */

/* By the shell, with WHYSLOW_EVENT, _RULE, _NOTE and _ID in its environment. */
int hook_run(const char *command, const struct hook_event *event, pid_t *ret);
/* Schema "whyslow.event/1" (docs/json.md). -E2BIG beyond what a pipe takes at once. */
int hook_post(const char *url, const struct hook_event *event, pid_t *ret);
/* 5 s of who does what in a process, kept with the incident as this phase's; actions: ACTION_MEMORY: also what its memory consists of;
 * ACTION_INSTRUCTIONS: 20 ms of it instruction by instruction where the CPU traces them; elsewhere the report says why not. */
int hook_inspect(uint32_t pid, int64_t id, unsigned phase, enum rule_action actions, const char *store_file, const char *run_dir, pid_t *ret);

/* The other end of hook_post(), 'whyslow --post': takes the address in a line from standard input (others see the words
 * of a command line), and behind it what is to be posted. 0 = it arrived. */
int hook_post_from_input(void);
