#include "machine/rule/rule.h"

enum truth condition_holds(const struct condition *c, comparison_test test, void *data)
{
	enum truth left, right, decisive;

	if (c->kind == CONDITION_COMPARISON)
		return test(&c->comparison, data);
	left = condition_holds(c->left, test, data);
	if (c->kind == CONDITION_NOT)
		return left == UNKNOWN_ ? UNKNOWN_ : left == TRUE_ ? FALSE_ : TRUE_;
	decisive = c->kind == CONDITION_AND ? FALSE_ : TRUE_;
	if (left == decisive)
		return decisive;
	right = condition_holds(c->right, test, data);
	if (right == decisive)
		return decisive;
	return left == UNKNOWN_ ? left : right;
}

bool rule_compare(enum rule_operator o, double value, double with)
{
	switch (o) {
	case OPERATOR_GREATER:
		return value > with;
	case OPERATOR_GREATER_EQUAL:
		return value >= with;
	case OPERATOR_LESS:
		return value < with;
	case OPERATOR_LESS_EQUAL:
		return value <= with;
	case OPERATOR_EQUAL:
		return value == with; /* NOLINT: what was asked for */
	case OPERATOR_UNEQUAL:
		return value != with;
	}
	return false;
}
