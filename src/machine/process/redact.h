/* Secrets in command lines: found by how they are normally given, never by what they are.
 *
 *   --password X   --password=X   DB_PASSWORD=X   {"token": "X"}   ?a=1&token=X   Authorization: Bearer X
 *   https://user:X@host   mysql -pX   curl -u user:X
 */
#pragma once

#include <stddef.h>

struct str;

/* Appends a command line with its secrets as "***" and a space between the words. `args` is as the kernel has it: n bytes of
 * words that end in NUL; a word may be a command line itself (sh -c, titles that programs give themselves). */
void redact_secrets(const char *args, size_t n, struct str *out);
