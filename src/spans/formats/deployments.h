/* Deployments as JSON, which a pipeline writes to a file or posts:
 *
 *   {"package": "cart", "version": "2.3", "host": "web-1", "time": "2026-11-20T14:02:07Z"}
 *
 * One, one on each line, a list, or {"deployments": [...]}. "service" and "host.name" and the other names of semantic conventions do,
 * too; a time is a text with or without a zone (UTC), or a number (s, ms, us, ns by its size). Without "host" it is everywhere, without
 * "time" it is `now`.
 */
#pragma once

#include "spans/model/deployment.h"

#define DEPLOYMENTS_FILE_MAX ((size_t)64 << 20)

/* Adds all of them, or none. 0, -ENOMEM, or -EINVAL with *ret_error "NAME: byte N: ..." (caller frees). */
int deployments_parse(const char *name, const char *text, size_t n, int64_t now, struct deployments *d, char **ret_error);
/* The same of a file, where without "time" it is when the file was last written; `now` is for a pipe. -errno with *ret_error. */
int deployments_read(const char *path, int64_t now, struct deployments *d, char **ret_error);
