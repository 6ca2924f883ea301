#include "machine/answer-waits/chain-search.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "machine/answer-waits/used-up.h"

#define LOOKED_AT   256 /* handles, of who has thousands */
#define HOLDERS_MOST 16 /* processes that are counted */
#define NEARLY	    1  /* handles that are left: a library opens one for a moment, and gives it back */

struct holder {
	unsigned pid, ends;
};

/* Who has most of the other ends of what the process has open, and at least half of them; 0 = no process has. */
static unsigned find_holder(struct chain_search *s)
{
	struct holder holders[HOLDERS_MOST] = {};
	_cleanup_(folder_close) DIR *dir = NULL;
	const struct dirent *e;
	char path[128];
	unsigned looked_at = 0;

	snprintf(path, sizeof(path), "%s/%u/fd", s->proc_root, s->t.pid);
	dir = opendir(path);
	while (dir && looked_at < LOOKED_AT && (e = readdir(dir))) {
		struct other_end end;

		if (*e->d_name == '.' || other_end_find(s->files, s->t.pid, strtoul(e->d_name, NULL, 10), &end) < 0 || !end.n)
			continue;
		looked_at++;
		for (size_t i = 0; i < HOLDERS_MOST; i++)
			if (!holders[i].pid || holders[i].pid == end.pids[0]) {
				holders[i].pid = end.pids[0];
				holders[i].ends++;
				break;
			}
	}
	for (size_t i = 0; i < HOLDERS_MOST; i++)
		if (holders[i].ends * 2 > looked_at && looked_at > NEARLY)
			return holders[i].pid;
	return 0;
}

bool chain_find_limit(struct chain_search *s, bool not_accepted)
{
	size_t n = s->chain->links.n;
	uint64_t used, limit;

	if (n && s->chain->links.v[n - 1].kind == CHAIN_LIMIT) { /* whatever else it does */
		s->kind = CHAIN_LIMIT;
		str_puts(&s->words, "keeps them open");
		return true;
	}
	if (!not_accepted || !used_up_files(s->proc_root, s->t.pid, &used, &limit) || used + NEARLY < limit)
		return false;
	s->kind = CHAIN_LIMIT;
	str_printf(&s->words, "cannot accept it: its file handles are used up (%llu of %llu)", (unsigned long long)used, (unsigned long long)limit);
	s->next_pid = find_holder(s);
	s->role = "which has the other ends of most of them";
	return true;
}
