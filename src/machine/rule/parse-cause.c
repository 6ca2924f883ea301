/* Reads causes: cause.h has their grammar. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/trusted-file.h"
#include "machine/rule/parser.h"

#define CAUSES_MAX 1024

static const char *const directions[] = {"down", "either", "up"};

static int take_short(struct parser *p, struct comparison *c)
{
	int r = parser_need(p, "of");

	c->question = ASK_SHORT;
	for (int b = 0; r == 0 && b < BOTTLENECK_COUNT; b++) {
		if (!parser_take(p, bottleneck_name((enum bottleneck)b)))
			continue;
		c->direction = b;
		return 0;
	}
	return r < 0 ? r : parser_expected(p, "cpu, memory, disk, network, lock, quota, remote, self, peer or none");
}

static int take_kind(struct parser *p, struct comparison *c)
{
	c->question = ASK_KIND;
	for (int k = 0; k <= CULPRIT_LIMIT; k++) {
		if (!parser_take(p, culprit_kind_name((enum culprit_kind)k)))
			continue;
		c->direction = k;
		return 0;
	}
	return parser_expected(p, "process, group, kernel, host or limit");
}

static bool take_direction(struct parser *p, struct comparison *c)
{
	for (int i = 0; i < 3; i++) {
		if (!parser_take(p, directions[i]))
			continue;
		c->question = ASK_DIRECTION;
		c->direction = i - 1;
		return true;
	}
	return false;
}

static bool resolve_kind(struct quantity *q, enum entity_kind kind)
{
	enum entity_kind of;
	size_t n;

	q->index = feature_index(kind, q->name);
	q->kind = kind;
	q->feature = q->index >= 0 ? &features_of(kind, &n)[q->index] : fact_derived_feature(q->name, &of);
	return q->feature && (q->index >= 0 || of == kind);
}

/* Whose it is follows from its name, except that a program's features must be named as the culprit's or the victims'. */
static int resolve(struct parser *p, struct comparison *c, const struct token *t)
{
	struct quantity *q = &c->quantity;

	if (c->owner != OWNER_MACHINE && resolve_kind(q, ENTITY_PROCESS))
		return 0;
	for (size_t i = 0; c->owner == OWNER_MACHINE && rule_scopes[i].word; i++)
		if (rule_scopes[i].kind != ENTITY_PROCESS && resolve_kind(q, rule_scopes[i].kind))
			return 0;
	if (c->owner == OWNER_MACHINE && resolve_kind(q, ENTITY_PROCESS))
		return parser_fail(p, t, "%s belongs to programs: write 'culprit %s' or 'victims %s'", q->name, q->name, q->name);
	q->feature = NULL;
	return parser_unknown_quantity(p, t, q->name);
}

static int take_of_fleet(struct parser *p, struct comparison *c)
{
	int r = parser_take_text(p, "a pattern of counters", &c->quantity.name);

	if (r == 0 && !take_direction(p, c))
		r = parser_expected(p, "up, down or either");
	return r;
}

static int take_quantity(struct parser *p, struct comparison *c)
{
	struct token t;
	int r;

	(void)parser_take_statistic(p, &c->statistic);
	t = p->token;
	r = parser_take_text(p, "a quantity", &c->quantity.name);
	if (r == 0)
		r = resolve(p, c, &t);
	if (r < 0 || take_direction(p, c))
		return r;
	r = parser_take_operator(p, &c->operator);
	return r < 0 ? r : parser_take_value(p, c);
}

static int take_owned(struct parser *p, struct comparison *c)
{
	if (parser_take(p, "named")) {
		c->question = ASK_NAMED;
		return parser_take_text(p, "a pattern", &c->quantity.name);
	}
	if (c->owner == OWNER_CULPRIT && parser_take(p, "is"))
		return take_kind(p, c);
	return take_quantity(p, c);
}

int parser_take_fact(struct parser *p, struct comparison *c)
{
	int r;

	if (p->cause->fleet)
		return take_of_fleet(p, c);
	if (parser_take(p, "short"))
		return take_short(p, c);
	if (parser_take(p, "unattributed") || parser_take(p, "nobody")) { /* the second: its name until 0.2 */
		c->question = ASK_NOBODY;
		return 0;
	}
	if (parser_take(p, "kernel")) {
		c->question = ASK_SAID;
		r = parser_need(p, "said");
		return r < 0 ? r : parser_take_text(p, "a pattern", &c->quantity.name);
	}
	c->owner = parser_take(p, "culprit") ? OWNER_CULPRIT : parser_take(p, "victims") ? OWNER_VICTIMS : OWNER_MACHINE;
	return c->owner == OWNER_MACHINE ? take_quantity(p, c) : take_owned(p, c);
}

static int check_placeholder(struct parser *p, const struct token *t, const char *name)
{
	struct placeholder placeholder = placeholder_of(name);
	struct comparison c = {.owner = placeholder.owner, .quantity.name = (char *)placeholder.quantity};

	return placeholder.put || placeholder.clause ? 0 : resolve(p, &c, t);
}

/* cause_find() never finds a cause whose sentence has a name that no facts know. */
static int check_sentence(struct parser *p, const struct token *t, const char *text)
{
	const char *close;
	int r = 0;

	for (const char *at = text; r == 0 && (at = strchr(at, '{')) && (close = strchr(at, '}')); at = close) {
		_cleanup_free_ char *name = strndup(at + 1, (size_t)(close - at - 1));

		r = name ? check_placeholder(p, t, name) : -ENOMEM;
	}
	return r;
}

/* "one" "and the next": joined by a blank */
static int take_words(struct parser *p, const char *keyword, int (*check)(struct parser *p, const struct token *t, const char *text), char **ret)
{
	struct str text = {};
	int r = parser_need(p, keyword);

	while (r == 0 && (!text.len || p->token.kind == TOKEN_TEXT)) {
		_cleanup_free_ char *part = NULL;

		if (p->token.kind != TOKEN_TEXT) {
			r = parser_expected(p, "words in quotes");
			break;
		}
		part = lexer_token_copy(&p->token);
		if (!part)
			r = -ENOMEM;
		else
			str_printf(&text, "%s%s", text.len ? " " : "", part);
		if (part && check)
			r = check(p, &p->token, part);
		parser_next(p);
		if (text.error)
			r = text.error;
	}
	if (r < 0)
		str_free(&text);
	else
		*ret = text.data;
	return r;
}

static int take_cause(struct parser *p)
{
	struct cause *c = p->cause;
	int r = parser_need(p, "cause");

	if (r == 0 && asprintf(&c->origin, "%s:%u", p->file, p->token.line) < 0) {
		c->origin = NULL;
		r = -ENOMEM;
	}
	if (r == 0)
		r = parser_take_text(p, "a cause's name", &c->id);
	if (r == 0 && parser_take(p, "of")) {
		c->fleet = true;
		r = parser_need(p, "fleet");
	}
	if (r == 0)
		r = parser_need(p, "when");
	if (r == 0)
		r = parser_take_condition(p, &c->when);
	if (r == 0)
		r = take_words(p, "say", c->fleet ? NULL : check_sentence, &c->say);
	return r < 0 ? r : take_words(p, "next", NULL, &c->next);
}

static void cause_free(struct cause *c)
{
	FREE_ALL(c->id, c->origin);
	parser_condition_release(&c->when);
	FREE_ALL(c->say, c->next);
}

void causes_free(struct causes *c)
{
	VEC_FREE_EACH(c->list, cause_free(each));
}

int causes_parse(const char *text, const char *file, struct causes *ret, char **ret_error)
{
	struct parser p = {.lexer = {text, 1, 1}, .file = file};
	int r = 0;

	*ret_error = NULL;
	parser_next(&p);
	while (r == 0 && p.token.kind != TOKEN_END) {
		struct cause cause = {};

		p.cause = &cause;
		r = ret->list.n >= CAUSES_MAX ? parser_fail(&p, &p.token, "more than %d causes", CAUSES_MAX) : take_cause(&p);
		if (r == 0)
			r = VEC_PUSH(ret->list, cause);
		if (r < 0)
			cause_free(&cause);
	}
	*ret_error = p.error;
	return r;
}

static int take_causes(const char *text, const char *path, void *to, char **ret_error)
{
	return causes_parse(text, path, to, ret_error);
}

int causes_default(struct causes *ret)
{
	static const char text[] = {
#include "default-causes.h"
		0};
	_cleanup_free_ char *error = NULL;

	return causes_parse(text, "built in", ret, &error);
}

int causes_load(const char *folder, struct causes *ret, char **ret_error)
{
	int r = folder ? trusted_files_read(folder, take_causes, ret, ret_error) : 0;

	/* where the administrator keeps them to itself, users have those compiled in */
	return r < 0 && r != -ENOENT && r != -EACCES ? r : causes_default(ret);
}
