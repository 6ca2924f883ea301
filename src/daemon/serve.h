/* The web view and its HTTP interface: `whyslow serve`. It computes nothing and holds no recording: every question goes to
 * a verb (daemon/ask.h), and what --json prints is what is answered. */
#pragma once

#include <stdint.h>

#include "daemon/ask.h"

struct serve_options {
	struct asker asker;
	const char *listen, *cert_file, *key_file, *token_file; /* as of http_server_options */
	const char *const *names;
	const char *spans_file; /* a store that `spans load` or `spans receive` wrote; NULL = the usual one */
	const char *fleet_file; /* counters of a fleet (`fleet load`); NULL = none are served */
};

struct serve;

/* 0 or -errno with *ret_error (caller frees). */
int serve_start(const struct serve_options *options, struct serve **ret, char **ret_error);
uint16_t serve_port(const struct serve *s);
void serve_stop(struct serve *s);
/* The interface as an OpenAPI 3 document; the caller's reference. */
json_t *serve_openapi(void);
