#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/answer-history/answer-history.h"
#include "machine/answer-history/incidents.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/save-answers.h"
#include "machine/verb/verb.h"

#define STEPS_LISTED 5
#define LOOK_EVERY 200		      /* ms, following */
#define MAY_CHANGE (10 * NS_PER_SEC) /* presses soon after a mark count as the same */

static bool arg_by_program, arg_alike, arg_follow;
static const char *arg_split, *arg_search;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "by-program", NULL, &arg_by_program, "count incidents by culprit program"},
	{OPTION_FLAG, 0, "alike", NULL, &arg_alike, "group similar incidents"},
	{OPTION_TEXT, 0, "search", "TEXT", &arg_search, "only those with TEXT in the note or in the answer"},
	{OPTION_TEXT, 0, "split", "TIME", &arg_split, "count incidents before and after a change separately"},
	{OPTION_FLAG, 0, "follow", NULL, &arg_follow, "only new ones, as they are marked (with --json: one line each)"},
	{},
};

static const char *const feedback_names[] = {"", "right", "wrong", "fixed"};

static void print_line(const struct mark *m)
{
	printf("%4" PRId64 "  %s", m->id, CLOCK_LOCAL(m->wall));
	if (mark_is_of_rule(m))
		printf(m->goes_on ? "  (by a rule, ongoing)" : "  (by a rule)");
	else if (m->presses > 1)
		printf("  (marked %u times)", m->presses);
	if (m->note)
		printf("  %s", m->note);
	if (m->feedback)
		printf("  [%s]", feedback_names[m->feedback]);
	putchar('\n');
}

static json_t *mark_json(const struct mark *m)
{
	/* kind and goes_on: the names of source and ongoing until 0.2 */
	return json_pack("{s:I, s:s, s:s, s:b, s:b, s:s?, s:s, s:I, s:I, s:s?, s:s?}", "id", (json_int_t)m->id, "source",
			 mark_is_of_rule(m) ? "rule" : "user", "kind", mark_is_of_rule(m) ? "caught" : "mark", "ongoing",
			 (int)m->goes_on, "goes_on", (int)m->goes_on, "until", m->goes_on ? NULL : CLOCK_RFC3339(m->last), "at",
			 CLOCK_RFC3339(m->wall), "presses", (json_int_t)m->presses, "uid", (json_int_t)m->uid,
			 "note", m->note, "feedback", m->feedback ? feedback_names[m->feedback] : NULL);
}

static void print_incidents(const struct incidents *i)
{
	printf("%-32s %9s %9s %6s %6s %6s\n", "blamed on", arg_split ? "before" : "incidents", arg_split ? "after" : "", "right",
	       "wrong", "fixed");
	VEC_EACH(p, i->list) {
		char after[16] = "";

		if (arg_split)
			snprintf(after, sizeof(after), "%u", p->after);
		printf("%-32s %9u %9s %6u %6u %6u\n", p->program ? p->program : "(nobody)", p->before, after, p->right, p->wrong,
		       p->fixed);
	}
}

static void print_incidents_json(const struct incidents *i)
{
	json_print(json_pack("{s:s, s:o}", "schema", "whyslow.incidents/1", "programs", JSON_EACH(p, i->list, json_pack("{s:s?, s:i, s:i, s:i, s:i, s:i}",
		"program", p->program, "before", (int)p->before, "after", (int)p->after, "right", (int)p->right, "wrong", (int)p->wrong, "fixed",
		(int)p->fixed))), JSON_INDENT(1), stdout);
}

static int list_by_program(struct common *common, struct store *store, const struct mark *marks, size_t n)
{
	struct incidents incidents = {};
	int64_t split = 0;
	int r;

	if (arg_split && clock_parse_time(arg_split, clock_wall(), &split) < 0)
		return verb_usage_error("list", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", arg_split);
	r = incidents_by_program(store, marks, n, common->config.answer_window, split, &common->viewer, &incidents);
	if (r < 0)
		log_error("%s", store_reason(store, r));
	else if (common->json)
		print_incidents_json(&incidents);
	else
		print_incidents(&incidents);
	incidents_free(&incidents);
	return r < 0 ? EXIT_CANNOT : n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static const char *note_of(const struct mark *m)
{
	return m->note ? m->note : "";
}

static void print_alike(const struct similar_marks *a, const struct mark *marks)
{
	const struct mark *last = &marks[a->marks.v[a->marks.n - 1]];

	printf("%3zu  %s%s%s\n     last %s%s%s%s; marks", a->marks.n, a->first.slow ? a->first.bottleneck : "nothing found",
	       a->first.culprit ? ": " : "", a->first.culprit ? a->first.culprit : "", CLOCK_LOCAL(last->wall),
	       *note_of(last) ? " '" : "", note_of(last), *note_of(last) ? "'" : "");
	for (size_t i = 0; i < a->marks.n; i++)
		printf(" %" PRId64, marks[a->marks.v[i]].id);
	putchar('\n');
}

static json_t *alike_json(const struct similar_marks *a, const struct mark *marks)
{
	return json_pack("{s:b, s:s, s:s?, s:s?, s:s, s:o}", "slow", a->first.slow, "bottleneck", a->first.bottleneck, "cause", a->first.cause,
			 "culprit", a->first.culprit, "summary", a->first.summary, "marks", JSON_EACH(x, a->marks, mark_json(&marks[*x])));
}

static void print_alikes(const struct common *common, const struct similar_groups *alikes, const struct mark *marks)
{
	json_t *array = json_array(), *root;

	for (size_t i = 0; i < alikes->list.n; i++)
		if (common->json)
			json_array_append_new(array, alike_json(&alikes->list.v[i], marks));
		else
			print_alike(&alikes->list.v[i], marks);
	root = json_pack("{s:s, s:o}", "schema", "whyslow.alike/1", "groups", array);
	if (common->json) {
		json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
	}
	json_decref(root);
}

static int list_alike(struct common *common, struct store *store, const struct mark *marks, size_t n)
{
	_cleanup_(similar_groups_free) struct similar_groups alikes = {};
	int r = saved_answer_group(store, save_answers(common), marks, n, common->config.answer_window, &common->viewer, &alikes);

	if (r < 0)
		log_error("%s", store_reason(store, r));
	else
		print_alikes(common, &alikes, marks);
	return r < 0 ? EXIT_CANNOT : n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

/* Leaves those in whose note, or in what was reported of them, the text stands. */
static void search(const struct common *common, struct store *store, struct mark *marks, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		_cleanup_free_ char *told = store_read_answer(store, marks[i].id, common->viewer.uid);

		if (strcasestr(note_of(&marks[i]), arg_search) || (told && saved_answer_mentions(told, arg_search)))
			marks[kept++] = marks[i];
		else
			mark_free(&marks[i]);
	}
	*n = kept;
}

static int say_none(size_t of)
{
	printf("none of %zu incident%s has '%s' in its note or in its answer\n", of, of == 1 ? "" : "s", arg_search);
	return EXIT_NOTHING_FOUND;
}

static json_t *step_json(const struct clock_step *step)
{
	char words[120];

	return json_pack("{s:s, s:s, s:f, s:b, s:s}", "from", CLOCK_RFC3339(step->from), "to",
			 CLOCK_RFC3339(step->to), "seconds", (double)step->step / 1e9, "certain", (int)step->within_boot,
			 "text", clock_step_words(step, words, sizeof(words)));
}

/* Times before and after a step of the clock do not compare. */
static void print_steps(const struct clock_step *steps, size_t n)
{
	const size_t first = n > STEPS_LISTED ? n - STEPS_LISTED : 0;

	for (size_t i = first; i < n; i++) {
		char words[120];

		printf("clock %s to %s: %s\n", CLOCK_LOCAL(steps[i].from), CLOCK_LOCAL(steps[i].to),
		       clock_step_words(&steps[i], words, sizeof(words)));
	}
	if (first)
		printf("(and %zu steps of the clock before)\n", first);
}

static int list_marks(const struct common *common, struct store *store, const struct mark *marks, size_t n)
{
	_cleanup_free_ struct clock_step *steps = NULL;
	json_t *array = json_array();
	size_t n_steps = 0;
	_cleanup_(json_decrefp) json_t *root = NULL;

	if (store_clock_steps(store, 0, 0, &steps, &n_steps) < 0)
		log_warning("the steps of the clock are not listed: %s", store_error(store));

	for (size_t i = 0; i < n; i++) {
		if (common->json)
			json_array_append_new(array, mark_json(&marks[i]));
		else
			print_line(&marks[i]);
	}
	root = json_pack("{s:s, s:o, s:o}", "schema", "whyslow.list/1", "marks", array, "clock_steps", JSON_FIRST(x, steps, n_steps, step_json(x)));
	if (common->json) {
		json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (!n) {
		puts("no incidents yet: run 'whyslow mark' when it is slow");
	}
	if (!common->json)
		print_steps(steps, n_steps);
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static void print_new(const struct common *common, const struct mark *m)
{
	if (common->json) {
		json_t *mark = mark_json(m);

		json_print(mark, JSON_COMPACT, stdout);
	} else {
		print_line(m);
	}
	fflush(stdout);
}

static int newest(struct store *store, int64_t from, int64_t after, const struct common *common, int64_t *ret_id, int64_t *ret_wall)
{
	struct mark *marks;
	size_t n;
	int r = store_marks(store, from, INT64_MAX, &marks, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (common && marks[i].id > after)
			print_new(common, &marks[i]);
		*ret_id = marks[i].id;
		*ret_wall = marks[i].wall;
	}
	marks_free(marks, n);
	return 0;
}

/* Until nothing reads any more. */
static int follow(struct common *common, struct store *store)
{
	struct pollfd reader = {STDOUT_FILENO, 0, 0};
	int64_t id = 0, wall = 0;
	int r = newest(store, INT64_MIN, 0, NULL, &id, &wall);

	while (r == 0 && poll(&reader, 1, LOOK_EVERY) == 0)
		r = newest(store, wall - MAY_CHANGE, id, common, &id, &wall);
	if (r < 0)
		log_error("%s", store_reason(store, r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	struct store *store;
	struct mark *marks;
	int status;
	size_t n, all;

	if (argc > 1)
		return verb_usage_error("list", "unexpected argument '%s'", argv[1]);
	if (arg_split && !arg_by_program)
		return verb_usage_error("list", "--split requires --by-program");
	status = client_give_up_rights(common, arg_alike ? CLIENT_SAVES_ANSWERS : 0);
	if (status)
		return status;
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	if (arg_follow) {
		status = follow(common, store);
		store_close(store);
		return status;
	}
	if (store_marks(store, INT64_MIN, INT64_MAX, &marks, &n) < 0) {
		log_error("%s", store_error(store));
		store_close(store);
		return EXIT_CANNOT;
	}
	all = n;
	if (arg_search)
		search(common, store, marks, &n);
	status = !n && all && !common->json ? say_none(all) :
		 arg_by_program ? list_by_program(common, store, marks, n) :
		 arg_alike	? list_alike(common, store, marks, n) :
				  list_marks(common, store, marks, n);
	marks_free(marks, n);
	store_close(store);
	return status;
}

const struct verb verb_list = {
	.name = "list",
	.group = "Daily use",
	.words = "",
	.help = "list incidents: marked by users, or triggered by rules",
	.about = "Lists what users marked and what rules found (see 'whyslow config --rules'), with the program that was blamed. The number of a "
		 "line is the ID that other verbs take.",
	.examples = (const struct example[]){
		{"whyslow list", "all incidents that are kept"},
		{"whyslow list --search backup", "those that have 'backup' in their note or answer"},
		{"whyslow list --by-program", "which program is blamed most often?"},
		{"whyslow list --by-program --split '2026-11-20 14:00'", "did it become better with the change of that time?"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
