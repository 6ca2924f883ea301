/* What is known of one slow moment, as plain values: what conditions of causes (machine/rule/cause.h) are about.
 *
 * Of the culprit's program, of those that waited together, and of the machine and its parts: each feature during the
 * incident, normally, and how much it normally varies. As text (whyslow why --facts) they are lines of words divided by tabs:
 *
 *   slow      yes  cpu  process                                     # is it, what is short, what kind of culprit
 *   who       stress-ng  /usr/bin/stress-ng  user.slice  812  1     # name, exe, unit, pid, processes; "-" = not known
 *   victim    vim ...
 *   culprit   cpu.time  9.9e8  0  1e7           # now, normal, spread: in the feature's unit, counters per second
 *   machine   psi.cpu.some  ...
 *   part      sda  disk.busy ...
 *   said      Out of memory: Killed process 812
 *   likely    sh update.sh (pid 812) by 45 %: cpu.time 24 %, most of it by 900 git 56 %, 240 cut 43 %
 *   pushed    build.py (pid 812) until 3 s ago
 *   limit     file handles are used up: 80 of 80
 */
#pragma once

#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/findings/finding.h"

enum fact_of { FACT_MACHINE, FACT_CULPRIT, FACT_VICTIMS, FACT_OF_COUNT };

struct fact {
	enum fact_of of;
	char *part; /* of the machine: a disk, file system, interface ...; NULL = the machine itself */
	const struct feature *feature;
	double now, usual, spread; /* normal, spread: NaN without history */
};

struct fact_who {
	char *name, *exe, *unit; /* NULL = not known */
	char *server; /* what does for it what it is named for, and is in the culprit's facts; NULL = nothing does */
	char *mostly; /* of a job: the program that does most of it; NULL = none does */
	char *starter; /* the script that started its processes; NULL = none did */
	bool job; /* with all it started; not in the text */
	char *pids; /* of a group, with spaces between them; not in the text. NULL = not known, or more than a person would read */
	uint32_t pid, members;
	bool using; /* a victim: it is what something was using */
};

/* Parts of sentences, each a line of its own in the text. */
enum fact_clause {
	CLAUSE_LIKELY, /* where none is named: who is the most likely cause */
	CLAUSE_PUSHED, /* who took the memory from which others were moved to swap, and until when */
	CLAUSE_LIMIT,  /* the fullest limit that is used up, as a sentence without its end, ... */
	CLAUSE_ADVICE, /* ... and what helps */
	CLAUSE_COUNT
};

extern const char *const fact_clause_names[CLAUSE_COUNT], *const fact_of_names[FACT_OF_COUNT];

struct facts {
	enum bottleneck bottleneck;
	bool slow;
	bool named; /* a culprit is */
	bool no_past; /* too little is recorded to call anything normal */
	enum culprit_kind kind;
	struct fact_who culprit, victim;
	VEC(struct fact) list;
	VEC(char *) said;
	char *clauses[CLAUSE_COUNT]; /* NULL = nothing to say */
};

void facts_free(struct facts *f);
/* Takes over `fact.part`. 0 or -ENOMEM. */
int facts_add(struct facts *f, struct fact fact);
/* Quantities that are not features but follow from some, by name: fs.used, memory.used, disk.read_latency ... NULL = none. */
const struct feature *fact_derived_feature(const char *name, enum entity_kind *ret_kind);
/* After all of the machine's were added: adds the derived ones. 0 or -ENOMEM. */
int facts_derive(struct facts *f);
/* The fact with this name; of parts the one with the highest value. NULL = not known. */
const struct fact *facts_find(const struct facts *f, enum fact_of of, const char *name);
/* +1 it is higher than normally by three spreads, -1 lower, 0 neither. What has no normal is compared with nothing at all. */
int fact_direction(const struct fact *f);

void facts_write(const struct facts *f, struct str *out);
