/* DATA that is the address of a query service: its traces become a file, which the subverbs read like any other. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "spans/ask/spans.h"
#include "spans/pipeline/span-api.h"

#define LENGTH (3600 * NS_PER_SEC) /* without --since */

/* The time to read: from --since on, and as long before, which it is compared with. */
static int time_to_read(const struct spans_query *q, int64_t *ret_from, int64_t *ret_to)
{
	int64_t now = clock_wall(), since, until = now;

	if (q->input.until && clock_parse_time(q->input.until, now, &until) < 0)
		return verb_usage_error("spans", "invalid time '%s'", q->input.until), -EINVAL;
	since = until - LENGTH;
	if (q->input.since && clock_parse_time(q->input.since, now, &since) < 0)
		return verb_usage_error("spans", "invalid time '%s'", q->input.since), -EINVAL;
	if (since >= until)
		return verb_usage_error("spans", "--since is not before the end of the time that is read"), -EINVAL;
	*ret_from = q->input.since ? since - (until - since) : since;
	*ret_to = until;
	return 0;
}

/* A file that is gone with the process; *ret_path (caller frees) opens it. */
static int fetch(const struct spans_query *q, const char *url, char **ret_path)
{
	_cleanup_free_ char *error = NULL;
	struct span_api_tally tally;
	FILE *file = tmpfile();
	int64_t from = 0, to = 0;
	int r = file ? time_to_read(q, &from, &to) : -errno;

	if (r < 0)
		return r;
	r = span_api_fetch(url, from, to, file, &tally, &error);
	if (r == 0 && fflush(file) != 0)
		r = -errno;
	if (r < 0)
		return log_failure(r, "%s", error ? error : strerror(-r));
	log_info("%" PRIu64 " traces of %s%s", tally.traces, url, tally.full ? "; there are more: a sample, spread over the time" : "");
	return asprintf(ret_path, "/proc/self/fd/%d", fileno(file)) < 0 ? -ENOMEM : 0;
}

int spans_run_fetched(struct common *common, const struct spans_query *q, int argc, char **argv,
		      int (*run)(struct common *common, const struct spans_query *q, int argc, char **argv))
{
	_cleanup_free_ char **own = calloc((size_t)argc + 1, sizeof(*own));
	int r = own ? 0 : -ENOMEM, status;

	for (int i = 0; r == 0 && i < argc; i++) {
		if (i && span_api_is(argv[i]))
			r = fetch(q, argv[i], &own[i]);
		else
			own[i] = strdup(argv[i]);
	}
	status = r < 0 ? EXIT_CANNOT : run(common, q, argc, own);
	for (int i = 0; own && i < argc; i++)
		free(own[i]);
	return status;
}
