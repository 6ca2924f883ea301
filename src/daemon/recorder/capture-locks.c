#include "daemon/recorder/capture-locks.h"

#include "base/system/file-lock.h"

#define LOOKED_AT_MAX 256 /* each reads /proc/locks */

void capture_locks(struct trace *t, const char *proc_root)
{
	unsigned looked_at = 0;

	for (size_t i = 0; i < t->threads.n && looked_at < LOOKED_AT_MAX; i++) {
		struct trace_thread *thread = &t->threads.v[i];

		if (thread->end || thread->facts.call != CALL_FILE_LOCK || !(thread->facts.state & TASK_STATE_SLEEPS))
			continue;
		looked_at++;
		thread->owner = file_lock_holder(proc_root, thread->tgid);
	}
}
