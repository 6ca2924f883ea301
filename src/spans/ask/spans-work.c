/* whyslow spans work: one of any number of workers on spans in ClickHouse. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "spans/ask/spans.h"
#include "spans/formats/span-clickhouse.h"

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* "I/N" */
static int read_part(const struct spans_query *q, struct work_options *o)
{
	unsigned i, n;
	int end = 0;

	if (!q->part)
		return 0;
	if (sscanf(q->part, "%u/%u%n", &i, &n, &end) != 2 || q->part[end] || !n || i >= n)
		return verb_usage_error("spans work", "invalid --part '%s'; expected I/N with I from 0 to N - 1", q->part), -EINVAL;
	o->part = i;
	o->parts = n;
	return 0;
}

/* Workers that begin at different moments must mean the same time. */
static int check_time(const char *option, const char *text)
{
	int64_t now = clock_wall(), one, other;

	if (!text || clock_parse_time(text, now, &one) < 0 || clock_parse_time(text, now + 60 * NS_PER_SEC, &other) < 0 || one == other)
		return 0;
	return verb_usage_error("spans work", "--%s %s means another time for each worker: give a date, or a date and a time", option, text), -EINVAL;
}

static void tell(const struct common *common, const char *url, const struct work_done *done)
{
	if (common->json)
		spans_print_json(span_work_json(url, done), 0);
	else
		span_work_text(url, done, ended, stdout);
	fflush(stdout);
}

int spans_work(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct work_options o = {.ended = &ended};
	struct sigaction action = {.sa_handler = end};
	int r = 0;

	if (argc < 2)
		return verb_usage_error("spans work", "expected shards: clickhouse://HOST/DATABASE ...");
	for (int i = 1; i < argc; i++)
		if (!span_table_is(argv[i]))
			return verb_usage_error("spans work", "invalid URL '%s'; expected clickhouse://HOST[:PORT]/DATABASE", argv[i]);
	if (spans_work_options(q, &o) < 0 || read_part(q, &o) < 0 ||
	    check_time("since", q->input.since) < 0 || check_time("until", q->input.until) < 0)
		return EXIT_USAGE;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	for (int i = 1; r == 0 && i < argc && !ended; i++) {
		_cleanup_free_ char *error = NULL;
		struct work_done done;

		r = span_work_run(&o, argv[i], &done, &error);
		if (r < 0)
			log_error("%s", error ? error : strerror(-r));
		else
			tell(common, argv[i], &done);
	}
	return r < 0 || ended ? EXIT_CANNOT : EXIT_ANSWERED;
}
