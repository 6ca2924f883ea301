/* Keeps the ranking of a fleet current: pulls from the machines' recorders (whyslow serve), or from Prometheus.
 *
 * A list of hosts is a file of lines
 *
 *   https://web-1:7170 [name=NAME] [token=FILE] [ca=FILE]
 *   ssh://[USER@]web-2[:PORT] [name=NAME]
 *   prometheus://monitor:9090
 *
 * and what a line does not say the options do. A host that was away is asked for what it recorded in the meantime.
 */
#pragma once

#include "fleet/model/watch-round.h"

/* 0; -EINVAL, -errno with *ret_error (caller frees): "hosts.txt:3: ...". */
int fleet_watch_list_read(const char *file, struct watch_list *ret, char **ret_error);
void fleet_watch_list_free(struct watch_list *l);
/* Appends a host by its URL. 0; -EINVAL, -ENOMEM, with *ret_error. */
int fleet_watch_list_add(struct watch_list *l, const char *url, char **ret_error);

struct http_client;
/* A client for this host, with the token and the authority that its line names, else these (NULL = none). Its requests end after
 * `timeout` ns. 0, -EINVAL without a token, -errno with *ret_error (caller frees). */
int fleet_watch_host_connect(const struct watch_host *h, const char *token_file, const char *ca_file, int64_t timeout, struct http_client **ret,
		       char **ret_error);

struct watch_options {
	const char *token_file, *ca_file; /* of hosts that name none */
	int64_t every;	/* ns between rounds */
	int64_t window; /* ns that are kept: what is normal */
	int64_t look;	/* ns at their end that are compared with it */
	uint64_t rounds; /* 0 = until it is ended */
	bool alarms;	 /* servers are judged, too */
};

/* Tells each round. 0, or -errno with *ret_error. */
int fleet_watch_run(struct watch_list *list, const struct watch_options *options,
	      void (*tell)(void *data, const struct watch_round *round), void *data, char **ret_error);
