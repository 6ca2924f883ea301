#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/verb.h"

static const struct option_row options[] = {{}};

static const char *const feedback_names[] = {"", "right", "wrong", "fixed"};

static void print_line(const struct mark *m)
{
	char at[40];

	printf("%4" PRId64 "  %s", m->id, format_local(m->wall, at, sizeof(at)));
	if (m->presses > 1)
		printf("  (pressed %u times)", m->presses);
	if (m->note)
		printf("  %s", m->note);
	if (m->feedback)
		printf("  [%s]", feedback_names[m->feedback]);
	putchar('\n');
}

static json_t *mark_json(const struct mark *m)
{
	char at[40];

	return json_pack("{s:I, s:s, s:I, s:I, s:s?, s:s?}", "id", (json_int_t)m->id, "at",
			 format_rfc3339(m->wall, at, sizeof(at)), "presses", (json_int_t)m->presses, "uid", (json_int_t)m->uid,
			 "note", m->note, "feedback", m->feedback ? feedback_names[m->feedback] : NULL);
}

static int run(struct common *common, int argc, char **argv)
{
	struct store *store;
	struct mark *marks;
	json_t *array = json_array();
	size_t n;

	if (argc > 1)
		return usage_error("list", "takes no words: '%s'", argv[1]);
	store = open_common_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	if (store_marks(store, INT64_MIN, INT64_MAX, &marks, &n) < 0) {
		log_error("%s", store_error(store));
		store_close(store);
		return EXIT_CANNOT;
	}
	for (size_t i = 0; i < n; i++) {
		if (common->json)
			json_array_append_new(array, mark_json(&marks[i]));
		else
			print_line(&marks[i]);
		mark_free(&marks[i]);
	}
	if (common->json) {
		json_t *root = json_pack("{s:s, s:O}", "schema", "whyslow.list/1", "marks", array);

		json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(root);
	} else if (!n) {
		puts("no marks yet: press the button with 'whyslow mark' when it is slow");
	}
	json_decref(array);
	free(marks);
	store_close(store);
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

const struct verb verb_list = {
	.name = "list",
	.group = "Every day",
	.words = "",
	.help = "marked moments",
	.options = options,
	.remote = true,
	.run = run,
};
