/* 1000 servers x 200 counters x 1440 points: how fast, how much memory. bench/fleet-scale FOLDER SERVERS
 * Times what bench/fleet prints; with FOLDER it also loads the CSV files there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/model/fleet-source.h"
#include "fleet/store/fleet-store.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define COUNTERS 200
#define ROWS	 1440

static double now(void)
{
	return (double)clock_boot() / 1e9;
}

static float *column(size_t server, size_t counter, const float *cycle)
{
	uint64_t state = server * 1000003 + counter * 7919 + 1;
	float *v = malloc(ROWS * sizeof(*v));

	for (int t = 0; v && t < ROWS; t++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		v[t] = 100 + 10 * cycle[t] + (float)(state >> 40) * (5.0F / (1 << 24));
	}
	return v;
}

static struct fleet *generate(size_t servers)
{
	struct fleet *f = calloc(1, sizeof(*f));
	float cycle[ROWS];
	char name[32];

	for (int t = 0; t < ROWS; t++)
		cycle[t] = sinf((float)t * 6.2832F / ROWS);
	for (size_t c = 0; c < COUNTERS; c++) {
		int id;

		snprintf(name, sizeof(name), "counter%03zu", c);
		id = fleet_add_counter(f, name);
		f->counters.v[id].kind = FLEET_GAUGE;
	}
	for (size_t s = 0; s < servers; s++) {
		struct fleet_server *x;
		int id;

		snprintf(name, sizeof(name), "server%04zu", s);
		id = fleet_add_server(f, name);
		x = &f->servers.v[id];
		x->n = ROWS;
		x->time = malloc(ROWS * sizeof(*x->time));
		for (int t = 0; t < ROWS; t++)
			x->time[t] = (1700000000ll + t * 60) * NS_PER_SEC;
		for (size_t c = 0; c < COUNTERS; c++) {
			x->column[c] = column(s, c, cycle);
			VEC_PUSH(f->blocks, x->column[c]);
		}
	}
	fleet_find_interval(f);
	return f;
}

/* How fast all cores together can add up the same memory: what an analysis is measured against. */
static int add_up(void *data, size_t counter)
{
	const struct fleet *f = data;
	static volatile float sink;
	float sums[16] = {};

	for (size_t s = 0; s < f->servers.n; s++) {
		const float *v = f->servers.v[s].column[counter];

		for (int t = 0; t < ROWS; t += 16)
			for (int i = 0; i < 16; i++)
				sums[i] += v[t + i];
	}
	sink = sums[0] + sums[7];
	(void)sink;
	return 0;
}

static double bandwidth_seconds(struct fleet *f)
{
	double best = INFINITY;

	for (int i = 0; i < 3; i++) {
		double begin = now();

		parallel_run(0, f->counters.n, add_up, f);
		best = fmin(best, now() - begin);
	}
	return best;
}

static void measure(const char *name, const char *analysis, const struct fleet_question *q, double floor)
{
	struct fleet_findings found = {};
	double begin = now(), seconds;

	if (fleet_analysis_find(analysis)->run(q, &found) < 0)
		exit(1);
	seconds = now() - begin;
	fleet_findings_free(&found);
	printf("%s_s %.3f\n%s_of_bandwidth %.3f\n", name, seconds, name, floor / seconds);
	fflush(stdout);
}

static void measure_load(const char *folder, uint64_t values)
{
	extern const struct fleet_source fleet_source_csv;
	struct fleet_input input = {.location = folder, .from = INT64_MIN, .to = INT64_MAX};
	struct intake *in = intake_new();
	_cleanup_free_ char *error = NULL, *store = NULL;
	struct fleet *f;
	struct rusage use;
	double begin = now();

	if (fleet_source_csv.load(&input, in, &error) < 0 || intake_finish(in, &f) < 0)
		exit(1);
	intake_free(in);
	printf("load_s %.3f\n", now() - begin);
	getrusage(RUSAGE_SELF, &use);
	(void)values;
	printf("memory_ratio %.3f\n", (double)use.ru_maxrss * 1024 / ((double)fleet_values(f, NULL) * 4));
	if (asprintf(&store, "%s/kept.fleet", folder) < 0 || fleet_store_write(f, store, &error) < 0)
		exit(1);
	fleet_free(f);
	free(f);
	begin = now();
	if (fleet_store_open(store, NULL, &f, &error) < 0)
		exit(1);
	printf("open_s %.3f\n", now() - begin);
	fleet_free(f);
	free(f);
}

static void write_csv(const char *folder, size_t servers)
{
	struct fleet *f = generate(servers);

	for (size_t s = 0; s < servers; s++) {
		_cleanup_free_ char *path = NULL;
		FILE *out;

		if (asprintf(&path, "%s/%s.csv", folder, f->servers.v[s].name) < 0 || !(out = fopen(path, "we")))
			exit(1);
		fputs("time", out);
		for (size_t c = 0; c < COUNTERS; c++)
			fprintf(out, ",%s", f->counters.v[c].name);
		for (int t = 0; t < ROWS; t++) {
			fprintf(out, "\n%lld", (long long)(f->servers.v[s].time[t] / NS_PER_SEC));
			for (size_t c = 0; c < COUNTERS; c++)
				fprintf(out, ",%.4f", (double)f->servers.v[s].column[c][t]);
		}
		fputc('\n', out);
		fclose(out);
	}
}

static void measure_analyses(size_t servers)
{
	struct fleet *f = generate(servers), *reference = f;
	struct fleet_question q = fleet_question_default(f);
	double floor = bandwidth_seconds(f);

	printf("bandwidth_gb_per_s %.2f\n", (double)servers * COUNTERS * ROWS * 4 / floor / 1e9);
	q.threshold = 1e9; /* the work is the same, the list short */
	measure("equation_1", "within", &q, floor);
	q.reference = reference;
	measure("equation_2", "between", &q, 2 * floor);
	q.reference = NULL;
	q.server = 0;
	q.counter = 0;
	q.threshold = 2;
	measure("correlation", "correlation", &q, floor);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "write") == 0)
		write_csv(argv[2], strtoul(argv[3], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "load") == 0)
		measure_load(argv[2], 0);
	else if (argc == 3 && strcmp(argv[1], "analyse") == 0)
		measure_analyses(strtoul(argv[2], NULL, 10));
	else
		return 2;
	return 0;
}
