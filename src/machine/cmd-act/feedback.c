#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/verb.h"

static const struct option_row options[] = {{}};

static enum feedback parse(const char *word)
{
	if (strcmp(word, "right") == 0)
		return FEEDBACK_RIGHT;
	if (strcmp(word, "wrong") == 0)
		return FEEDBACK_WRONG;
	return strcmp(word, "fixed") == 0 ? FEEDBACK_FIXED : FEEDBACK_NONE;
}

static int run(struct common *common, int argc, char **argv)
{
	struct store *store;
	uint64_t id;
	int r;

	if (argc != 3 || str_parse_u64(argv[1], &id) < 0 || parse(argv[2]) == FEEDBACK_NONE)
		return verb_usage_error("feedback", "expected a mark's number and right, wrong or fixed: feedback 3 right");
	if (client_keep_writing(common))
		return EXIT_CANNOT;
	store = common_open_store(common, STORE_MARK);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark_feedback(store, (int64_t)id, common->viewer.uid, parse(argv[2]));
	if (r == -ENOENT)
		log_error("you have no mark %s; 'whyslow list' shows your marks", argv[1]);
	else if (r < 0)
		log_error("%s", store_error(store));
	else if (common->json)
		json_print(json_pack("{s:s, s:I, s:s}", "schema", "whyslow.feedback/1", "mark", (json_int_t)id, "feedback", argv[2]), JSON_COMPACT, stdout);
	else
		printf("mark %s: %s\n", argv[1], argv[2]);
	store_close(store);
	return r == -ENOENT ? EXIT_ABSENT : r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_feedback = {
	.name = "feedback",
	.group = "Administration",
	.words = "ID right|wrong|fixed ",
	.help = "say whether an answer was right",
	.about = "Notes whether the answer for an incident was right, and whether its cause is fixed. 'whyslow list' shows it, and 'fixed' says "
		 "later whether it came again.",
	.examples = (const struct example[]){
		{"whyslow feedback 7 right", "incident 7 was explained rightly"},
		{"whyslow feedback 7 fixed", "its cause is repaired"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
