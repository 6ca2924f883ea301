/* Build-ids of the files that processes have mapped, read by a process without rights: any user may map any file. */
#pragma once

#include "machine/symbol/module.h"

struct identifier;

/* 0 or -ENOMEM. */
int identify_new(struct identifier **ret);
void identify_free(struct identifier *i);
/* Ends the process that reads files, until the next one is to be read; what is known stays. After some processes that died or stalled
 * nothing more is read; each rest allows one more. */
void identifier_rest(struct identifier *i);
/* Reads the build-ids of those modules of a process that have code, each file once. A size stays 0 where the file has
 * none, cannot be opened, or is damaged. */
void identifier_identify(struct identifier *i, struct modules *m);
