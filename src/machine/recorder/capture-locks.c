#include "machine/recorder/capture-locks.h"

#include "lib/system/file-lock.h"

void capture_locks(struct trace *t, const char *proc_root, int patience)
{
	struct file_locks locks = {.proc_root = proc_root, .patience = patience};

	VEC_EACH(thread, t->threads)
		if (!thread->end && thread->facts.call == CALL_FILE_LOCK && thread->facts.state & TASK_STATE_SLEEPS)
			thread->owner = file_locks_holder(&locks, thread->tgid);
	file_locks_free(&locks);
}
