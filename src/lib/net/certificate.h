/* What is in a server's PEM files. Certificates are read by GnuTLS, which libmicrohttpd brings along. */
#pragma once

#include <stdint.h>

#include "lib/data/str.h"

/* A PEM file's text (caller frees). 0, or -errno with *ret_error (caller frees): it cannot be read, or is no PEM file. */
int certificate_read_pem(const char *file, char **ret, char **ret_error);
/* The same for a private key: -EACCES with the command that helps where others may read it, or any but its owner may change it. */
int certificate_read_key(const char *file, char **ret, char **ret_error);
/* Until when the first certificate of a PEM file is valid: wall ns. 0, or -errno with *ret_error (caller frees), as of certificate_read_pem();
 * -EINVAL: there is no certificate in it; -ENOENT: there is no GnuTLS. */
int certificate_end(const char *file, int64_t *ret_wall_ns, char **ret_error);
/* Appends in words that a certificate has ended, or ends within three weeks of `now`; nothing where it does not. Times: wall ns. */
void certificate_warning(int64_t end, int64_t now, struct str *out);
/* Logs a warning where a certificate has ended or soon will. What else is wrong with it the server says, which reads it. NULL = none. */
void certificate_warn(const char *file);
