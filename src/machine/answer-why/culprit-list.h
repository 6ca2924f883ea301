/* Whom of an answer's suspects one could hold back, to see whether he is the cause. */
#pragma once

#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/findings/finding.h"

struct culprit_process {
	uint32_t pid;
	int64_t start; /* boot ns; 0 = not known */
};

struct listed_culprit {
	VEC(struct culprit_process) processes; /* all of a group; at least one */
	enum bottleneck of;  /* what it makes short */
	bool program;	     /* they are processes of one program: what it begins later is one more */
	char *name;	     /* for people */
	char *why_not;	     /* why holding it back would prove nothing; NULL = it may be tried */
};

/* In the answer's order; whoever is far less guilty than the first one is left out. */
struct culprit_list {
	VEC(struct listed_culprit) list;
};

/* Empty where nobody is accused. 0 or -ENOMEM. */
int culprit_list_of(const struct answer *a, struct culprit_list *ret);
void listed_culprit_free(struct listed_culprit *one);
void culprit_list_free(struct culprit_list *l);
