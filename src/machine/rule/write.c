#include <ctype.h>
#include <string.h>

#include "machine/findings/finding.h"
#include "machine/rule/cause.h"
#include "machine/rule/rule.h"
#include "machine/rule/unit.h"

/* Words of the language must be quoted where they stand for themselves; so does what is not a word. */
static void write_text(const char *text, struct str *out)
{
	str_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			str_putc(out, '\\');
		str_putc(out, *text);
	}
	str_putc(out, '"');
}

static void write_value(const struct comparison *c, struct str *out)
{
	const char *fits, *unit = c->unit ? c->unit : "";
	double factor = c->of || c->of_usual || c->z_score || !c->quantity.feature || !*unit
				? 1
				: unit_factor(c->quantity.feature, unit, &fits);

	str_printf(out, "%.15g", c->value / factor);
	if (*unit)
		str_printf(out, " %s", unit);
	if (c->of_usual)
		str_puts(out, " of normal");
	if (c->of)
		str_printf(out, " of %s", rule_statistic_name(c->of));
	if (c->of == STATISTIC_QUANTILE)
		str_printf(out, " %.15g", c->of_quantile);
}

static void write_prefix(const struct comparison *c, struct str *out)
{
	static const char *const smoothings[] = {"", "average", "median", "average without outliers"};

	if (c->z_score)
		str_puts(out, "z-score of ");
	if (c->smoothing)
		str_printf(out, "%s of %u samples of ", smoothings[c->smoothing], c->samples);
	else if (c->statistic == STATISTIC_QUANTILE)
		str_printf(out, "quantile %.15g of ", c->quantile);
	else if (c->statistic)
		str_printf(out, "%s ", rule_statistic_name(c->statistic));
}

static void write_direction(const struct comparison *c, struct str *out)
{
	str_puts(out, c->direction > 0 ? " up" : c->direction < 0 ? " down" : " either");
}

/* What only causes ask; false: it is an ordinary comparison. */
static bool write_question(const struct comparison *c, struct str *out)
{
	static const char *const owners[] = {"", "culprit ", "victims "};

	str_puts(out, owners[c->owner]);
	switch (c->question) {
	case ASK_SHORT:
		str_printf(out, "short of %s", bottleneck_name((enum bottleneck)c->direction));
		return true;
	case ASK_KIND:
		str_printf(out, "is %s", culprit_kind_name((enum culprit_kind)c->direction));
		return true;
	case ASK_NOBODY:
		str_puts(out, "unattributed");
		return true;
	case ASK_NAMED:
	case ASK_SAID:
		str_puts(out, c->question == ASK_SAID ? "kernel said " : "named ");
		write_text(c->quantity.name, out);
		return true;
	default:
		return false;
	}
}

static void write_comparison(const struct comparison *c, struct str *out)
{
	static const char *const views[] = {"", " in detail view", " in server view", " in time view"};

	if (write_question(c, out))
		return;
	write_prefix(c, out);
	if (c->quantity.feature)
		str_puts(out, c->quantity.name);
	else
		write_text(c->quantity.name, out);
	if (c->question == ASK_DIRECTION) {
		write_direction(c, out);
		return;
	}
	str_printf(out, "%s %s ", views[c->view], rule_operator_text(c->operator));
	write_value(c, out);
}

/* a and b and c is read from the left: its left part needs no parentheses */
static void write_part(const struct condition *part, bool bare, struct str *out)
{
	bare |= part->kind == CONDITION_COMPARISON;

	str_puts(out, bare ? "" : "(");
	condition_write(part, out);
	str_puts(out, bare ? "" : ")");
}

void condition_write(const struct condition *c, struct str *out)
{
	if (c->kind == CONDITION_COMPARISON) {
		write_comparison(&c->comparison, out);
		return;
	}
	if (c->kind == CONDITION_NOT) {
		str_puts(out, "not ");
		write_part(c->left, false, out);
		return;
	}
	write_part(c->left, c->left->kind == c->kind, out);
	str_puts(out, c->kind == CONDITION_AND ? " and " : " or ");
	write_part(c->right, false, out);
}

static void write_scope(const struct rule *r, struct str *out)
{
	static const char *const fields[] = {"name", "exe", "unit", "user", "container"};

	if (r->scope == ENTITY_SYSTEM)
		return;
	str_printf(out, "%s ", entity_kind_name(r->scope));
	for (size_t i = 0; i < r->selectors.n; i++) {
		str_printf(out, "%s %s ", fields[r->selectors.v[i].field],
			   r->selectors.v[i].negated ? "!=" : "=");
		write_text(r->selectors.v[i].pattern, out);
		str_putc(out, ' ');
	}
}

static void write_actions(const struct rule *r, struct str *out)
{
	static const struct {
		enum rule_action action;
		const char *word;
	} words[] = {{ACTION_CAPTURE, "capture"},
		     {ACTION_MEMORY, "memory"},
		     {ACTION_INSTRUCTIONS, "instructions"},
		     {ACTION_NOTIFY, "notify"},
		     {ACTION_REPORT, "report"},
		     {ACTION_RUN, "run "},
		     {ACTION_POST, "post "}};
	const char *comma = " ";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!(r->actions & words[i].action))
			continue;
		str_printf(out, "%s%s", comma, words[i].word);
		if (words[i].action == ACTION_RUN)
			write_text(r->command, out);
		if (words[i].action == ACTION_POST)
			write_text(r->url, out);
		comma = ", ";
	}
	str_putc(out, '\n');
}

static bool is_plain(const char *name)
{
	return isalpha((unsigned char)*name) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       strlen(name) &&
	       strcmp(name, "when") != 0;
}

static void write_rule(const struct rule *r, struct str *out)
{
	if (r->name) {
		if (is_plain(r->name))
			str_puts(out, r->name);
		else
			write_text(r->name, out);
		str_puts(out, ": ");
	}
	str_puts(out, "when ");
	write_scope(r, out);
	condition_write(r->when, out);
	if (r->spikes)
		str_printf(out, " %u times in %.15g s", r->spikes, (double)r->spike_window / 1e9);
	else if (r->up)
		str_printf(out, " for %.15g s", (double)r->up / 1e9);
	if (r->until) {
		str_puts(out, " until ");
		condition_write(r->until, out);
		str_printf(out, " for %.15g s", (double)r->down / 1e9);
	}
	write_actions(r, out);
}

void rules_write(const struct rules *r, struct str *out)
{
	for (size_t i = 0; i < r->list.n; i++)
		write_rule(&r->list.v[i], out);
}

void cause_write(const struct cause *c, struct str *out)
{
	str_printf(out, "# %s\ncause ", c->origin);
	write_text(c->id, out);
	str_printf(out, "%s when ", c->fleet ? " of fleet" : "");
	condition_write(c->when, out);
	str_puts(out, "\nsay ");
	write_text(c->say, out);
	str_puts(out, "\nnext ");
	write_text(c->next, out);
	str_puts(out, "\n\n");
}
