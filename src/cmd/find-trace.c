#include "cmd/find-trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/capture.h"
#include "store/trace-file.h"

static int read_file(const char *path, struct trace *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = trace_read_file(path, ret, &error);

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r == -ENOENT ? -ENOSTR : r;
}

static int read_kept(const struct common *common, int64_t mark, struct trace *ret)
{
	_cleanup_free_ char *folder = trace_folder(common->config.store_file);
	_cleanup_free_ char *path = folder ? trace_file_of(folder, mark) : NULL;

	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) == 0)
		return read_file(path, ret);
	log_error("no events were kept of mark %" PRId64 ": there was no flight recorder then, or newer marks took its place (ring.disk)",
		  mark);
	return -ENOSTR;
}

static int freeze_now(const struct common *common, struct trace *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = capture_now(common->config.store_run_dir, ret, &error);

	if (r == -ENOENT || r == -ECONNREFUSED)
		return -ENOENT;
	if (r < 0)
		log_error("the recorder gave no trace: %s", error ? error : strerror(-r));
	return r;
}

/* Another user's program is not shown, as elsewhere; nor where the kernel's code and data lie. */
static void hide(struct trace *t, uint32_t viewer)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct trace_thread *thread = &t->threads.v[i];

		thread->object = 0;
		if (thread->uid == viewer || (thread->flags & THREAD_IS_KERNEL))
			continue;
		free(thread->exe);
		thread->exe = NULL;
		thread->flags |= THREAD_IS_HIDDEN;
	}
}

int find_trace(const struct common *common, int64_t mark, struct trace *ret)
{
	int r;

	if (common->from_file)
		r = read_file(common->from_file, ret);
	else
		r = mark ? read_kept(common, mark, ret) : freeze_now(common, ret);
	if (r == 0 && common->viewer != 0)
		hide(ret, common->viewer);
	return r;
}
