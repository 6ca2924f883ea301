#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/cmd-waits/capture-phases.h"
#include "machine/cmd-why/process-snapshot.h"
#include "machine/cmd-why/why.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/verb.h"

#define PROCESSES_DEFAULT 20

static bool arg_captures;

static const struct option_row options[] = {
	WHY_OPTIONS,
	BOARD_OPTIONS,
	{OPTION_FLAG, 0, "captures", NULL, &arg_captures, "of an incident: the inspections of its processes"},
	{},
};

static void print_captures(const struct common *common, const struct capture *list, size_t n)
{
	if (common->json)
		fputs("{\"schema\": \"whyslow.captures/1\", \"captures\": [", stdout);
	for (size_t i = 0; i < n; i++)
		printf("%s%s\n", common->json && i ? "," : "", common->json ? list[i].json : list[i].text);
	if (common->json)
		fputs("]}\n", stdout);
	else if (!n)
		puts("no process was inspected during it");
}

static void print_summaries(const struct capture *list, size_t n, const char *id)
{
	char at[40];

	if (n)
		fputs("\nLooked into while it lasted:\n", stdout);
	for (size_t i = 0; i < n; i++)
		printf("  %s  %s\n", clock_format_local(list[i].wall, at, sizeof(at)), list[i].summary);
	if (n)
		printf("  ('whyslow show %s --captures' has all of it)\n", id);
}

/* Other users' processes are root's business: stacks and command lines are in there. */
static int show_captures(struct common *common, int64_t id, const char *text)
{
	struct store *store = client_give_up_rights(common, 0) ? NULL : common_open_store(common, STORE_READ);
	struct capture *list = NULL;
	size_t n = 0;

	if (!store)
		return EXIT_CANNOT;
	(void)captures_by_phase(store, id, &list, &n);
	store_close(store);
	if (visibility(&common->viewer, DATUM_CAPTURES, common->viewer.uid) != SHOWN_WHOLE && !common->from_file)
		fputs(n && arg_captures ? "only root may see inspections of processes\n" : "", stderr);
	else if (arg_captures)
		print_captures(common, list, n);
	else if (!common->json)
		print_summaries(list, n, text);
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int show_mark(struct common *common, const char *text)
{
	struct store *store;
	struct mark mark;
	char at[40];
	uint64_t id;
	int r;

	if (str_parse_u64(text, &id) < 0)
		return verb_usage_error("show", "invalid mark number '%s' ('whyslow list' shows the marks); pass a moment with --at", text);
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark_get(store, (int64_t)id, &mark);
	if (r == -ENOENT)
		log_error("there is no mark %s; 'whyslow list' shows them", text);
	else if (r < 0)
		log_error("%s", store_reason(store, r));
	store_close(store);
	if (r < 0)
		return EXIT_CANNOT;
	if (arg_captures) {
		mark_free(&mark);
		return show_captures(common, (int64_t)id, text);
	}
	if (!common->json)
		printf("%s %" PRIu64 ", %s%s%s\n\n", mark_is_of_rule(&mark) ? "Caught" : "Mark", id, clock_format_local(mark.wall, at, sizeof(at)), mark.note ? ": " : "",
		       mark.note ? mark.note : "");
	r = why_at(common, mark.wall, mark.id);
	mark_free(&mark);
	(void)show_captures(common, (int64_t)id, text);
	return r;
}

static int run(struct common *common, int argc, char **argv)
{
	struct snapshot_view view = {why_args.at, why_args.since, why_args.who, why_args.window, why_args.top == 5 ? PROCESSES_DEFAULT : (unsigned)why_args.top};

	if (argc > 2)
		return verb_usage_error("show", "expected one mark's number, or none, not '%s'", argv[2]);
	return argc == 2 ? show_mark(common, argv[1]) : process_snapshot_show(common, &view);
}

const struct verb verb_show = {
	.name = "show",
	.group = "Daily use",
	.words = "[ID] ",
	.help = "show the answer for a mark; without a mark, every process at a moment, most unusual first",
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
