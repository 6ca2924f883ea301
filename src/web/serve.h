/* The web view and its HTTP interface: `whyslow serve`. It computes nothing and holds no recording: every question goes to
 * a verb (machine/client/ask.h), and what --json prints is what is answered. */
#pragma once

#include <stdint.h>

#include "lib/net/digest.h"
#include "machine/client/ask.h"
#include "web/calls.h"

struct serve_options {
	struct asker asker;
	verb_options_fn verb_options;
	const char *run_dir;   /* its folder `web` gets the control socket (web-control.h) */
	const char *recording; /* which one is served, for who looks for a server of it */
	const char *listen, *cert_file, *key_file, *token_file; /* as of http_server_options */
	const char *const *names;
	const char *spans_file; /* a store that `spans load` or `spans receive` wrote; NULL = the usual one */
	const char *fleet_file; /* counters of a fleet (`fleet load`); NULL = none are served */
	const char *calls_file; /* which of its servers calls which (`fleet why --calls`); NULL = not known */
	const char *hosts_file; /* the recorders of other hosts (host-recorders.h), for the way down from a request; NULL = the default ones */
};

struct serve;

/* 0 or -errno with *ret_error (caller frees). */
int serve_start(const struct serve_options *options, struct serve **ret, char **ret_error);
/* "http://127.0.0.1:7170/". */
const char *serve_address(const struct serve *s);
/* A code for one login of the user that this process runs as, within ten minutes. 0 or -EIO. */
int serve_login_code(const struct serve *s, char ret_code[SECRET_TEXT]);
/* How many tokens stand in the token file themselves, not their digests. */
size_t serve_tokens_in_clear(const struct serve *s);
void serve_stop(struct serve *s); /* NULL: nothing */
