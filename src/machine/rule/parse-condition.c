/* What all of the grammar is made of: words, quantities, comparisons, conditions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/rule/parser.h"
#include "machine/rule/unit.h"

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

const struct rule_scope rule_scopes[] = {
	{"machine", ENTITY_SYSTEM}, {"process", ENTITY_PROCESS},       {"disk", ENTITY_DISK},
	{"cpu", ENTITY_CPU},	    {"filesystem", ENTITY_FILESYSTEM}, {"interface", ENTITY_INTERFACE},
	{"cgroup", ENTITY_CGROUP},  {"sensor", ENTITY_SENSOR},	       {},
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

void parser_next(struct parser *p)
{
	p->token = lexer_next(&p->lexer);
}

int parser_fail(struct parser *p, const struct token *at, const char *format, ...)
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

int parser_expected(struct parser *p, const char *what)
{
	const struct token *t = &p->token;

	if (t->kind == TOKEN_END)
		return parser_fail(p, t, "expected %s, but the text ends here", what);
	if (t->kind == TOKEN_UNCLOSED)
		return parser_fail(p, t, "expected %s, but the quotes that begin here are not closed", what);
	return parser_fail(p, t, "expected %s, not '%.*s'", what, (int)(t->length > 60 ? 60 : t->length),
		       t->text);
}

bool parser_at(const struct parser *p, const char *word)
{
	return lexer_token_is(&p->token, word);
}

bool parser_take(struct parser *p, const char *word)
{
	if (!parser_at(p, word))
		return false;
	parser_next(p);
	return true;
}

int parser_need(struct parser *p, const char *word)
{
	if (parser_take(p, word))
		return 0;
	return parser_expected(p, STR_TEXT(40, "'%s'", word));
}

static int take_number(struct parser *p, const char *what, double *ret)
{
	bool negative = parser_take(p, "-");

	if (p->token.kind != TOKEN_NUMBER)
		return parser_expected(p, what);
	*ret = negative ? -p->token.number : p->token.number;
	parser_next(p);
	return 0;
}

int parser_take_count(struct parser *p, const char *what, unsigned most, unsigned *ret)
{
	double number = 0;
	struct token t = p->token;
	int r = take_number(p, what, &number);

	if (r < 0)
		return r;
	if (number < 1 || number > most || number != (unsigned)number)
		return parser_fail(p, &t, "expected %s from 1 to %u", what, most);
	*ret = (unsigned)number;
	return 0;
}

/* "3 s", "10 min", "500 ms" */
int parser_take_span(struct parser *p, int64_t *ret)
{
	struct token t = p->token;
	double number = 0;
	int r = take_number(p, "a span such as 3 s", &number);

	if (r < 0)
		return r;
	if (p->token.kind != TOKEN_WORD || p->token.length > 20)
		return parser_expected(p, "a unit of time: ms, s, min, h or d");
	if (number < 0 || clock_parse_span(STR_TEXT(80, "%.15g%.*s", number, (int)p->token.length, p->token.text), ret) < 0 || *ret > 366 * 86400 * NS_PER_SEC)
		return parser_fail(p, number < 0 ? &t : &p->token,
			       "expected a span such as 500 ms, 3 s or 10 min");
	parser_next(p);
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
	for (size_t i = 0; rule_scopes[i].word; i++)
		if (rule_scopes[i].kind == kind)
			return rule_scopes[i].word;
	return "machine";
}

int parser_unknown_quantity(struct parser *p, const struct token *t, const char *name)
{
	const struct feature *f;

	for (size_t i = 0; rule_scopes[i].word; i++)
		if (feature_index(rule_scopes[i].kind, name) >= 0)
			return parser_fail(p, t, "%s belongs to %s: write 'when %s ... %s'", name,
				       scope_word(rule_scopes[i].kind), scope_word(rule_scopes[i].kind), name);
	f = nearest(name);
	if (f)
		return parser_fail(p, t, "there is no feature '%s'; did you mean %s?", name, f->name);
	return parser_fail(p, t,
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

int parser_take_text(struct parser *p, const char *what, char **ret)
{
	if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_TEXT)
		return parser_expected(p, what);
	*ret = lexer_token_copy(&p->token);
	if (!*ret)
		return -ENOMEM;
	parser_next(p);
	return 0;
}

static int take_quantity(struct parser *p, struct quantity *q, struct token *ret_at)
{
	*ret_at = p->token;
	q->index = -1;
	return parser_take_text(p, "a feature's name", &q->name);
}

/* Known once it is clear whether a view follows. */
static int settle_quantity(struct parser *p, struct comparison *c, const struct token *t)
{
	struct quantity *q = &c->quantity;
	enum entity_kind scope = p->rule->scope;

	if (resolve_derived(q, scope) || resolve(q, scope) || resolve(q, ENTITY_SYSTEM) || c->view)
		return 0;
	return parser_unknown_quantity(p, t, q->name);
}

/* --- comparisons --- */

bool parser_take_statistic(struct parser *p, enum rule_statistic *ret)
{
	for (size_t i = STATISTIC_ANY; i < STATISTIC_COUNT; i++) {
		if (!parser_at(p, statistics[i]))
			continue;
		parser_next(p);
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
		return parser_fail(p, &t, "expected a quantile from 0 to 1");
	return r;
}

/* "of N samples of", after average or median */
static int take_samples(struct parser *p, struct comparison *c, enum rule_smoothing smoothing)
{
	int r = parser_take_count(p, "a number of samples", SMOOTHING_MAX, &c->samples);

	if (r < 0)
		return r;
	c->smoothing = smoothing;
	c->statistic = STATISTIC_NONE;
	c->slot = p->rule->slots++;
	(void)(parser_take(p, "samples") || parser_take(p, "sample"));
	return parser_need(p, "of");
}

static int take_prefix(struct parser *p, struct comparison *c)
{
	struct token t = p->token;
	int r;

	if (!parser_take_statistic(p, &c->statistic))
		return 0;
	r = take_quantile(p, c->statistic, &c->quantile);
	if (r < 0)
		return r;
	if (c->statistic == STATISTIC_AVERAGE && parser_take(p, "without")) {
		r = parser_need(p, "outliers");
		r = r ?: parser_need(p, "of");
		return r < 0 ? r : take_samples(p, c, SMOOTHING_NO_OUTLIERS);
	}
	if (!parser_take(p, "of"))
		return 0;
	if (p->token.kind != TOKEN_NUMBER)
		return 0;
	if (c->statistic != STATISTIC_AVERAGE && c->statistic != STATISTIC_MEDIAN)
		return parser_fail(p, &t, "only 'average' and 'median' can be taken of samples");
	return take_samples(p, c, c->statistic == STATISTIC_AVERAGE ? SMOOTHING_AVERAGE : SMOOTHING_MEDIAN);
}

static int take_view(struct parser *p, struct comparison *c)
{
	static const char *const views[] = {
		[VIEW_DETAIL] = "detail", [VIEW_SERVER] = "server", [VIEW_TIME] = "time"};

	if (!parser_take(p, "in"))
		return 0;
	for (size_t i = VIEW_DETAIL; i < ARRAY_SIZE(views); i++) {
		if (parser_take(p, views[i])) {
			c->view = (enum rule_view)i;
			return parser_need(p, "view");
		}
	}
	return parser_expected(p, "'detail', 'server' or 'time' view");
}

bool parser_at_operator(const struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (parser_at(p, operators[i]))
			return true;
	return parser_at(p, "==");
}

int parser_take_operator(struct parser *p, enum rule_operator *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (parser_take(p, operators[i])) {
			*ret = (enum rule_operator)i;
			return 0;
		}
	}
	if (!parser_take(p, "=="))
		return parser_expected(p, "a comparison: > >= < <= = or !=");
	*ret = OPERATOR_EQUAL;
	return 0;
}

/* Words that continue after a value, and are not units. */
static bool at_keyword(const struct parser *p)
{
	static const char *const keywords[] = {"for",	 "until", "and",   "or", "capture", "notify",
					       "report", "run",	  "times", "in", "of", "say"};

	return ANY_WHERE(i, ARRAY_SIZE(keywords), parser_at(p, keywords[i]));
}

static int check_unit(struct parser *p, struct comparison *c, const struct token *t)
{
	const struct feature *f = c->quantity.feature;
	const char *given = c->unit ? c->unit : "", *fits;
	double factor;

	if (c->of || c->z_score)
		return !c->z_score || !*given ? 0 : parser_fail(p, t, "a z-score has no unit");
	if (c->view && !*given) /* as the data have it */
		return 0;
	if (!f)
		return !*given || strcmp(given, "%") == 0
			       ? 0
			       : parser_fail(p, t, "the unit of %s is not known here: give the number alone",
					 c->quantity.name);
	factor = unit_factor(f, given, &fits);
	if (factor == 0)
		return parser_fail(p, t, "expected %s (%s is measured so)%s%s%s", fits, c->quantity.name,
			       *given ? ", not '" : "", given, *given ? "'" : "");
	c->value *= factor;
	return 0;
}

int parser_take_value(struct parser *p, struct comparison *c)
{
	struct token t;
	int r = take_number(p, "a number", &c->value);

	if (r < 0)
		return r;
	t = p->token;
	if ((t.kind == TOKEN_WORD && !at_keyword(p)) || parser_at(p, "%")) {
		c->unit = lexer_token_copy(&t);
		if (!c->unit)
			return -ENOMEM;
		parser_next(p);
	}
	if (c->unit && strcmp(c->unit, "%") == 0 && parser_take(p, "of")) {
		c->of_usual = p->cause && (parser_take(p, "normal") || parser_take(p, "usual")); /* the second: until 0.2 */
		if (c->of_usual)
			return 0;
		if (!c->view)
			return parser_fail(p, &t,
				       "a percentage of a statistic needs a view: write 'in detail view' "
				       "before the comparison");
		if (!parser_take_statistic(p, &c->of))
			return parser_expected(p, "a statistic: average, median, minimum, maximum or quantile");
		return take_quantile(p, c->of, &c->of_quantile);
	}
	return check_unit(p, c, &t);
}

static int take_comparison(struct parser *p, struct comparison *c)
{
	struct token t, begin = p->token;
	int r = 0;

	if (parser_take(p, "z-score")) {
		c->z_score = true;
		r = parser_need(p, "of");
	}
	r = r ?: take_prefix(p, c);
	r = r ?: take_quantity(p, &c->quantity, &t);
	r = r ?: take_view(p, c);
	r = r ?: settle_quantity(p, c, &t);
	if (r == 0 && (c->z_score || c->statistic) && !c->view)
		return parser_fail(
			p, &begin,
			"'%s' is taken of many values: write 'in detail view', 'server view' or 'time view'",
			c->z_score ? "z-score" : statistics[c->statistic]);
	r = r ?: parser_take_operator(p, &c->operator);
	return r < 0 ? r : parser_take_value(p, c);
}

/* --- conditions --- */

static void condition_free(struct condition *c)
{
	if (!c)
		return;
	condition_free(c->left);
	condition_free(c->right);
	FREE_ALL(c->comparison.quantity.name, c->comparison.unit, c);
}

void parser_condition_release(struct condition **c)
{
	condition_free(*c);
}

int parser_condition_make(enum condition_kind kind, struct condition *left, struct condition *right,
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

	if (parser_at(p, "not"))
		return take_not(p, ret);
	if (parser_take(p, "(")) {
		r = parser_take_condition(p, &c);
		r = r ?: parser_need(p, ")");
	} else {
		r = parser_condition_make(CONDITION_COMPARISON, NULL, NULL, &c);
		r = r ?: (p->cause ? parser_take_fact(p, &c->comparison) : take_comparison(p, &c->comparison));
	}
	if (r == 0)
		*ret = TAKE(c);
	return r;
}

static int take_nested(struct parser *p, struct condition **ret)
{
	int r;

	if (p->depth >= DEPTH_MAX)
		return parser_fail(p, &p->token, "conditions are nested more than %d deep", DEPTH_MAX);
	p->depth++;
	r = take_primary(p, ret);
	p->depth--;
	return r;
}

static int take_not(struct parser *p, struct condition **ret)
{
	_cleanup_condition_ struct condition *inner = NULL;
	int r;

	parser_next(p);
	r = take_nested(p, &inner);
	r = r ?: parser_condition_make(CONDITION_NOT, inner, NULL, ret);
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

	while (r == 0 && parser_at(p, word)) {
		_cleanup_condition_ struct condition *right = NULL;
		struct condition *both = NULL;

		if (++parts > 64)
			return parser_fail(p, &p->token, "more than 64 conditions in one rule");
		parser_next(p);
		r = part(p, &right);
		r = r ?: parser_condition_make(kind, left, right, &both);
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

int parser_take_condition(struct parser *p, struct condition **ret)
{
	return take_chain(p, "or", CONDITION_OR, take_and, ret);
}

