#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/verb.h"
#include "view/export.h"

static const char *arg_format, *arg_since, *arg_until, *arg_output;

static const struct option_row options[] = {
	{OPTION_TEXT, 'f', "format", "FORMAT", &arg_format, "store, csv, jsonl or openmetrics"},
	{OPTION_TEXT, 0, "since", "TIME", &arg_since, "from here (default: -10min)"},
	{OPTION_TEXT, 0, "until", "TIME", &arg_until, "up to here (default: now)"},
	{OPTION_TEXT, 'o', "output", "FILE", &arg_output, "where to write (default: standard output)"},
	{},
};

static int export_store(struct common *common)
{
	_cleanup_free_ char *error = NULL;
	struct store *store;
	int r;

	if (!arg_output)
		return usage_error("export", "--format store needs --output FILE");
	store = open_common_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_export(store, arg_output, &error);
	store_close(store);
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		return EXIT_CANNOT;
	}
	printf("%s holds the whole recording: read it anywhere with --from %s\n", arg_output, arg_output);
	return EXIT_ANSWERED;
}

static int write_out(const struct dataset *d)
{
	_cleanup_fclose_ FILE *file = NULL;
	FILE *out = stdout;

	if (arg_output) {
		out = file = fopen(arg_output, "wxe");
		if (!file) {
			log_error("cannot write %s: %s", arg_output, strerror(errno));
			return EXIT_CANNOT;
		}
	}
	if (strcmp(arg_format, "csv") == 0)
		export_csv(d, out);
	else if (strcmp(arg_format, "jsonl") == 0)
		(void)export_jsonl(d, out);
	else
		export_openmetrics(d, out);
	if (fflush(out) != 0 || ferror(out)) {
		log_error("cannot write %s: %s", arg_output ? arg_output : "standard output", strerror(errno));
		return EXIT_CANNOT;
	}
	return d->ticks.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int export_window(struct common *common, int64_t from, int64_t to)
{
	struct store *store = open_common_store(common, STORE_READ);
	struct dataset d = {};
	unsigned damaged;
	int r, status;

	if (!store)
		return EXIT_CANNOT;
	r = store_load(store, from, to, &d, &damaged);
	if (r < 0)
		log_error("%s", store_error(store));
	status = r < 0 ? EXIT_CANNOT : write_out(&d);
	if (r == 0 && !d.ticks.n)
		log_warning("nothing is recorded in that time");
	if (r == 0 && damaged)
		log_warning("%u parts of the recording are damaged and were left out", damaged);
	dataset_free(&d);
	store_close(store);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	int64_t now = wall_now(), from, to;

	if (argc > 1)
		return usage_error("export", "takes no words: '%s'", argv[1]);
	if (!arg_format)
		return usage_error("export", "--format is store, csv, jsonl or openmetrics");
	if (strcmp(arg_format, "store") == 0)
		return export_store(common);
	if (strcmp(arg_format, "csv") != 0 && strcmp(arg_format, "jsonl") != 0 && strcmp(arg_format, "openmetrics") != 0)
		return usage_error("export", "--format is store, csv, jsonl or openmetrics, not '%s'", arg_format);
	if (parse_time(arg_since ? arg_since : "-10min", now, &from) < 0)
		return usage_error("export", "'%s' is no TIME", arg_since);
	if (parse_time(arg_until ? arg_until : "now", now, &to) < 0)
		return usage_error("export", "'%s' is no TIME", arg_until);
	return export_window(common, from, to);
}

const struct verb verb_export = {
	.name = "export",
	.group = "Hand on",
	.words = "",
	.help = "the recording, or a part of it, for other programs and machines",
	.options = options,
	.run = run,
};
