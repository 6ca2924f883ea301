#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/cmd-why/why.h"
#include "machine/trace/capture-client.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/verb.h"

static bool arg_undo, arg_why;
static const char *arg_trace;
static uint64_t arg_id; /* 0 = none */

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "undo", NULL, &arg_undo, "remove the newest mark"},
	{OPTION_COUNT, 0, "id", "ID", &arg_id, "set the note of an earlier mark"},
	{OPTION_TEXT, 0, "trace", "TEXT", &arg_trace, "only add a marker to the time axis of events"},
	{OPTION_FLAG, 'w', "why", NULL, &arg_why, "answer at once"},
	{},
};

static int undo(const struct common *common, struct store *store)
{
	int64_t id;
	int r = store_mark_undo(store, common->viewer.uid, &id);

	if (r == -ENOENT)
		return log_failure(EXIT_ABSENT, "you have no mark to remove");
	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", store_error(store));
	printf("mark %" PRId64 " removed\n", id);
	return EXIT_ANSWERED;
}

static int change_note(const struct common *common, struct store *store, const char *note)
{
	int r;

	if (!note)
		return verb_usage_error("mark", "--id expects a mark's number and a note: mark --id 3 'video froze'");
	r = store_mark_note(store, (int64_t)arg_id, common->viewer.uid, note);
	if (r == -ENOENT)
		log_error("you have no mark %" PRIu64 "; 'whyslow list' shows your marks", arg_id);
	else if (r < 0)
		log_error("%s", store_error(store));
	return r == 0 ? EXIT_ANSWERED : r == -ENOENT ? EXIT_ABSENT : EXIT_CANNOT;
}

/* For people who are about to try something: it shows among the events of the one that looks next. */
static int put_marker(const struct common *common)
{
	int r = capture_marker(common->config.store_run_dir, MARKER_FROM_PERSON, arg_trace);

	if (r == 0)
		return EXIT_ANSWERED;
	return log_failure(EXIT_CANNOT, "no recorder with a flight recorder is running (%s): start one ('whyslow record', as root)", strerror(-r));
}

/* Next to a running recorder the recording itself is left alone: its disk may be what makes the machine slow. */
static struct store *open_for_press(const struct common *common)
{
	_cleanup_free_ char *error = NULL;
	struct store *store;

	if (!common->from_file && common_has_own_recorder(common) && store_open_press(common->config.store_run_dir, &store, &error) == 0)
		return store;
	return common_open_store(common, STORE_MARK);
}

static int press(const struct common *common, struct store *store, int64_t now, const char *note, int64_t *ret_id)
{
	int64_t id;
	int r = store_mark(store, now, common->viewer.uid, note, &id);

	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", store_error(store));
	if (common_has_own_recorder(common))
		(void)capture_mark(common->config.store_run_dir, id); /* without a flight recorder there are only counters */
	if (common->json && !arg_why)
		printf("{\"schema\":\"whyslow.mark/1\",\"id\":%" PRId64 ",\"at\":\"%s\",\"added\":%s}\n", id,
		       CLOCK_RFC3339(now), r ? "true" : "false");
	else if (!common->json && r)
		printf("added %s to mark %" PRId64 " of a moment ago; 'whyslow show %" PRId64 "' answers why\n", note ? note : "a press", id, id);
	else if (!common->json)
		printf("marked %s (mark %" PRId64 "); 'whyslow show %" PRId64 "' answers why\n", note ? note : "this moment", id, id);
	*ret_id = id;
	return EXIT_ANSWERED;
}

struct pressing {
	int64_t now; /* of the press, however late the rest comes */
	const char *note;
};

static int change(struct common *common, const void *data, void *ret_id)
{
	const struct pressing *p = data;
	struct store *store;
	int status = client_keep_writing(common);

	if (status)
		return status;
	if (arg_trace)
		return put_marker(common);
	store = arg_undo || arg_id ? common_open_store(common, STORE_MARK) : open_for_press(common);
	if (!store)
		return EXIT_CANNOT;
	if (arg_undo)
		status = undo(common, store);
	else if (arg_id)
		status = change_note(common, store, p->note);
	else
		status = press(common, store, p->now, p->note, ret_id);
	store_close(store);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	struct pressing pressing = {.now = clock_wall()};
	_cleanup_str_ struct str note = {};
	int64_t id = 0;
	int status;

	if (common->from_file && !arg_undo && !arg_id)
		return verb_usage_error("mark", "--from names a past recording, which is only read; 'mark' marks the present and does not accept it");
	for (int i = 1; i < argc; i++)
		str_printf(&note, "%s%s", i > 1 ? " " : "", argv[i]);
	pressing.note = note.data;
	/* the answer of --why needs what the change gives up */
	if (arg_why && !arg_trace && !arg_undo && !arg_id && client_has_rights_left(common))
		status = client_work_apart(common, change, &pressing, &id, sizeof(id));
	else
		status = change(common, &pressing, &id);
	return arg_why && id ? why_at(common, pressing.now, id) : status;
}

const struct verb verb_mark = {
	.name = "mark",
	.group = "Daily use",
	.words = "[NOTE] ",
	.help = "mark this moment: it is slow now",
	.about = "Says that it is slow at this moment. The recorder keeps the events of the last seconds with the mark, so that 'whyslow show ID' "
		 "answers later, too. A second mark within two seconds is added to the first one.",
	.examples = (const struct example[]){
		{"whyslow mark", "it is slow now"},
		{"whyslow mark 'the editor hangs' --why", "with a note, and answer at once"},
		{"whyslow mark --undo", "it was a mistake: remove the newest mark"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
