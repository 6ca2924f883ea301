#include "machine/agent/button.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/input/text.h"
#include "lib/system/spawn.h"
#include "machine/act/foreground.h"
#include "machine/agent/notification.h"

#define AGAIN	     NS_PER_SEC /* a second press within it is the same one */
#define HANG_AGAIN   (15 * NS_PER_SEC) /* a busy machine makes many programs late at once */
#define NOTE_LONGEST 400

extern char **environ;

enum question { ASK_NOTHING, ASK_MARK, ASK_ANSWER, ASK_PROGRAM, ASK_NOTE };

struct button_presses {
	sd_event *event;
	sd_bus *user;
	struct asker asker;
	struct notification shown;
	int64_t pressed_at; /* boot ns */
	int64_t mark;	    /* 0 = not known yet */
	uint32_t program;   /* that hangs, or whose window was active at the press; 0 = not known */
	char *hangs;	    /* the note of the mark: who does not answer; NULL = the button was pressed */
	bool slow;	    /* the machine's answer */
	char *summary;	    /* ... */
	/* one question at a time; a note waits for its turn */
	enum question asked;
	struct inquiry inquiry;
	sd_event_source *reading;
	char *note; /* NULL = none */
	/* the dialog in which a note is written */
	int dialog;
	sd_event_source *dialog_source;
	struct str written;
};

static void ask(struct button_presses *p, enum question what);

static unsigned actions(const struct button_presses *p)
{
	return p->mark ? ACTION_LOOK | ACTION_NOTE : 0;
}

void button_show_mark(int64_t mark)
{
	char id[24];
	char *argv[] = {(char *)"whyslow", (char *)"open", id, NULL};
	pid_t pid;

	snprintf(id, sizeof(id), "%" PRId64, mark);
	(void)spawn_start(&(struct spawn){.program = SELF_PROGRAM, .argv = argv, .environment = environ, .fds = SPAWN_SAME}, &pid);
}

/* --- what comes back --- */

static const char *title(const struct button_presses *p)
{
	return p->hangs ? p->hangs : p->slow ? "It is slow" : "Marked";
}

static void take_mark(struct button_presses *p, json_t *answer)
{
	p->mark = json_integer_value(json_object_get(answer, "id"));
	if (!p->mark)
		return;
	(void)notification_show(&p->shown, p->user, title(p), "Looking for the reason ...", actions(p));
	ask(p, ASK_ANSWER);
}

static void take_answer(struct button_presses *p, json_t *answer)
{
	const char *summary = json_string_value(json_object_get(answer, "summary"));

	p->slow = json_is_true(json_object_get(answer, "slow"));
	free(p->summary);
	p->summary = summary ? strdup(summary) : NULL;
	(void)notification_show(&p->shown, p->user, title(p),
				summary ? summary : "Nothing is known of that moment", actions(p));
	if (p->program)
		ask(p, ASK_PROGRAM);
}

/* A program that hangs is what the press was about, where the machine is not slow. */
static void take_program(struct button_presses *p, json_t *answer)
{
	const char *summary = json_string_value(json_object_get(answer, "summary"));
	_cleanup_str_ struct str text = {};

	if (!summary || !json_is_true(json_object_get(answer, "slow")))
		return;
	if (p->slow && p->summary)
		str_printf(&text, "%s. ", p->summary);
	str_printf(&text, "%s%s", p->hangs ? "" : "The active window: ", summary);
	if (!text.error)
		(void)notification_show(&p->shown, p->user, p->hangs ? p->hangs : "It is slow", text.data, actions(p));
}

static void say_why_not(struct button_presses *p)
{
	_cleanup_str_ struct str why = {};

	(void)ask_errors(&p->inquiry, &why);
	(void)notification_show(&p->shown, p->user,
				p->asked == ASK_MARK   ? "Could not be marked"
				: p->asked == ASK_NOTE ? "The note could not be saved"
						       : "Marked",
				why.len ? why.data : "no recorder answers: 'whyslow record' starts one",
				actions(p));
}

/* The whole answer is there: a JSON document, but for the note, which says nothing. */
static void finish(struct button_presses *p)
{
	enum question asked = p->asked;
	json_t *answer =
		p->inquiry.text.len ? json_loadb(p->inquiry.text.data, p->inquiry.text.len, 0, NULL) : NULL;

	p->reading = sd_event_source_disable_unref(p->reading);
	if (asked != ASK_NOTE && asked != ASK_PROGRAM && !answer)
		say_why_not(p);
	ask_end(&p->inquiry);
	p->asked = ASK_NOTHING;
	if (asked == ASK_MARK && answer)
		take_mark(p, answer);
	else if (asked == ASK_ANSWER && answer)
		take_answer(p, answer);
	else if (asked == ASK_PROGRAM && answer)
		take_program(p, answer);
	json_decref(answer);
	if (p->asked == ASK_NOTHING && p->note && p->mark)
		ask(p, ASK_NOTE);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct button_presses *p = data;

	(void)source;
	(void)fd;
	(void)events;
	if (ask_read(&p->inquiry) <= 0)
		finish(p);
	return 0;
}

static void ask(struct button_presses *p, enum question what)
{
	_cleanup_free_ char *note = what == ASK_NOTE ? TAKE(p->note) : NULL;
	const char *words[6];
	char id[24];
	size_t n = 0;
	int r;

	snprintf(id, sizeof(id), "%" PRId64, what == ASK_PROGRAM ? (int64_t)p->program : p->mark);
	words[n++] = what == ASK_ANSWER ? "show" : what == ASK_PROGRAM ? "why" : "mark";
	if (what == ASK_NOTE)
		words[n++] = "--id";
	else
		words[n++] = "--json";
	if (what != ASK_MARK)
		words[n++] = id;
	if (what == ASK_NOTE || (what == ASK_MARK && p->hangs)) {
		words[n++] = "--";
		words[n++] = what == ASK_NOTE ? note : p->hangs;
	}
	p->asked = what;
	r = ask_begin(&p->asker, n, words, &p->inquiry);
	if (r >= 0)
		r = sd_event_add_io(p->event, &p->reading, p->inquiry.fd, EPOLLIN, on_answer, p);
	if (r >= 0)
		return;
	say_why_not(p);
	ask_end(&p->inquiry);
	p->asked = ASK_NOTHING;
}

static void drop_question(struct button_presses *p)
{
	p->reading = sd_event_source_disable_unref(p->reading);
	ask_end(&p->inquiry);
	p->asked = ASK_NOTHING;
}

/* hangs: NULL, or a note, which is freed with p. */
static bool begin(struct button_presses *p, char *hangs)
{
	int64_t now = clock_boot();

	if (p->pressed_at && now - p->pressed_at < AGAIN) {
		free(hangs);
		return false;
	}
	free(p->hangs);
	p->hangs = hangs;
	p->pressed_at = now;
	p->mark = 0;
	p->slow = false;
	p->program = 0;
	drop_question(p);
	notification_forget(&p->shown);
	/* the ring is frozen first, then people are notified */
	ask(p, ASK_MARK);
	return true;
}

static void show_begun(struct button_presses *p)
{
	if (p->asked == ASK_MARK)
		(void)notification_show(&p->shown, p->user, title(p), "Looking for the reason ...", 0);
}

void button_press(struct button_presses *p)
{
	if (!begin(p, NULL))
		return;
	(void)foreground_find(&p->program);
	show_begun(p);
}

void button_program_hangs(struct button_presses *p, uint32_t pid, const char *how)
{
	char path[40], name[64];
	char *note = NULL;

	/* a press that is being answered is about the same moment, and its answer matters more */
	if (p->asked != ASK_NOTHING || (p->pressed_at && clock_boot() - p->pressed_at < HANG_AGAIN))
		return;
	snprintf(path, sizeof(path), "%u/comm", pid);
	if (text_attribute_take("/proc", path, name, sizeof(name)) < 0 ||
	    asprintf(&note, "%s (pid %u) %s", name, pid, how) < 0 || !begin(p, note))
		return;
	p->program = pid;
	show_begun(p);
}

/* --- the note --- */

static void take_note(struct button_presses *p, const char *text)
{
	if (!*text)
		return;
	free(p->note);
	p->note = strndup(text, NOTE_LONGEST);
	if (p->note && p->asked == ASK_NOTHING)
		ask(p, ASK_NOTE);
}

static int on_reply(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct button_presses *p = data;
	const char *text;
	uint32_t id;

	(void)error;
	if (sd_bus_message_read(m, "us", &id, &text) >= 0 && id == p->shown.id && p->mark)
		take_note(p, text);
	return 0;
}

static void close_dialog(struct button_presses *p)
{
	p->dialog_source = sd_event_source_disable_unref(p->dialog_source);
	cleanup_fd(&p->dialog);
	p->dialog = -1;
	str_free(&p->written);
	p->written = (struct str){};
}

static int on_dialog(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct button_presses *p = data;
	char bytes[NOTE_LONGEST];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	(void)source;
	(void)events;
	if (n > 0 && p->written.len < NOTE_LONGEST)
		(void)str_append(&p->written, bytes, (size_t)n);
	if (n > 0)
		return 0;
	if (p->written.data) {
		p->written.data[strcspn(p->written.data, "\n")] = '\0';
		take_note(p, p->written.data);
	}
	close_dialog(p);
	return 0;
}

/* Someone clicked: only now a window may come. */
static void open_dialog(struct button_presses *p)
{
	char *const argv[] = {(char *)"zenity", (char *)"--entry", (char *)"--title=whyslow",
			      (char *)"--text=What was slow?", NULL};
	posix_spawn_file_actions_t redirect;
	int ends[2], r;
	pid_t pid;

	if (p->dialog >= 0 || pipe2(ends, O_CLOEXEC) < 0)
		return;
	posix_spawn_file_actions_init(&redirect);
	posix_spawn_file_actions_adddup2(&redirect, ends[1], STDOUT_FILENO);
	r = posix_spawnp(&pid, argv[0], &redirect, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&redirect);
	close(ends[1]);
	p->dialog = ends[0];
	if (r == 0 && sd_event_add_io(p->event, &p->dialog_source, p->dialog, EPOLLIN, on_dialog, p) >= 0)
		return;
	close_dialog(p);
	button_show_mark(p->mark); /* the web view has a place for notes */
}

static int on_action(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct button_presses *p = data;
	const char *action;
	uint32_t id;

	(void)error;
	if (sd_bus_message_read(m, "us", &id, &action) < 0 || id != p->shown.id || !p->mark)
		return 0;
	if (strcmp(action, "look") == 0)
		button_show_mark(p->mark);
	else if (strcmp(action, "note") == 0)
		open_dialog(p);
	return 0;
}

/* --- */

int button_open(sd_event *event, sd_bus *user, const struct asker *asker, struct button_presses **ret)
{
	struct button_presses *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	*p = (struct button_presses){.event = event, .user = user, .asker = *asker, .dialog = -1};
	r = sd_bus_match_signal(user, NULL, NOTIFICATIONS, NOTIFICATIONS_OBJECT, NOTIFICATIONS,
				"ActionInvoked", on_action, p);
	if (r >= 0)
		r = sd_bus_match_signal(user, NULL, NOTIFICATIONS, NOTIFICATIONS_OBJECT, NOTIFICATIONS,
					"NotificationReplied", on_reply, p);
	if (r >= 0)
		r = notification_ask_service(&p->shown, user);
	if (r < 0) {
		button_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

void button_close(struct button_presses *p)
{
	if (!p)
		return;
	drop_question(p);
	close_dialog(p);
	FREE_ALL(p->note, p->summary, p->hangs, p->shown.summary, p->shown.body, p);
}
