/* The terminal view's parts: what is chosen and asked for (top-panes.c). The verb, top.c, draws, waits,
 * obeys the keys and shows answers in words over the panes. What is drawn: machine/view-why/terminal.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/client/ask.h"
#include "machine/verb/verb.h"
#include "machine/view-why/terminal.h"

#define TYPED_MAX   120
#define WHO_MAX	    16
#define FEATURE_MAX 64
#define WHEEL	    3 /* lines */
#define KEY_ESCAPE  27

/* Questions that fill the panes, and questions that keys ask. */
enum top_question { ASK_BOARD, ASK_PROCESS, ASK_SERIES, PANES, ASK_TEXT = PANES, ASK_ACT, QUESTIONS };

struct top;
/* An answer that a key asked for, whole: exit status or -errno; error: NULL = none was said. *answer may be taken over. */
typedef void (*top_answer_fn)(struct top *t, int status, struct str *answer, const char *error);

struct top {
	struct asker asker;
	struct terminal_state screen;
	struct inquiry asked[QUESTIONS];
	json_t *answers[PANES];
	top_answer_fn then[QUESTIONS - PANES];
	/* which events were asked for: the marks in which they may be are read first, and another process may be chosen by then */
	const char *events_verb;
	char events_who[WHO_MAX];
	int64_t events_at;
	bool stale[PANES]; /* to be asked (again) as soon as the one under way is answered */
	bool board_came;       /* there was a board at the moment that was asked about */
	int64_t ended;	       /* when the live board's answer ended: it is asked again a little later */
	int64_t at;	       /* wall ns of the moment shown; 0 = live */
	char at_text[40], window_text[24]; /* no window: nothing named one */
	char who[WHO_MAX], feature[FEATURE_MAX]; /* chosen */
	size_t model;	/* of the models by which processes are ranked; 0 = how unusual they are */
	size_t *listed;
	char filter[TYPED_MAX], typed[TYPED_MAX], message[200];
	char asked_of[WHO_MAX], prompt[TYPED_MAX]; /* the process that is to be acted upon, and the question whether */
	int asked_fd; /* a pidfd of it; 0 = none */
	void (*entered)(struct top *t); /* what a typed line is for; NULL = nothing is being typed */
	char *text;			/* an answer in words, over the panes; NULL = none */
	char title[80], asked_title[80], go_to[TYPED_MAX];
	size_t text_top, text_lines;
	bool quit;
};

void top_say(struct top *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- top-panes.c --- */

/* Lists the processes that pass the filter, again. */
void top_list_processes(struct top *t);
/* The process on which the cursor stands; NULL = none. */
const json_t *top_chosen_process(const struct top *t);
/* The cursor was moved: what it stands on is chosen, and asked for. */
void top_choose_process(struct top *t);
void top_choose_feature(struct top *t);
void top_ask_what_is_stale(struct top *t);
/* Takes what has come of an answer; its end may make it stale. */
void top_read_answer(struct top *t, enum top_question which);
/* wall ns; 0 = live */
void top_show_moment(struct top *t, int64_t at);
void top_travel(struct top *t, int64_t by);
void top_next_model(struct top *t);
