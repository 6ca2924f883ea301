/* whyslow spans work: one of any number of workers on spans in ClickHouse. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "source/span/span-clickhouse.h"

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* "I/N" */
static int read_part(struct work_options *o)
{
	unsigned i, n;
	int end = 0;

	if (!spans_arg.part)
		return 0;
	if (sscanf(spans_arg.part, "%u/%u%n", &i, &n, &end) != 2 || spans_arg.part[end] || !n || i >= n)
		return usage_error("spans work", "invalid --part '%s'; expected I/N with I from 0 to N - 1", spans_arg.part), -EINVAL;
	o->part = i;
	o->parts = n;
	return 0;
}

/* Workers that begin at different moments must mean the same time. */
static int check_time(const char *option, const char *text)
{
	int64_t now = wall_now(), one, other;

	if (!text || parse_time(text, now, &one) < 0 || parse_time(text, now + 60 * NS_PER_SEC, &other) < 0 || one == other)
		return 0;
	return usage_error("spans work", "--%s %s means another time for each worker: give a date, or a date and a time", option, text), -EINVAL;
}

static void tell(const struct common *common, const char *url, const struct work_done *done)
{
	double seconds = (double)done->took / 1e9;

	if (common->json) {
		spans_print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f}", "schema", "whyslow.spans.work/1", "shard", url, "pieces",
					   (json_int_t)done->pieces, "had", (json_int_t)done->had, "made", (json_int_t)done->made, "spans",
					   (json_int_t)done->spans, "seconds", seconds), 0);
		return;
	}
	printf("%s: %" PRId64 " pieces, %" PRId64 " of them were there, %" PRId64 " made", url, done->pieces, done->had, done->made);
	if (done->made)
		printf(" of %" PRIu64 " spans in %.1f s (%.2f million a second)", done->spans, seconds, (double)done->spans / seconds / 1e6);
	puts(ended ? "; stopped: start it again for the rest" : "");
	fflush(stdout);
}

int spans_work(struct common *common, int argc, char **argv)
{
	struct work_options o = {.ended = &ended};
	struct sigaction action = {.sa_handler = end};
	int r = 0;

	if (argc < 2)
		return usage_error("spans work", "expected shards: clickhouse://HOST/DATABASE ...");
	for (int i = 1; i < argc; i++)
		if (!span_table_is(argv[i]))
			return usage_error("spans work", "invalid URL '%s'; expected clickhouse://HOST[:PORT]/DATABASE", argv[i]);
	if (spans_work_options(&o) < 0 || read_part(&o) < 0 || check_time("since", spans_arg.since) < 0 || check_time("until", spans_arg.until) < 0)
		return EXIT_USAGE;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	for (int i = 1; r == 0 && i < argc && !ended; i++) {
		_cleanup_free_ char *error = NULL;
		struct work_done done;

		r = work_run(&o, argv[i], &done, &error);
		if (r < 0)
			log_error("%s", error ? error : strerror(-r));
		else
			tell(common, argv[i], &done);
	}
	return r < 0 || ended ? EXIT_CANNOT : EXIT_ANSWERED;
}
