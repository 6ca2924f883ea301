/* Whether a process has a connection to another machine: who has none waits for this one, whatever call it is in. */
#pragma once

#include "machine/answer-live/open-files.h"

/* 1 = it has, 0 = all its sockets of TCP and UDP lead to this machine, or it has none; -ENOENT: it is gone or not to be seen, or has too many. */
int remote_peers_find(struct open_files *files, unsigned pid);
