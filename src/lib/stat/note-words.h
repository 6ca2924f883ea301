/* Words that users write to incidents, related to what was found of them: "editor" goes with the disk. Future work of Basu et al. (2007, §5). */
#pragma once

#include <stddef.h>

#include "lib/data/vec.h"

#define NOTE_WORDS_MAX	 2000 /* different words that are looked at; later ones are left out */
#define NOTE_WORD_LENGTH 32   /* bytes: longer ones are cut */
#define NOTE_WORD_Q	 0.1  /* Benjamini-Hochberg over all pairs of a word and a symptom */

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

struct noted_incident {
	const char *note;    /* NULL = none */
	const char *symptom; /* what was found, as "disk", "backup": NULL = nothing */
};

/* Words of three letters or more, in whatever case; a word counts once an incident. A pair must occur twice. 0 or -ENOMEM. */
int note_words_find(const struct noted_incident *incidents, size_t n, struct note_words *ret);
void note_words_free(struct note_words *w);
