#include "machine/cmd-waits/export-trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/cmd-waits/find-trace.h"
#include "machine/trace/trace-file.h"
#include "machine/verb/client-rights.h"

/* To whom the recorder answers: standard output is the user's. */
static int hand_out(const struct trace *t)
{
	int r = trace_write(t, STDOUT_FILENO);

	if (r < 0)
		log_error("cannot write the events: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static int write_to(const struct trace *t, const char *output)
{
	_cleanup_close_ int fd = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : trace_write(t, fd);
	char span[32];

	if (r < 0) {
		log_error("cannot write %s: %s", output, strerror(-r));
		return EXIT_CANNOT;
	}
	printf("%s holds %zu events of %s: read it anywhere with --from %s\n", output, t->n_events,
	       clock_format_span((int64_t)(t->to - t->from), span, sizeof(span)), output);
	return EXIT_ANSWERED;
}

int export_trace(struct common *common, const char *mark, const char *output)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t id = 0;
	int r;

	if (!output && !common->for_client)
		return verb_usage_error("export", "--format trace needs --output FILE");
	if (mark && (str_parse_u64(mark, &id) < 0 || !id))
		return verb_usage_error("export",
					"--mark expects a mark's number; 'whyslow list' shows them");
	r = find_trace(common, (int64_t)id, &t);
	if (r == -ENOENT)
		log_error("no recorder with a flight recorder is running: start one ('whyslow record', as root)");
	if (r == 0 && client_give_up_rights(common, 0))
		return EXIT_CANNOT;
	return r < 0 ? EXIT_CANNOT : output ? write_to(&t, output) : hand_out(&t);
}
