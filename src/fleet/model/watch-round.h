/* A round of `fleet watch`: made by fleet/watch, shown by fleet/ask. */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "lib/data/vec.h"

struct watch_host {
	char *url, *name, *token_file, *ca_file;
	bool ok;
	bool changed;	   /* ok or words are not those of the round before */
	char *words;	   /* what is wrong, and what to do; NULL = nothing */
	int64_t since;	   /* wall ns: ok or not since then */
	int64_t away;	   /* ns it was away before this round; 0 = it was not */
	struct pull *pull; /* the watch's own */
};

struct watch_list {
	VEC(struct watch_host) hosts;
};

struct watch_round {
	int64_t at; /* wall ns */
	const struct watch_list *list;
	const struct fleet *fleet;		/* NULL = nothing has come yet */
	const struct fleet_findings *findings;	/* of the default comparison; NULL without a fleet, or too little to compare */
	const struct fleet_findings *alarms;	/* servers by how unusual they are (q); NULL as well where the options do not ask for it */
};
