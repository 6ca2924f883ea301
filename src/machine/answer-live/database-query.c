#include "machine/answer-live/database-query.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/system/spawn.h"

#define ANSWER_MOST 4096
#define PATIENCE    (2 * NS_PER_SEC)

static const struct {
	const char *name, *program, *query;
} databases[DATABASES] = {
	[DATABASE_POSTGRES] = {"PostgreSQL", "/usr/bin/psql",
		"SELECT b.pid, NULL, extract(epoch FROM clock_timestamp() - b.xact_start)::bigint,"
		" CASE WHEN b.state LIKE 'idle%%' THEN extract(epoch FROM clock_timestamp() - b.state_change)::bigint END,"
		" CASE WHEN b.state IS NOT NULL THEN left(translate(b.query, E'\\t\\n\\r', '   '), 120) END"
		" FROM unnest(pg_blocking_pids(%u)) AS p JOIN pg_stat_activity b ON b.pid = p ORDER BY b.xact_start LIMIT 1"},
	[DATABASE_MARIADB] = {"MariaDB", "/usr/bin/mariadb",
		"SELECT h.trx_mysql_thread_id, p.tid, timestampdiff(SECOND, h.trx_started, now()), if(p.command = 'Sleep', p.time, ''), left(coalesce(h.trx_query, ''), 120)"
		" FROM information_schema.processlist w JOIN information_schema.innodb_trx r ON r.trx_mysql_thread_id = w.id"
		" JOIN information_schema.innodb_lock_waits l ON l.requesting_trx_id = r.trx_id JOIN information_schema.innodb_trx h ON h.trx_id = l.blocking_trx_id"
		" JOIN information_schema.processlist p ON p.id = h.trx_mysql_thread_id WHERE w.tid = %u ORDER BY h.trx_started LIMIT 1"},
};

static int64_t parse_seconds(const char *field)
{
	uint64_t seconds;

	return str_parse_u64(field, &seconds) == 0 && seconds < INT64_MAX / NS_PER_SEC ? (int64_t)seconds * NS_PER_SEC : -1;
}

bool database_blocker_parse(char *line, struct database_blocker *ret)
{
	char *fields[5], *rest = line;
	uint64_t number, thread = 0;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&rest, "\t");
	if (!fields[4] || str_parse_u64(fields[0], &number) < 0 || (*fields[1] && str_parse_u64(fields[1], &thread) < 0))
		return false;
	*ret = (struct database_blocker){.number = (unsigned)number, .thread = (unsigned)thread, .open = parse_seconds(fields[2]), .idle = parse_seconds(fields[3])};
	snprintf(ret->statement, sizeof(ret->statement), "%s", fields[4]);
	return true;
}

/* The whole answer, as far as there is room. False: it did not come in time. */
static bool read_answer(int fd, char buf[ANSWER_MOST])
{
	const int64_t end = clock_monotonic() + PATIENCE;
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < ANSWER_MOST - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = end - clock_monotonic();

		if (left <= 0 || poll(&p, 1, (int)(left / NS_PER_MS) + 1) <= 0)
			return false;
		n = read(fd, buf + len, ANSWER_MOST - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	buf[len] = '\0';
	return n == 0;
}

/* Runs a client. False: it failed, or took too long. */
static bool run_client(const char *program, char *const *argv, char buf[ANSWER_MOST])
{
	struct spawn s = {.program = program, .argv = argv, .environment = environ, .fds = {SPAWN_NULL, SPAWN_INHERIT, SPAWN_NULL}};
	_cleanup_close_ int from = -1, to = -1;
	int ends[2], status = 1;
	bool whole;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	from = ends[0];
	to = s.fds[1] = ends[1];
	if (spawn_start(&s, &pid) < 0)
		return false;
	close(to);
	to = -1;
	whole = read_answer(from, buf);
	if (!whole)
		kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_query(enum database which, const char *by, char *question, char buf[ANSWER_MOST])
{
	char *const psql[] = {(char *)"psql", (char *)"-XAtqw", (char *)"-F", (char *)"\t", (char *)"-c", question,
			      STR_TEXT(160, "service=%s connect_timeout=2 options='-c statement_timeout=1500'", by), NULL};
	char *const mariadb[] = {(char *)"mariadb", STR_TEXT(512, "--defaults-extra-file=%s", by), (char *)"--batch", (char *)"--skip-column-names",
				 (char *)"--connect-timeout=2", (char *)"--execute", question, NULL};

	return run_client(databases[which].program, which == DATABASE_POSTGRES ? psql : mariadb, buf);
}

bool database_may_be_asked(const struct database_clients *a, enum database which)
{
	return a && a->by[which] && !a->failed[which];
}

bool database_ask(struct database_clients *a, enum database which, unsigned waiting, struct database_blocker *ret)
{
	_cleanup_free_ char *question = NULL;
	char answer[ANSWER_MOST];

	if (!database_may_be_asked(a, which) || asprintf(&question, databases[which].query, waiting) < 0)
		return false;
	if (!run_query(which, a->by[which], question, answer)) {
		a->failed[which] = true;
		log_warning("cannot ask %s who blocks a session: %s fails with '%s'; see docs/guides/databases.md", databases[which].name, databases[which].program, a->by[which]);
		return false;
	}
	return *answer && database_blocker_parse(answer, ret);
}
