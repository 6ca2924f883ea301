/* The terminal view: what machine/view-why/terminal.c draws, what the keys do, and the questions that fill it (machine/client/ask.h). */
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/cmd-why/top-view.h"
#include "machine/process/proc.h"

#define STEP	   (10 * NS_PER_SEC)
#define STEP_LARGE (600 * NS_PER_SEC)

#define NICER 10 /* a ninth of the weight of others, where there is too little CPU time */

#define EVENTS_REACH (60 * NS_PER_SEC) /* what is kept of a mark reaches back some ten seconds, rarely a minute */

/* Takes over the text; NULL = the panes again. */
static void top_show_text(struct top *t, const char *title, char *text)
{
	free(t->text);
	t->text = text;
	t->text_top = 0;
	snprintf(t->title, sizeof(t->title), "%s", title);
}

/* Asks; keys are obeyed until the answer is there: `then` gets the whole answer. What was asked for in the same place before is no longer wanted. */
static void ask_apart(struct top *t, enum top_question which, size_t n, const char *const *words, top_answer_fn then)
{
	int r;

	if (which == ASK_ACT && t->asked[ASK_ACT].asked) {
		top_say(t, "not done: what was asked for before is not finished yet");
		return;
	}
	ask_end(&t->asked[which]);
	r = ask_begin(&t->asker, n, words, &t->asked[which]);
	t->then[which - PANES] = then;
	if (r < 0)
		top_say(t, "cannot ask: %s", ask_failure(&t->asker, r));
	else
		top_say(t, "asking whyslow %s ...%s", words[0], which == ASK_TEXT ? " (Esc: no longer)" : "");
}

static void read_apart(struct top *t, enum top_question which)
{
	_cleanup_str_ struct str answer = {}, errors = {};
	int r = ask_read(&t->asked[which]);

	if (r > 0)
		return;
	r = ask_finish(&t->asked[which], r, &answer, &errors);
	t->screen.message = NULL;
	t->then[which - PANES](t, r, &answer, r < 0 ? ask_failure(&t->asker, r) : errors.len ? errors.data : NULL);
}

/* Esc, q or Backspace while an answer is waited for: it is not wanted any more. A mark is made nevertheless. */
static bool give_up_asking(struct top *t)
{
	if (!t->asked[ASK_TEXT].asked)
		return false;
	ask_end(&t->asked[ASK_TEXT]);
	t->screen.message = NULL;
	return true;
}

static void text_came(struct top *t, int status, struct str *answer, const char *error)
{
	if (status < 0 || !answer->len) {
		top_say(t, "no answer: %s", error ? error : "the answer is empty");
		return;
	}
	top_show_text(t, t->asked_title, answer->data);
	*answer = (struct str){};
}

static void ask_text(struct top *t, const char *who, size_t n, const char *const *words)
{
	snprintf(t->asked_title, sizeof(t->asked_title), "whyslow %s %s", words[0], who);
	ask_apart(t, ASK_TEXT, n, words, text_came);
}

/* --- marks: of the output of `list --json` --- */

static const char *const list_words[] = {"list", "--json"};

static json_t *parse_marks(const struct str *answer)
{
	return answer->len ? json_loadb(answer->data, answer->len, 0, NULL) : NULL;
}

static bool moment_of(const json_t *mark, int64_t *ret_wall)
{
	const char *at = json_string_value(json_object_get(mark, "at"));

	return at && clock_parse_time(at, 0, ret_wall) == 0;
}

/* Events of the past are kept of marks alone: the number of the one nearest to the moment, if its events may tell of it. */
static bool find_mark(const json_t *root, int64_t at, char *ret, size_t size)
{
	int64_t best = EVENTS_REACH, wall;
	const json_t *mark;
	size_t i;

	json_array_foreach(json_object_get(root, "marks"), i, mark) {
		if (!moment_of(mark, &wall) || llabs(wall - at) > best)
			continue;
		best = llabs(wall - at);
		snprintf(ret, size, "%lld", json_integer_value(json_object_get(mark, "id")));
	}
	return ret[0];
}

/* To a mark by its number; false: there is none. */
static bool go_to_mark(struct top *t, const json_t *root, const char *text)
{
	int64_t at = 0, wall;
	uint64_t number;
	const json_t *mark;
	size_t i;

	if (str_parse_u64(text, &number) < 0)
		return false;
	json_array_foreach(json_object_get(root, "marks"), i, mark)
		if ((uint64_t)json_integer_value(json_object_get(mark, "id")) == number && moment_of(mark, &wall))
			at = wall;
	if (!at)
		return false;
	top_show_moment(t, at);
	snprintf(t->at_text, sizeof(t->at_text), "%s", text); /* by its number: with all that is known of it */
	return true;
}

/* Before there is a screen: to a TIME, or to a mark by its number; false: it is neither. */
static bool begin_at(struct top *t, const char *text)
{
	_cleanup_str_ struct str answer = {}, errors = {};
	_cleanup_(json_decrefp) json_t *root = NULL;
	int64_t at;

	if (clock_parse_time(text, clock_wall(), &at) == 0) {
		top_show_moment(t, at);
		return true;
	}
	(void)ask_all(&t->asker, ARRAY_SIZE(list_words), list_words, &answer, &errors);
	root = parse_marks(&answer);
	return go_to_mark(t, root, text);
}

/* `waits` or `threads`, of the mark where one is named. */
static void ask_events(struct top *t, const char *mark)
{
	const char *words[4] = {t->events_verb};
	size_t n = 1;

	if (t->events_who[0])
		words[n++] = t->events_who;
	if (mark[0]) {
		words[n++] = "--mark";
		words[n++] = mark;
	}
	ask_text(t, t->events_who, n, words);
}

static void marks_came_for_events(struct top *t, int status, struct str *answer, const char *error)
{
	_cleanup_(json_decrefp) json_t *root = parse_marks(answer);
	char mark[24] = "";

	(void)status;
	(void)error; /* without marks there are no events of the past: that is said */
	if (!find_mark(root, t->events_at, mark, sizeof(mark)) && !t->asker.from_file)
		top_say(t, "no events are saved for that moment; events exist for marks and for now (End)");
	else
		ask_events(t, mark);
}

/* `waits` or `threads`: of now, or of the mark that is near. */
static void top_show_events(struct top *t, const char *verb, bool of_process)
{
	t->events_verb = verb;
	snprintf(t->events_who, sizeof(t->events_who), "%s", of_process ? t->who : "");
	t->events_at = t->at;
	if (t->at)
		ask_apart(t, ASK_TEXT, ARRAY_SIZE(list_words), list_words, marks_came_for_events);
	else
		ask_events(t, "");
}

static void top_show_why(struct top *t)
{
	const char *words[] = {"why", "--at", t->at_text};

	ask_text(t, "", t->at ? 3 : 1, words);
}

static void top_show_help(struct top *t)
{
	top_show_text(t, "whyslow top: keys",
		  strdup("up, down, PgUp, PgDn   choose a process, or a feature of it\n"
			 "Enter, Tab             go from the processes to the features of the chosen one\n"
			 "Esc, Backspace         go back; no longer wait for an answer (w, b, t)\n"
			 "left, right            10 s back, forward in time\n"
			 "[ ]                    10 min back, forward\n"
			 "g                      go to a moment: -5min, 14:32, 2026-11-20 14:32:07, or a mark's number\n"
			 "End                    live again\n"
			 "m                      mark this moment, with a note\n"
			 "r                      rank by another model: how unusual, the paper's log-likelihood, culprits\n"
			 "w                      why is it slow, in words\n"
			 "b                      blame: who made whom wait (in the past: the saved events of the nearest mark)\n"
			 "t                      states of the chosen process's threads\n"
			 "c                      hold the chosen process back, as 'whyslow calm' does; asks first\n"
			 "u                      undo: release all that you hold back\n"
			 "n                      give the chosen process the nice value 10, as renice does; asks first\n"
			 "x                      end the chosen process (SIGTERM); asks first\n"
			 "/                      list only what contains these letters, or this pid\n"
			 "mouse                  click on a process or feature; wheel scrolls\n"
			 "q                      quit\n"
			 "\n"
			 "'anomaly' says how far a value lies from its own past; a red name is the culprit of 'whyslow why'.\n"));
}

/* The answer's first line, or why there is none. */
static void act_came(struct top *t, int status, struct str *answer, const char *error)
{
	if (status != EXIT_ANSWERED)
		top_say(t, "%.*s", (int)strcspn(error ?: "no answer came", "\n"), error ?: "no answer came");
	else if (answer->len)
		top_say(t, "%.*s", (int)strcspn(answer->data, "\n"), answer->data);
}

static void top_mark(struct top *t, const char *note)
{
	const char *words[] = {"mark", "--", note};

	ask_apart(t, ASK_ACT, note[0] ? 3 : 1, words, act_came);
}

/* --- lines that are typed --- */

static void begin_typing(struct top *t, const char *prompt, void (*entered)(struct top *))
{
	t->typed[0] = '\0';
	t->entered = entered;
	t->screen.prompt = prompt;
	t->screen.typed = t->typed;
}

/* Whether the living process with that number is the one in the list: both began in the same tick of the clock, which is all that /proc tells. */
static bool is_shown(const json_t *row, const char *pid)
{
	int64_t tick = NS_PER_SEC / sysconf(_SC_CLK_TCK), start = json_integer_value(json_object_get(row, "start_time"));
	char line[512];
	struct proc_stat stat;

	return start && file_first_line(STR_TEXT(40, "/proc/%s/stat", pid), line, sizeof(line)) && proc_parse_stat(line, &stat) == 0 &&
	       llabs(start - (int64_t)stat.start) <= 2 * tick;
}

/* A question about the chosen process as it is now; who answers it late may not mean another one with the same number. */
static void begin_asking(struct top *t, const char *what, void (*entered)(struct top *))
{
	const char *label = json_string_value(json_object_get(top_chosen_process(t), "label"));
	uint64_t pid;

	if (t->at || t->asker.from_file) {
		top_say(t, "only a living process: End goes back to now");
		return;
	}
	if (str_parse_u64(t->who, &pid) < 0 || !pid) {
		top_say(t, "choose a process first");
		return;
	}
	if (t->asked_fd > 0)
		close(t->asked_fd);
	t->asked_fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (t->asked_fd < 0 && errno != ESRCH) {
		top_say(t, "cannot look at process %s: %s", t->who, strerror(errno));
		return;
	}
	/* a recorder that has stopped, or another machine's recording, shows what once had this number */
	if (t->asked_fd < 0 || !is_shown(top_chosen_process(t), t->who)) {
		top_say(t, "process %s has ended", t->who);
		return;
	}
	snprintf(t->asked_of, sizeof(t->asked_of), "%s", t->who);
	snprintf(t->prompt, sizeof(t->prompt), "%s %s (pid %s)? y Enter does it: ", what, label ?: "?", t->who);
	begin_typing(t, t->prompt, entered);
}

static void end_typing(struct top *t)
{
	t->entered = NULL;
	t->screen.prompt = NULL;
}

static void filter_entered(struct top *t)
{
	snprintf(t->filter, sizeof(t->filter), "%s", t->typed);
	t->screen.filter = t->filter[0] ? t->filter : NULL;
	t->screen.processes = (struct terminal_list){};
	top_list_processes(t);
	top_choose_process(t);
}

static void note_entered(struct top *t)
{
	top_mark(t, t->typed);
}

static void say_invalid_time(struct top *t)
{
	top_say(t, "invalid TIME '%s'; expected -5min, 14:32, '2026-11-20 14:32:07' or a mark's id", t->go_to);
}

static void marks_came_for_moment(struct top *t, int status, struct str *answer, const char *error)
{
	_cleanup_(json_decrefp) json_t *root = parse_marks(answer);

	(void)status;
	(void)error;
	if (!go_to_mark(t, root, t->go_to))
		say_invalid_time(t);
}

static void moment_entered(struct top *t)
{
	uint64_t number;
	int64_t at;

	snprintf(t->go_to, sizeof(t->go_to), "%s", t->typed);
	if (clock_parse_time(t->go_to, clock_wall(), &at) == 0)
		top_show_moment(t, at);
	else if (str_parse_u64(t->go_to, &number) == 0)
		ask_apart(t, ASK_TEXT, ARRAY_SIZE(list_words), list_words, marks_came_for_moment);
	else
		say_invalid_time(t);
}

static bool is_yes(const struct top *t)
{
	return strcmp(t->typed, "y") == 0 || strcmp(t->typed, "yes") == 0;
}

/* Whether the process is still the one that the question was about. */
static bool is_still_there(struct top *t)
{
	struct pollfd ended = {t->asked_fd, POLLIN, 0};
	bool there = poll(&ended, 1, 0) <= 0;

	if (!there)
		top_say(t, "process %s has ended", t->asked_of);
	return there;
}

static void hold_entered(struct top *t)
{
	const char *words[] = {"calm", t->asked_of};

	if (is_yes(t) && is_still_there(t))
		ask_apart(t, ASK_ACT, ARRAY_SIZE(words), words, act_came);
}

static void say_not_done(struct top *t, const char *what, int error, const char *command)
{
	if (error == EPERM)
		top_say(t, "cannot %s process %s: it is another user's, over whom this view has no rights; use %s", what, t->asked_of, command);
	else
		top_say(t, "cannot %s process %s: %s", what, t->asked_of, strerror(error));
}

static void end_entered(struct top *t)
{
	if (!is_yes(t) || !is_still_there(t))
		return;
	if (syscall(SYS_pidfd_send_signal, t->asked_fd, SIGTERM, NULL, 0) == 0)
		top_say(t, "process %s was asked to end (SIGTERM)", t->asked_of);
	else
		say_not_done(t, "end", errno, "kill");
}

/* On Linux each thread has a nice value of its own. One that gives way more keeps it. */
static void nice_entered(struct top *t)
{
	size_t changed = 0;
	int failed = 0;

	if (!is_yes(t) || !is_still_there(t))
		return;
	FOLDER_EACH(thread, opendir(STR_TEXT(40, "/proc/%s/task", t->asked_of))) {
		uint64_t id;

		if (str_parse_u64(thread.name, &id) < 0 || getpriority(PRIO_PROCESS, (id_t)id) >= NICER)
			continue;
		if (setpriority(PRIO_PROCESS, (id_t)id, NICER) == 0)
			changed++;
		else
			failed = errno;
	}
	if (failed && failed != ESRCH)
		say_not_done(t, "change the nice value of", failed, "renice");
	else if (changed)
		top_say(t, "process %s has the nice value %d now: %zu thread%s", t->asked_of, NICER, changed, changed == 1 ? "" : "s");
	else if (is_still_there(t))
		top_say(t, "process %s has a nice value of %d or more already", t->asked_of, NICER);
}

static void release(struct top *t)
{
	const char *words[] = {"calm", "--undo"};

	ask_apart(t, ASK_ACT, ARRAY_SIZE(words), words, act_came);
}

static void type_key(struct top *t, int key)
{
	void (*entered)(struct top *) = t->entered;
	size_t n = strlen(t->typed);

	if (key == KEY_ESCAPE) {
		end_typing(t);
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		end_typing(t);
		entered(t);
	} else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
		while (n > 0 && (t->typed[--n] & 0xc0) == 0x80)
			;
		t->typed[n] = '\0';
	} else if (key >= ' ' && key < 256 && n + 1 < sizeof(t->typed)) {
		t->typed[n] = (char)key;
		t->typed[n + 1] = '\0';
	}
}

/* --- a text over the panes --- */

static void text_key(struct top *t, int key)
{
	size_t page = (size_t)terminal_layout().rows - 2, last = t->text_lines > page ? t->text_lines - page : 0;

	MEVENT e = {};

	if (key == KEY_MOUSE && getmouse(&e) == OK && e.bstate & BUTTON5_PRESSED)
		t->text_top = t->text_top + WHEEL < last ? t->text_top + WHEEL : last;
	else if (key == KEY_MOUSE && e.bstate & BUTTON4_PRESSED)
		t->text_top = t->text_top > WHEEL ? t->text_top - WHEEL : 0;
	else if (key == KEY_DOWN)
		t->text_top += t->text_top < last;
	else if (key == KEY_UP)
		t->text_top -= t->text_top > 0;
	else if (key == KEY_NPAGE || key == ' ')
		t->text_top = t->text_top + page < last ? t->text_top + page : last;
	else if (key == KEY_PPAGE)
		t->text_top = t->text_top > page ? t->text_top - page : 0;
	else if (key == 'q' || key == KEY_ESCAPE || key == '\n' || key == KEY_BACKSPACE)
		top_show_text(t, "", NULL);
}

/* --- keys --- */

static void move_by(struct top *t, long by)
{
	bool processes = t->screen.focus == PANE_PROCESSES;
	struct terminal_list *list = processes ? &t->screen.processes : &t->screen.features;
	size_t n = processes ? t->screen.n_listed : json_array_size(json_object_get(t->answers[ASK_PROCESS], "features"));
	long to = (long)list->chosen + by;

	list->chosen = to < 0 || n == 0 ? 0 : (size_t)to >= n ? n - 1 : (size_t)to;
	if (processes)
		top_choose_process(t);
	else
		top_choose_feature(t);
}

static void mouse(struct top *t)
{
	struct terminal_layout l = terminal_layout();
	MEVENT e;

	if (getmouse(&e) != OK)
		return;
	if (e.bstate & BUTTON4_PRESSED) {
		move_by(t, -WHEEL);
	} else if (e.bstate & BUTTON5_PRESSED) {
		move_by(t, WHEEL);
	} else if (e.y >= l.processes && e.y < l.processes + l.n_processes) {
		t->screen.focus = PANE_PROCESSES;
		t->screen.processes.chosen = t->screen.processes.top + (size_t)(e.y - l.processes);
		move_by(t, 0);
	} else if (e.y >= l.features && e.y < l.features + l.n_features) {
		t->screen.focus = PANE_FEATURES;
		t->screen.features.chosen = t->screen.features.top + (size_t)(e.y - l.features);
		move_by(t, 0);
	}
}

static void up(struct top *t) { move_by(t, -1); }
static void down(struct top *t) { move_by(t, 1); }
static long page(const struct top *t)
{
	struct terminal_layout l = terminal_layout();

	return t->screen.focus == PANE_PROCESSES ? l.n_processes : l.n_features;
}

static void page_up(struct top *t) { move_by(t, -page(t)); }
static void page_down(struct top *t) { move_by(t, page(t)); }
static void first(struct top *t) { move_by(t, -100000); }
static void back(struct top *t) { top_travel(t, -STEP); }
static void forward(struct top *t) { top_travel(t, STEP); }
static void far_back(struct top *t) { top_travel(t, -STEP_LARGE); }
static void far_forward(struct top *t) { top_travel(t, STEP_LARGE); }
static void live(struct top *t) { top_show_moment(t, 0); }
static void to_features(struct top *t) { t->screen.focus = PANE_FEATURES; }
static void to_processes(struct top *t) { t->screen.focus = PANE_PROCESSES; }
static void other_pane(struct top *t) { t->screen.focus = t->screen.focus == PANE_FEATURES ? PANE_PROCESSES : PANE_FEATURES; }
static void mark(struct top *t) { begin_typing(t, "note (Enter marks, Esc does not): ", note_entered); }
static void list_only(struct top *t) { begin_typing(t, "list only: ", filter_entered); }
static void go_to(struct top *t) { begin_typing(t, "go to: ", moment_entered); }
static void hold_back(struct top *t) { begin_asking(t, "hold back", hold_entered); }
static void make_nice(struct top *t) { begin_asking(t, "give less CPU time (nice 10) to", nice_entered); }
static void end(struct top *t) { begin_asking(t, "end", end_entered); }
static void blame(struct top *t) { top_show_events(t, "waits", false); }
static void threads(struct top *t) { top_show_events(t, "threads", true); }
static void quit(struct top *t) { t->quit = true; }

static const struct {
	int key;
	void (*act)(struct top *t);
} keys[] = {
	{KEY_UP, up}, {KEY_DOWN, down}, {'k', up}, {'j', down}, {KEY_PPAGE, page_up}, {KEY_NPAGE, page_down}, {KEY_HOME, first},
	{KEY_LEFT, back}, {KEY_RIGHT, forward}, {'[', far_back}, {']', far_forward}, {KEY_END, live}, {'g', go_to},
	{'\n', to_features}, {'\r', to_features}, {KEY_ENTER, to_features}, {'\t', other_pane}, {KEY_ESCAPE, to_processes},
	{KEY_BACKSPACE, to_processes}, {'m', mark}, {'r', top_next_model}, {'/', list_only}, {'w', top_show_why}, {'b', blame}, {'t', threads}, {'?', top_show_help},
	{'h', top_show_help}, {'c', hold_back}, {'u', release}, {'n', make_nice}, {'x', end}, {KEY_MOUSE, mouse}, {'q', quit},
};

static void top_press(struct top *t, int key)
{
	if (key == KEY_RESIZE)
		return;
	if (t->entered) {
		type_key(t, key);
		return;
	}
	if (t->text) {
		text_key(t, key);
		return;
	}
	if ((key == KEY_ESCAPE || key == KEY_BACKSPACE || key == 'q') && give_up_asking(t))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].key == key)
			keys[i].act(t);
}

static const char *arg_at;
static int64_t arg_window;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "at", "TIME", &arg_at, "begin at this moment, or mark (default: now, live)"},
	{OPTION_SPAN, 0, "window", "SPAN", &arg_window, "length of the baseline and of the curves (default: 1h of recorded time)"},
	{},
};

static void draw(struct top *t)
{
	if (t->text && !t->entered) /* a line that is being typed is ended first */
		t->text_lines = terminal_draw_text(t->title, t->text, t->text_top);
	else
		terminal_draw(&t->screen);
}

/* Sleeps until a key, an answer, or (to ask again) two seconds. */
static void wait_for_something(struct top *t)
{
	struct pollfd fds[1 + QUESTIONS] = {{STDIN_FILENO, POLLIN, 0}};

	for (int i = 0; i < QUESTIONS; i++)
		fds[1 + i] = (struct pollfd){t->asked[i].asked ? t->asked[i].fd : -1, POLLIN, 0};
	poll(fds, ARRAY_SIZE(fds), t->stale[ASK_BOARD] ? 500 : -1);
	for (int i = 0; i < QUESTIONS; i++)
		if (fds[1 + i].revents)
			(i < PANES ? top_read_answer : read_apart)(t, (enum top_question)i);
	if (fds[0].revents & (POLLHUP | POLLERR))
		t->quit = true;
	for (int key = getch(); key != ERR; key = getch())
		top_press(t, key);
}

/* An act continues to its end, also where the view is left at once. */
static void finish_act(struct top *t)
{
	_cleanup_str_ struct str answer = {}, errors = {};

	if (t->asked[ASK_ACT].asked)
		(void)ask_finish(&t->asked[ASK_ACT], 1, &answer, &errors);
}

static int show(struct common *common)
{
	struct top t = {.asker = common_asker(common), .screen.live = true, .stale[ASK_BOARD] = true};
	const char *error;

	if (arg_at && !begin_at(&t, arg_at))
		return verb_usage_error("top", "invalid TIME '%s'; expected -5min, 14:32, '2026-11-20 14:32:07' or a mark's id", arg_at);
	if (arg_window)
		snprintf(t.window_text, sizeof(t.window_text), "%llds", arg_window / NS_PER_SEC);
	if (terminal_open(&error) < 0) {
		log_error("top %s", error);
		return EXIT_CANNOT;
	}
	while (!t.quit) {
		top_ask_what_is_stale(&t);
		draw(&t);
		wait_for_something(&t);
	}
	terminal_close();
	finish_act(&t);
	for (int i = 0; i < QUESTIONS; i++) {
		ask_end(&t.asked[i]);
		json_decref(i < PANES ? t.answers[i] : NULL);
	}
	FREE_ALL(t.listed, t.text);
	return EXIT_ANSWERED;
}

/* Whatever ends the view, even SIGKILL, its parent gives the terminal back. */
static int run(struct common *common, int argc, char **argv)
{
	static const char restore[] = "\033[?1000l\033[?1006l\033[?1049l\033[?25h\033[0m\r\n";
	struct termios before;
	bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;
	int status;
	pid_t view;

	if (argc > 1)
		return verb_usage_error("top", "unexpected argument '%s'", argv[1]);
	if (verb_give_up_rights(DAEMON_SERVES))
		return EXIT_CANNOT;
	view = terminal ? fork() : 0;
	if (view == 0) {
		status = show(common);
		if (terminal)
			_exit(status);
		return status;
	}
	if (view < 0)
		return EXIT_CANNOT;
	signal(SIGINT, SIG_IGN);
	while (waitpid(view, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	(void)!write(STDOUT_FILENO, restore, sizeof(restore) - 1);
	if (WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM)
		log_error("the view ended with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	return EXIT_CANNOT;
}

const struct verb verb_top = {
	.name = "top",
	.group = "Daily use",
	.words = "",
	.help = "interactive view: processes by how unusual they are, features, curves; live or at any moment",
	.about = "Shows the processes of this moment by how unusual they are, their features and curves, in the terminal. ? lists the keys.",
	.examples = (const struct example[]){
		{"whyslow top", "the machine as it is now"},
		{"whyslow top --at 03:10", "begin at ten past three"},
		{}},
	.options = options,
	.runs_programs = true,
	.run = run,
};
