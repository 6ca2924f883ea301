/* Reads facts as facts_write() writes them: kept incidents, of which causes are tested. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/findings/facts.h"

#define WORDS_MAX 8

struct line {
	char *word[WORDS_MAX];
	size_t n;
};

static int take_word(const char *text, char **ret)
{
	if (strcmp(text, "-") == 0)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int read_who(const struct line *l, struct fact_who *ret)
{
	int r;

	if (l->n < 6 || ret->name)
		return -EBADMSG;
	r = take_word(l->word[1], &ret->name);
	if (r == 0)
		r = take_word(l->word[2], &ret->exe);
	if (r == 0)
		r = take_word(l->word[3], &ret->unit);
	ret->pid = (uint32_t)strtoul(l->word[4], NULL, 10);
	ret->members = (uint32_t)strtoul(l->word[5], NULL, 10);
	ret->using = l->n > 6 && strcmp(l->word[6], "using") == 0;
	return r;
}

static int read_slow(const struct line *l, struct facts *f)
{
	if (l->n != 4)
		return -EBADMSG;
	f->slow = strcmp(l->word[1], "yes") == 0;
	f->bottleneck = BOTTLENECK_COUNT;
	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		if (strcmp(l->word[2], bottleneck_name((enum bottleneck)b)) == 0)
			f->bottleneck = (enum bottleneck)b;
	f->named = strcmp(l->word[3], "-") != 0;
	for (int k = 0; f->named && k <= CULPRIT_LIMIT; k++)
		if (strcmp(l->word[3], culprit_kind_name((enum culprit_kind)k)) == 0)
			f->kind = (enum culprit_kind)k;
	return f->bottleneck == BOTTLENECK_COUNT ? -EBADMSG : 0;
}

static const struct feature *find_feature(const char *name)
{
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++) {
		int i = feature_index(kind, name);
		size_t n;

		if (i >= 0)
			return &features_of(kind, &n)[i];
	}
	return fact_derived_feature(name, NULL);
}

static int read_fact(const struct line *l, enum fact_of of, size_t first, struct facts *f)
{
	struct fact x = {.of = of};

	if (l->n != first + 4)
		return -EBADMSG;
	x.feature = find_feature(l->word[first]);
	x.now = strtod(l->word[first + 1], NULL);
	x.usual = strtod(l->word[first + 2], NULL);
	x.spread = strtod(l->word[first + 3], NULL);
	if (!x.feature)
		return -EBADMSG;
	if (first == 2 && !(x.part = strdup(l->word[1])))
		return -ENOMEM;
	return facts_add(f, x);
}

static int read_said(const struct line *l, struct facts *f)
{
	char *copy = l->n == 2 ? strdup(l->word[1]) : NULL;
	int r = copy ? VEC_PUSH(f->said, copy) : l->n == 2 ? -ENOMEM : -EBADMSG;

	if (r < 0)
		free(copy);
	return r;
}

static int read_clause(const struct line *l, char **ret)
{
	return l->n == 2 && !*ret ? take_word(l->word[1], ret) : -EBADMSG;
}

static int read_line(char *text, struct facts *f)
{
	struct line l = {};
	char *state;

	for (char *w = strtok_r(text, "\t", &state); w && l.n < WORDS_MAX; w = strtok_r(NULL, "\t", &state))
		l.word[l.n++] = w;
	if (!l.n || *l.word[0] == '#')
		return 0;
	if (strcmp(l.word[0], "slow") == 0)
		return read_slow(&l, f);
	if (strcmp(l.word[0], "who") == 0)
		return read_who(&l, &f->culprit);
	if (strcmp(l.word[0], "victim") == 0)
		return read_who(&l, &f->victim);
	if (strcmp(l.word[0], "server") == 0)
		return read_clause(&l, &f->culprit.server);
	if (strcmp(l.word[0], "mostly") == 0)
		return read_clause(&l, &f->culprit.mostly);
	if (strcmp(l.word[0], "starter") == 0)
		return read_clause(&l, &f->culprit.starter);
	for (enum fact_clause c = 0; c < CLAUSE_COUNT; c++)
		if (strcmp(l.word[0], fact_clause_names[c]) == 0)
			return read_clause(&l, &f->clauses[c]);
	if (strcmp(l.word[0], "said") == 0)
		return read_said(&l, f);
	if (strcmp(l.word[0], "part") == 0)
		return read_fact(&l, FACT_MACHINE, 2, f);
	for (int of = 0; of < FACT_OF_COUNT; of++)
		if (strcmp(l.word[0], fact_of_names[of]) == 0)
			return read_fact(&l, (enum fact_of)of, 1, f);
	return -EBADMSG;
}

/* 0, -EBADMSG with the line's number in *ret_line, -ENOMEM. */
static int facts_read(const char *text, struct facts *ret, unsigned *ret_line)
{
	_cleanup_free_ char *copy = strdup(text);
	struct facts f = {};
	int r = copy ? 0 : -ENOMEM;

	*ret_line = 0;
	for (char *line = copy, *end; r == 0 && line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		++*ret_line;
		r = read_line(line, &f);
	}
	if (r < 0)
		facts_free(&f);
	else
		*ret = f;
	return r;
}
