/* Shared by the files of the client: the connection, and how it fails. */
#pragma once

#include "lib/net/clickhouse.h"
#include "lib/net/http-client.h"

#define CLICKHOUSE_EXCEPTION "Code: " /* what an error begins with, instead of an answer or within one */

struct clickhouse {
	struct http_client *http;
	char *base; /* "http://host:port/?database=..." */
	char *database, *table, *cluster;
	char *error;
};

/* Sends one request; a sink takes its answer. 0, what the sink returned, or an error as of clickhouse_query(), with words. */
int clickhouse_send(struct clickhouse *c, const struct http_request *q);
/* An answer as it comes: what is not yet a whole row waits in `rest`. */
struct clickhouse_inflow {
	struct clickhouse *c;
	clickhouse_row_fn *row;
	clickhouse_binary_fn *binary; /* in the place of `row` */
	void *data;
	struct str rest;
	uint64_t rows;
};
/* Takes the next bytes, of any number, and gives out the rows that they complete: 0, what a row function returned, or -errno. A sink of
 * http-client.h: `data` is the inflow. */
int clickhouse_take_piece(const void *bytes, size_t n, void *data);
/* What is left when all has come: nothing, or the error that broke a binary answer off. */
int clickhouse_take_end(struct clickhouse_inflow *in);
/* The error that a text of the server's tells, with words. */
int clickhouse_fault(struct clickhouse *c, const char *text);
