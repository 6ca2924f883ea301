/* Questions to a machine over the user's own ssh: nothing listens there but sshd. A line ssh://[USER@]HOST[:PORT] of a list of hosts means one.
 * WHYSLOW_SSH is the command in place of "ssh", with its options. */
#pragma once

#include <stdint.h>

#include "lib/data/str.h"

bool ssh_host_is(const char *url);
/* Runs whyslow there with these words, and takes what it prints. 0; -EINVAL: that is not a host's name; -ETIMEDOUT; -EREMOTEIO: it could not be
 * asked, or failed there; -errno. *ret_error (the caller frees) has the reason in words. */
int ssh_host_ask(const char *url, size_t n, const char *const *words, int64_t timeout, struct str *ret, char **ret_error);
