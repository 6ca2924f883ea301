/* Keeps the ranking of a fleet current: pulls from the machines' recorders (whyslow serve), or from Prometheus.
 *
 * A list of hosts is a file of lines
 *
 *   https://web-1:9470 [name=NAME] [token=FILE] [ca=FILE]
 *   prometheus://monitor:9090
 *
 * and what a line does not say the options do. A host that was away is asked for what it recorded meanwhile.
 */
#pragma once

#include "base/data/vec.h"
#include "model/fleet/fleet-finding.h"

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

/* 0; -EINVAL, -errno with *ret_error (caller frees): "hosts.txt:3: ...". */
int watch_list_read(const char *file, struct watch_list *ret, char **ret_error);
void watch_list_free(struct watch_list *l);

struct http_client;
/* A client for this host, with the token and the authority that its line names, else these (NULL = none). Its requests end after
 * `timeout` ns. 0, -EINVAL without a token, -errno with *ret_error (caller frees). */
int watch_host_connect(const struct watch_host *h, const char *token_file, const char *ca_file, int64_t timeout, struct http_client **ret,
		       char **ret_error);

struct watch_options {
	const char *token_file, *ca_file; /* of hosts that name none */
	int64_t every;	/* ns between rounds */
	int64_t window; /* ns that are kept: what is usual */
	int64_t look;	/* ns at their end that are compared with it */
	uint64_t rounds; /* 0 = until it is ended */
	bool alarms;	 /* servers are judged, too */
};

struct watch_round {
	int64_t at; /* wall ns */
	const struct watch_list *list;
	const struct fleet *fleet;		/* NULL = nothing has come yet */
	const struct fleet_findings *findings;	/* of the default comparison; NULL without a fleet, or too little to compare */
	const struct fleet_findings *alarms;	/* servers by how unusual they are (q); NULL as well where nobody asked */
};

/* Tells each round. 0, or -errno with *ret_error. */
int watch_run(struct watch_list *list, const struct watch_options *options,
	      void (*tell)(void *data, const struct watch_round *round), void *data, char **ret_error);
