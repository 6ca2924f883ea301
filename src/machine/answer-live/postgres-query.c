#include "machine/answer-live/postgres-query.h"

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

#define PSQL	    "/usr/bin/psql"
#define ANSWER_MOST 4096
#define PATIENCE    (2 * NS_PER_SEC)

static const char query[] =
	"SELECT b.pid, extract(epoch FROM clock_timestamp() - b.xact_start)::bigint,"
	" CASE WHEN b.state LIKE 'idle%%' THEN extract(epoch FROM clock_timestamp() - b.state_change)::bigint END,"
	" CASE WHEN b.state IS NOT NULL THEN left(translate(b.query, E'\\t\\n\\r', '   '), 120) END"
	" FROM unnest(pg_blocking_pids(%u)) AS p JOIN pg_stat_activity b ON b.pid = p ORDER BY b.xact_start LIMIT 1";

static int64_t parse_seconds(const char *field)
{
	uint64_t seconds;

	return str_parse_u64(field, &seconds) == 0 && seconds < INT64_MAX / NS_PER_SEC ? (int64_t)seconds * NS_PER_SEC : -1;
}

bool postgres_blocker_parse(char *line, struct postgres_blocker *ret)
{
	char *fields[4], *rest = line;
	uint64_t number;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&rest, "\t");
	if (!fields[3] || str_parse_u64(fields[0], &number) < 0)
		return false;
	*ret = (struct postgres_blocker){.number = (unsigned)number, .open = parse_seconds(fields[1]), .idle = parse_seconds(fields[2])};
	snprintf(ret->statement, sizeof(ret->statement), "%s", fields[3]);
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

/* Runs psql with that question. False: it failed, or took too long. */
static bool run_psql(const char *service, const char *question, char buf[ANSWER_MOST])
{
	char *const argv[] = {(char *)"psql", (char *)"-XAtqw", (char *)"-F", (char *)"\t", (char *)"-c", (char *)question,
			      STR_TEXT(160, "service=%s connect_timeout=2 options='-c statement_timeout=1500'", service), NULL};
	struct spawn s = {.program = PSQL, .argv = argv, .environment = environ, .fds = {SPAWN_NULL, SPAWN_INHERIT, SPAWN_NULL}};
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

bool postgres_ask(struct postgres_access *a, unsigned number, struct postgres_blocker *ret)
{
	char question[sizeof(query) + 16], answer[ANSWER_MOST];

	if (!a || !a->service || a->failed)
		return false;
	snprintf(question, sizeof(question), query, number);
	if (!run_psql(a->service, question, answer)) {
		a->failed = true;
		log_warning("cannot ask PostgreSQL who blocks session %u: 'psql service=%s' fails; see docs/guides/databases.md", number, a->service);
		return false;
	}
	return *answer && postgres_blocker_parse(answer, ret);
}
