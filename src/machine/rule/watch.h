/* Rules over ticks: each rule has a state machine for each entity it is about, evaluated at every sample.
 * Rules that need many servers' values (those with a view) are none of its business and left out. */
#pragma once

#include "machine/model/tick.h"
#include "machine/rule/machine.h"
#include "machine/rule/rule.h"

struct watch;

struct watch_event {
	enum trigger_action action; /* all but NOTHING and COLLECT */
	const struct rule *rule;
	uint64_t number;	     /* of the event: the same from RISE to END */
	const struct entity *entity; /* the machine's where the rule is about it; may have ended */
	const struct feature
		*feature; /* of the rule's first comparison, and its highest value since the event began */
	const char *quantity;
	double highest;
	int64_t began;	 /* wall ns of the sample that was high first */
	unsigned phases; /* so far */
};

typedef void (*watch_report)(const struct watch_event *event, void *data);

/* `rules` must outlive it. 0 or -ENOMEM. */
int watch_new(const struct rules *rules, struct watch **ret);
/* Processes of this program but `pid` are found only by rules that say which processes they mean: those that ask the recorder compute
 * because of the question. 0 or -ENOMEM. */
int watch_leave_out(struct watch *w, const char *exe, uint32_t pid);
/* Ends all events that continue or may begin, through `report` (may be NULL). */
void watch_free(struct watch *w, watch_report report, void *data);
/* Evaluates all rules. The entities' `previous` values must still be those of the tick before. */
void watch_tick(struct watch *w, const struct tick *tick, watch_report report, void *data);
