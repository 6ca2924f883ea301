/* Shared by the files of the client: the connection, and how it fails. */
#pragma once

#include "net/clickhouse.h"
#include "net/http-client.h"

#define CLICKHOUSE_EXCEPTION "Code: " /* what an error begins with, instead of an answer or within one */

struct clickhouse {
	struct http_client *http;
	char *base; /* "http://host:port/?database=..." */
	char *database, *table, *cluster;
	char *error;
};

/* Sends one request; a sink takes its answer. 0, what the sink returned, or an error as of clickhouse_query(), with words. */
int clickhouse_send(struct clickhouse *c, const struct http_request *q);
/* The error that a text of the server's tells, with words. */
int clickhouse_fault(struct clickhouse *c, const char *text);
