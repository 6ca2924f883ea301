/* The terminal view: what machine/view-why/terminal.c draws, what the keys do, and the questions that fill it (machine/client/ask.h). */
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/cmd-why/top-view.h"

static const char *arg_at;
static int64_t arg_window;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "at", "TIME", &arg_at, "begin at this moment, or mark (default: now, live)"},
	{OPTION_SPAN, 0, "window", "SPAN", &arg_window, "length of the baseline and of the curves (default: 1h of recorded time)"},
	{},
};

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
			top_read_answer(t, (enum top_question)i);
	if (fds[0].revents & (POLLHUP | POLLERR))
		t->quit = true;
	for (int key = getch(); key != ERR; key = getch())
		top_press(t, key);
}

static int show(struct common *common)
{
	struct top t = {.asker = common_asker(common), .screen.live = true, .stale[ASK_BOARD] = true};
	const char *error;

	if (arg_at && !top_go_to(&t, arg_at))
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
		return verb_usage_error("top", "unexpected argument '%s'", argv[1]);
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
	.options = options,
	.runs_programs = true,
	.run = run,
};
