#include "machine/rule/cause.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/rule/parser.h"

#define NOTHING 0.05 /* of what a person could notice */
#define FEW_WAIT 0.25 /* of what others wait for: less is not what slows them */
#define SENTENCES_MOST 2 /* of advice: a person in a hurry reads no more */

static bool is_named(const struct fact_who *w, const char *pattern)
{
	const char *base = w->exe ? strrchr(w->exe, '/') : NULL;

	return (w->name && fnmatch(pattern, w->name, FNM_CASEFOLD) == 0) || (w->mostly && fnmatch(pattern, w->mostly, FNM_CASEFOLD) == 0) ||
	       (base && fnmatch(pattern, base + 1, FNM_CASEFOLD) == 0) || (w->exe && fnmatch(pattern, w->exe, 0) == 0) ||
	       (w->unit && fnmatch(pattern, w->unit, 0) == 0);
}

static enum fact_of of_owner(enum rule_owner owner)
{
	return owner == OWNER_CULPRIT ? FACT_CULPRIT : owner == OWNER_VICTIMS ? FACT_VICTIMS : FACT_MACHINE;
}

static bool passes(const struct comparison *c, const struct fact *f)
{
	int direction = fact_direction(f);

	if (c->question == ASK_DIRECTION)
		return c->direction ? direction == c->direction : direction != 0;
	if (c->of_usual)
		return !isnan(f->usual) && rule_compare(c->operator, f->now, f->usual * c->value / 100);
	return rule_compare(c->operator, f->now, c->value);
}

/* A part of the machine may have many: any of them, or what is said. */
static enum truth compare(const struct comparison *c, const struct facts *facts)
{
	double sum = 0, most = -INFINITY, least = INFINITY;
	unsigned n = 0, passed = 0;
	struct fact one = {};

	VEC_EACH(f, facts->list) {
		if (f->of != of_owner(c->owner) || f->feature != c->quantity.feature || isnan(f->now))
			continue;
		one = *f;
		n++;
		passed += passes(c, f);
		sum += f->now;
		most = fmax(most, f->now);
		least = fmin(least, f->now);
	}
	if (!n)
		return UNKNOWN_;
	if (c->statistic == STATISTIC_NONE || c->statistic == STATISTIC_ANY)
		return passed ? TRUE_ : FALSE_;
	if (c->statistic == STATISTIC_EVERY)
		return passed == n ? TRUE_ : FALSE_;
	one.now = c->statistic == STATISTIC_MINIMUM ? least : c->statistic == STATISTIC_MAXIMUM ? most : sum / n;
	return passes(c, &one) ? TRUE_ : FALSE_;
}

static bool kernel_said(const struct facts *facts, const char *pattern)
{
	return ANY_WHERE(i, facts->said.n, fnmatch(pattern, facts->said.v[i], FNM_CASEFOLD) == 0);
}

static enum truth test(const struct comparison *c, void *data)
{
	const struct facts *facts = data;
	bool yes = false;

	switch (c->question) {
	case ASK_VALUE:
	case ASK_DIRECTION:
		return compare(c, facts);
	case ASK_SHORT:
		yes = (int)facts->bottleneck == c->direction;
		break;
	case ASK_NAMED:
		yes = is_named(c->owner == OWNER_CULPRIT ? &facts->culprit : &facts->victim, c->quantity.name);
		break;
	case ASK_KIND:
		yes = facts->named && (int)facts->kind == c->direction;
		break;
	case ASK_SAID:
		yes = kernel_said(facts, c->quantity.name);
		break;
	case ASK_NOBODY:
		yes = !facts->named;
		break;
	}
	return yes ? TRUE_ : FALSE_;
}

bool cause_holds(const struct cause *c, const struct facts *facts)
{
	return !c->fleet && condition_holds(c->when, test, (void *)facts) == TRUE_;
}

/* --- words --- */

static bool put_text(const char *text, struct str *out)
{
	if (!text)
		return false;
	str_puts(out, text);
	return true;
}

/* "17,000 a second" */
static void put_times(double value, struct str *out)
{
	double step = value < 10000 ? 1 : 100, rounded = round(value / step) * step;

	if (value < 10)
		str_printf(out, "%.1f a second", value);
	else if (rounded < 1000)
		str_printf(out, "%.0f a second", rounded);
	else
		str_printf(out, "%.0f,%03.0f a second", floor(rounded / 1000), fmod(rounded, 1000));
}

static bool put_value(const struct feature *f, double value, struct str *out)
{
	if (isnan(value))
		return false;
	if (f->unit == PERMILLE)
		str_printf(out, "%.0f %%", value / 10);
	else if (f->unit == COUNT && f->kind == COUNTER && value < 1e6)
		put_times(value, out);
	else
		str_puts(out, FEATURE_TEXT(f, value));
	return true;
}

/* A program's quantity is said to be more than normally; of what is not, a sentence leaves the comparison out. */
static bool put_usual(const struct fact *fact, struct str *out)
{
	int direction = fact_direction(fact);

	if (fact->of == FACT_MACHINE ? direction == 0 : direction <= 0)
		return false;
	if (!(fact->usual < NOTHING * fact->spread))
		return put_value(fact->feature, fact->usual, out);
	str_puts(out, "none");
	return true;
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

static bool put_culprit(const struct facts *f, struct str *out)
{
	bool in_brackets = out->len && out->data[out->len - 1] == '(', known = put_text(f->culprit.name, out);

	if (known && f->culprit.mostly)
		str_printf(out, " with %s", f->culprit.mostly);
	if (known && f->culprit.starter)
		str_printf(out, in_brackets ? ", started by %s" : " (started by %s)", f->culprit.starter);
	if (known && f->culprit.server)
		str_printf(out, " (through %s)", f->culprit.server);
	return known;
}

static bool put_victim(const struct facts *f, struct str *out)
{
	return put_text(f->victim.name, out);
}

/* The short resource's part of the victims' waits, 0..1; NaN = not known. */
static double part_of_waits(const struct facts *f)
{
	static const struct {
		const char *feature;
		enum bottleneck of;
	} waits[] = {{"cpu.run_delay", BOTTLENECK_CPU}, {"delay.block", BOTTLENECK_DISK}, {"wait.disk", BOTTLENECK_DISK}, {"delay.swapin", BOTTLENECK_MEMORY},
		     {"delay.reclaim", BOTTLENECK_MEMORY}, {"delay.thrashing", BOTTLENECK_MEMORY}};
	double all = 0, part = 0;

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		const struct fact *fact = facts_find(f, FACT_VICTIMS, waits[i].feature);
		double more = fact ? fmax(0, fact->now - (isnan(fact->usual) ? 0 : fact->usual)) : 0;

		all += more;
		part += waits[i].of == f->bottleneck ? more : 0;
	}
	return part / all;
}

static bool put_others(const struct facts *f, struct str *out)
{
	return !facts_find(f, FACT_CULPRIT, "alone") && !(part_of_waits(f) < FEW_WAIT) && put_text("other programs", out);
}

static bool put_unit(const struct facts *f, struct str *out)
{
	return put_text(base_of(f->culprit.unit), out);
}

/* A unit that systemctl knows; another control group has a name of its own. */
static bool put_service(const struct facts *f, struct str *out)
{
	const char *unit = base_of(f->culprit.unit), *dot = unit ? strrchr(unit, '.') : NULL;

	return dot && (strcmp(dot, ".service") == 0 || strcmp(dot, ".scope") == 0 || strcmp(dot, ".slice") == 0) && put_text(unit, out);
}

/* One process is not worth a word: a sentence leaves out what it says of how many they are. */
static bool put_members(const struct facts *f, struct str *out)
{
	if (f->culprit.members < 2)
		return false;
	str_printf(out, "%u", f->culprit.members);
	return true;
}

static bool put_pid(const struct facts *f, struct str *out)
{
	if (!f->culprit.pid || facts_find(f, FACT_CULPRIT, "ended"))
		return false;
	str_printf(out, "%u", f->culprit.pid);
	return true;
}

/* Processes name themselves: no name may do anything in the shell of a person who copies the command. */
static bool is_plain(const char *name)
{
	return name && *name && *name != '-' && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")];
}

/* With its children, which run on when their parent alone is ended: a shell looks for them where they are too many to be written. */
static bool put_tree(const struct facts *f, struct str *out)
{
	if (f->culprit.pids && !facts_find(f, FACT_CULPRIT, "ended"))
		return put_text(f->culprit.pids, out);
	if (!put_pid(f, out))
		return false;
	if (f->culprit.members > 1)
		str_printf(out, " $(pgrep -d' ' -P %u)", f->culprit.pid);
	return true;
}

/* Where not all are known, a shell looks for them by name; a job's are of many names. */
static bool put_pids(const struct facts *f, struct str *out)
{
	if (facts_find(f, FACT_CULPRIT, "ended"))
		return false;
	if (f->culprit.job)
		return put_tree(f, out);
	if (f->culprit.pids || f->culprit.members < 2 || !is_plain(f->culprit.name))
		return put_text(f->culprit.pids, out) || put_pid(f, out);
	str_printf(out, "$(pgrep -d' ' -x %s)", f->culprit.name);
	return true;
}

static const char *without_prefix(const char *name, const char *prefix, bool *ret_has)
{
	*ret_has = str_starts(name, prefix);
	return name + (*ret_has ? strlen(prefix) : 0);
}

struct placeholder placeholder_of(const char *name)
{
	static const struct {
		const char *name;
		bool (*put)(const struct facts *f, struct str *out);
	} words[] = {{"culprit", put_culprit}, {"victim", put_victim}, {"others", put_others}, {"unit", put_unit}, {"service", put_service}, {"processes", put_members}, {"pid", put_pid}, {"pids", put_pids}, {"tree", put_tree}};
	struct placeholder p = {};
	bool old = false, culprit, victims;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(name, words[i].name) == 0)
			return (struct placeholder){.put = words[i].put};
	for (enum fact_clause c = 0; c < CLAUSE_COUNT; c++)
		if (strcmp(name, fact_clause_names[c]) == 0)
			return (struct placeholder){.clause = (int)c + 1};
	p.quantity = without_prefix(name, "normal ", &p.normal);
	if (!p.normal)
		p.quantity = without_prefix(name, "usual ", &old); /* the word for it until 0.2 */
	p.normal |= old;
	if (!p.normal)
		p.quantity = without_prefix(name, "name ", &p.part);
	p.quantity = without_prefix(p.quantity, "culprit ", &culprit);
	p.quantity = without_prefix(p.quantity, "victims ", &victims);
	p.owner = culprit ? OWNER_CULPRIT : victims ? OWNER_VICTIMS : OWNER_MACHINE;
	return p;
}

/* False: it is not known. */
static bool put_name(const char *name, const struct facts *f, struct str *out)
{
	struct placeholder p = placeholder_of(name);
	const struct fact *fact = p.put || p.clause ? NULL : facts_find(f, of_owner(p.owner), p.quantity);

	if (p.put)
		return p.put(f, out);
	if (p.clause)
		return put_text(f->clauses[p.clause - 1], out);
	if (!fact)
		return false;
	if (p.part)
		return put_text(fact->part, out);
	return p.normal ? !f->no_past && put_usual(fact, out) : put_value(fact->feature, fact->now, out);
}

/* Writes up to one of `ends` (or the end), and returns where that is; *ret_known = false where a name has no value. */
static const char *put_words(const char *text, const char *ends, const struct facts *f, struct str *out, bool *ret_known)
{
	char name[80];

	while (*text && !strchr(ends, *text)) {
		const char *close = *text == '{' ? strchr(text, '}') : NULL;

		if (*text == '[') {
			struct str inner = {};
			bool known = true;

			text = put_words(text + 1, "]", f, &inner, &known);
			if (known && inner.data)
				str_puts(out, inner.data);
			str_free(&inner);
			text += *text == ']';
		} else if (close && (size_t)(close - text) < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)(close - text - 1), text + 1);
			if (!put_name(name, f, out)) {
				*ret_known = false;
				str_putc(out, '?');
			}
			text = close + 1;
		} else {
			str_putc(out, *text++);
		}
	}
	return text;
}

char *cause_words(const char *text, const struct facts *facts)
{
	struct str out = {};
	bool known = true;

	(void)put_words(text, "", facts, &out, &known);
	return out.data;
}

/* It makes no sense for a program that has ended. */
static bool is_about_the_running(const char *sentence)
{
	return str_starts(sentence, "If ") || str_starts(sentence, "It ") || str_starts(sentence, "Let ") || str_starts(sentence, "For now");
}

char *cause_advice(const struct cause *c, const struct facts *facts)
{
	const bool ended = facts_find(facts, FACT_CULPRIT, "ended");
	size_t most = ended ? 1 : SENTENCES_MOST;
	struct str out = {};

	for (const char *from = c->next, *to; *from && most; from = to + strspn(to, " ")) {
		struct str sentence = {};
		char *one;
		bool known = true;

		to = strstr(from, ". ");
		to = to ? to + 1 : from + strlen(from);
		one = strndup(from, (size_t)(to - from));
		if (!one)
			break;
		(void)put_words(one, "", facts, &sentence, &known);
		if (known && sentence.data && !(ended && is_about_the_running(one))) {
			str_printf(&out, "%s%s", out.len ? " " : "", sentence.data);
			most--;
		}
		str_free(&sentence);
		free(one);
	}
	return out.data;
}

static bool can_be_said(const struct cause *c, const struct facts *facts)
{
	_cleanup_str_ struct str out = {};
	bool known = true;

	(void)put_words(c->say, "", facts, &out, &known);
	return known;
}

const struct cause *cause_find(const struct causes *c, const struct facts *facts)
{
	return VEC_FIND(x, c->list, cause_holds(x, facts) && can_be_said(x, facts));
}
