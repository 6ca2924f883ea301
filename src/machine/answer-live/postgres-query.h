/* Questions to PostgreSQL itself about who keeps a session waiting, where its administrator allows them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How it is asked: one for several questions. */
struct postgres_access {
	const char *service; /* a connection of libpq's pg_service.conf; NULL = it may not be asked */
	bool failed;	     /* it did not answer, and is not asked again */
};

struct postgres_blocker {
	unsigned number; /* pg_stat_activity.pid */
	int64_t open, idle; /* ns: its transaction, and it in between statements; -1 = the role may not see it, or it is not idle */
	char statement[484]; /* the last one, its first 120 characters; "" = the role may not see it */
};

/* Asks by psql(1) who keeps the session of that number waiting (pg_blocking_pids()); of several the one with the oldest transaction. Waits
 * for two seconds at most. False: no session does, or it did not answer, which is logged once. */
bool postgres_ask(struct postgres_access *a, unsigned number, struct postgres_blocker *ret);
/* One line of psql's answer: number, seconds of the two spans, statement, with tabs between. False: it is something else. */
bool postgres_blocker_parse(char *line, struct postgres_blocker *ret);
