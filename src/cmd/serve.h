#pragma once

#include "cmd/verb.h"

#define SERVE_LISTEN "127.0.0.1:7170"

/* The file of tokens that `serve` uses unless told otherwise; the caller frees. NULL without memory. */
char *serve_token_file(void);
/* The page's address, with the first token of the file; `state` follows the '#', NULL = nothing. 0 or -errno with
 * *ret_error (caller frees). */
int serve_address(const char *host, uint16_t port, bool tls, const char *token_file, const char *state, char **ret,
		  char **ret_error);
/* Warns of a certificate that has expired or soon will. What else is wrong with it the server says, which reads it. NULL = none. */
void serve_warn_of_certificate(const char *file);
