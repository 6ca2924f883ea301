/* Where a command's time went: what `whyslow run` tells. */
#pragma once

#include "machine/findings/finding.h"
#include "machine/model/dataset.h"

/* The work of the command and all its descendants, ns. NaN = not measured here. */
struct account {
	double wall;
	double cpu;
	double run_delay; /* ready, but no CPU was free */
	double block;	  /* waiting for a disk */
	double memory;	  /* waiting for memory: reclaim, swap, thrashing */
	double throttled; /* held back by a CPU quota */
	double other;	  /* the rest of the main process's time: sleep, locks, network, children */
	double read_bytes, write_bytes;
	uint32_t processes;
	enum bottleneck bottleneck;
	const struct subject *competitor; /* who used most of what it waited for; NULL = no one to speak of */
	double competitor_share;	  /* of that resource */
};

/* The account of the process `pid` and its descendants from all of the dataset. `wall_ns` is how long it ran. */
void account_tree(const struct dataset *d, uint32_t pid, int64_t wall_ns, struct account *ret);
