#include "machine/cmd-waits/find-trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "machine/client/request.h"
#include "machine/events/trace-redact.h"
#include "machine/trace/capture-client.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-folder.h"

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
	if (folder_path_exists(path))
		return read_file(path, ret);
	return log_failure(-ENOSTR, "no events were saved for mark %" PRId64 ": no flight recorder was running, or newer marks replaced them (ring.disk)",
		  mark);
}

/* A trace; or, of a mark, what was kept next to the recording. */
static int read_from(const char *file, int64_t mark, struct trace *ret)
{
	_cleanup_free_ char *folder = mark ? trace_folder(file) : NULL;
	_cleanup_free_ char *kept = folder ? trace_file_of(folder, mark) : NULL;

	return read_file(kept && folder_path_exists(kept) ? kept : file, ret);
}

static int freeze_now(const struct common *common, struct trace *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = !common_has_own_recorder(common) ? -ENOENT :
		common->capture ? common->recorder->freeze(common->capture, 0, 0, true, FREEZE_PATIENCE, ret) :
				  capture_now(common->config.store_run_dir, 0, FREEZE_PATIENCE, ret, &error);

	if (r == -ENOENT || r == -ECONNREFUSED)
		return -ENOENT;
	if (r == -ETIMEDOUT)
		log_error("the recorder did not return its events within %d s: the machine is too busy. Ask again, or run 'whyslow mark' now and ask about that mark later "
			  "(--mark ID): it keeps the events of this moment", FREEZE_PATIENCE / 1000);
	else if (r < 0)
		log_error("the recorder returned no trace: %s", error ? error : strerror(-r));
	return r;
}

/* The part that an unprivileged user may see comes from the recorder as a whole, and is read here with the user's own rights. */
static int ask_recorder(int64_t mark, struct trace *ret)
{
	_cleanup_close_ int fd = memfd_create("trace", MFD_CLOEXEC);
	_cleanup_free_ char *error = NULL;
	char number[24];
	char *words[] = {(char *)"export", (char *)"--format", (char *)"trace", (char *)"--mark", number};
	int r;

	snprintf(number, sizeof(number), "%" PRId64, mark);
	if (fd < 0)
		return -errno;
	r = request_send(SYSTEM_RUN_DIR, mark ? 5 : 3, words, fd);
	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	if (r != EXIT_ANSWERED)
		return -ENOSTR; /* it has said why */
	lseek(fd, 0, SEEK_SET);
	r = trace_read(fd, ret, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r == -ENOENT ? -ENOSTR : r;
}

int find_trace(const struct common *common, int64_t mark, struct trace *ret)
{
	int r;

	if (common->from_file)
		return read_from(common->from_file, mark, ret);
	if (common_asks_recorder(common))
		return ask_recorder(mark, ret);
	r = mark ? read_kept(common, mark, ret) : freeze_now(common, ret);
	r = r ?: trace_redact(ret, &common->viewer);
	if (r == -ENOMEM)
		trace_clear(ret);
	return r;
}
