/* Causes: what a pattern of findings normally means, in words, and what can be done. One file each; users add their own.
 *
 *   # a job that builds an index reads everything once
 *   cause file-index
 *   when short of disk and culprit named "updatedb*" and culprit io.read_bytes up
 *   say "{culprit} goes through all files to build its index, and others wait for the disk."
 *   next "It ended within {culprit ran} when it ran before. To run it at night: systemctl edit plocate-updatedb.timer"
 *
 *   cause      cause ID [of fleet] when CONDITION say TEXT ... next TEXT ...
 *   CONDITION  as in rule.h, but of facts (machine/findings/facts.h):
 *     short of RESOURCE                 cpu memory disk network lock quota remote self peer none
 *     unattributed                      no program is named
 *     culprit named PATTERN             its name, its executable or its unit; of a job also the program that does most of it
 *     culprit is KIND                   process group kernel cgroup disk host limit
 *     kernel said PATTERN               a message of the kernel during the incident
 *     [culprit | victims] QUANTITY up | down | either       against its baseline
 *     [culprit | victims] [any | every | average | minimum | maximum] QUANTITY OP VALUE
 *     ... OP NUMBER % of normal
 *   of fleet: only  PATTERN up | down | either, of the unusual counters of one server
 *
 * Texts that follow each other are joined. In them {QUANTITY}, {normal QUANTITY} and {victims QUANTITY} are values,
 * {name QUANTITY} is the disk, file system ... that has the highest one, and {culprit}, {pid}, {unit}, {victim} names, {pids} the
 * culprit's processes, for a shell, {tree} these or it and its children. A part in [brackets] is left out where one of these is not known. {processes}, the number of the
 * culprit's processes, is known where it has more than one; {others}, "other programs", where any of them waits longer than normally, and for
 * what is short; {normal QUANTITY} where the quantity is more than that; {service}, the culprit's unit, where systemctl knows it; {likely}, of those of which none is named the most likely one;
 * {limit}, the fullest limit that
 * is used up, and {limit-advice}.
 */
#pragma once

#include "machine/findings/facts.h"
#include "machine/rule/rule.h"

#define SYSTEM_CAUSES "/etc/whyslow/causes.d" /* the user's */

struct cause {
	char *id;
	char *origin; /* file and line */
	bool fleet;
	struct condition *when;
	char *say, *next;
};

struct causes {
	VEC(struct cause) list; /* in the order in which cause_find() looks */
};

/* Appends. 0; -EINVAL with *ret_error "FILE:LINE:COLUMN: expected ..., not ..." (caller frees); -ENOMEM. */
int causes_parse(const char *text, const char *file, struct causes *ret, char **ret_error);
/* Those compiled in (share/causes). 0 or -ENOMEM. */
int causes_default(struct causes *ret);
/* The user's first, so that they win, then those compiled in. `folder` need not be there, or readable. */
int causes_load(const char *folder, struct causes *ret, char **ret_error);
void causes_free(struct causes *c);
/* In the grammar; parsing it again gives the same cause. */
void cause_write(const struct cause *c, struct str *out);

/* Whether it holds of these facts. */
bool cause_holds(const struct cause *c, const struct facts *facts);
/* The first that does and whose sentence can be filled in: each name in braces outside of brackets is known. NULL = none. */
const struct cause *cause_find(const struct causes *c, const struct facts *facts);
/* A cause's text with its values, "?" for one that is not known. The caller frees; NULL without memory. */
char *cause_words(const char *text, const struct facts *facts);
/* The sentences of its advice all of whose values are known; a process that has ended has no number. The caller frees; NULL = none. */
char *cause_advice(const struct cause *c, const struct facts *facts);
