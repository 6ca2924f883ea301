/* Words of users' notes, and the symptoms with which they go: found by machine/answer-history/note-words.c. */
#pragma once

#include "lib/data/vec.h"

struct note_word {
	char *word;
	const char *symptom; /* one of the incidents' */
	unsigned both, with_word, with_symptom; /* incidents */
	double p, q; /* fisher_p(); q over all pairs that were tried */
};

struct note_words {
	VEC(struct note_word) list; /* the least q first */
	unsigned incidents;	    /* with a note and a symptom */
};
