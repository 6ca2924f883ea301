#include "lib/system/file-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/system/helper-thread.h"

#define LOCKS_MAX (4u << 20) /* bytes: a lock takes 60, and 70,000 of them are a machine of its own kind */

struct reading {
	char path[512];
	struct str text;
};

/* By no stream: fflush(NULL), with which an answer ends, would wait for it. */
static void read_list(void *job)
{
	struct reading *r = job;
	_cleanup_close_ int fd = open(r->path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)file_read_all(fd, &r->text);
}

static void release(void *job)
{
	struct reading *r = job;

	str_free(&r->text);
	free(r);
}

/* In a thread of its own: who waits for a grace period cannot be interrupted. */
static void read_within(struct file_locks *l)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct helper *helper;
	int code;

	if (!r || helper_new_as_caller(&helper) < 0) {
		free(r);
		return;
	}
	r->text.max = LOCKS_MAX;
	snprintf(r->path, sizeof(r->path), "%s/locks", l->proc_root);
	code = helper_do(helper, read_list, release, r, l->patience * NS_PER_MS);
	helper_free(helper);
	if (code == -ETIMEDOUT)
		return; /* the thread has it */
	if (code < 0)
		read_list(r); /* there is no thread */
	l->text = TAKE(r->text.data);
	release(r);
}

FILE *file_locks_open(struct file_locks *l)
{
	if (!l->was_read)
		read_within(l);
	l->was_read = true;
	return l->text ? fmemopen(l->text, strlen(l->text), "r") : NULL;
}

/* "4: FLOCK  ADVISORY  WRITE 776 fe:00:10952801 0 EOF", and below it those who wait for it: "4: -> FLOCK ...". */
static bool parse(const char *line, unsigned long long *ret_lock, bool *ret_waits, int *ret_pid)
{
	int after = 0;

	if (sscanf(line, "%llu: %n", ret_lock, &after) != 1 || !after)
		return false;
	line += after;
	*ret_waits = line[0] == '-' && line[1] == '>';
	return sscanf(line + (*ret_waits ? 2 : 0), "%*s %*s %*s %d", ret_pid) == 1;
}

unsigned file_locks_holder(struct file_locks *l, unsigned pid)
{
	unsigned long long lock, held = 0;
	int holder = 0, owner;
	bool waits;

	LINES_EACH(line, file_locks_open(l)) {
		if (!parse(line.text, &lock, &waits, &owner))
			continue;
		if (!waits) {
			held = lock;
			holder = owner;
		} else if (owner == (int)pid && lock == held) {
			return holder > 0 ? (unsigned)holder : 0;
		}
	}
	return 0;
}

void file_locks_free(struct file_locks *l)
{
	free(l->text);
	l->text = NULL;
}
