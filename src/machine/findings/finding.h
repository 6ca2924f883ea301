/* What analyses say, what answers are made of, and what views show. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/events/wait-chain.h"
#include "machine/findings/evidence.h"
#include "machine/model/dataset.h"

enum shape { SHAPE_SPIKE, SHAPE_STEP, SHAPE_RAMP, SHAPE_PERIODIC };

enum finding_flags {
	FINDING_NO_HISTORY = 1,	     /* nothing to compare with */
	FINDING_LEFT_ONLY_VALUE = 2, /* it never was anything but `normal` before */
	FINDING_HIGHEST = 4,	     /* higher than ever in the window */
	FINDING_NEW = 8,	     /* its program was not there before */
	FINDING_OF_SERVER = 16,	     /* not its own: of the server that works for it */
};

#define SPARK_POINTS 40

/* One feature of one subject, compared with the baseline for it. */
struct deviation {
	const struct feature *feature;
	double observed, usual, spread; /* counters as rates per second; NaN where there is no history */
	double deviation;		/* (observed - normal) / spread */
	double score;			/* in the method's own measure; higher = more conspicuous */
	uint32_t rank;			/* 1 = the highest of the window's values */
	uint32_t compared;		/* with how many values */
	int64_t since;			/* wall ns */
	enum shape shape;
	unsigned flags;
	float spark[SPARK_POINTS]; /* the window in equal parts; NaN = not there */
};

enum bottleneck {
	BOTTLENECK_NONE,
	BOTTLENECK_CPU,
	BOTTLENECK_MEMORY,
	BOTTLENECK_DISK,
	BOTTLENECK_NETWORK,
	BOTTLENECK_LOCK,
	BOTTLENECK_QUOTA,
	BOTTLENECK_REMOTE,
	BOTTLENECK_SELF,
	BOTTLENECK_PEER, /* another program of this machine, which does not continue */
	BOTTLENECK_UNCLEAR,
	BOTTLENECK_COUNT
};

enum culprit_kind { CULPRIT_PROCESS, CULPRIT_GROUP, CULPRIT_KERNEL, CULPRIT_HOST, CULPRIT_LIMIT };
enum culprit_role { ROLE_PRIMARY, ROLE_CONTRIBUTING };

/* Of what others wait beyond their baseline, 0..1: the best estimate, and between what it lies in nine of ten cases. NaN = not known. */
struct explained {
	double part; /* its part of what is new, on which the estimate rests */
	double share, low, high;
};

/* Between so far ends the estimate says next to nothing. */
#define EXPLAINED_VAGUE 0.8

struct hang;

/* One named (or one victim), with its features, most conspicuous first. */
struct suspect {
	enum culprit_kind kind;
	enum culprit_role role;
	const struct subject *subject; /* the process, or the member that matters most of a group */
	uint32_t members;	       /* processes of a group */
	/* Of a job, a program with all it started: all processes that belong to it, earlier ones too, and the one of them that
	 * matters most (`subject` is who started it). Empty and NULL = a program alone. */
	VEC(const struct subject *) together;
	const struct subject *busiest;
	const struct subject *mostly; /* of a job: a process of the other program that does most of what it is named for; NULL = none does */
	const struct subject *starter; /* of a program that has just begun: the script that started all of its processes; NULL = none did, or it is a job */
	const struct subject *server; /* what it is suspected of this does for it; NULL = it does so itself */
	VEC(const struct subject *) processes; /* of a group: those that were there at the end, its own subject first */
	bool using;		       /* a victim: something was using it, as far as its terminal tells */
	double score;
	double probability; /* that it is the one, 0..1; NaN = not known */
	double guilt; /* in a board: what the default model accuses its program of; 0 = nothing */
	double imposed; /* s/s that others waited on its account for what it is guilty of, where events tell; else 0 */
	double share; /* of the short resource, 0..1; NaN = not known */
	double others; /* s/s that processes of others, not of its job, wait longer for whatever than they did before the incident */
	struct explained explains;
	double factors[EVIDENCE_COUNT]; /* of the default model, whose weighted product is the score; 0 or NaN = does not apply */
	double continues; /* the part of what it is suspected of that it does at the end as well, RECENCY_LEAST..1 */
	enum bottleneck of; /* what it uses too much of; NONE = a thing that is not short, such as handles */
	const struct hang *hang; /* one of the answer's, for which it is suspected; NULL = for what it uses */
	VEC(struct deviation) features;
	VEC(char *) evidence;
};

struct ranking {
	const char *method;
	VEC(struct suspect) suspects; /* by score, the most suspicious first */
	VEC(struct suspect) victims;  /* by what they waited */
	struct suspect busiest;	      /* who uses most of what is waited for most, as ever or not; subject NULL = nothing is */
	double others;		      /* score of programs that are recorded as one, without their names */
	uint32_t looked_at;	      /* subjects compared */
	uint32_t left_out;	      /* had too little to compare */
	double added;	    /* s/s that programs wait beyond their baseline; 0 = not known */
	double slowdown; /* how many times as long as normally programs take for the same work, in the middle; NaN = not known */
	double unexplained; /* of that, what is on the account of nothing that is listed, 0..1; NaN = not known */
	bool own;	    /* it is the first suspect's own processes that wait */
	double stolen, slowed; /* of that, what is the hypervisor's, and what is a lower clock's because of heat */
};


/* How short the machine was of each thing: shares of time, 0..1, during the incident and normally. */
struct pressure {
	double now[BOTTLENECK_COUNT];
	double usual[BOTTLENECK_COUNT]; /* NaN without history */
};

/* A marked moment that was like the one asked about. */
struct earlier {
	int64_t mark, wall;
	double likeness; /* 0..1 */
	char *note, *what; /* what the user wrote, and what was answered; NULL = nothing */
	const char *feedback; /* "right", "wrong", "fixed"; NULL = none given */
};

/* A process that waits for another one longer than it ever did (machine/answer-waits/hangs.h). */
struct hang {
	const struct subject *victim;
	size_t kind;	     /* FEATURE_WAIT_: what it waits for */
	double now, normal;  /* ns/s: in the last seconds, and the most before */
	int64_t took, normally; /* ns: the slowest answer lately, and before; 0 = no request of its is known */
	int64_t life_normally;	/* ns: of other processes of its program, which end soon; 0 = it has a past of its own */
	bool assumed;		/* no event tells of the request: what the kernel says of the connection must confirm it */
	bool polls;		/* it waits for events of whatever */
	bool unsure;		/* it may be answered: that must confirm that it is not, or the chain continue beyond whom it asked */
	int64_t since;	     /* wall ns */
	struct wait_chain chain; /* for whom; no links = not looked up */
	const struct subject *parent;	 /* which waits for the victim, its child; NULL = none */
	const struct subject *culprit;	 /* the process at its end, recorded or not (machine/model/name-limit.h); NULL = not known, or not of this machine */
	double factors[EVIDENCE_COUNT]; /* of these the rows from EVIDENCE_EXCESS on, as of a suspect */
	double score;
};

struct answer {
	int64_t at;			    /* the moment asked about, wall ns */
	int64_t window_start, window_end;   /* what was looked at */
	int64_t recorded;		    /* ns: of that, in which a recorder ran */
	int64_t slow_since;		    /* when the incident began; 0 = not known */
	int64_t slow_until;		    /* when it ended; 0 = it continues */
	bool slow;
	bool has_history;
	bool culprit_is_named; /* the first suspect stands out; else the rest of `ranking` is only what is conspicuous */
	struct odds odds;
	VEC(struct suspect) unnamed; /* where it is slow and none is named: those that the odds are about; the one that is in `ranking` is accused */
	double confidence; /* how often the first suspect of such an answer is right, where one is named; else NaN */
	enum bottleneck bottleneck;
	struct pressure pressure;
	struct suspect busiest; /* nothing is unusual, but programs always wait: who uses most of that; subject NULL = nothing */
	VEC(struct hang) hangs; /* by score */
	struct dataset unrecorded; /* their processes that are not recorded: a name, and no values */
	const struct hang *told; /* the one that the answer is about; NULL = it is about none */
	bool events_are_late;	/* there are events, which are left out, or not asked for longer, so that the answer is in time */
	char *cause;   /* id in the catalogue (machine/rule/cause.h); NULL = none of the known ones */
	char *summary; /* one sentence */
	char *next;    /* what can be done; NULL = nothing known */
	const char *normally_when; /* " at this hour": behind a normal value, where the baseline was chosen, or "" */
	char *baseline; /* what is compared with, where it was chosen; NULL = the time from window_start to window_end */
	VEC(struct earlier) similar; /* the most in the same way first */
	VEC(char *) remarks; /* what the reader must know to judge it: gaps, missing sources */
	struct ranking ranking;
};

void earlier_free(struct earlier *e);
void suspect_free(struct suspect *s);
void ranking_free(struct ranking *r);
/* Who it is, in words: "xz (pid 812, started by bash backup.sh)", "cc1 (45 processes)", "make (pid 812, 46 processes)",
 * "bash (3 processes, of nightly.service)". */
void suspect_put(const struct suspect *s, struct str *out);
/* Keeps those of *n suspects or victims that are wanted, in their order, and releases the others. */
void suspects_keep(struct suspect *v, size_t *n, bool (*is_wanted)(const struct suspect *s, const void *context), const void *context);
void answer_free(struct answer *a);
/* Whether a suspect of a sorted ranking contributes: a fifth of the first one's score is enough. The paper's scores are negative or
 * positive densities, all of them worth a look. */
bool suspect_matters(const struct ranking *r, const struct suspect *s);
/* Who has stopped is hardly why it lasts, where another one that comes near continues: weighs EVIDENCE_RECENCY, and finds the scores again. over: the
 * incident ended before it was asked about, so that only who has another program wait continues. May be called again. */
void ranking_weigh_recency(struct ranking *r, bool over);
#define RECENCY_LEAST 0.1 /* who has stopped caused waits for a while */
/* Most suspicious first: that one is the primary one. */
void ranking_sort(struct ranking *r);

const char *bottleneck_name(enum bottleneck b); /* as in JSON: "cpu", "disk", ... */
const char *shape_name(enum shape s);
const char *culprit_kind_name(enum culprit_kind k);
