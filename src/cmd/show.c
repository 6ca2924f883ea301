#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/verb.h"
#include "cmd/why.h"

static int run(struct common *common, int argc, char **argv)
{
	struct store *store;
	struct mark mark;
	char at[40];
	uint64_t id;
	int r;

	if (argc != 2 || parse_u64(argv[1], &id) < 0)
		return usage_error("show", "takes a mark's number; 'whyslow list' shows them");
	store = open_common_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark_get(store, (int64_t)id, &mark);
	store_close(store);
	if (r < 0) {
		log_error("there is no mark %s; 'whyslow list' shows them", argv[1]);
		return EXIT_CANNOT;
	}
	if (!common->json)
		printf("Mark %" PRIu64 ", %s%s%s\n\n", id, format_local(mark.wall, at, sizeof(at)), mark.note ? ": " : "",
		       mark.note ? mark.note : "");
	r = why_at(common, mark.wall, true);
	mark_free(&mark);
	return r;
}

const struct verb verb_show = {
	.name = "show",
	.group = "Every day",
	.words = "ID ",
	.help = "the answer for a marked moment",
	.options = why_options,
	.remote = true,
	.run = run,
};
