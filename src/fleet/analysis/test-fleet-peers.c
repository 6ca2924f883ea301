/* Which servers do the same work: by roles, jobs of Prometheus, names, and how they behave. */
#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-peers.h"
#include "fleet/model/intake.h"
#include "lib/data/clock.h"

#define STEP (60 * NS_PER_SEC)
#define ROWS 100

static void names_tell_who_does_the_same(void **state)
{
	static const struct {
		const char *name, *stem;
	} cases[] = {{"web-01", "web-"}, {"frontend-579b9bff58-t2dbm", "frontend--"}, {"db2.example.org", "db.example.org"},
		     {"node-a", "node-"},   {"us-east-1a.web", "us-east-.web"},		{"db-main", "db-main"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *stem = server_role_stem(cases[i].name);

		assert_string_equal(stem, cases[i].stem);
		free(stem);
	}
}

static double wobble(unsigned series, unsigned row)
{
	unsigned x = (series * 7919 + row) * 2654435761u;

	return (double)((x ^ x >> 15) % 2001) / 1000 - 1;
}

struct host {
	const char *name, *job, *role;
	double levels[4]; /* of cpu, load, sent, received; each host strays by a tenth */
};

static const char *const names[] = {"node_cpu", "node_load", "node_sent{device=\"eth0\"}", "node_received{device=\"eth0\"}"};

static void put_host(struct intake *in, const struct host *h, unsigned number)
{
	int server = intake_server(in, h->name);

	assert_int_equal(intake_job(in, server, h->job), 0);
	assert_int_equal(intake_role(in, server, h->role), 0);
	for (unsigned c = 0; c < 4; c++) {
		int counter = intake_counter(in, names[c], &(struct counter_info){.kind = FLEET_GAUGE});

		for (unsigned t = 0; t < ROWS; t++)
			assert_int_equal(intake_put(in, server, counter, t * STEP, h->levels[c] * (1 + 0.1 * wobble(number, c)) * (1 + 0.03 * wobble(number * 4 + c, t))), 0);
	}
}

struct grouped {
	struct fleet *fleet;
	struct fleet_peers peers;
};

static struct grouped group(const struct host *hosts, size_t n)
{
	struct intake *in = intake_new();
	struct grouped g;

	for (size_t i = 0; i < n; i++)
		put_host(in, &hosts[i], (unsigned)i);
	assert_int_equal(intake_finish(in, &g.fleet), 0);
	intake_free(in);
	assert_int_equal(fleet_peers_find(g.fleet, &g.peers), 0);
	return g;
}

static void grouped_free(struct grouped *g)
{
	fleet_peers_free(&g->peers);
	fleet_free(g->fleet);
	free(g->fleet);
}

static const char *role_of(const struct grouped *g, const char *server)
{
	return g->fleet->servers.v[fleet_find_server(g->fleet, server)].role;
}

static int group_of(const struct grouped *g, const char *server)
{
	return g->peers.group.v[fleet_find_server(g->fleet, server)];
}

#define ALIKE {30, 2, 1000, 500}

/* node_exporter is one job on all hosts, and Prometheus a job on one of them. */
static void names_divide_a_job(void **state)
{
	static const struct host hosts[] = {{"web-1:9100", "node", NULL, ALIKE}, {"web-2:9100", "node", NULL, ALIKE}, {"web-3:9100", "node", NULL, ALIKE},
					    {"web-4:9100", "node", NULL, ALIKE}, {"db-1:9100", "node", NULL, ALIKE},  {"localhost:9090", "prometheus", NULL, ALIKE}};
	struct grouped g = group(hosts, 6);

	assert_int_equal(g.peers.groups, 3);
	assert_int_equal(g.peers.largest, 4);
	assert_true(group_of(&g, "db-1:9100") != group_of(&g, "web-1:9100"));
	assert_string_equal(role_of(&g, "web-1:9100"), "node web");
	assert_string_equal(role_of(&g, "localhost:9090"), "prometheus");
	grouped_free(&g);
}

static void a_role_that_all_have_is_a_job(void **state)
{
	static const struct host hosts[] = {{"web-1", NULL, "linux", ALIKE}, {"web-2", NULL, "linux", ALIKE}, {"web-3", NULL, "linux", ALIKE},
					    {"web-4", NULL, "linux", ALIKE}, {"db-1", NULL, "linux", ALIKE}};
	struct grouped g = group(hosts, 5);

	assert_int_equal(g.peers.groups, 2);
	assert_true(group_of(&g, "db-1") != group_of(&g, "web-1"));
	grouped_free(&g);
}

static void a_role_that_is_told_counts_whatever_the_names(void **state)
{
	static const struct host hosts[] = {{"web-1", "node", "front", ALIKE}, {"web-2", "node", "front", ALIKE}, {"web-3", "node", "front", ALIKE},
					    {"web-4", "node", "front", ALIKE}, {"nginx", "node", "front", ALIKE}, {"db-1", "node", "back", ALIKE}};
	struct grouped g = group(hosts, 6);

	assert_int_equal(g.peers.groups, 2);
	assert_int_equal(group_of(&g, "nginx"), group_of(&g, "web-1"));
	assert_string_equal(role_of(&g, "nginx"), "front");
	grouped_free(&g);
}

/* Addresses tell nothing: six hosts of one kind, and four of another. */
static struct grouped ten_addresses(const double *second_kind, double ill)
{
	static char addresses[10][24];
	struct host hosts[10];

	for (int i = 0; i < 10; i++) {
		snprintf(addresses[i], sizeof(addresses[i]), "10.0.0.%d:9100", i + 1);
		hosts[i] = (struct host){addresses[i], "node", NULL, ALIKE};
		if (i % 5 >= 3) /* 4, 5, 9 and 10 */
			memcpy(hosts[i].levels, second_kind, sizeof(hosts[i].levels));
	}
	for (int c = 0; c < 4; c++)
		hosts[1].levels[c] *= ill;
	return group(hosts, 10);
}

static void hosts_of_a_job_that_behave_unlike_are_no_peers(void **state)
{
	struct grouped g = ten_addresses((const double[]){70, 9, 1000, 4000}, 1);

	assert_int_equal(g.peers.groups, 2);
	assert_int_equal(g.peers.largest, 6);
	assert_int_equal(group_of(&g, "10.0.0.4:9100"), group_of(&g, "10.0.0.10:9100"));
	assert_int_equal(group_of(&g, "10.0.0.1:9100"), group_of(&g, "10.0.0.8:9100"));
	grouped_free(&g);
}

static void one_that_is_ill_remains_a_peer(void **state)
{
	struct grouped g = ten_addresses((const double[])ALIKE, 5);

	assert_int_equal(g.peers.groups, 1);
	grouped_free(&g);
	g = ten_addresses((const double[]){70, 9, 1000, 4000}, 0.2); /* as far away, on the other side */
	assert_int_equal(g.peers.groups, 2);
	assert_int_equal(group_of(&g, "10.0.0.2:9100"), group_of(&g, "10.0.0.1:9100"));
	grouped_free(&g);
}

/* Two exporters of one job: what they measure tells them apart, labels do not. */
static void metrics_divide_a_job(void **state)
{
	struct intake *in = intake_new();
	struct fleet_peers p;
	struct fleet *f;

	for (int i = 0; i < 6; i++) {
		char name[32], metric[48];
		int server;

		snprintf(name, sizeof(name), "10.0.0.%d:80", i);
		server = intake_server(in, name);
		assert_int_equal(intake_job(in, server, "pods"), 0);
		for (int c = 0; c < 3; c++) {
			snprintf(metric, sizeof(metric), "%s_%d{pod=\"%d\"}", i < 4 ? "http" : "queue", c, i);
			for (int t = 0; t < 10; t++)
				assert_int_equal(intake_put(in, server, intake_counter(in, metric, NULL), t * STEP, 1 + t % 3), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	assert_int_equal(fleet_peers_find(f, &p), 0);
	assert_int_equal(p.groups, 2);
	assert_int_equal(p.largest, 4);
	fleet_peers_free(&p);
	fleet_free(f);
	free(f);
}

RUN_TESTS(cmocka_unit_test(names_tell_who_does_the_same), cmocka_unit_test(names_divide_a_job), cmocka_unit_test(a_role_that_all_have_is_a_job),
	  cmocka_unit_test(a_role_that_is_told_counts_whatever_the_names), cmocka_unit_test(hosts_of_a_job_that_behave_unlike_are_no_peers),
	  cmocka_unit_test(one_that_is_ill_remains_a_peer), cmocka_unit_test(metrics_divide_a_job))
