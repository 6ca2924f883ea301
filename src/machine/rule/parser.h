/* A text being read: what rules (parse.c) and causes (parse-cause.c) have in common is in parse-condition.c. Shared by
 * the files of this room only. All return 0 or -errno, and after the first error p->error says it. */
#pragma once

#include "lib/data/cleanup.h"
#include "machine/rule/cause.h"
#include "machine/rule/lexer.h"
#include "machine/rule/rule.h"

struct parser {
	struct lexer lexer;
	struct token token; /* the one to be looked at */
	const char *file;
	char *error;
	struct rule *rule;   /* being read */
	struct cause *cause; /* being read: its conditions are over facts */
	unsigned depth;
};

/* Whom a rule may be about; ends with one without a word. */
extern const struct rule_scope {
	const char *word;
	enum entity_kind kind;
} rule_scopes[];

void parser_next(struct parser *p);
int parser_fail(struct parser *p, const struct token *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The token is not what must come here. */
int parser_expected(struct parser *p, const char *what);
bool parser_at(const struct parser *p, const char *word);
bool parser_take(struct parser *p, const char *word);
int parser_need(struct parser *p, const char *word);
int parser_take_count(struct parser *p, const char *what, unsigned most, unsigned *ret);
/* "3 s", "10 min", "500 ms" */
int parser_take_span(struct parser *p, int64_t *ret);
/* A word, or a text in quotes. */
int parser_take_text(struct parser *p, const char *what, char **ret);
bool parser_take_statistic(struct parser *p, enum rule_statistic *ret);
bool parser_at_operator(const struct parser *p);
int parser_take_operator(struct parser *p, enum rule_operator *ret);
/* NUMBER [UNIT] | NUMBER % of STATISTIC */
int parser_take_value(struct parser *p, struct comparison *c);
/* Nothing of this name: what may be meant. */
int parser_unknown_quantity(struct parser *p, const struct token *at, const char *name);
int parser_take_condition(struct parser *p, struct condition **ret);
/* A name in braces, in the text of a cause (cause.h). */
struct placeholder {
	bool (*put)(const struct facts *f, struct str *out); /* of {culprit}, {pid} ...: false = it is not known; NULL: a clause or a quantity */
	int clause; /* enum fact_clause + 1; 0 = it is none */
	enum rule_owner owner;
	bool normal, part;    /* its baseline; the name of the part that has the highest value */
	const char *quantity; /* points into the name */
};
struct placeholder placeholder_of(const char *name);

/* One comparison of a cause. */
int parser_take_fact(struct parser *p, struct comparison *c);

int parser_condition_make(enum condition_kind kind, struct condition *left, struct condition *right, struct condition **ret);
void parser_condition_release(struct condition **c);

#define _cleanup_condition_ _cleanup_(parser_condition_release)
