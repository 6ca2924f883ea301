#include "machine/events/wait-chain.h"

#include <stdio.h>
#include <stdlib.h>

const char *const chain_kind_names[CHAIN_KINDS] = {
	[CHAIN_UNKNOWN] = "unknown", [CHAIN_RUNS] = "runs",   [CHAIN_SLEEPS] = "sleeps", [CHAIN_STOPPED] = "stopped",
	[CHAIN_FILE_LOCK] = "file_lock", [CHAIN_LOCK] = "lock", [CHAIN_PIPE] = "pipe",   [CHAIN_LOCAL_SOCKET] = "local_socket",
	[CHAIN_TCP] = "tcp",	     [CHAIN_REMOTE] = "remote", [CHAIN_CHILD] = "child", [CHAIN_FUSE] = "fuse",
	[CHAIN_DISK] = "disk",	     [CHAIN_EVENTS] = "events", [CHAIN_UDP] = "udp",	      [CHAIN_SCANNER] = "scanner",
	[CHAIN_DATABASE] = "database_lock", [CHAIN_OLDER_REQUEST] = "older_request", [CHAIN_FROZEN] = "frozen_file_system",
	[CHAIN_QUOTA] = "cpu_quota", [CHAIN_LIMIT] = "limit",
};

void wait_chain_free(struct wait_chain *c)
{
	VEC_FREE_EACH(c->links, free(each->words); free(each->label));
}

const char *chain_link_name(const struct chain_link *l)
{
	return l->label ?: l->comm;
}

char *wait_chain_remedy(const struct wait_chain *c)
{
	const struct chain_link *end = c->links.v + c->links.n;
	char *text = NULL;
	int r = 0;

	for (const struct chain_link *l = c->links.v; l < end && !text && r >= 0; l++)
		if (*l->ends && l + 1 < end)
			r = asprintf(&text, "Commit or roll back in %s (pid %u). Or end that session, and lose what it has not committed: %s",
				     chain_link_name(l + 1), l[1].pid, l->ends);
		else if (*l->ends)
			r = asprintf(&text, "End that session, and lose what it has not committed: %s", l->ends);
	return r < 0 ? NULL : text;
}
