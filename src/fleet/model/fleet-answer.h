/* Answers about a fleet, made in fleet/ask and shown by fleet/ask. */
#pragma once

#include "fleet/model/fleet-finding.h"

#define FLEET_CHAIN_MAX 8 /* a longer chain is not one that a person follows */

/* A server that reported nothing, or a counter (-1: all of them), while others reported. */
struct fleet_silence {
	int server, counter;
	int64_t since, until; /* wall ns; until = 0: to the end of the data */
};
struct fleet_silences {
	VEC(struct fleet_silence) list; /* servers first; in the order in which they began */
};

struct fleet_answer {
	int server, counter;	    /* the symptom */
	bool found_symptom;	    /* it was not given: the most unusual counter of the most unusual server */
	bool found_server, found_window; /* not given: found */
	struct fleet_span asked;  /* the window that was given or found, within the data */
	struct fleet_span window; /* what was judged: the incident begins with it, perhaps before the one asked about */
	bool long_enough;     /* what was asked about has rows enough to tell a level */
	int called;	      /* the server to which the symptom's calls go (counter-call.h); -1 = it is not one of calls */
	struct fleet_finding symptom;  /* against what is normal for it */
	bool unusual_symptom; /* else it leads to nothing: no cause is named, and no chain */
	bool calm;	      /* neither the symptom is unusual, nor any server */
	bool beyond; /* of the symptom: more rows of the window than by chance lie where few of the baseline do: the half beyond 5 %, or a fifth beyond 1 % */
	double now, normal_p5, normal_p95; /* of the symptom: the level of the rows that differ; percentiles of the baseline time */
	bool stepped; /* the symptom is part of an incident that its edges tell (fleet-common.h), where no server stood out */
	bool named; /* there is a culprit: */
	struct fleet_finding culprit; /* (fleet/ask/fleet-culprit.h) */
	bool led; /* it is explain's first entry, of another server than the symptom's */
	size_t common; /* servers of which all, or nearly, have the culprit's incident at once; 0: it is the culprit's own */
	struct fleet_silences silences; /* in the window; where there are any they are the answer's first sentence, and without a given symptom the culprit */
	struct fleet_findings alarms;  /* servers */
	size_t by_level;	       /* so many of them are first by a level that stands out; 0: by their scores */
	struct fleet_findings explain; /* counters, by how much of the symptom they explain; the culprit first, if it is one of them */
	struct fleet_finding chain[FLEET_CHAIN_MAX]; /* the symptom, and each server's best explanation, in the order in which they began */
	size_t n_chain;
	struct fleet_findings unusual; /* counters, by how unusual they are */
	const char *cause, *next; /* id of the cause, and the advice; lent of the causes; NULL = none of the known */
	char *summary;
};

/* An incident that was saved, as it compares with the one asked about. */
struct fleet_incident {
	char *name, *counter; /* its name and its symptom */
	int64_t at;	      /* wall ns */
	double similarity;    /* to the one asked about, -1..1 */
};
struct fleet_incidents {
	VEC(struct fleet_incident) list; /* most similar first */
};

/* An interval in which a series was unusual. */
struct fleet_stretch {
	int server, counter;
	double score; /* of its own kind: comparable within one answer */
	struct fleet_span span;
	bool record; /* it reached values that the series had never had before */
};

struct fleet_stretches {
	VEC(struct fleet_stretch) list;
};

#define FLEET_EPISODE_MEMBERS 8 /* that are named */

/* The most unusual interval of a time, and what else was unusual then. */
struct fleet_episode {
	struct fleet_stretch first;
	double value, normal; /* of it: medians of the interval, and of the rest of the data */
	struct fleet_stretch members[FLEET_EPISODE_MEMBERS]; /* the next most unusual ones */
	uint32_t n_members, n_servers; /* all of them; servers, the first's included */
};

struct fleet_history {
	struct fleet_span span; /* of the data that was looked at */
	VEC(struct fleet_episode) list; /* the most unusual first */
};
