/* whyslow compare A B: "since Tuesday's upgrade". */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/cmd-why/compare-captures.h"
#include "machine/judge/compare.h"
#include "machine/verb/verb.h"

static int64_t arg_span = 3600 * NS_PER_SEC;
static uint64_t arg_top = 20;

static bool arg_captures;

static const struct option_row options[] = {
	{OPTION_SPAN, 0, "span", "SPAN", &arg_span, "length of a time that has no end (default 1h)"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "how many changes to list (default 20)"},
	{OPTION_FLAG, 0, "captures", NULL, &arg_captures, "A and B are incidents or their phases (7.1 7.2); compares what their processes ran, by function"},
	{},
};

struct range {
	int64_t from, to;
};

/* "FROM..TO", or TIME: the span that begins there. */
static int parse_range(const char *text, struct range *ret)
{
	const char *dots = strstr(text, "..");
	_cleanup_free_ char *from = dots ? strndup(text, (size_t)(dots - text)) : strdup(text);
	int64_t now = clock_wall();

	if (!from || clock_parse_time(from, now, &ret->from) < 0)
		return -EINVAL;
	if (!dots) {
		ret->to = ret->from + arg_span;
		return 0;
	}
	return clock_parse_time(dots + 2, now, &ret->to) < 0 || ret->to <= ret->from ? -EINVAL : 0;
}

static void print_text(const struct changes *c)
{
	printf("%zu changes of %u compared", c->list.n, c->compared);
	puts(c->list.n ? " (medians of minutes; q <= 0.05):" : c->compared ? ": no program does anything noticeably different." :
							 ": too little is recorded of both times. It compares whole minutes, at least five of each.");
	for (size_t i = 0; i < c->list.n && i < arg_top; i++) {
		const struct compared_change *x = &c->list.v[i];
		_cleanup_free_ char *label = entity_label(&x->subject->info);

		printf("  %-24s %-20s %10s -> %-10s", label, x->feature->name, FEATURE_TEXT(x->feature, x->a),
		       FEATURE_TEXT(x->feature, x->b));
		if (x->a > 0 && x->b > 0)
			printf("  x %.2g", x->b / x->a);
		putchar('\n');
	}
}

static void print_json(const struct changes *c)
{
	json_t *array = json_array();

	VEC_EACH(x, c->list) {
		_cleanup_free_ char *label = entity_label(&x->subject->info);

		json_array_append_new(array, json_pack("{s:s, s:s?, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i}", "name",
						       label, "exe", x->subject->info.exe, "feature", x->feature->name, "unit",
						       unit_name(x->feature->unit), "a", x->a, "b", x->b, "spread", x->spread, "effect",
						       x->effect, "superiority", x->superiority, "p", x->p, "q", x->q, "minutes_a",
						       (int)x->n_a, "minutes_b", (int)x->n_b));
	}
	json_print(json_pack("{s:s, s:i, s:o}", "schema", "whyslow.compare/1", "compared", (int)c->compared, "changes", array), JSON_INDENT(1), stdout);
}

static int load(struct common *common, const struct range *range, struct dataset *ret)
{
	struct store *store = common_open_store(common, STORE_READ);
	unsigned damaged;
	int r;

	if (!store)
		return -EIO;
	r = store_load(store, range->from, range->to, ret, &damaged);
	if (r < 0)
		log_error("%s", store_reason(store, r));
	else if (!ret->ticks.n)
		log_error("nothing is recorded in one of the two times");
	verb_warn_of_damage(store);
	store_close(store);
	return r < 0 ? r : ret->ticks.n ? 0 : -ENODATA;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_(dataset_free) struct dataset a = {}, b = {};
	struct range range_a, range_b;
	struct changes changes = {};
	int r;

	if (arg_captures && argc == 3)
		return compare_captures(common, argv[1], argv[2]);
	if (argc != 3)
		return verb_usage_error("compare", "expected two times: compare yesterday today, compare -3h..-2h -1h..now");
	for (int i = 1; i < 3; i++)
		if (parse_range(argv[i], i == 1 ? &range_a : &range_b) < 0)
			return verb_usage_error("compare", "invalid time '%s'; expected yesterday, -2h or -3h..-2h", argv[i]);
	r = load(common, &range_a, &a);
	r = r ?: load(common, &range_b, &b);
	r = r ?: compare_times(&a, &b, &changes);
	if (r == 0 && common->json)
		print_json(&changes);
	else if (r == 0)
		print_text(&changes);
	r = r < 0 ? EXIT_CANNOT : changes.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	VEC_FREE(changes.list);
	return r;
}

const struct verb verb_compare = {
	.name = "compare",
	.group = "Details",
	.words = "A B ",
	.help = "what changed between two times",
	.about = "Compares two spans of the recording, program by program and feature by feature, and lists what differs by more than it normally "
		 "varies. A span is TIME..TIME, or a TIME and --span.",
	.examples = (const struct example[]){
		{"whyslow compare -2h..-1h -1h..now", "this hour with the one before"},
		{"whyslow compare 'yesterday 10:00' 'today 10:00' --span 30min", "half an hour of two days"},
		{"whyslow compare 7.1 7.2 --captures", "two phases of incident 7, by function"},
		{}},
	.options = options,
	.run = run,
};
