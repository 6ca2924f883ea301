/* Questions to a database server itself about who keeps a session waiting, where its administrator allows them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum database { DATABASE_POSTGRES, DATABASE_MARIADB, DATABASES };

/* Their clients, by which they are asked: one for several questions. */
struct database_clients {
	const char *by[DATABASES]; /* of PostgreSQL a service in libpq's pg_service.conf, of MariaDB a file of its clients' options; NULL = it may not be asked */
	bool failed[DATABASES];	   /* it did not answer, and is not asked again */
};

struct database_blocker {
	unsigned number;	/* of its session: pg_stat_activity.pid, or the connection's id */
	unsigned thread;	/* of MariaDB: the server's thread, as its own namespace of process ids has it */
	int64_t open, idle;	/* ns: its transaction, and it in between statements; -1 = the role may not see it, or it is not idle */
	char statement[484];	/* the last one of PostgreSQL, what runs of MariaDB, its first 120 characters; "" = it may not be seen, or there is none */
};

/* There is a client for it, which has not failed. */
bool database_may_be_asked(const struct database_clients *a, enum database which);
/* Asks, by psql(1) or mariadb(1), which session keeps another one waiting; of several the one with the oldest transaction. `waiting`: of PostgreSQL
 * the session's number, of MariaDB the thread's, as struct database_blocker has them. Waits for two seconds at most. False: no session does, or it did not
 * answer, which is logged once. */
bool database_ask(struct database_clients *a, enum database which, unsigned waiting, struct database_blocker *ret);
/* One line of the client's answer: number, thread, seconds of the two spans, statement, with tabs between. False: it is something else. */
bool database_blocker_parse(char *line, struct database_blocker *ret);
