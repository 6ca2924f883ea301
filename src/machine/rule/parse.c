/* A recursive descent over rule.h's grammar. The first error ends it: p->error says where and what was
 * expected. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/trusted-file.h"
#include "machine/rule/parser.h"

static const char *const fields[] = {
	[SELECT_NAME] = "name",		  [SELECT_EXE] = "exe",
	[SELECT_UNIT] = "unit",		  [SELECT_USER] = "user",
	[SELECT_CONTAINER] = "container",
};

/* --- rules --- */

static bool at_selector(const struct parser *p, enum selector_field *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (parser_at(p, fields[i])) {
			*ret = (enum selector_field)i;
			return true;
		}
	}
	return false;
}

static int take_selector(struct parser *p, enum selector_field field)
{
	struct selector s = {.field = field};

	parser_next(p);
	if (parser_take(p, "!="))
		s.negated = true;
	else if (!parser_take(p, "=") && !parser_take(p, "=="))
		return parser_expected(p, "'=' or '!='");
	if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_TEXT && p->token.kind != TOKEN_NUMBER)
		return parser_expected(p, "a name or a pattern");
	s.pattern = lexer_token_copy(&p->token);
	if (VEC_PUSH_OWNER(p->rule->selectors, s.pattern, s) < 0)
		return -ENOMEM;
	parser_next(p);
	(void)parser_take(p, ",");
	return 0;
}

static int take_scope(struct parser *p)
{
	enum selector_field field;
	int r = 0;

	p->rule->scope = ENTITY_SYSTEM;
	for (size_t i = 0; rule_scopes[i].word; i++) {
		if (parser_take(p, rule_scopes[i].word)) {
			p->rule->scope = rule_scopes[i].kind;
			break;
		}
	}
	while (r == 0 && at_selector(p, &field)) {
		if (p->rule->scope == ENTITY_SYSTEM)
			return parser_fail(p, &p->token,
				       "'%s' chooses among processes, disks ...: say which before it",
				       fields[field]);
		r = take_selector(p, field);
	}
	return r;
}

static int take_duration(struct parser *p)
{
	struct rule *rule = p->rule;
	int r;

	if (parser_take(p, "for"))
		return parser_take_span(p, &rule->up);
	if (p->token.kind != TOKEN_NUMBER)
		return 0;
	r = parser_take_count(p, "a number of times", 1000, &rule->spikes);
	if (r == 0 && !parser_take(p, "times") && !parser_take(p, "time"))
		r = parser_expected(p, "'times'");
	if (r == 0)
		r = parser_need(p, "in");
	return r < 0 ? r : parser_take_span(p, &rule->spike_window);
}

/* "until < 2 %": of the one quantity that `when` is about */
static int take_short_until(struct parser *p)
{
	const struct condition *when = p->rule->when;
	_cleanup_condition_ struct condition *c = NULL;
	int r;

	if (when->kind != CONDITION_COMPARISON)
		return parser_fail(p, &p->token,
			       "'when' has more than one condition: say which feature 'until' is about");
	r = parser_condition_make(CONDITION_COMPARISON, NULL, NULL, &c);
	if (r < 0)
		return r;
	c->comparison = when->comparison;
	c->comparison.of = STATISTIC_NONE;
	c->comparison.unit = NULL;
	if (c->comparison.smoothing)
		c->comparison.slot = p->rule->slots++;
	c->comparison.quantity.name = strdup(when->comparison.quantity.name);
	if (!c->comparison.quantity.name)
		return -ENOMEM;
	r = parser_take_operator(p, &c->comparison.operator);
	if (r == 0)
		r = parser_take_value(p, &c->comparison);
	if (r == 0)
		p->rule->until = TAKE(c);
	return r;
}

static int take_until(struct parser *p)
{
	struct rule *rule = p->rule;
	int r;

	rule->down = rule->spikes ? rule->spike_window : rule->up;
	if (!parser_take(p, "until"))
		return 0;
	r = parser_at_operator(p) ? take_short_until(p) : parser_take_condition(p, &rule->until);
	return r == 0 && parser_take(p, "for") ? parser_take_span(p, &rule->down) : r;
}

static bool text_begins(const struct token *t, const char *with)
{
	size_t n = strlen(with);

	return t->length > n && strncmp(t->text, with, n) == 0;
}

static int take_run(struct parser *p)
{
	if (p->token.kind != TOKEN_TEXT)
		return parser_expected(p, "a command in quotes");
	if (p->rule->command)
		return parser_fail(p, &p->token, "a rule runs one command");
	p->rule->command = lexer_token_copy(&p->token);
	parser_next(p);
	return p->rule->command ? 0 : -ENOMEM;
}

static int take_post(struct parser *p)
{
	const struct token *t = &p->token;

	if (t->kind != TOKEN_TEXT || (!text_begins(t, "http://") && !text_begins(t, "https://")))
		return parser_expected(p, "an address in quotes, \"https://...\"");
	if (p->rule->url)
		return parser_fail(p, t, "a rule posts to one address");
	p->rule->url = lexer_token_copy(t);
	parser_next(p);
	return p->rule->url ? 0 : -ENOMEM;
}

static int take_actions(struct parser *p)
{
	static const struct {
		const char *word;
		enum rule_action action;
	} actions[] = {{"capture", ACTION_CAPTURE},
		       {"memory", ACTION_CAPTURE | ACTION_MEMORY},
		       {"instructions", ACTION_CAPTURE | ACTION_INSTRUCTIONS},
		       {"notify", ACTION_NOTIFY},
		       {"report", ACTION_REPORT},
		       {"run", ACTION_RUN},
		       {"post", ACTION_POST}};
	int r = 0;

	do {
		size_t i = 0;

		while (i < ARRAY_SIZE(actions) && !parser_at(p, actions[i].word))
			i++;
		if (i == ARRAY_SIZE(actions))
			return parser_expected(p, p->rule->actions ? "another action"
							    : "'for', 'until', 'and', 'or', or what to do: "
							      "capture, memory, instructions, notify, report, run \"COMMAND\" or post \"URL\"");
		parser_next(p);
		p->rule->actions |= actions[i].action;
		if (actions[i].action == ACTION_RUN)
			r = take_run(p);
		if (actions[i].action == ACTION_POST)
			r = take_post(p);
	} while (r == 0 && (parser_take(p, ",") || parser_take(p, "and")));
	return r;
}

static int take_name(struct parser *p)
{
	if (parser_at(p, "when") || (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_TEXT))
		return 0;
	p->rule->name = lexer_token_copy(&p->token);
	parser_next(p);
	return p->rule->name ? parser_need(p, ":") : -ENOMEM;
}

static int take_rule(struct parser *p)
{
	int r = take_name(p);

	p->rule->line = p->token.line;
	if (r == 0)
		r = parser_need(p, "when");
	if (r == 0)
		r = take_scope(p);
	if (r == 0)
		r = parser_take_condition(p, &p->rule->when);
	if (r == 0)
		r = take_duration(p);
	if (r == 0)
		r = take_until(p);
	return r < 0 ? r : take_actions(p);
}

static void rule_free(struct rule *r)
{
	free(r->name);
	VEC_FREE_EACH(r->selectors, free(each->pattern));
	parser_condition_release(&r->when);
	parser_condition_release(&r->until);
	FREE_ALL(r->command, r->url);
}

void rules_free(struct rules *r)
{
	VEC_FREE_EACH(r->list, rule_free(each));
}

static int take_rules(struct parser *p, struct rules *rules)
{
	while (p->token.kind != TOKEN_END) {
		struct rule rule = {};
		int r;

		if (rules->list.n >= RULES_MAX)
			return parser_fail(p, &p->token, "more than %d rules", RULES_MAX);
		p->rule = &rule;
		r = take_rule(p);
		if (r == 0)
			r = VEC_PUSH(rules->list, rule);
		if (r < 0) {
			rule_free(&rule);
			return r;
		}
	}
	return 0;
}

int rules_parse(const char *text, const char *file, struct rules *ret, char **ret_error)
{
	struct parser p = {.lexer = {text, 1, 1}, .file = file};
	struct rules rules = {};
	int r;

	parser_next(&p);
	r = take_rules(&p, &rules);
	if (r < 0) {
		rules_free(&rules);
		*ret_error = p.error;
		return r;
	}
	*ret = rules;
	return 0;
}

int rules_read(const char *path, struct rules *ret, char **ret_error)
{
	_cleanup_free_ char *text = NULL;
	int r = trusted_file_read(path, &text, ret_error);

	return r < 0 ? r : rules_parse(text, path, ret, ret_error);
}
