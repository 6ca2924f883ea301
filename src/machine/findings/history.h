/* How unusual each minute of an interval of the recording was (machine/judge/anomaly.h scores, machine/answer-history/history.h reads). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/model/feature.h"

#define HISTORY_MINUTE (60 * 1000000000ll) /* ns */
#define HISTORY_NONE   UINT32_MAX	   /* no series */

/* A minute in which a series was not 0; in order of time. */
struct minute_value {
	uint32_t minute;
	float value;
};

struct minute_series {
	VEC(struct minute_value) values;
	float floor;	      /* the least that is noticeable */
	float median, spread; /* of all recorded minutes: set by anomaly_judge() */
};

/* The most unusual series of a minute. */
struct minute_score {
	float score, value;
	uint32_t series; /* HISTORY_NONE = none was there */
};

/* Consecutive minutes of which some are unusual: [from, to). */
struct anomaly_episode {
	uint32_t from, to, peak; /* minutes; the most unusual one */
	float score;		 /* ANOMALY_ODD + the sum of what lies beyond it over the root of the minutes */
};
struct anomaly_episodes {
	VEC(struct anomaly_episode) list; /* the most unusual first */
};

struct history_series {
	char *label;		       /* of a program; NULL = the machine's */
	const struct feature *feature; /* belongs to the catalogue */
	struct minute_series minutes;
};

/* A time that was marked, or found by a rule: as long as it lasted. */
struct history_incident {
	int64_t id, from, to; /* wall ns */
	bool by_rule;
	char *note; /* may be NULL */
};

struct history {
	int64_t from; /* wall ns of minute 0: a full minute */
	uint32_t n, n_recorded, n_odd;
	bool *recorded;
	struct minute_score *machine, *programs; /* of each minute; series: index into `series` */
	VEC(struct history_series) series;
	struct anomaly_episodes episodes;
	VEC(struct history_incident) incidents; /* oldest first; none of a single program's history */
	uint32_t programs_seen, programs_left_out;
};

void history_free(struct history *h);
