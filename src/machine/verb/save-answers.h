/* Where answers are saved next to their marks: in the recording, if this process may write it; else by a process that was forked before
 * rights were given up (client-rights.h), and that writes answers of that one user and nothing else. */
#pragma once

#include "machine/answer-history/answer-history.h"
#include "machine/verb/verb.h"

#define SAVED_ANSWER_MAX 16384 /* bytes of one answer in short: it takes 2 KB */

/* Forks the process that writes: before any store is open. Without it answers are not saved. */
void save_answers_begin(struct common *common);
/* Opens the recording, unless that process runs. NULL: answers cannot be saved here; else valid until save_answers_end(). */
const struct answer_sink *save_answers(struct common *common);
void save_answers_end(struct common *common);
