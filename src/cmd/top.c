/* The terminal view: what view/terminal.c draws, what the keys do, and the questions that fill it (daemon/ask.h). */
#include <errno.h>
#include <inttypes.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/verb.h"
#include "daemon/ask.h"
#include "view/terminal.h"

#define STEP	     (10 * NS_PER_SEC)
#define STEP_LARGE   (600 * NS_PER_SEC)
#define WHEEL	     3 /* lines */
#define TYPED_MAX    120
#define KEY_ESCAPE   27
#define RETRY_AFTER  (2 * NS_PER_SEC)
#define EVENTS_REACH (60 * NS_PER_SEC) /* what is kept of a mark reaches back some ten seconds, rarely a minute */
#define WHO_MAX	     16
#define FEATURE_MAX  64

static const char *arg_at;
static int64_t arg_window;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "at", "TIME", &arg_at, "begin at this moment (default: now, live)"},
	{OPTION_SPAN, 0, "window", "SPAN", &arg_window, "how much of the past to compare with and to show (default 1h)"},
	{},
};

enum question { ASK_BOARD, ASK_PROCESS, ASK_SERIES, QUESTIONS };

struct top {
	struct asker asker;
	struct terminal_state screen;
	struct inquiry asked[QUESTIONS];
	json_t *answers[QUESTIONS];
	bool stale[QUESTIONS]; /* to be asked (again) as soon as the one under way is answered */
	int64_t ended;	       /* when the live board's answer ended: it is asked again a little later */
	int64_t at;	       /* wall ns of the moment shown; 0 = live */
	char at_text[40], window_text[24];
	char who[WHO_MAX], feature[FEATURE_MAX]; /* chosen */
	size_t *listed;
	char filter[TYPED_MAX], typed[TYPED_MAX], message[200];
	void (*entered)(struct top *t); /* what a typed line is for; NULL = nothing is being typed */
	char *text;			/* an answer in words, over the panes; NULL = none */
	char title[80];
	size_t text_top, text_lines;
	bool quit;
};

static void say(struct top *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct top *t, const char *format, ...)
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
	char pid[16];

	if (!t->filter[0])
		return true;
	snprintf(pid, sizeof(pid), "%" PRId64, (int64_t)json_integer_value(json_object_get(process, "pid")));
	if (strcmp(pid, t->filter) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *text = json_string_value(json_object_get(process, keys[i]));

		if (text && strcasestr(text, t->filter))
			return true;
	}
	return false;
}

static const json_t *chosen_process(const struct top *t)
{
	const struct terminal_state *s = &t->screen;

	if (s->processes.chosen >= s->n_listed)
		return NULL;
	return json_array_get(json_object_get(s->board, "processes"), s->listed[s->processes.chosen]);
}

static void list_processes(struct top *t)
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

static void choose_process(struct top *t)
{
	const json_t *process = chosen_process(t);
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

static void choose_feature(struct top *t)
{
	const json_t *features = json_object_get(t->answers[ASK_PROCESS], "features");
	const char *name = json_string_value(json_object_get(json_array_get(features, t->screen.features.chosen), "name"));

	snprintf(t->feature, sizeof(t->feature), "%s", name ? name : "");
	t->stale[ASK_SERIES] = t->feature[0];
}

/* Likewise: the features are sorted anew each second. */
static void find_feature(struct top *t)
{
	const json_t *features = json_object_get(t->answers[ASK_PROCESS], "features"), *feature;
	size_t i;

	json_array_foreach(features, i, feature)
		if (strcmp(json_string_value(json_object_get(feature, "name")), t->feature) == 0)
			t->screen.features.chosen = i;
}

/* --- questions and answers --- */

static int ask_question(struct top *t, enum question which)
{
	const char *words[16] = {"show", "--json", "--window", t->window_text};
	size_t n = 4;

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
	return ask_begin(&t->asker, n, words, &t->asked[which]);
}

static void ask_what_is_stale(struct top *t)
{
	for (int i = 0; i < QUESTIONS; i++) {
		int r;

		if (!t->stale[i] || t->asked[i].asked || (i == ASK_BOARD && boot_now() < t->ended + RETRY_AFTER))
			continue;
		r = ask_question(t, (enum question)i);
		if (r < 0)
			say(t, "cannot ask: %s", strerror(-r));
	}
}

/* An exported recording has no now: its end is shown. */
static void stay_at_end(struct top *t)
{
	const char *at = json_string_value(json_object_get(t->answers[ASK_BOARD], "at"));

	if (!at || parse_time(at, wall_now(), &t->at) < 0)
		return;
	t->screen.live = false;
	snprintf(t->at_text, sizeof(t->at_text), "%s", at);
}

static void take_answer(struct top *t, enum question which, json_t *answer)
{
	json_decref(t->answers[which]);
	t->answers[which] = answer;
	t->screen.board = t->answers[ASK_BOARD];
	t->screen.process = t->answers[ASK_PROCESS];
	t->screen.series = t->answers[ASK_SERIES];
	if (which == ASK_BOARD) {
		if (t->asker.from_file && !t->at)
			stay_at_end(t);
		list_processes(t);
		find_chosen(t);
		choose_process(t);
	} else if (which == ASK_PROCESS) {
		if (t->screen.focus == PANE_FEATURES)
			find_feature(t);
		choose_feature(t);
	}
}

static void tell_errors(struct top *t, const struct inquiry *q)
{
	_cleanup_str_ struct str errors = {};

	if (ask_errors(q, &errors) == 0 && errors.len)
		say(t, "%s", errors.data);
}

static void read_answer(struct top *t, enum question which)
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
	if (which == ASK_BOARD && !t->at) {
		t->stale[which] = true; /* the recorder was restarted, or an answer may take only so long */
		t->ended = boot_now();
	}
}

/* --- time --- */

static void show_moment(struct top *t, int64_t at)
{
	t->at = at;
	t->screen.live = !at;
	if (at)
		format_rfc3339(at, t->at_text, sizeof(t->at_text));
	ask_end(&t->asked[ASK_BOARD]);
	t->stale[ASK_BOARD] = true;
	t->ended = 0;
	t->screen.message = NULL;
}

static void travel(struct top *t, int64_t by)
{
	const char *at = json_string_value(json_object_get(t->answers[ASK_BOARD], "at"));
	int64_t now = t->at;

	if (!now && (!at || parse_time(at, wall_now(), &now) < 0))
		now = wall_now();
	if (now + by >= wall_now())
		show_moment(t, 0);
	else
		show_moment(t, now + by);
}

/* --- lines that are typed --- */

static void begin_typing(struct top *t, const char *prompt, void (*entered)(struct top *))
{
	t->typed[0] = '\0';
	t->entered = entered;
	t->screen.prompt = prompt;
	t->screen.typed = t->typed;
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
	list_processes(t);
	choose_process(t);
}

static void note_entered(struct top *t)
{
	const char *words[] = {"mark", "--", t->typed};
	_cleanup_str_ struct str answer = {}, errors = {};
	int r = ask_all(&t->asker, t->typed[0] ? 3 : 1, words, &answer, &errors);

	if (r != EXIT_ANSWERED)
		say(t, "cannot mark: %s", r < 0 ? strerror(-r) : errors.len ? errors.data : "?");
	else if (answer.len)
		say(t, "%.*s", (int)strcspn(answer.data, "\n"), answer.data);
}

static void moment_entered(struct top *t)
{
	int64_t at;

	if (parse_time(t->typed, wall_now(), &at) < 0)
		say(t, "'%s' is no TIME: -5min, 14:32, '2026-11-20 14:32:07'", t->typed);
	else
		show_moment(t, at);
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

/* --- answers in words --- */

static void show_text(struct top *t, const char *title, char *text)
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
	int r = ask_all(&t->asker, n, words, &answer, &errors);

	snprintf(title, sizeof(title), "whyslow %s %s", verb, who);
	if (r < 0 || !answer.len)
		say(t, "no answer: %s", r < 0 ? strerror(-r) : errors.len ? errors.data : "nothing was said");
	else
		show_text(t, title, answer.data);
	if (r < 0 || !answer.len)
		str_free(&answer);
}

/* Events of the past are kept of marks alone: the number of the one nearest to the moment, if its events may tell of it. */
static bool find_mark(struct top *t, char *ret, size_t size)
{
	const char *words[] = {"list", "--json"};
	_cleanup_str_ struct str answer = {}, errors = {};
	int64_t best = EVENTS_REACH, wall;
	const json_t *mark;
	json_t *root;
	size_t i;

	(void)ask_all(&t->asker, ARRAY_SIZE(words), words, &answer, &errors);
	root = answer.len ? json_loadb(answer.data, answer.len, 0, NULL) : NULL;
	json_array_foreach(json_object_get(root, "marks"), i, mark) {
		const char *at = json_string_value(json_object_get(mark, "at"));

		if (!at || parse_time(at, 0, &wall) < 0 || llabs(wall - t->at) > best)
			continue;
		best = llabs(wall - t->at);
		snprintf(ret, size, "%lld", json_integer_value(json_object_get(mark, "id")));
	}
	json_decref(root);
	return ret[0];
}

/* `waits` or `threads`: of now, or of the mark that is near. */
static void show_events(struct top *t, const char *verb, bool of_process)
{
	const char *words[4] = {verb};
	char mark[24] = "";
	size_t n = 1;

	if (of_process)
		words[n++] = t->who;
	if (t->at && !t->asker.from_file && !find_mark(t, mark, sizeof(mark))) {
		say(t, "no events were kept of that moment: they are of marks, and of now (End)");
		return;
	}
	if (mark[0]) {
		words[n++] = "--mark";
		words[n++] = mark;
	}
	show_answer(t, verb, of_process ? t->who : "", n, words);
}

static void show_why(struct top *t)
{
	const char *words[] = {"why", "--at", t->at_text};

	show_answer(t, "why", "", t->at ? 3 : 1, words);
}

static void show_help(struct top *t)
{
	show_text(t, "whyslow top: keys",
		  strdup("up, down, PgUp, PgDn   choose a process, or a feature of it\n"
			 "Enter, Tab             go from the processes to the features of the chosen one\n"
			 "Esc, Backspace         go back\n"
			 "left, right            10 s back, forward in time\n"
			 "[ ]                    10 min back, forward\n"
			 "g                      go to a moment: -5min, 14:32, 2026-11-20 14:32:07\n"
			 "End                    live again\n"
			 "m                      mark this moment (the button), with a note\n"
			 "w                      why is it slow, in words\n"
			 "b                      blame: who made whom wait (in the past: what was kept of the mark nearby)\n"
			 "t                      states of the chosen process's threads\n"
			 "/                      list only what contains these letters, or this pid\n"
			 "mouse                  click on a process or feature; wheel scrolls\n"
			 "q                      quit\n"
			 "\n"
			 "'odd' says how far something lies from its own past; a red name is what 'whyslow why' accuses.\n"));
}

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
		show_text(t, "", NULL);
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
		choose_process(t);
	else
		choose_feature(t);
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
static void page_up(struct top *t) { move_by(t, -terminal_layout().n_processes); }
static void page_down(struct top *t) { move_by(t, terminal_layout().n_processes); }
static void first(struct top *t) { move_by(t, -100000); }
static void back(struct top *t) { travel(t, -STEP); }
static void forward(struct top *t) { travel(t, STEP); }
static void far_back(struct top *t) { travel(t, -STEP_LARGE); }
static void far_forward(struct top *t) { travel(t, STEP_LARGE); }
static void live(struct top *t) { show_moment(t, 0); }
static void to_features(struct top *t) { t->screen.focus = PANE_FEATURES; }
static void to_processes(struct top *t) { t->screen.focus = PANE_PROCESSES; }
static void other_pane(struct top *t) { t->screen.focus = t->screen.focus == PANE_FEATURES ? PANE_PROCESSES : PANE_FEATURES; }
static void mark(struct top *t) { begin_typing(t, "note (Enter marks, Esc does not): ", note_entered); }
static void list_only(struct top *t) { begin_typing(t, "list only: ", filter_entered); }
static void go_to(struct top *t) { begin_typing(t, "go to: ", moment_entered); }
static void blame(struct top *t) { show_events(t, "waits", false); }
static void threads(struct top *t) { show_events(t, "threads", true); }
static void quit(struct top *t) { t->quit = true; }

static const struct {
	int key;
	void (*act)(struct top *t);
} keys[] = {
	{KEY_UP, up}, {KEY_DOWN, down}, {'k', up}, {'j', down}, {KEY_PPAGE, page_up}, {KEY_NPAGE, page_down}, {KEY_HOME, first},
	{KEY_LEFT, back}, {KEY_RIGHT, forward}, {'[', far_back}, {']', far_forward}, {KEY_END, live}, {'g', go_to},
	{'\n', to_features}, {'\r', to_features}, {KEY_ENTER, to_features}, {'\t', other_pane}, {KEY_ESCAPE, to_processes},
	{KEY_BACKSPACE, to_processes}, {'m', mark}, {'/', list_only}, {'w', show_why}, {'b', blame}, {'t', threads}, {'?', show_help},
	{'h', show_help}, {KEY_MOUSE, mouse}, {'q', quit},
};

static void press(struct top *t, int key)
{
	if (key == KEY_RESIZE)
		return;
	if (t->text) {
		text_key(t, key);
		return;
	}
	if (t->entered) {
		type_key(t, key);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].key == key)
			keys[i].act(t);
}

static void draw(struct top *t)
{
	if (t->text)
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
			read_answer(t, (enum question)i);
	if (fds[0].revents & (POLLHUP | POLLERR))
		t->quit = true;
	for (int key = getch(); key != ERR; key = getch())
		press(t, key);
}

static int show(struct common *common)
{
	struct top t = {.asker = {common->store_file, common->from_file, common->run_dir, common->config_file, false},
			.screen.live = true, .stale[ASK_BOARD] = true};
	const char *error;
	int64_t at = 0;

	if (arg_at && parse_time(arg_at, wall_now(), &at) < 0)
		return usage_error("top", "'%s' is no TIME: -5min, 14:32, '2026-11-20 14:32:07'", arg_at);
	t.asker.through_daemon = geteuid() != 0 && !common->store_file && !common->from_file && !common->run_dir;
	snprintf(t.window_text, sizeof(t.window_text), "%llds", (arg_window ? arg_window : 3600 * NS_PER_SEC) / NS_PER_SEC);
	if (terminal_open(&error) < 0) {
		log_error("top %s", error);
		return EXIT_CANNOT;
	}
	if (at)
		show_moment(&t, at);
	while (!t.quit) {
		ask_what_is_stale(&t);
		draw(&t);
		wait_for_something(&t);
	}
	terminal_close();
	for (int i = 0; i < QUESTIONS; i++) {
		ask_end(&t.asked[i]);
		json_decref(t.answers[i]);
	}
	free(t.listed);
	free(t.text);
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
		return usage_error("top", "takes no words: '%s'", argv[1]);
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
	.group = "Every day",
	.words = "",
	.help = "look instead of read: processes by how unusual they are, features, curves; live or any moment",
	.options = options,
	.run = run,
};
