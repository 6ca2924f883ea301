/* SDiag's story at scale, made up: requests that create virtual machines, on 3 hardware generations x 4 VM types, while
 * 12 versions of the agent roll out one after another. In version 1.8.0 on gen5 the disks are created one after another
 * instead of side by side: +15 % there, in 2 % of all traffic. Load and latency have a daily cycle, durations heavy
 * tails.
 *
 *   story spans REQUESTS SEED fault|clean > SPANS.csv	columns of the paper's record, and start and end, by start
 *   story judge REPLAYS SEED				clean and faulty replays through groups_judge(): counts
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spans/compare/groups.h"

#define START	   INT64_C(1790000000000000000)
#define DAY	   86400.0
#define DAYS	   14
#define GENERATIONS 3
#define TYPES	   4
#define VERSIONS   12
#define BAD_VERSION 8
#define BAD_GENERATION 1
#define REPLAY_REQUESTS 120000

static const char *const generations[] = {"gen4", "gen5", "gen6"};
static const char *const types[] = {"small", "general", "memory", "gpu"};
static const double generation_share[] = {0.40, 0.24, 0.36}, generation_pace[] = {1.3, 1.0, 0.8};
static const double type_share[] = {0.4, 0.3, 0.2, 0.1}, type_pace[] = {0.8, 1, 1.2, 1.7};
static const unsigned disks_of[] = {2, 2, 3, 4};

struct request {
	unsigned generation, type, version;
	double start; /* s since START */
	double allocate, nic, boot, disk[4]; /* s */
	bool sequential;
};

static uint64_t state;

static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double uniform(void)
{
	return ((double)(next() >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static unsigned draw(const double *shares, unsigned n)
{
	double x = uniform();

	for (unsigned i = 0; i + 1 < n; i++) {
		x -= shares[i];
		if (x < 0)
			return i;
	}
	return n - 1;
}

/* Lognormal of mean 1; one in two hundred is stuck for several times as long (Pareto). */
static double heavy(double sigma)
{
	double x = exp(sigma * normal() - sigma * sigma / 2);

	return next() % 200 ? x : x * pow(uniform(), -1 / 2.5) * 2;
}

static double cycle(double start)
{
	return sin(2 * M_PI * start / DAY);
}

/* Busier by day, by half. */
static double draw_start(void)
{
	for (;;) {
		double start = uniform() * DAYS * DAY;

		if (uniform() * 1.5 < 1 + 0.5 * cycle(start))
			return start;
	}
}

/* Each version takes over within a day and a half; some hosts keep the one before for days. */
static unsigned draw_version(double start)
{
	double at = start / (DAYS * DAY) * VERSIONS - uniform() * 1.3 - (next() % 10 ? 0 : 2 * uniform());

	return at < 0 ? 0 : at >= VERSIONS ? VERSIONS - 1 : (unsigned)at;
}

static struct request make_request(double start, bool fault)
{
	struct request r = {.generation = draw(generation_share, GENERATIONS), .type = draw(type_share, TYPES), .start = start};
	double pace = generation_pace[r.generation] * type_pace[r.type] * (1 + 0.15 * cycle(r.start));

	r.version = draw_version(r.start);
	r.allocate = 6 * pace * heavy(0.4);
	r.nic = 4 * pace * heavy(0.5);
	r.boot = 20 * pace * heavy(0.3);
	/* so long that one after another they take 15 % of the request more than side by side, however many there are */
	for (unsigned d = 0; d < disks_of[r.type]; d++)
		r.disk[d] = 6.3 / (disks_of[r.type] - 1) * pace * heavy(0.3);
	r.sequential = fault && r.version == BAD_VERSION && r.generation == BAD_GENERATION;
	return r;
}

static double disks_time(const struct request *r)
{
	double sum = 0, longest = 0;

	for (unsigned d = 0; d < disks_of[r->type]; d++) {
		sum += r->disk[d];
		longest = fmax(longest, r->disk[d]);
	}
	return r->sequential ? sum : longest;
}

static double total_time(const struct request *r)
{
	return r->allocate + disks_time(r) + r->nic + r->boot;
}

/* --- spans ---------------------------------------------------------------------------------------------------------- */

static void put_span(const struct request *r, uint64_t trace, unsigned id, unsigned parent, const char *service,
		     const char *operation, double from, double to)
{
	printf("%016" PRIx64 ",%016" PRIx64 ",", trace, trace + id);
	if (parent)
		printf("%016" PRIx64, trace + parent);
	else
		fputs("root", stdout);
	printf(",%s,%s,%" PRId64 ",%" PRId64 ",%s,%s,1.%u.0\n", service, operation, START + (int64_t)((r->start + from) * 1e9),
	       START + (int64_t)((r->start + to) * 1e9), generations[r->generation], types[r->type],
	       strcmp(service, "agent") == 0 ? r->version : 0);
}

static void put_request(const struct request *r)
{
	uint64_t trace = next() & ~(uint64_t)0xff;
	double disks = r->allocate, nic = disks + disks_time(r), boot = nic + r->nic, at = disks;

	put_span(r, trace, 1, 0, "fabric", "CreateVM", 0, total_time(r));
	put_span(r, trace, 2, 1, "allocator", "Allocate", 0, disks);
	put_span(r, trace, 3, 1, "agent", "CreateDisks", disks, nic);
	for (unsigned d = 0; d < disks_of[r->type]; d++) {
		put_span(r, trace, 10 + d, 3, "storage", "CreateDisk", at, at + r->disk[d]);
		at += r->sequential ? r->disk[d] : 0;
	}
	put_span(r, trace, 4, 1, "network", "CreateNic", nic, boot);
	put_span(r, trace, 5, 1, "agent", "Boot", boot, total_time(r));
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int put_spans(size_t requests, bool fault)
{
	static char buffer[1 << 20];
	double *starts = calloc(requests + 1, sizeof(*starts));

	if (!starts)
		return 1;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (size_t i = 0; i < requests; i++)
		starts[i] = draw_start();
	qsort(starts, requests, sizeof(*starts), ascending);
	puts("TraceID,SpanID,ParentID,service.name,OperationName,StartTimeUnixNano,EndTimeUnixNano,hardware.generation,vm.type,"
	     "service.version");
	for (size_t i = 0; i < requests; i++) {
		struct request r = make_request(starts[i], fault);

		put_request(&r);
	}
	free(starts);
	return ferror(stdout) || fflush(stdout);
}

/* --- judgement ------------------------------------------------------------------------------------------------------ */

#define BUCKETS (GENERATIONS * TYPES)
#define HOURS	24

struct replay {
	double n[BUCKETS][VERSIONS], sum[BUCKETS][VERSIONS], squares[BUCKETS][VERSIONS], first[BUCKETS][VERSIONS];
	double counts[BUCKETS][VERSIONS][HOURS], sums[BUCKETS][VERSIONS][HOURS];
	double bad_sum, bad_usual;
};

static void play(bool fault, struct replay *ret)
{
	*ret = (struct replay){};
	for (int i = 0; i < REPLAY_REQUESTS; i++) {
		struct request r = make_request(draw_start(), fault);
		unsigned b = r.generation * TYPES + r.type, v = r.version;
		double total = total_time(&r);

		if (ret->n[b][v] == 0 || r.start < ret->first[b][v])
			ret->first[b][v] = r.start;
		ret->n[b][v]++;
		ret->sum[b][v] += total;
		ret->squares[b][v] += total * total;
		ret->counts[b][v][(int)(r.start / 3600) % HOURS]++;
		ret->sums[b][v][(int)(r.start / 3600) % HOURS] += total;
		if (r.sequential) {
			ret->bad_sum += total;
			r.sequential = false;
			ret->bad_usual += total_time(&r);
		}
	}
}

/* Judges all buckets together; of each the newest `versions`. */
static size_t judge(const struct replay *r, unsigned versions, struct group_judgement *ret)
{
	struct group_options o = {};
	size_t n = 0;

	for (unsigned b = 0; b < BUCKETS; b++) {
		struct version_group groups[VERSIONS];
		size_t k = 0;

		for (unsigned v = VERSIONS - versions; v < VERSIONS; v++) {
			double count = r->n[b][v], mean = r->sum[b][v] / count;

			groups[k++] = (struct version_group){(int64_t)r->first[b][v], count, count, mean,
							     r->squares[b][v] / count - mean * mean, NULL, 0};
		}
		if (groups_level(groups, k, r->counts[b][VERSIONS - versions], r->sums[b][VERSIONS - versions], HOURS) < 0 ||
		    groups_judge(groups, k, &o, ret + n) < 0)
			exit(1);
		n += k;
	}
	if (groups_correct(ret, n, &o) < 0)
		exit(1);
	return n;
}

static void judge_clean(unsigned replays, unsigned versions)
{
	struct group_judgement j[BUCKETS * VERSIONS];
	unsigned alarms = 0;

	for (unsigned i = 0; i < replays; i++) {
		static struct replay r;
		bool alarm = false;
		size_t n;

		play(false, &r);
		n = judge(&r, versions, j);
		for (size_t k = 0; k < n; k++)
			alarm = alarm || j[k].flags & GROUP_OUTLIER;
		alarms += alarm;
	}
	printf("clean %u versions: %u replays, %u with an alarm\n", versions, replays, alarms);
}

/* Right: the group whose excess is the greatest is of the bad version, in a bucket of the bad generation. */
static void judge_faulty(unsigned replays)
{
	struct group_judgement j[BUCKETS * VERSIONS];
	unsigned right = 0, wrong = 0, named = 0;
	double more = 0, share = 0;

	for (unsigned i = 0; i < replays; i++) {
		static struct replay r;
		int best = -1;
		size_t n;
		double bad = 0;

		play(true, &r);
		n = judge(&r, VERSIONS, j);
		for (size_t k = 0; k < n; k++) {
			bool is_bad = k % VERSIONS == BAD_VERSION && k / VERSIONS / TYPES == BAD_GENERATION;

			bad += is_bad ? r.n[k / VERSIONS][k % VERSIONS] : 0;
			if (!(j[k].flags & GROUP_OUTLIER))
				continue;
			named += is_bad;
			wrong += !is_bad;
			if (best < 0 || j[k].excess > j[best].excess)
				best = (int)k;
		}
		right += best >= 0 && best % VERSIONS == BAD_VERSION && best / VERSIONS / TYPES == BAD_GENERATION;
		more += r.bad_sum / r.bad_usual - 1;
		share += bad / REPLAY_REQUESTS;
	}
	printf("faulty: %u replays, +%.1f %% in %.2f %% of the traffic; %u right, %u of %u bad groups named, %u good ones\n", replays,
	       100 * more / replays, 100 * share / replays, right, named, TYPES * replays, wrong);
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "spans") == 0) {
		state = strtoull(argv[3], NULL, 10);
		return put_spans(strtoul(argv[2], NULL, 10), strcmp(argv[4], "fault") == 0);
	}
	if (argc == 4 && strcmp(argv[1], "judge") == 0) {
		unsigned replays = (unsigned)strtoul(argv[2], NULL, 10);

		state = strtoull(argv[3], NULL, 10);
		for (unsigned i = 0; i < 4; i++)
			judge_clean(replays, (unsigned[]){12, 10, 3, 2}[i]);
		judge_faulty(replays / 3);
		return 0;
	}
	fputs("usage: story spans REQUESTS SEED fault|clean | story judge REPLAYS SEED\n", stderr);
	return 2;
}
