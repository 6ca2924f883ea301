#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/cmd-why/top-view.h"

#define EVENTS_REACH (60 * NS_PER_SEC) /* what is kept of a mark reaches back some ten seconds, rarely a minute */

void top_show_text(struct top *t, const char *title, char *text)
{
	free(t->text);
	t->text = text;
	t->text_top = 0;
	t->screen.message = NULL;
	snprintf(t->title, sizeof(t->title), "%s", title);
}

static void show_answer(struct top *t, const char *verb, const char *who, size_t n, const char *const *words)
{
	_cleanup_str_ struct str errors = {};
	struct str answer = {};
	char title[80];
	int r;

	top_say(t, "asking whyslow %s ...", verb);
	terminal_draw(&t->screen); /* a starved machine takes its time */
	r = ask_all(&t->asker, n, words, &answer, &errors);

	snprintf(title, sizeof(title), "whyslow %s %s", verb, who);
	if (r < 0 || !answer.len)
		top_say(t, "no answer: %s", r < 0 ? strerror(-r) : errors.len ? errors.data : "the answer is empty");
	else
		top_show_text(t, title, answer.data);
	if (r < 0 || !answer.len)
		str_free(&answer);
}

/* What `list --json` prints; the caller's reference, or NULL. */
static json_t *read_marks(struct top *t)
{
	const char *words[] = {"list", "--json"};
	_cleanup_str_ struct str answer = {}, errors = {};

	(void)ask_all(&t->asker, ARRAY_SIZE(words), words, &answer, &errors);
	return answer.len ? json_loadb(answer.data, answer.len, 0, NULL) : NULL;
}

static bool moment_of(const json_t *mark, int64_t *ret_wall)
{
	const char *at = json_string_value(json_object_get(mark, "at"));

	return at && clock_parse_time(at, 0, ret_wall) == 0;
}

/* Events of the past are kept of marks alone: the number of the one nearest to the moment, if its events may tell of it. */
static bool find_mark(struct top *t, char *ret, size_t size)
{
	int64_t best = EVENTS_REACH, wall;
	json_t *root = read_marks(t);
	const json_t *mark;
	size_t i;

	json_array_foreach(json_object_get(root, "marks"), i, mark) {
		if (!moment_of(mark, &wall) || llabs(wall - t->at) > best)
			continue;
		best = llabs(wall - t->at);
		snprintf(ret, size, "%lld", json_integer_value(json_object_get(mark, "id")));
	}
	json_decref(root);
	return ret[0];
}

bool top_go_to(struct top *t, const char *text)
{
	int64_t at = 0, wall;
	uint64_t number;
	const json_t *mark;
	json_t *root;
	size_t i;

	if (clock_parse_time(text, clock_wall(), &at) == 0) {
		top_show_moment(t, at);
		return true;
	}
	if (str_parse_u64(text, &number) < 0)
		return false;
	root = read_marks(t);
	json_array_foreach(json_object_get(root, "marks"), i, mark)
		if ((uint64_t)json_integer_value(json_object_get(mark, "id")) == number && moment_of(mark, &wall))
			at = wall;
	json_decref(root);
	if (!at)
		return false;
	top_show_moment(t, at);
	snprintf(t->at_text, sizeof(t->at_text), "%s", text); /* by its number: with all that is known of it */
	return true;
}

/* `waits` or `threads`: of now, or of the mark that is near. */
void top_show_events(struct top *t, const char *verb, bool of_process)
{
	const char *words[4] = {verb};
	char mark[24] = "";
	size_t n = 1;

	if (of_process)
		words[n++] = t->who;
	if (t->at && !find_mark(t, mark, sizeof(mark)) && !t->asker.from_file) {
		top_say(t, "no events are saved for that moment; events exist for marks and for now (End)");
		return;
	}
	if (mark[0]) {
		words[n++] = "--mark";
		words[n++] = mark;
	}
	show_answer(t, verb, of_process ? t->who : "", n, words);
}

void top_show_why(struct top *t)
{
	const char *words[] = {"why", "--at", t->at_text};

	show_answer(t, "why", "", t->at ? 3 : 1, words);
}

void top_show_help(struct top *t)
{
	top_show_text(t, "whyslow top: keys",
		  strdup("up, down, PgUp, PgDn   choose a process, or a feature of it\n"
			 "Enter, Tab             go from the processes to the features of the chosen one\n"
			 "Esc, Backspace         go back\n"
			 "left, right            10 s back, forward in time\n"
			 "[ ]                    10 min back, forward\n"
			 "g                      go to a moment: -5min, 14:32, 2026-11-20 14:32:07, or a mark's number\n"
			 "End                    live again\n"
			 "m                      mark this moment, with a note\n"
			 "r                      rank by another model: how unusual, the paper's log-likelihood, culprits\n"
			 "w                      why is it slow, in words\n"
			 "b                      blame: who made whom wait (in the past: the saved events of the nearest mark)\n"
			 "t                      states of the chosen process's threads\n"
			 "/                      list only what contains these letters, or this pid\n"
			 "mouse                  click on a process or feature; wheel scrolls\n"
			 "q                      quit\n"
			 "\n"
			 "'anomaly' says how far a value lies from its own past; a red name is the culprit of 'whyslow why'.\n"));
}

void top_mark(struct top *t, const char *note)
{
	const char *words[] = {"mark", "--", note};
	_cleanup_str_ struct str answer = {}, errors = {};
	int r = ask_all(&t->asker, note[0] ? 3 : 1, words, &answer, &errors);

	if (r != EXIT_ANSWERED)
		top_say(t, "cannot mark: %s", r < 0 ? strerror(-r) : errors.len ? errors.data : "?");
	else if (answer.len)
		top_say(t, "%.*s", (int)strcspn(answer.data, "\n"), answer.data);
}
