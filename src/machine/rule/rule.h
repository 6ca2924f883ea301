/* Conditions, as people write them: triggers, thresholds, causes and alerts share one grammar.
 *
 *   # the machine, for some time, with a lower threshold for its end
 *   memory: when psi.memory.full > 10 % for 3 s until < 2 % for 10 s capture, notify
 *   # each process by itself; machine features may stand next to those of the process
 *   hog: when process u1 >= 85 % and psi.cpu.some > 20 % for 5 s capture
 *   when process name = "tracker*" user != root io.read_bytes > 50 MB/s for 40 s run "logger slow disk"
 *   when disk name = sda disk.busy > 90 % 5 times in 60 s capture, post "https://chat.example/hooks/4711"
 *   when median of 5 samples of u2 > 85 % for 5 s capture
 *   # of many servers
 *   when any Runtime.GC.PercentOfTimeInGC in detail view > 15 report
 *   when average MessageQueue.NumQueuedMsgs in time view > 5 report
 *   when any X in detail view > 120 % of median report
 *   when z-score of any X in detail view > 3 report
 *
 *   rule        [NAME:] when [SCOPE] CONDITION [for SPAN | N times in SPAN] [until (OP VALUE | CONDITION)
 * [for SPAN]] ACTION, ... SCOPE       machine | process | disk | cpu | cgroup | ...
 * [name|exe|unit|user|container (= | !=) PATTERN] ... CONDITION   COMPARISON | CONDITION and CONDITION |
 * CONDITION or CONDITION | not CONDITION | ( CONDITION ) COMPARISON  [z-score of] [STATISTIC | SMOOTHING]
 * QUANTITY [in detail|server|time view] OP VALUE STATISTIC   any | every | average | median | minimum |
 * maximum | quantile Q SMOOTHING   average | median | average without outliers, "of N samples of" QUANTITY a
 * feature ('whyslow features'), u1, u2, or with a view any counter's name OP          > >= < <= = != VALUE
 * NUMBER [UNIT] | NUMBER % of STATISTIC ACTION      capture | memory | instructions | notify | report | run "COMMAND" | post "URL"
 *
 * u1 is CPU time over time (of one CPU), u2 = u1 over the machine's CPUs ("Chasing Heisenbugs", equations 1
 * and 2): of the machine, or of a process. Lines end nothing: a rule continues until the next one begins.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/model/feature.h"

enum rule_statistic {
	STATISTIC_NONE, /* the value itself */
	STATISTIC_ANY,
	STATISTIC_EVERY,
	STATISTIC_AVERAGE,
	STATISTIC_MEDIAN,
	STATISTIC_MINIMUM,
	STATISTIC_MAXIMUM,
	STATISTIC_QUANTILE,
	STATISTIC_COUNT
};

enum rule_view { VIEW_NONE, VIEW_DETAIL, VIEW_SERVER, VIEW_TIME };

enum rule_smoothing { SMOOTHING_NONE, SMOOTHING_AVERAGE, SMOOTHING_MEDIAN, SMOOTHING_NO_OUTLIERS };

enum rule_operator {
	OPERATOR_GREATER,
	OPERATOR_GREATER_EQUAL,
	OPERATOR_LESS,
	OPERATOR_LESS_EQUAL,
	OPERATOR_EQUAL,
	OPERATOR_UNEQUAL
};

enum rule_derived { DERIVED_NONE, DERIVED_U1, DERIVED_U2 };

/* What a comparison asks: rules compare values; the others are the causes' (machine/rule/cause.h). */
enum rule_question { ASK_VALUE, ASK_DIRECTION, ASK_SHORT, ASK_NAMED, ASK_KIND, ASK_SAID, ASK_NOBODY };
/* Whose value, in a cause. */
enum rule_owner { OWNER_MACHINE, OWNER_CULPRIT, OWNER_VICTIMS };

#define SMOOTHING_MAX 64 /* samples */
#define RULES_MAX     256
#define DEPTH_MAX     32 /* of parentheses and "not" */

struct quantity {
	char *name;
	enum rule_derived derived;
	enum entity_kind kind; /* whose it is */
	int index;	       /* into features_of(kind); -1: derived, or not of the table */
	const struct feature
		*feature; /* of the table, or of what is derived; NULL: a counter from elsewhere */
};

struct comparison {
	enum rule_question question;
	enum rule_owner owner;
	int direction; /* ASK_DIRECTION: 1 up, -1 down, 0 either; ASK_SHORT, ASK_KIND: which */
	bool of_usual; /* `value` is a percentage of the baseline */
	bool z_score; /* (value - mean) / standard deviation of the view's values */
	enum rule_statistic statistic;
	double quantile; /* 0..1 */
	enum rule_view view;
	enum rule_smoothing smoothing;
	unsigned samples;
	unsigned slot; /* numbers the rule's smoothed comparisons */
	struct quantity quantity; /* ASK_NAMED, ASK_SAID: its name is the pattern */
	enum rule_operator operator;
	double value; /* in the feature's unit, counters per second; a percentage where `of` is set */
	char *unit;   /* as written; NULL = none */
	enum rule_statistic of; /* NONE: an absolute value */
	double of_quantile;
};

enum condition_kind { CONDITION_COMPARISON, CONDITION_AND, CONDITION_OR, CONDITION_NOT };

struct condition {
	enum condition_kind kind;
	struct condition *left, *right; /* right: of AND and OR */
	struct comparison comparison;
};

enum selector_field { SELECT_NAME, SELECT_EXE, SELECT_UNIT, SELECT_USER, SELECT_CONTAINER };

struct selector {
	enum selector_field field;
	bool negated;
	char *pattern; /* as fnmatch() takes it; a user's name or number */
};

enum rule_action { ACTION_CAPTURE = 1, ACTION_NOTIFY = 2, ACTION_REPORT = 4, ACTION_RUN = 8, ACTION_POST = 16, ACTION_MEMORY = 32, ACTION_INSTRUCTIONS = 64 };

struct rule {
	char *name; /* NULL = none given */
	unsigned line;
	enum entity_kind scope;		/* ENTITY_SYSTEM without one */
	VEC(struct selector) selectors; /* all must hold */
	struct condition *when;
	int64_t up;		 /* ns it must hold */
	unsigned spikes;	 /* times in `spike_window`; 0 = `up` counts */
	int64_t spike_window;	 /* ns */
	struct condition *until; /* NULL: when `when` does not hold */
	int64_t down;		 /* ns */
	unsigned actions;	 /* of enum rule_action */
	char *command;		 /* of ACTION_RUN */
	char *url;		 /* of ACTION_POST */
	unsigned slots;		 /* smoothed comparisons in when and until */
};

struct rules {
	VEC(struct rule) list;
};

/* 0; -EINVAL with *ret_error "FILE:LINE:COLUMN: expected ..., not ..." (caller frees); -ENOMEM. */
int rules_parse(const char *text, const char *file, struct rules *ret, char **ret_error);
/* As above; -ENOENT where the file is not there. */
int rules_read(const char *path, struct rules *ret, char **ret_error);
void rules_free(struct rules *r);
/* In the grammar; parsing it again gives the same rules. */
void rules_write(const struct rules *r, struct str *out);
void condition_write(const struct condition *c, struct str *out);
/* What is in force where there is no file of rules. */
extern const char default_rules[];

const char *rule_statistic_name(enum rule_statistic s);
const char *rule_operator_text(enum rule_operator o);
bool rule_compare(enum rule_operator o, double value, double with);

enum truth { FALSE_, TRUE_, UNKNOWN_ };
/* Of one comparison: the one that holds the values decides. */
typedef enum truth (*comparison_test)(const struct comparison *c, void *data);
/* Three-valued: a missing value makes unknown only what hangs on it. */
enum truth condition_holds(const struct condition *c, comparison_test test, void *data);
