#include "lib/stat/note-words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"
#include "lib/stat/fisher.h"

#define SHORTEST 3
#define PAIR_LEAST 2

struct word {
	char text[NOTE_WORD_LENGTH + 1];
	size_t last; /* incident + 1 that it was counted in */
	unsigned n;
};

struct pair {
	size_t word;
	const char *symptom;
	unsigned n;
};

struct search {
	VEC(struct word) words;
	VEC(struct pair) pairs;
	VEC(struct pair) symptoms; /* `word` is not used */
	unsigned incidents;
};

void note_words_free(struct note_words *w)
{
	VEC_FREE_EACH(w->list, free(each->word));
	*w = (struct note_words){};
}

/* Letters, digits within words, and all bytes of UTF-8 beyond ASCII. */
static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The next word in lower case; false: there is none. */
static bool next_word(const char **at, char word[NOTE_WORD_LENGTH + 1])
{
	for (;;) {
		size_t n = 0;
		bool letters = false;

		while (**at && !is_of_word(**at))
			(*at)++;
		if (!**at)
			return false;
		for (; is_of_word(**at); (*at)++) {
			letters |= !isdigit((unsigned char)**at);
			if (n < NOTE_WORD_LENGTH)
				word[n++] = (char)tolower((unsigned char)**at);
		}
		word[n] = '\0';
		if (n >= SHORTEST && letters)
			return true;
	}
}

/* -E2BIG: it is one too many, and left out. */
static int find_word(struct search *s, const char *text, size_t *ret)
{
	struct word w = {};

	for (*ret = 0; *ret < s->words.n; (*ret)++)
		if (strcmp(s->words.v[*ret].text, text) == 0)
			return 0;
	if (s->words.n == NOTE_WORDS_MAX)
		return -E2BIG;
	memcpy(w.text, text, strlen(text));
	return VEC_PUSH(s->words, w);
}

static int count_pair(struct search *s, size_t word, const char *symptom)
{
	for (size_t i = 0; i < s->pairs.n; i++)
		if (s->pairs.v[i].word == word && strcmp(s->pairs.v[i].symptom, symptom) == 0) {
			s->pairs.v[i].n++;
			return 0;
		}
	return VEC_PUSH(s->pairs, (struct pair){word, symptom, 1});
}

static int count_symptom(struct search *s, const char *symptom)
{
	for (size_t i = 0; i < s->symptoms.n; i++)
		if (strcmp(s->symptoms.v[i].symptom, symptom) == 0) {
			s->symptoms.v[i].n++;
			return 0;
		}
	return VEC_PUSH(s->symptoms, (struct pair){0, symptom, 1});
}

static int count_incident(struct search *s, const struct noted_incident *incident)
{
	const char *at = incident->note;
	char text[NOTE_WORD_LENGTH + 1];
	int r = count_symptom(s, incident->symptom);

	s->incidents++;
	while (r == 0 && next_word(&at, text)) {
		size_t word;

		r = find_word(s, text, &word);
		if (r == 0 && s->words.v[word].last != s->incidents) {
			s->words.v[word].last = s->incidents;
			s->words.v[word].n++;
			r = count_pair(s, word, incident->symptom);
		}
		r = r == -E2BIG ? 0 : r;
	}
	return r;
}

static unsigned count_of(const struct search *s, const char *symptom)
{
	for (size_t i = 0; i < s->symptoms.n; i++)
		if (strcmp(s->symptoms.v[i].symptom, symptom) == 0)
			return s->symptoms.v[i].n;
	return 0;
}

static int judge_pairs(const struct search *s, struct note_words *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->pairs.n; i++) {
		const struct pair *p = &s->pairs.v[i];
		const struct word *word = &s->words.v[p->word];
		struct note_word w = {.symptom = p->symptom, .both = p->n, .with_word = word->n, .with_symptom = count_of(s, p->symptom)};

		if (p->n < PAIR_LEAST)
			continue;
		w.p = fisher_p(w.both, w.with_word, w.with_symptom, s->incidents);
		w.word = strdup(word->text);
		r = VEC_PUSH_OWNER(ret->list, w.word, w);
	}
	return r;
}

ORDER(by_p, struct note_word, ASCENDING(p) ?: DESCENDING(both) ?: strcmp(a->word, b->word))

/* Leaves those that stand out from all that were tried. */
static void keep_sure(struct note_words *w)
{
	double least = 1;
	size_t n = w->list.n;

	if (n)
		qsort(w->list.v, n, sizeof(*w->list.v), by_p);
	for (size_t i = n; i-- > 0;) {
		double q = w->list.v[i].p * (double)n / (double)(i + 1);

		least = q < least ? q : least;
		w->list.v[i].q = least;
	}
	while (w->list.n && w->list.v[w->list.n - 1].q > NOTE_WORD_Q)
		free(w->list.v[--w->list.n].word);
}

int note_words_find(const struct noted_incident *incidents, size_t n, struct note_words *ret)
{
	struct search s = {};
	struct note_words found = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (incidents[i].note && *incidents[i].note && incidents[i].symptom)
			r = count_incident(&s, &incidents[i]);
	r = r ?: judge_pairs(&s, &found);
	found.incidents = s.incidents;
	VEC_FREE(s.words);
	VEC_FREE(s.pairs);
	VEC_FREE(s.symptoms);
	if (r < 0) {
		note_words_free(&found);
		return r;
	}
	keep_sure(&found);
	*ret = found;
	return 0;
}
