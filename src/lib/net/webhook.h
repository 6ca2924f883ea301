/* Tells another one's server what happened: one POST of JSON. The one way for rules, 'fleet watch' and 'spans watch'. */
#pragma once

/* Waits for the answer, and tries three times in all where the server cannot be reached or is busy: up to a minute, so
 * nothing who must not wait calls it. 0; errors as http_send() and http_check_status(), *ret_error (caller frees) in
 * words, without the address: many have their secret in it. */
int webhook_post(const char *url, const char *json, char **ret_error);
