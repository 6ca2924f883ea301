/* Runs without rights (lib/rights/sandbox.h) and reads a dpkg database that another user may have written. A request is its
 * kind as LEB128 and a text with its length (lib/data/str.h):
 *
 *   OWNER_LISTS path + lists      -> 1 + the first of them that has the path, or 0
 *   OWNER_VERSION package + status -> the version's bytes, of any kind
 */
#pragma once

#include "lib/rights/sandbox.h"

#define VERSION_MAX 128

enum owner_request { OWNER_LISTS = 1, OWNER_VERSION };

/* A sandbox_handler; without data. */
void owner_read(void *data, struct sandbox_request *request, struct str *answer);
