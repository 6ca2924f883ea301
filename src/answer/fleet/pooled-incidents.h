/* Incidents and feedback of many machines: those in recordings that were brought into one folder (HOST.db). */
#pragma once

#include "answer/history/answer-history.h"
#include "answer/history/note-words.h"
#include "store/recording/store.h"

struct pooled_incident {
	char *host; /* the file's name */
	struct mark mark;
	char *summary, *culprit, *symptom; /* symptom: what was short, or the cause; NULL = nothing was found. summary NULL = its time is no longer recorded */
};

struct pooled_incidents {
	VEC(struct pooled_incident) list; /* by host, then time */
	struct similar_groups groups;	  /* marks: indexes into list */
	struct note_words words;
	unsigned hosts, unreadable; /* recordings that were read, and that could not be */
	char *first_error;	    /* of those */
};

/* Reads a folder, a file or a glob; from..to wall ns. `window`: of answers that were not saved. 0; -ENOENT: no recording is there; -ENOMEM. */
int pooled_incidents_read(const char *location, int64_t from, int64_t to, int64_t window, struct pooled_incidents *ret);
void pooled_incidents_free(struct pooled_incidents *p);
