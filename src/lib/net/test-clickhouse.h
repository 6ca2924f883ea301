/* ClickHouse servers of a test's own: Debian's, on free ports, with a folder that goes away afterwards. */
#pragma once

#include "lib/data/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/net/clickhouse.h"

#define SHARDS_MAX 4

struct shards {
	char folder[40];
	unsigned n;
	pid_t pid[SHARDS_MAX];
	uint16_t http[SHARDS_MAX], tcp[SHARDS_MAX];
	uint16_t known_as[SHARDS_MAX]; /* the port by which the cluster reaches it: its own, or a proxy's */
};

static inline uint16_t free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static inline void start_shard(struct shards *s, unsigned i)
{
	char script[256], folder[64], http[8], tcp[SHARDS_MAX + 1][8];
	char *argv[SHARDS_MAX + 5] = {script, folder, http, tcp[s->n]};

	snprintf(script, sizeof(script), "%s/../clickhouse-shard", FIXTURES);
	snprintf(folder, sizeof(folder), "%s/%u", s->folder, i);
	snprintf(http, sizeof(http), "%u", s->http[i]);
	snprintf(tcp[s->n], 8, "%u", s->tcp[i]);
	for (unsigned k = 0; k < s->n; k++) {
		snprintf(tcp[k], 8, "%u", s->known_as[k]);
		argv[4 + k] = tcp[k];
	}
	s->pid[i] = fork();
	if (s->pid[i] == 0) {
		mkdir(folder, 0700);
		execv(script, argv);
		_exit(127);
	}
}

static inline struct clickhouse *shard_client(const struct shards *s, unsigned i, const char *rest)
{
	struct clickhouse *c = NULL;
	char url[200], *error = NULL;

	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/%s", s->http[i], rest);
	if (clickhouse_open(url, NULL, NULL, &c, &error) < 0)
		fail_msg("%s", error);
	return c;
}

static inline int shard_wait(struct shards *s, unsigned i)
{
	struct clickhouse *c = shard_client(s, i, "");
	int r = -ETIMEDOUT, status;

	for (int k = 0; k < 600 && r < 0; k++) {
		r = clickhouse_query(c, "SELECT 1", NULL, NULL, NULL);
		if (waitpid(s->pid[i], &status, WNOHANG) == s->pid[i]) {
			s->pid[i] = 0;
			r = WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : -ECHILD;
			break;
		}
		if (r < 0)
			usleep(100000);
	}
	clickhouse_close(c);
	return r;
}

/* Chooses ports and a folder; what the cluster calls a shard may be changed before shards_start(). */
static inline void shards_prepare(struct shards *s, unsigned n)
{
	*s = (struct shards){.folder = "/tmp/whyslow-shards-XXXXXX", .n = n};
	assert_non_null(mkdtemp(s->folder));
	for (unsigned i = 0; i < n; i++) {
		s->http[i] = free_port();
		s->tcp[i] = s->known_as[i] = free_port();
	}
}

/* 0, or 77 where there is no clickhouse-server. */
static inline int shards_start(struct shards *s, unsigned n)
{
	int r = 0;

	if (s->n != n)
		shards_prepare(s, n);
	for (unsigned i = 0; i < n; i++)
		start_shard(s, i);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = shard_wait(s, i);
	return r;
}

static inline void shards_stop(struct shards *s)
{
	char command[64];

	for (unsigned i = 0; i < s->n; i++)
		if (s->pid[i] > 0) {
			kill(s->pid[i], SIGKILL);
			waitpid(s->pid[i], NULL, 0);
		}
	snprintf(command, sizeof(command), "rm -rf %s", s->folder);
	assert_int_equal(system(command), 0);
}
