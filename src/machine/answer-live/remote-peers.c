#include "machine/answer-live/remote-peers.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "machine/answer-live/live-thread.h"
#include "machine/answer-live/other-end.h"

#define SOCKETS_MOST 32 /* each takes a look at the table of connections */

int remote_peers_find(struct open_files *files, unsigned pid)
{
	DIR *folder = opendir(STR_TEXT(256, "%s/%u/fd", files->proc_root, pid));
	size_t sockets = 0;

	if (!folder)
		return -ENOENT;
	FOLDER_EACH(entry, folder) {
		unsigned long long fd = strtoull(entry.name, NULL, 10);
		struct other_end end;
		char link[OPEN_FILES_LINK];

		if (!live_fd_link(files->proc_root, pid, fd, link, sizeof(link)) || !str_starts(link, "socket:"))
			continue;
		if (++sockets > SOCKETS_MOST)
			return -ENOENT;
		if (other_end_find(files, pid, fd, &end) == 0 && (end.kind == END_TCP || end.kind == END_UDP) && end.remote)
			return 1;
	}
	return 0;
}
