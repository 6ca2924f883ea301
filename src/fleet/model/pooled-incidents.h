/* Incidents and feedback of many machines together: made in fleet/ask, shown by fleet/ask. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "lib/stat/note-words.h"
#include "machine/findings/feedback.h"

struct pooled_incident {
	char *host; /* the file's name */
	int64_t id, wall; /* of its host: number; wall ns of its begin */
	char *note; /* NULL = none */
	enum feedback feedback;
	bool by_rule; /* a rule found it, not a user */
	char *summary, *culprit, *symptom; /* symptom: what was short, or the cause; NULL = nothing was found. summary NULL = its time is no longer recorded */
};

/* Incidents with similar answers. */
struct pooled_group {
	char *summary, *culprit, *cause; /* of the oldest; culprit, cause: NULL = none */
	bool slow;			 /* of the oldest */
	unsigned hosts, right, wrong, fixed; /* hosts; incidents with this feedback */
	VEC(size_t) incidents;		 /* indexes into the list, oldest first */
};

struct pooled_incidents {
	VEC(struct pooled_incident) list; /* by host, then time */
	VEC(struct pooled_group) groups;  /* most incidents first */
	struct note_words words;	  /* their symptoms are the incidents' */
	unsigned hosts, unreadable; /* recordings that were read, and that could not be */
	char *first_error;	    /* of those */
};
