/* SHA-256 by GnuTLS, which libmicrohttpd brings along; and secrets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DIGEST_TEXT 65 /* 32 bytes as hexadecimal digits, and the end */
#define SECRET_TEXT 65 /* 256 bits */

/* The digest of a text, in hexadecimal digits. 0 or -ENOENT without GnuTLS; *ret_error (caller frees; may be NULL). */
int digest_text(const char *text, char ret[DIGEST_TEXT], char **ret_error);
/* A new secret, in hexadecimal digits. 0 or -EIO. */
int digest_make_secret(char ret[SECRET_TEXT]);
/* Compares in a time that tells nothing about `known`. */
bool digest_is_of_secret(const char *known, const char *given);
