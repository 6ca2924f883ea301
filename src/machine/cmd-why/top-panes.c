#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/cmd-why/top-view.h"

#define RETRY_AFTER (2 * NS_PER_SEC)

void top_say(struct top *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->message, sizeof(t->message), format, args);
	va_end(args);
	t->screen.message = t->message;
}

/* --- what is listed --- */

static bool passes(const struct top *t, const json_t *process)
{
	static const char *const keys[] = {"label", "name", "unit", "cmdline"};

	if (!t->filter[0])
		return true;
	if (strcmp(STR_TEXT(16, "%" PRId64, (int64_t)json_integer_value(json_object_get(process, "pid"))), t->filter) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *text = json_string_value(json_object_get(process, keys[i]));

		if (text && strcasestr(text, t->filter))
			return true;
	}
	return false;
}

const json_t *top_chosen_process(const struct top *t)
{
	const struct terminal_state *s = &t->screen;

	if (s->processes.chosen >= s->n_listed)
		return NULL;
	return json_array_get(json_object_get(s->board, "processes"), s->listed[s->processes.chosen]);
}

void top_list_processes(struct top *t)
{
	const json_t *processes = json_object_get(t->answers[ASK_BOARD], "processes");
	size_t n = json_array_size(processes), *listed = calloc(n + 1, sizeof(*listed));

	if (!listed)
		return;
	free(t->listed);
	t->listed = listed;
	t->screen.listed = listed;
	t->screen.n_listed = 0;
	for (size_t i = 0; i < n; i++)
		if (passes(t, json_array_get(processes, i)))
			listed[t->screen.n_listed++] = i;
}

/* The cursor stays where it is until a process was chosen; then it follows it. */
static void find_chosen(struct top *t)
{
	const json_t *processes = json_object_get(t->answers[ASK_BOARD], "processes");

	for (size_t i = 0; t->who[0] && i < t->screen.n_listed; i++) {
		char pid[WHO_MAX];

		snprintf(pid, sizeof(pid), "%" PRId64,
			 (int64_t)json_integer_value(json_object_get(json_array_get(processes, t->screen.listed[i]), "pid")));
		if (strcmp(pid, t->who) == 0)
			t->screen.processes.chosen = i;
	}
}

void top_choose_process(struct top *t)
{
	const json_t *process = top_chosen_process(t);
	char who[WHO_MAX] = "";

	if (process)
		snprintf(who, sizeof(who), "%" PRId64, (int64_t)json_integer_value(json_object_get(process, "pid")));
	if (strcmp(who, t->who) != 0) {
		snprintf(t->who, sizeof(t->who), "%s", who);
		t->screen.features = (struct terminal_list){};
		t->feature[0] = '\0';
	}
	t->stale[ASK_PROCESS] = t->who[0];
}

void top_choose_feature(struct top *t)
{
	const json_t *features = json_object_get(t->answers[ASK_PROCESS], "features");
	const char *name = json_string_value(json_object_get(json_array_get(features, t->screen.features.chosen), "name"));

	snprintf(t->feature, sizeof(t->feature), "%s", name ? name : "");
	t->stale[ASK_SERIES] = t->feature[0];
}

/* Likewise: the features are sorted again each second. */
static void find_feature(struct top *t)
{
	const json_t *features = json_object_get(t->answers[ASK_PROCESS], "features"), *feature;
	size_t i;

	json_array_foreach(features, i, feature)
		if (strcmp(json_string_value(json_object_get(feature, "name")), t->feature) == 0)
			t->screen.features.chosen = i;
}

/* --- questions and answers --- */

static const char *const models[] = {"unusual", "gaussian", "blame"};

void top_next_model(struct top *t)
{
	static const char *const words[] = {"how unusual each process is", "the paper's model: average log-likelihood", "the culprits first"};

	t->model = (t->model + 1) % ARRAY_SIZE(models);
	ask_end(&t->asked[ASK_BOARD]);
	t->stale[ASK_BOARD] = t->stale[ASK_PROCESS] = true;
	top_say(t, "ranked by %s", words[t->model]);
}

static int ask_question(struct top *t, enum top_question which)
{
	const char *words[16] = {"show", "--json"};
	size_t n = 2;

	if (t->window_text[0]) {
		words[n++] = "--window";
		words[n++] = t->window_text;
	}
	if (t->model && which != ASK_SERIES) {
		words[n++] = "--model";
		words[n++] = models[t->model];
	}
	if (t->at) {
		words[n++] = "--at";
		words[n++] = t->at_text;
	} else if (which == ASK_BOARD) {
		words[n++] = "--follow";
	}
	if (which != ASK_BOARD) {
		words[n++] = "--for";
		words[n++] = t->who;
	}
	if (which == ASK_SERIES) {
		words[n++] = "--feature";
		words[n++] = t->feature;
	}
	t->stale[which] = false;
	t->board_came = t->board_came && which != ASK_BOARD;
	return ask_begin(&t->asker, n, words, &t->asked[which]);
}

void top_ask_what_is_stale(struct top *t)
{
	for (int i = 0; i < PANES; i++) {
		int r;

		if (!t->stale[i] || t->asked[i].asked || (i == ASK_BOARD && clock_boot() < t->ended + RETRY_AFTER))
			continue;
		r = ask_question(t, (enum top_question)i);
		if (r < 0)
			top_say(t, "cannot ask: %s", strerror(-r));
	}
}

/* An exported recording has no now: its end is shown. And where nothing was recorded, what was shown before stays. */
static void stay_there(struct top *t)
{
	const char *at = json_string_value(json_object_get(t->answers[ASK_BOARD], "at"));

	if (!at || clock_parse_time(at, clock_wall(), &t->at) < 0)
		return;
	t->screen.live = false;
	snprintf(t->at_text, sizeof(t->at_text), "%s", at);
}

static void take_answer(struct top *t, enum top_question which, json_t *answer)
{
	json_decref(t->answers[which]);
	t->answers[which] = answer;
	t->screen.board = t->answers[ASK_BOARD];
	t->screen.process = t->answers[ASK_PROCESS];
	t->screen.series = t->answers[ASK_SERIES];
	if (which == ASK_BOARD) {
		t->board_came = true;
		if (t->asker.from_file && !t->at)
			stay_there(t);
		top_list_processes(t);
		find_chosen(t);
		top_choose_process(t);
	} else if (which == ASK_PROCESS) {
		if (t->screen.focus == PANE_FEATURES)
			find_feature(t);
		top_choose_feature(t);
	}
}

static void tell_errors(struct top *t, const struct inquiry *q)
{
	_cleanup_str_ struct str errors = {};

	if (ask_errors(q, &errors) == 0 && errors.len)
		top_say(t, "%s", errors.data);
}

void top_read_answer(struct top *t, enum top_question which)
{
	struct inquiry *q = &t->asked[which];
	int more = ask_read(q);
	json_t *answer;

	while ((answer = ask_take(q)))
		take_answer(t, which, answer);
	if (more > 0)
		return;
	tell_errors(t, q);
	ask_end(q);
	if (which == ASK_BOARD && t->at && !t->board_came)
		stay_there(t);
	if (which == ASK_BOARD && !t->at) {
		t->stale[which] = true; /* the recorder was restarted, or an answer may take only so long */
		t->ended = clock_boot();
	}
}

/* --- time --- */

void top_show_moment(struct top *t, int64_t at)
{
	t->at = at;
	t->screen.live = !at;
	if (at)
		clock_format_rfc3339(at, t->at_text, sizeof(t->at_text));
	ask_end(&t->asked[ASK_BOARD]);
	t->stale[ASK_BOARD] = true;
	t->ended = 0;
	t->screen.message = NULL;
}

void top_travel(struct top *t, int64_t by)
{
	const char *at = json_string_value(json_object_get(t->answers[ASK_BOARD], "at"));
	int64_t now = t->at;

	if (!now && (!at || clock_parse_time(at, clock_wall(), &now) < 0))
		now = clock_wall();
	if (now + by >= clock_wall())
		top_show_moment(t, 0);
	else
		top_show_moment(t, now + by);
}
