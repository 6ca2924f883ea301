/* A recursive descent over rule.h's grammar. The first error ends it: p->error says where and what was
 * expected. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "rule/lexer.h"
#include "rule/rule.h"
#include "rule/unit.h"

#define RULES_FILE_MAX (1 << 20)

struct parser {
	struct lexer lexer;
	struct token token; /* the one to be looked at */
	const char *file;
	char *error;
	struct rule *rule; /* being read */
	unsigned depth;
};

static const struct feature derived[] = {
	[DERIVED_U1] = {.name = "u1",
			.unit = NS,
			.kind = COUNTER,
			.resource = RESOURCE_CPU,
			.quantum = 1,
			.help = "CPU time over time"},
	[DERIVED_U2] = {.name = "u2",
			.unit = NS,
			.kind = COUNTER,
			.resource = RESOURCE_CPU,
			.quantum = 1,
			.help = "CPU time over time and CPUs"},
};

static const struct {
	const char *word;
	enum entity_kind kind;
} scopes[] = {
	{"machine", ENTITY_SYSTEM}, {"process", ENTITY_PROCESS},       {"disk", ENTITY_DISK},
	{"cpu", ENTITY_CPU},	    {"filesystem", ENTITY_FILESYSTEM}, {"interface", ENTITY_INTERFACE},
	{"cgroup", ENTITY_CGROUP},  {"sensor", ENTITY_SENSOR},
};

static const char *const fields[] = {
	[SELECT_NAME] = "name",		  [SELECT_EXE] = "exe",
	[SELECT_UNIT] = "unit",		  [SELECT_USER] = "user",
	[SELECT_CONTAINER] = "container",
};

static const char *const statistics[STATISTIC_COUNT] = {
	[STATISTIC_ANY] = "any",	   [STATISTIC_EVERY] = "every",	    [STATISTIC_AVERAGE] = "average",
	[STATISTIC_MEDIAN] = "median",	   [STATISTIC_MINIMUM] = "minimum", [STATISTIC_MAXIMUM] = "maximum",
	[STATISTIC_QUANTILE] = "quantile",
};

static const char *const operators[] = {
	[OPERATOR_GREATER] = ">",     [OPERATOR_GREATER_EQUAL] = ">=", [OPERATOR_LESS] = "<",
	[OPERATOR_LESS_EQUAL] = "<=", [OPERATOR_EQUAL] = "=",	       [OPERATOR_UNEQUAL] = "!=",
};

const char *rule_statistic_name(enum rule_statistic s)
{
	return s > STATISTIC_NONE && s < STATISTIC_COUNT ? statistics[s] : "";
}

const char *rule_operator_text(enum rule_operator o)
{
	return operators[o];
}

/* --- words --- */

static void next(struct parser *p)
{
	p->token = lexer_next(&p->lexer);
}

static int fail_at(struct parser *p, const struct token *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail_at(struct parser *p, const struct token *at, const char *format, ...)
{
	struct str text = {};
	va_list args;

	if (p->error)
		return -EINVAL;
	str_printf(&text, "%s:%u:%u: ", p->file, at->line, at->column);
	va_start(args, format);
	str_vprintf(&text, format, args);
	va_end(args);
	p->error = text.data;
	return -EINVAL;
}

static int expected(struct parser *p, const char *what)
{
	const struct token *t = &p->token;

	if (t->kind == TOKEN_END)
		return fail_at(p, t, "expected %s, but the text ends here", what);
	if (t->kind == TOKEN_UNCLOSED)
		return fail_at(p, t, "expected %s, but the quotes that begin here are not closed", what);
	return fail_at(p, t, "expected %s, not '%.*s'", what, (int)(t->length > 60 ? 60 : t->length),
		       t->text);
}

static bool at(const struct parser *p, const char *word)
{
	return token_is(&p->token, word);
}

static bool take(struct parser *p, const char *word)
{
	if (!at(p, word))
		return false;
	next(p);
	return true;
}

static int need(struct parser *p, const char *word)
{
	char what[40];

	if (take(p, word))
		return 0;
	snprintf(what, sizeof(what), "'%s'", word);
	return expected(p, what);
}

static int take_number(struct parser *p, const char *what, double *ret)
{
	bool negative = take(p, "-");

	if (p->token.kind != TOKEN_NUMBER)
		return expected(p, what);
	*ret = negative ? -p->token.number : p->token.number;
	next(p);
	return 0;
}

static int take_count(struct parser *p, const char *what, unsigned most, unsigned *ret)
{
	double number;
	struct token t = p->token;
	int r = take_number(p, what, &number);

	if (r < 0)
		return r;
	if (number < 1 || number > most || number != (unsigned)number)
		return fail_at(p, &t, "expected %s from 1 to %u", what, most);
	*ret = (unsigned)number;
	return 0;
}

/* "3 s", "10 min", "500 ms" */
static int take_span(struct parser *p, int64_t *ret)
{
	struct token t = p->token;
	char text[80];
	double number;
	int r = take_number(p, "a span such as 3 s", &number);

	if (r < 0)
		return r;
	if (p->token.kind != TOKEN_WORD || p->token.length > 20)
		return expected(p, "a unit of time: ms, s, min, h or d");
	snprintf(text, sizeof(text), "%.15g%.*s", number, (int)p->token.length, p->token.text);
	if (number < 0 || parse_span(text, ret) < 0 || *ret > 366 * 86400 * NS_PER_SEC)
		return fail_at(p, number < 0 ? &t : &p->token,
			       "expected a span such as 500 ms, 3 s or 10 min");
	next(p);
	return 0;
}

/* --- quantities --- */

/* How many letters must be changed from one word to the other; at most 3 are counted. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[64], n = (unsigned)strlen(b);

	if (n >= ARRAY_SIZE(row) || strlen(a) >= ARRAY_SIZE(row))
		return 9;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0]++;

		for (unsigned j = 0; j < n; j++) {
			unsigned change = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = change < row[j] + 1 ? change : row[j] + 1;
			if (diagonal + 1 < row[j + 1])
				row[j + 1] = diagonal + 1;
		}
	}
	return row[n];
}

static const struct feature *nearest(const char *name)
{
	const struct feature *best = NULL;
	unsigned least = 4;

	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_SHORT_LIVED; kind++) {
		size_t n;
		const struct feature *f = features_of(kind, &n);

		for (size_t i = 0; i < n; i++) {
			unsigned d = distance(name, f[i].name);

			if (d < least) {
				least = d;
				best = &f[i];
			}
		}
	}
	return best;
}

static const char *scope_word(enum entity_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (scopes[i].kind == kind)
			return scopes[i].word;
	return "machine";
}

static int unknown_quantity(struct parser *p, const struct token *t, const char *name)
{
	const struct feature *f;

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (feature_index(scopes[i].kind, name) >= 0)
			return fail_at(p, t, "%s belongs to %s: write 'when %s ... %s'", name,
				       scope_word(scopes[i].kind), scope_word(scopes[i].kind), name);
	f = nearest(name);
	if (f)
		return fail_at(p, t, "there is no feature '%s'; did you mean %s?", name, f->name);
	return fail_at(p, t,
		       "there is no feature '%s' ('whyslow features' lists them; a counter from elsewhere "
		       "needs 'in detail view')",
		       name);
}

static bool resolve(struct quantity *q, enum entity_kind kind)
{
	size_t n;

	q->index = feature_index(kind, q->name);
	if (q->index < 0)
		return false;
	q->kind = kind;
	q->feature = &features_of(kind, &n)[q->index];
	return true;
}

static bool resolve_derived(struct quantity *q, enum entity_kind scope)
{
	for (size_t i = DERIVED_U1; i < ARRAY_SIZE(derived); i++) {
		if (strcmp(q->name, derived[i].name) != 0 ||
		    (scope != ENTITY_SYSTEM && scope != ENTITY_PROCESS))
			continue;
		q->derived = (enum rule_derived)i;
		q->kind = scope;
		q->feature = &derived[i];
		return true;
	}
	return false;
}

static int take_quantity(struct parser *p, struct quantity *q, struct token *ret_at)
{
	*ret_at = p->token;
	if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_TEXT)
		return expected(p, "a feature's name");
	q->name = token_copy(&p->token);
	q->index = -1;
	if (!q->name)
		return -ENOMEM;
	next(p);
	return 0;
}

/* Known once it is clear whether a view follows. */
static int settle_quantity(struct parser *p, struct comparison *c, const struct token *t)
{
	struct quantity *q = &c->quantity;
	enum entity_kind scope = p->rule->scope;

	if (resolve_derived(q, scope) || resolve(q, scope) || resolve(q, ENTITY_SYSTEM) || c->view)
		return 0;
	return unknown_quantity(p, t, q->name);
}

/* --- comparisons --- */

static bool take_statistic(struct parser *p, enum rule_statistic *ret)
{
	for (size_t i = STATISTIC_ANY; i < STATISTIC_COUNT; i++) {
		if (!at(p, statistics[i]))
			continue;
		next(p);
		*ret = (enum rule_statistic)i;
		return true;
	}
	return false;
}

static int take_quantile(struct parser *p, enum rule_statistic statistic, double *ret)
{
	struct token t = p->token;
	int r;

	if (statistic != STATISTIC_QUANTILE)
		return 0;
	r = take_number(p, "a quantile from 0 to 1", ret);
	if (r == 0 && (*ret < 0 || *ret > 1))
		return fail_at(p, &t, "expected a quantile from 0 to 1");
	return r;
}

/* "of N samples of", after average or median */
static int take_samples(struct parser *p, struct comparison *c, enum rule_smoothing smoothing)
{
	int r = take_count(p, "a number of samples", SMOOTHING_MAX, &c->samples);

	if (r < 0)
		return r;
	c->smoothing = smoothing;
	c->statistic = STATISTIC_NONE;
	c->slot = p->rule->slots++;
	(void)(take(p, "samples") || take(p, "sample"));
	return need(p, "of");
}

static int take_prefix(struct parser *p, struct comparison *c)
{
	struct token t = p->token;
	int r;

	if (!take_statistic(p, &c->statistic))
		return 0;
	r = take_quantile(p, c->statistic, &c->quantile);
	if (r < 0)
		return r;
	if (c->statistic == STATISTIC_AVERAGE && take(p, "without")) {
		r = need(p, "outliers");
		if (r == 0)
			r = need(p, "of");
		return r < 0 ? r : take_samples(p, c, SMOOTHING_NO_OUTLIERS);
	}
	if (!take(p, "of"))
		return 0;
	if (p->token.kind != TOKEN_NUMBER)
		return 0;
	if (c->statistic != STATISTIC_AVERAGE && c->statistic != STATISTIC_MEDIAN)
		return fail_at(p, &t, "only 'average' and 'median' can be taken of samples");
	return take_samples(p, c, c->statistic == STATISTIC_AVERAGE ? SMOOTHING_AVERAGE : SMOOTHING_MEDIAN);
}

static int take_view(struct parser *p, struct comparison *c)
{
	static const char *const views[] = {
		[VIEW_DETAIL] = "detail", [VIEW_SERVER] = "server", [VIEW_TIME] = "time"};

	if (!take(p, "in"))
		return 0;
	for (size_t i = VIEW_DETAIL; i < ARRAY_SIZE(views); i++) {
		if (take(p, views[i])) {
			c->view = (enum rule_view)i;
			return need(p, "view");
		}
	}
	return expected(p, "'detail', 'server' or 'time' view");
}

static bool at_operator(const struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (at(p, operators[i]))
			return true;
	return at(p, "==");
}

static int take_operator(struct parser *p, enum rule_operator *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (take(p, operators[i])) {
			*ret = (enum rule_operator)i;
			return 0;
		}
	}
	if (!take(p, "=="))
		return expected(p, "a comparison: > >= < <= = or !=");
	*ret = OPERATOR_EQUAL;
	return 0;
}

/* Words that go on after a value, and are no units. */
static bool at_keyword(const struct parser *p)
{
	static const char *const keywords[] = {"for",	 "until", "and",   "or", "capture", "notify",
					       "report", "run",	  "times", "in", "of"};

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (at(p, keywords[i]))
			return true;
	return false;
}

static int check_unit(struct parser *p, struct comparison *c, const struct token *t)
{
	const struct feature *f = c->quantity.feature;
	const char *given = c->unit ? c->unit : "", *fits;
	double factor;

	if (c->of || c->z_score)
		return !c->z_score || !*given ? 0 : fail_at(p, t, "a z-score has no unit");
	if (!f)
		return !*given || strcmp(given, "%") == 0
			       ? 0
			       : fail_at(p, t, "the unit of %s is not known here: give the number alone",
					 c->quantity.name);
	factor = unit_factor(f, given, &fits);
	if (factor == 0)
		return fail_at(p, t, "expected %s (%s is measured so)%s%s%s", fits, c->quantity.name,
			       *given ? ", not '" : "", given, *given ? "'" : "");
	c->value *= factor;
	return 0;
}

static int take_value(struct parser *p, struct comparison *c)
{
	struct token t;
	int r = take_number(p, "a number", &c->value);

	if (r < 0)
		return r;
	t = p->token;
	if ((t.kind == TOKEN_WORD && !at_keyword(p)) || at(p, "%")) {
		c->unit = token_copy(&t);
		if (!c->unit)
			return -ENOMEM;
		next(p);
	}
	if (c->unit && strcmp(c->unit, "%") == 0 && take(p, "of")) {
		if (!c->view)
			return fail_at(p, &t,
				       "a percentage of a statistic needs a view: write 'in detail view' "
				       "before the comparison");
		if (!take_statistic(p, &c->of))
			return expected(p, "a statistic: average, median, minimum, maximum or quantile");
		return take_quantile(p, c->of, &c->of_quantile);
	}
	return check_unit(p, c, &t);
}

static int take_comparison(struct parser *p, struct comparison *c)
{
	struct token t, begin = p->token;
	int r = 0;

	if (take(p, "z-score")) {
		c->z_score = true;
		r = need(p, "of");
	}
	if (r == 0)
		r = take_prefix(p, c);
	if (r == 0)
		r = take_quantity(p, &c->quantity, &t);
	if (r == 0)
		r = take_view(p, c);
	if (r == 0)
		r = settle_quantity(p, c, &t);
	if (r == 0 && (c->z_score || c->statistic) && !c->view)
		return fail_at(
			p, &begin,
			"'%s' is taken of many values: write 'in detail view', 'server view' or 'time view'",
			c->z_score ? "z-score" : statistics[c->statistic]);
	if (r == 0)
		r = take_operator(p, &c->operator);
	return r < 0 ? r : take_value(p, c);
}

/* --- conditions --- */

static void condition_free(struct condition *c)
{
	if (!c)
		return;
	condition_free(c->left);
	condition_free(c->right);
	free(c->comparison.quantity.name);
	free(c->comparison.unit);
	free(c);
}

static void free_condition(struct condition **c)
{
	condition_free(*c);
}

#define _cleanup_condition_ _cleanup_(free_condition)

static int take_condition(struct parser *p, struct condition **ret);

static int make(enum condition_kind kind, struct condition *left, struct condition *right,
		struct condition **ret)
{
	struct condition *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->left = left;
	c->right = right;
	*ret = c;
	return 0;
}

static int take_not(struct parser *p, struct condition **ret);

static int take_primary(struct parser *p, struct condition **ret)
{
	_cleanup_condition_ struct condition *c = NULL;
	int r;

	if (at(p, "not"))
		return take_not(p, ret);
	if (take(p, "(")) {
		r = take_condition(p, &c);
		if (r == 0)
			r = need(p, ")");
	} else {
		r = make(CONDITION_COMPARISON, NULL, NULL, &c);
		if (r == 0)
			r = take_comparison(p, &c->comparison);
	}
	if (r == 0)
		*ret = TAKE(c);
	return r;
}

static int take_nested(struct parser *p, struct condition **ret)
{
	int r;

	if (p->depth >= DEPTH_MAX)
		return fail_at(p, &p->token, "conditions are nested more than %d deep", DEPTH_MAX);
	p->depth++;
	r = take_primary(p, ret);
	p->depth--;
	return r;
}

static int take_not(struct parser *p, struct condition **ret)
{
	_cleanup_condition_ struct condition *inner = NULL;
	int r;

	next(p);
	r = take_nested(p, &inner);
	if (r == 0)
		r = make(CONDITION_NOT, inner, NULL, ret);
	if (r == 0)
		inner = NULL;
	return r;
}

/* a OP b OP c, from the left; at most 64 of them */
static int take_chain(struct parser *p, const char *word, enum condition_kind kind,
		      int (*part)(struct parser *, struct condition **), struct condition **ret)
{
	_cleanup_condition_ struct condition *left = NULL;
	unsigned parts = 1;
	int r = part(p, &left);

	while (r == 0 && at(p, word)) {
		_cleanup_condition_ struct condition *right = NULL;
		struct condition *both = NULL;

		if (++parts > 64)
			return fail_at(p, &p->token, "more than 64 conditions in one rule");
		next(p);
		r = part(p, &right);
		if (r == 0)
			r = make(kind, left, right, &both);
		if (r < 0)
			break;
		left = both;
		right = NULL;
	}
	if (r == 0)
		*ret = TAKE(left);
	return r;
}

static int take_and(struct parser *p, struct condition **ret)
{
	return take_chain(p, "and", CONDITION_AND, take_nested, ret);
}

static int take_condition(struct parser *p, struct condition **ret)
{
	return take_chain(p, "or", CONDITION_OR, take_and, ret);
}

/* --- rules --- */

static bool at_selector(const struct parser *p, enum selector_field *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (at(p, fields[i])) {
			*ret = (enum selector_field)i;
			return true;
		}
	}
	return false;
}

static int take_selector(struct parser *p, enum selector_field field)
{
	struct selector s = {.field = field};

	next(p);
	if (take(p, "!="))
		s.negated = true;
	else if (!take(p, "=") && !take(p, "=="))
		return expected(p, "'=' or '!='");
	if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_TEXT && p->token.kind != TOKEN_NUMBER)
		return expected(p, "a name or a pattern");
	s.pattern = token_copy(&p->token);
	if (!s.pattern || VEC_PUSH(p->rule->selectors, s) < 0) {
		free(s.pattern);
		return -ENOMEM;
	}
	next(p);
	(void)take(p, ",");
	return 0;
}

static int take_scope(struct parser *p)
{
	enum selector_field field;
	int r = 0;

	p->rule->scope = ENTITY_SYSTEM;
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		if (take(p, scopes[i].word)) {
			p->rule->scope = scopes[i].kind;
			break;
		}
	}
	while (r == 0 && at_selector(p, &field)) {
		if (p->rule->scope == ENTITY_SYSTEM)
			return fail_at(p, &p->token,
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

	if (take(p, "for"))
		return take_span(p, &rule->up);
	if (p->token.kind != TOKEN_NUMBER)
		return 0;
	r = take_count(p, "a number of times", 1000, &rule->spikes);
	if (r == 0 && !take(p, "times") && !take(p, "time"))
		r = expected(p, "'times'");
	if (r == 0)
		r = need(p, "in");
	return r < 0 ? r : take_span(p, &rule->spike_window);
}

/* "until < 2 %": of the one quantity that `when` is about */
static int take_short_until(struct parser *p)
{
	const struct condition *when = p->rule->when;
	_cleanup_condition_ struct condition *c = NULL;
	int r;

	if (when->kind != CONDITION_COMPARISON)
		return fail_at(p, &p->token,
			       "'when' has more than one condition: say which feature 'until' is about");
	r = make(CONDITION_COMPARISON, NULL, NULL, &c);
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
	r = take_operator(p, &c->comparison.operator);
	if (r == 0)
		r = take_value(p, &c->comparison);
	if (r == 0)
		p->rule->until = TAKE(c);
	return r;
}

static int take_until(struct parser *p)
{
	struct rule *rule = p->rule;
	int r;

	rule->down = rule->spikes ? rule->spike_window : rule->up;
	if (!take(p, "until"))
		return 0;
	r = at_operator(p) ? take_short_until(p) : take_condition(p, &rule->until);
	return r == 0 && take(p, "for") ? take_span(p, &rule->down) : r;
}

static bool text_begins(const struct token *t, const char *with)
{
	size_t n = strlen(with);

	return t->length > n && strncmp(t->text, with, n) == 0;
}

static int take_run(struct parser *p)
{
	if (p->token.kind != TOKEN_TEXT)
		return expected(p, "a command in quotes");
	if (p->rule->command)
		return fail_at(p, &p->token, "a rule runs one command");
	p->rule->command = token_copy(&p->token);
	next(p);
	return p->rule->command ? 0 : -ENOMEM;
}

static int take_post(struct parser *p)
{
	const struct token *t = &p->token;

	if (t->kind != TOKEN_TEXT || (!text_begins(t, "http://") && !text_begins(t, "https://")))
		return expected(p, "an address in quotes, \"https://...\"");
	if (p->rule->url)
		return fail_at(p, t, "a rule posts to one address");
	p->rule->url = token_copy(t);
	next(p);
	return p->rule->url ? 0 : -ENOMEM;
}

static int take_actions(struct parser *p)
{
	static const struct {
		const char *word;
		enum rule_action action;
	} actions[] = {{"capture", ACTION_CAPTURE},
		       {"notify", ACTION_NOTIFY},
		       {"report", ACTION_REPORT},
		       {"run", ACTION_RUN},
		       {"post", ACTION_POST}};
	int r = 0;

	do {
		size_t i = 0;

		while (i < ARRAY_SIZE(actions) && !at(p, actions[i].word))
			i++;
		if (i == ARRAY_SIZE(actions))
			return expected(p, p->rule->actions ? "another action"
							    : "'for', 'until', 'and', 'or', or what to do: "
							      "capture, notify, report, run \"COMMAND\" or post \"URL\"");
		next(p);
		p->rule->actions |= actions[i].action;
		if (actions[i].action == ACTION_RUN)
			r = take_run(p);
		if (actions[i].action == ACTION_POST)
			r = take_post(p);
	} while (r == 0 && (take(p, ",") || take(p, "and")));
	return r;
}

static int take_name(struct parser *p)
{
	if (at(p, "when") || (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_TEXT))
		return 0;
	p->rule->name = token_copy(&p->token);
	next(p);
	return p->rule->name ? need(p, ":") : -ENOMEM;
}

static int take_rule(struct parser *p)
{
	int r = take_name(p);

	p->rule->line = p->token.line;
	if (r == 0)
		r = need(p, "when");
	if (r == 0)
		r = take_scope(p);
	if (r == 0)
		r = take_condition(p, &p->rule->when);
	if (r == 0)
		r = take_duration(p);
	if (r == 0)
		r = take_until(p);
	return r < 0 ? r : take_actions(p);
}

static void rule_free(struct rule *r)
{
	free(r->name);
	for (size_t i = 0; i < r->selectors.n; i++)
		free(r->selectors.v[i].pattern);
	VEC_FREE(r->selectors);
	condition_free(r->when);
	condition_free(r->until);
	free(r->command);
	free(r->url);
}

void rules_free(struct rules *r)
{
	for (size_t i = 0; i < r->list.n; i++)
		rule_free(&r->list.v[i]);
	VEC_FREE(r->list);
}

static int take_rules(struct parser *p, struct rules *rules)
{
	while (p->token.kind != TOKEN_END) {
		struct rule rule = {};
		int r;

		if (rules->list.n >= RULES_MAX)
			return fail_at(p, &p->token, "more than %d rules", RULES_MAX);
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

	next(&p);
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
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	size_t n;

	*ret_error = NULL;
	if (!f)
		return -errno;
	text = malloc(RULES_FILE_MAX + 1);
	if (!text)
		return -ENOMEM;
	n = fread(text, 1, RULES_FILE_MAX, f);
	text[n] = '\0';
	if (strlen(text) != n || n == RULES_FILE_MAX) {
		if (asprintf(ret_error, "%s: this is no file of rules", path) < 0)
			*ret_error = NULL;
		return -EINVAL;
	}
	return rules_parse(text, path, ret, ret_error);
}
