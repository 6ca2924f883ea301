/* What a pattern of unusual counters usually means; users add their own.
 *
 *   # NAME: PATTERN up|down|either [and PATTERN up|down|either ...]; WORDS; NEXT STEP
 *   memory-leak: *mem* up and *gc* up; memory grows and is not given back; look at who allocates since then
 *
 * Patterns are shell patterns without regard to case. The cause whose patterns all match unusual counters of one server
 * is told, the first one of the list; a user's file is read before the built-in ones.
 */
#pragma once

#include "model/fleet-finding.h"

struct fleet_cause_pattern {
	char *pattern;
	int direction; /* 1 up, -1 down, 0 either */
};

struct fleet_cause {
	char *name, *words, *next;
	VEC(struct fleet_cause_pattern) patterns;
};

struct fleet_causes {
	VEC(struct fleet_cause) list;
};

/* The built-in ones. 0 or -ENOMEM. */
int fleet_causes_default(struct fleet_causes *ret);
/* Appends a file's. -EINVAL with *ret_error "FILE:LINE: ..."; -ENOENT and others. */
int fleet_causes_read(const char *path, struct fleet_causes *ret, char **ret_error);
int fleet_causes_parse(const char *text, const char *file, struct fleet_causes *ret, char **ret_error);
void fleet_causes_free(struct fleet_causes *c);
/* The cause that fits the unusual counters of a server; NULL = none. */
const struct fleet_cause *fleet_cause_find(const struct fleet_causes *c, const struct fleet *f, const struct fleet_findings *unusual,
					   int server, double enough);
