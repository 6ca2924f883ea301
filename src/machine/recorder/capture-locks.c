#include "machine/recorder/capture-locks.h"

#include "lib/data/cleanup.h"
#include "lib/system/file-lock.h"

void capture_locks(struct trace *t, const char *proc_root, int patience)
{
	_cleanup_(file_locks_free) struct file_locks locks = {.proc_root = proc_root, .patience = patience};

	VEC_EACH(thread, t->threads)
		if (!thread->end && thread->facts.call == CALL_FILE_LOCK && thread->facts.state & TASK_STATE_SLEEPS)
			thread->owner = file_locks_holder(&locks, thread->tgid);
}
