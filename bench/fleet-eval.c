/* The fleet's default comparison on public data: bench/fleet-eval DATA smd|asd|petshop|nezha|stories|asked. Protocols: the data's README.
 * Prints lines "RESULT NAME VALUE" for bench/eval-fleet, and others for people. */
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/ask/fleet-why.h"
#include "fleet/model/fleet-source.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/stream.h"
#include "lib/input/timestamp.h"

#define SEGMENTS_MAX 256
#define COUNTERS_MAX 64

static const char *data_dir;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "fleet-eval: %s\n", what);
	exit(1);
}

/* --- counts --- */

struct tally {
	double sum;	 /* of the published measure, per case */
	unsigned cases;
	unsigned hits, of; /* as counts */
};

static void wilson(unsigned hits, unsigned of, double *low, double *high)
{
	double n = of, p = hits / n, z = 1.96, centre = (p + z * z / (2 * n)) / (1 + z * z / n);
	double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	*low = centre - half;
	*high = centre + half;
}

static void tell(const char *set, const char *method, const char *measure, const struct tally *t)
{
	double low, high;

	if (!t->cases)
		return;
	wilson(t->hits, t->of, &low, &high);
	printf("%-8s %-22s %-12s %.3f   %u of %u  [%.3f, %.3f]\n", set, method, measure, t->sum / t->cases, t->hits, t->of, low, high);
}

static void result(const char *name, double value)
{
	printf("RESULT %s %.4f\n", name, value);
}

/* --- SMD and ASD --- */

struct segment {
	uint32_t from, to; /* rows [from, to) */
	bool truth[COUNTERS_MAX];
	unsigned n_truth;
};

struct machine {
	char *name;
	struct fleet *test, *train;
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
};

static struct fleet *read_f32(const char *path, uint32_t counters, const char *name)
{
	struct intake *in = intake_new();
	struct fleet *f;
	struct stream *s;
	float row[COUNTERS_MAX];
	double values[COUNTERS_MAX];
	int ids[COUNTERS_MAX], server = intake_server(in, name);

	if (stream_open(path, &s) < 0)
		die(path);
	for (uint32_t c = 0; c < counters; c++) {
		char label[16];
		struct counter_info info = {.kind = FLEET_GAUGE};

		snprintf(label, sizeof(label), "c%u", c + 1);
		ids[c] = intake_counter(in, label, &info);
	}
	for (int64_t time = 0;; time += 60 * NS_PER_SEC) {
		size_t got = 0;
		ssize_t n = 1;

		while (got < counters * sizeof(float) && n > 0) {
			n = stream_read(s, (char *)row + got, counters * sizeof(float) - got);
			got += n > 0 ? (size_t)n : 0;
		}
		if (got < counters * sizeof(float))
			break;
		for (uint32_t c = 0; c < counters; c++)
			values[c] = (double)row[c];
		intake_row(in, server, time, counters, ids, values);
	}
	stream_close(s);
	if (intake_finish(in, &f) < 0)
		die(path);
	intake_free(in);
	return f;
}

static void read_segments(const char *path, struct machine *m)
{
	FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	if (!file)
		die(path);
	while (getline(&line, &size, file) > 0 && m->n_segments < SEGMENTS_MAX) {
		struct segment *s = &m->segments[m->n_segments];
		char *p = strchr(line, ':');

		if (!p || sscanf(line, "%u-%u", &s->from, &s->to) != 2)
			continue;
		for (p++; p; p = strchr(p, ',')) {
			unsigned c = (unsigned)strtoul(*p == ',' ? ++p : p, NULL, 10);

			if (c >= 1 && c <= COUNTERS_MAX && !s->truth[c - 1]) {
				s->truth[c - 1] = true;
				s->n_truth++;
			}
		}
		m->n_segments++;
	}
	fclose(file);
}

static char *sibling(const char *base, const char *part)
{
	_cleanup_free_ char *pattern = NULL;
	glob_t g;
	char *found;

	if (asprintf(&pattern, "%s%s", base, part) < 0 || glob(pattern, 0, NULL, &g) != 0)
		die(base);
	found = strdup(g.gl_pathv[0]);
	globfree(&g);
	return found;
}

/* HitRate@P%: of the P % x |truth| highest ranked counters, how many are true, as a share of the truth. */
static void hit_rate(const struct fleet_findings *f, const struct segment *s, double share, struct tally *t)
{
	unsigned most = (unsigned)floor(share * s->n_truth + 1e-9), hits = 0;

	for (size_t i = 0; i < f->list.n && i < most; i++)
		hits += s->truth[f->list.v[i].counter];
	t->sum += (double)hits / s->n_truth;
	t->cases++;
	t->hits += hits;
	t->of += s->n_truth;
}

static struct fleet_question about_rows(const struct fleet *f, uint32_t from, uint32_t to)
{
	struct fleet_question q = fleet_question_default(f);

	q.window = (struct fleet_span){from * 60 * NS_PER_SEC, to * 60 * NS_PER_SEC};
	q.threads = 1;
	return q;
}

/* The simple formula the floors come from: the farthest value of the window, in standard deviations of the half. */
static struct fleet_findings peak_over_spread(const struct fleet_question *q)
{
	const struct fleet *f = q->fleet;
	struct fleet_findings found = {};
	struct select_room room = {};

	for (size_t c = 0; c < f->counters.n; c++) {
		struct piece all = {f->servers.v[0].column[c], f->servers.v[0].n};
		struct fleet_finding x = fleet_finding_empty;
		uint32_t first, n = fleet_rows(&f->servers.v[0], q->window.from, q->window.to, &first);
		double median = columns_median(&all, 1, &room), peak = 0;
		struct column_moments m;

		column_moments_of(&all, 1, &m);
		for (uint32_t i = first; i < first + n; i++)
			peak = fmax(peak, fabs((double)all.v[i] - median));
		x.counter = (int)c;
		x.score = peak / fmax(m.sd, 1e-6);
		VEC_PUSH(found.list, x);
	}
	select_room_free(&room);
	fleet_findings_sort(&found);
	return found;
}

struct rank_by {
	const char *words, *analysis;
	bool train; /* the reference is the train half, else the test half outside the segment */
	struct tally at100, at150;
};

static void rank_segments(const struct machine *m, struct rank_by *c)
{
	for (size_t i = 0; i < m->n_segments; i++) {
		struct fleet_question q = about_rows(m->test, m->segments[i].from, m->segments[i].to);
		struct fleet_findings found = {};

		q.reference = c->train ? m->train : NULL;
		if (!c->analysis)
			found = peak_over_spread(&q);
		else if (fleet_analysis_find(c->analysis)->run(&q, &found) < 0)
			die("cannot analyse");
		hit_rate(&found, &m->segments[i], 1, &c->at100);
		hit_rate(&found, &m->segments[i], 1.5, &c->at150);
		fleet_findings_free(&found);
	}
}

#define WINDOW 20 /* rows of a normal window */
#define ALARM  0.04

struct rates {
	struct tally false_alarms, detected;
};

static bool alarmed(const struct machine *m, uint32_t from, uint32_t to, const struct fleet_span *known, const struct fleet *reference,
		    bool *ret_judged)
{
	struct fleet_question q = about_rows(m->test, from, to);
	struct fleet_findings found = {};
	bool alarm;

	q.reference = reference;
	q.left_out = reference ? NULL : known;
	q.n_left_out = reference ? 0 : m->n_segments;
	if (fleet_analysis_find("alarm")->run(&q, &found) < 0)
		die("cannot analyse");
	*ret_judged = found.list.n > 0;
	alarm = found.list.n && found.list.v[0].p <= ALARM;
	fleet_findings_free(&found);
	return alarm;
}

static void count(struct tally *t, bool yes)
{
	t->hits += yes;
	t->of++;
	t->cases++;
	t->sum += yes;
}

/* Each window of the test half without a labelled row, and each labelled segment, against all other normal windows. Of
 * many normal windows some hundreds, evenly. */
#define NORMAL_WINDOWS 240
static void measure_alarms(const struct machine *m, bool train, struct rates *r)
{
	struct fleet_span known[SEGMENTS_MAX];
	uint32_t stride = m->test->servers.v[0].n / WINDOW / NORMAL_WINDOWS + 1;
	bool judged;

	for (size_t i = 0; i < m->n_segments; i++)
		known[i] = (struct fleet_span){m->segments[i].from * 60 * NS_PER_SEC, m->segments[i].to * 60 * NS_PER_SEC};
	for (size_t i = 0; i < m->n_segments; i++) {
		bool alarm = alarmed(m, m->segments[i].from, m->segments[i].to, known, train ? m->train : NULL, &judged);

		count(&r->detected, judged && alarm);
	}
	for (uint32_t from = 0; from + WINDOW <= m->test->servers.v[0].n; from += WINDOW * stride) {
		bool labelled = false;

		for (size_t i = 0; i < m->n_segments; i++)
			labelled |= m->segments[i].from < from + WINDOW + 1 && m->segments[i].to >= from;
		if (labelled)
			continue;
		count(&r->false_alarms, alarmed(m, from, from + WINDOW, known, train ? m->train : NULL, &judged) && judged);
	}
}

static void evaluate_machines(const char *set, uint32_t counters)
{
	struct rank_by comparisons[] = {{"default, test half", "deviation", false, {}, {}},
					   {"default, train half", "deviation", true, {}, {}},
					   {"PAD Eq. 2, test half", "between", false, {}, {}},
					   {"PAD Eq. 2, train half", "between", true, {}, {}},
					   {"peak over spread", NULL, false, {}, {}}};
	struct rates rates = {}, by_train = {};
	struct tally random = {};
	_cleanup_free_ char *pattern = NULL;
	char name[64];
	glob_t g;

	if (asprintf(&pattern, "%s/%s/*.interpretation.txt", data_dir, set) < 0 || glob(pattern, 0, NULL, &g) != 0)
		die("no data");
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct machine *m = calloc(1, sizeof(*m));
		_cleanup_free_ char *base = strndup(g.gl_pathv[i], strlen(g.gl_pathv[i]) - strlen(".interpretation.txt"));
		_cleanup_free_ char *test = sibling(base, ".test.f32.*"), *train = sibling(base, ".train.f32.*");

		read_segments(g.gl_pathv[i], m);
		m->test = read_f32(test, counters, "machine");
		m->train = read_f32(train, counters, "machine");
		for (size_t k = 0; k < ARRAY_SIZE(comparisons); k++)
			rank_segments(m, &comparisons[k]);
		for (size_t k = 0; k < m->n_segments; k++) {
			random.sum += (double)m->segments[k].n_truth / counters;
			random.cases++;
		}
		measure_alarms(m, false, &rates);
		measure_alarms(m, true, &by_train);
		fleet_free(m->test);
		fleet_free(m->train);
		free(m->test);
		free(m->train);
		free(m);
	}
	printf("%-8s %-22s %-12s %s   %s  %s\n", "set", "method", "measure", "mean", "counts", "Wilson 95 %");
	for (size_t k = 0; k < ARRAY_SIZE(comparisons); k++) {
		tell(set, comparisons[k].words, "HitRate@100", &comparisons[k].at100);
		tell(set, comparisons[k].words, "HitRate@150", &comparisons[k].at150);
	}
	printf("%-8s %-22s %-12s %.3f\n", set, "random", "HitRate@100", random.sum / random.cases);
	printf("%-8s %-22s %-12s %s\n", set, "published", "HitRate", strcmp(set, "smd") == 0 ?
	       "OmniAnomaly .80/.89; peak over spread .82/.90 (19 servers)" : "peak over spread .81/.94 (12 servers)");
	tell(set, "alarm, normal windows", "p <= 0.04", &rates.false_alarms);
	tell(set, "alarm, labelled", "p <= 0.04", &rates.detected);
	tell(set, "same, train half", "normal", &by_train.false_alarms);
	tell(set, "same, train half", "labelled", &by_train.detected);
	snprintf(name, sizeof(name), "fleet.%s.hitrate_100", set);
	result(name, comparisons[0].at100.sum / comparisons[0].at100.cases);
	snprintf(name, sizeof(name), "fleet.%s.hitrate_150", set);
	result(name, comparisons[0].at150.sum / comparisons[0].at150.cases);
	snprintf(name, sizeof(name), "fleet.%s.floor_formula_100", set);
	result(name, comparisons[4].at100.sum / comparisons[4].at100.cases);
	snprintf(name, sizeof(name), "fleet.%s.floor_formula_150", set);
	result(name, comparisons[4].at150.sum / comparisons[4].at150.cases);
	snprintf(name, sizeof(name), "fleet.%s.false_alarms", set);
	result(name, rates.false_alarms.sum / rates.false_alarms.cases);
	snprintf(name, sizeof(name), "fleet.%s.detected", set);
	result(name, rates.detected.sum / rates.detected.cases);
	globfree(&g);
}

/* --- sets that are read as a user would --- */

static struct fleet *read_tables(const char *location, const char *match)
{
	extern const struct fleet_source fleet_source_csv;
	struct fleet_input input = {.location = location, .from = INT64_MIN, .to = INT64_MAX, .match = match};
	struct intake *in = intake_new();
	_cleanup_free_ char *error = NULL;
	struct fleet *f;

	if (fleet_source_csv.load(&input, in, &error) < 0)
		die(error ? error : location);
	if (intake_finish(in, &f) < 0)
		die(location);
	intake_free(in);
	return f;
}

struct ranks {
	struct tally at1, at3, at5;
	unsigned worst;
};

static void count_rank(struct ranks *r, unsigned rank)
{
	count(&r->at1, rank <= 1);
	count(&r->at3, rank <= 3);
	count(&r->at5, rank <= 5);
	r->worst = rank > r->worst ? rank : r->worst;
}

static void tell_ranks(const char *set, const char *method, const struct ranks *r)
{
	tell(set, method, "top 1", &r->at1);
	tell(set, method, "top 3", &r->at3);
	tell(set, method, "top 5", &r->at5);
}

/* Servers in the order of their best finding; a server that has none is last. */
static unsigned rank_of_server(const struct fleet_findings *f, const struct fleet *fleet, const char *server, int counter)
{
	_cleanup_free_ bool *seen = calloc(fleet->servers.n + 1, sizeof(*seen));
	unsigned rank = 0;

	for (size_t i = 0; i < f->list.n; i++) {
		int s = f->list.v[i].server;

		if (s < 0 || seen[s] || (counter >= 0 && f->list.v[i].counter != counter))
			continue;
		seen[s] = true;
		rank++;
		if (strcmp(fleet->servers.v[s].name, server) == 0)
			return rank;
	}
	return 999;
}

static void petshop_issue(const char *folder, struct ranks ranks[3])
{
	_cleanup_free_ char *metrics = NULL, *target = NULL, *normal = NULL, *match = NULL;
	const char *node, *metric, *statistic, *cause;
	struct fleet *issue, *usual;
	json_t *root;

	if (asprintf(&metrics, "%s/metrics.csv", folder) < 0 || asprintf(&target, "%s/target.json", folder) < 0 ||
	    asprintf(&normal, "%s/../../noissue/metrics.csv", folder) < 0)
		die("memory");
	root = json_load_file(target, 0, NULL);
	if (!root || json_unpack(root, "{s:{s:s, s:s, s:s}, s:{s:s}}", "target", "node", &node, "metric", &metric, "agg", &statistic,
				 "root_cause", "node", &cause) < 0)
		die(target);
	if (asprintf(&match, "%s.%s", metric, statistic) < 0)
		die("memory");
	issue = read_tables(metrics, match);
	usual = read_tables(normal, match);
	for (int k = 0; k < 3; k++) {
		static const char *const analyses[] = {"explain", "deviation", "between"};
		struct fleet_question q = fleet_question_default(issue);
		struct fleet_findings found = {};

		q.reference = usual;
		q.server = k == 0 ? fleet_find_server(issue, node) : -1;
		q.counter = fleet_find_counter(issue, match);
		if (k < 2 && fleet_analysis_find(analyses[k])->run(&q, &found) < 0)
			die(folder);
		for (size_t s = 0; k == 2 && s < issue->servers.n; s++) { /* Eq. 2 of each component */
			struct fleet a = *usual, b = *issue;
			int twin = fleet_find_server(usual, issue->servers.v[s].name);
			struct fleet_findings one = {};

			if (twin < 0)
				continue;
			a.servers.v = &usual->servers.v[twin];
			b.servers.v = &issue->servers.v[s];
			a.servers.n = b.servers.n = 1;
			q.fleet = &b;
			q.reference = &a;
			if (fleet_analysis_find("between")->run(&q, &one) == 0)
				for (size_t i = 0; i < one.list.n; i++) {
					one.list.v[i].server = (int)s;
					VEC_PUSH(found.list, one.list.v[i]);
				}
			fleet_findings_free(&one);
		}
		fleet_findings_sort(&found);
		count_rank(&ranks[k], rank_of_server(&found, issue, cause, q.counter));
		fleet_findings_free(&found);
	}
	json_decref(root);
	fleet_free(issue);
	fleet_free(usual);
	free(issue);
	free(usual);
}

static void evaluate_petshop(void)
{
	_cleanup_free_ char *pattern = NULL;
	struct ranks ranks[3] = {};
	glob_t g;

	if (asprintf(&pattern, "%s/petshop/dataset/*/t*/issue_*", data_dir) < 0 || glob(pattern, 0, NULL, &g) != 0)
		die("no data");
	for (size_t i = 0; i < g.gl_pathc; i++)
		petshop_issue(g.gl_pathv[i], ranks);
	globfree(&g);
	tell_ranks("petshop", "default (explain)", &ranks[0]);
	tell_ranks("petshop", "without the symptom", &ranks[1]);
	tell_ranks("petshop", "PAD Eq. 2", &ranks[2]);
	printf("%-8s %-22s %-12s %s\n", "petshop", "published", "top 1/3", "call-graph method .654/.827; z > 5 then Pearson .71/.88/1.00 (52 issues)");
	printf("%-8s %-22s %-12s %s\n", "petshop", "random", "top 1/3/5", ".03/.08/.13");
	result("fleet.petshop.top_1", ranks[0].at1.sum / ranks[0].at1.cases);
	result("fleet.petshop.top_3", ranks[0].at3.sum / ranks[0].at3.cases);
	result("fleet.petshop.top_5", ranks[0].at5.sum / ranks[0].at5.cases);
}

/* --- Nezha --- */

struct fault {
	int64_t at;
	char *pod, *type;
};

static size_t read_faults(const char *day, struct fault *faults, size_t most)
{
	_cleanup_free_ char *path = NULL;
	const char *hour;
	json_t *root, *list;
	size_t n = 0;

	if (asprintf(&path, "%s/nezha-counters/rca_data/%s/%s-fault_list.json", data_dir, day, day) < 0)
		die("memory");
	root = json_load_file(path, 0, NULL);
	if (!root)
		die(path);
	json_object_foreach(root, hour, list) {
		size_t i;
		json_t *x;

		json_array_foreach(list, i, x) {
			const char *time, *pod, *type;

			if (n == most || json_unpack(x, "{s:s, s:s, s:s}", "inject_time", &time, "inject_pod", &pod, "inject_type", &type) < 0 ||
			    timestamp_parse(time, time + strlen(time), &faults[n].at) < 0)
				continue;
			faults[n].pod = strdup(pod);
			faults[n++].type = strdup(type);
		}
	}
	json_decref(root);
	return n;
}

static void without_node(struct fleet *f)
{
	for (size_t c = 0; c < f->counters.n; c++)
		for (size_t s = 0; strncmp(f->counters.v[c].name, "Node", 4) == 0 && s < f->servers.n; s++)
			f->servers.v[s].column[c] = NULL;
}

enum { OF_ALL, OF_CPU, OF_NETWORK, OF_CODE, FAULT_CLASSES };

static int class_of(const char *type)
{
	return strstr(type, "cpu") ? OF_CPU : strstr(type, "network") ? OF_NETWORK : OF_CODE;
}

static void evaluate_day(const char *day, const char *label)
{
	static const char *const methods[] = {"default, day", "PAD Eq. 2, day", "default, 20 min"};
	static const char *const classes[] = {"all", "CPU", "network", "code"};
	struct ranks ranks[3][FAULT_CLASSES] = {};
	struct fault faults[256];
	struct fleet_span known[256];
	size_t n = read_faults(day, faults, ARRAY_SIZE(faults));
	_cleanup_free_ char *pattern = NULL;
	struct fleet *f;
	char words[64];

	if (asprintf(&pattern, "%s/nezha-counters/rca_data/%s/metric/*_metric.csv*", data_dir, day) < 0)
		die("memory");
	f = read_tables(pattern, NULL);
	without_node(f);
	for (size_t i = 0; i < n; i++)
		known[i] = (struct fleet_span){faults[i].at - 30 * NS_PER_SEC, faults[i].at + 300 * NS_PER_SEC};
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			struct fleet_question q = fleet_question_default(f);
			struct fleet_findings found = {};
			unsigned rank;

			q.window = (struct fleet_span){faults[i].at, faults[i].at + 240 * NS_PER_SEC};
			q.left_out = known;
			q.n_left_out = k == 2 ? 0 : n;
			if (k == 2)
				q.usual = (struct fleet_span){faults[i].at - 1200 * NS_PER_SEC, faults[i].at};
			for (size_t s = 0; k == 1 && s < f->servers.n; s++) {
				struct fleet one = *f;
				struct fleet_findings part = {};

				one.servers.v = &f->servers.v[s];
				one.servers.n = 1;
				q.fleet = &one;
				if (fleet_analysis_find("between")->run(&q, &part) == 0)
					for (size_t x = 0; x < part.list.n; x++) {
						part.list.v[x].server = (int)s;
						VEC_PUSH(found.list, part.list.v[x]);
					}
				fleet_findings_free(&part);
			}
			if (k != 1 && fleet_analysis_find("deviation")->run(&q, &found) < 0)
				die(day);
			fleet_findings_sort(&found);
			rank = rank_of_server(&found, f, faults[i].pod, -1);
			count_rank(&ranks[k][OF_ALL], rank);
			count_rank(&ranks[k][class_of(faults[i].type)], rank);
			fleet_findings_free(&found);
		}
	for (int k = 0; k < 3; k++)
		for (int c = 0; c < FAULT_CLASSES; c++) {
			snprintf(words, sizeof(words), "%s: %s", methods[k], classes[c]);
			tell_ranks(label, words, &ranks[k][c]);
		}
	if (strcmp(label, "nezha_ob") == 0) {
		result("fleet.nezha_ob.as_1", ranks[0][OF_ALL].at1.sum / ranks[0][OF_ALL].at1.cases);
		result("fleet.nezha_ob.as_3", ranks[0][OF_ALL].at3.sum / ranks[0][OF_ALL].at3.cases);
		result("fleet.nezha_ob.as_5", ranks[0][OF_ALL].at5.sum / ranks[0][OF_ALL].at5.cases);
	}
	snprintf(words, sizeof(words), "fleet.%s.cpu_worst_rank", label);
	result(words, ranks[0][OF_CPU].worst);
	fleet_free(f);
	free(f);
}

/* --- the paper's stories, generated --- */

#define STORY_SERVERS  25
#define STORY_COUNTERS 200
#define STORY_ROWS     576 /* two days of five minutes */
#define STORY_FROM     480
#define STORY_SEEDS    5

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*state >> 11) / (double)(1ull << 53);
}

static double gaussian(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += uniform(state);
	return sum - 6;
}

/* Which counters a story touches on its server, and how: a step (requests placed on one server), a ramp (a leak), a step of
 * few counters (an unbalanced hash table). */
struct story {
	const char *name;
	unsigned counters;
	bool ramp;
};

static const struct story stories[] = {{"stuck random generator", 12, false}, {"leaking buffer pool", 6, true}, {"unbalanced DHT", 2, false}};

/* Levels differ by role (three) and counter; a daily cycle that a counter follows more or less; noise that a server's
 * counters share, that all servers share, and its own (autocorrelated), together about 4 % of the level. */
static struct fleet *tell_story(const struct story *story, double effect, uint64_t seed, int ill, int from)
{
	struct intake *in = intake_new();
	struct counter_info info = {.kind = FLEET_GAUGE};
	struct fleet *f;
	static double fleet_noise[STORY_ROWS], server_noise[STORY_SERVERS][STORY_ROWS];
	uint64_t state = seed * 7919 + 17;

	for (int t = 0; t < STORY_ROWS; t++)
		fleet_noise[t] = gaussian(&state);
	for (int s = 0; s < STORY_SERVERS; s++)
		for (int t = 0; t < STORY_ROWS; t++)
			server_noise[s][t] = 0.7 * (t ? server_noise[s][t - 1] : 0) + 0.7 * gaussian(&state);
	for (int c = 0; c < STORY_COUNTERS; c++) {
		double level = exp(8 * uniform(&state)), cycle = 0.4 * uniform(&state), shared = 0.03 * uniform(&state);
		double own_share = 0.01 + 0.03 * uniform(&state), role_factor[3];
		char name[32];
		int counter;

		for (int r = 0; r < 3; r++)
			role_factor[r] = 0.5 + uniform(&state);
		snprintf(name, sizeof(name), "counter%03d", c);
		counter = intake_counter(in, name, &info);
		for (int s = 0; s < STORY_SERVERS; s++) {
			double own = 0;
			int server;

			snprintf(name, sizeof(name), "silo%02d", s);
			server = intake_server(in, name);
			snprintf(name, sizeof(name), "role%d", s % 3);
			intake_role(in, server, name);
			for (int t = 0; t < STORY_ROWS; t++) {
				double x = level * role_factor[s % 3] * (1 + cycle * sin(2 * M_PI * t / 288));

				own = 0.5 * own + 0.87 * gaussian(&state);
				x *= 1 + shared * (0.5 * fleet_noise[t] + 0.5 * server_noise[s][t]) + own_share * own;
				if (s == ill && (unsigned)c < story->counters && t >= from)
					x *= 1 + effect * (story->ramp ? (t - from) / (double)(STORY_ROWS - from) * 2 : 1);
				intake_put(in, server, counter, t * 300 * NS_PER_SEC, x);
			}
		}
	}
	if (intake_finish(in, &f) < 0)
		die("memory");
	intake_free(in);
	return f;
}

static void judge_story(const struct fleet *f, const struct story *story, int ill, struct tally *recall, struct tally *first)
{
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};
	unsigned hits = 0;

	q.window.from = STORY_FROM * 300 * NS_PER_SEC;
	if (fleet_analysis_find("deviation")->run(&q, &found) < 0)
		die("cannot analyse");
	for (size_t i = 0; i < story->counters && i < found.list.n; i++)
		hits += found.list.v[i].server == ill && found.list.v[i].counter < (int)story->counters;
	recall->hits += hits;
	recall->of += story->counters;
	recall->sum += hits / (double)story->counters;
	recall->cases++;
	count(first, found.list.v[0].server == ill);
	fleet_findings_free(&found);
}

static void evaluate_stories(void)
{
	static const int effects[] = {5, 10, 15, 20};
	char words[64];

	for (size_t e = 0; e < ARRAY_SIZE(effects); e++) {
		struct tally recall = {}, first = {};

		for (size_t k = 0; k < ARRAY_SIZE(stories); k++) {
			struct tally of_story = {};

			for (uint64_t seed = 0; seed < STORY_SEEDS; seed++) {
				int ill = (int)(seed * 5 + k) % STORY_SERVERS;
				struct fleet *f = tell_story(&stories[k], effects[e] / 100.0, seed, ill, STORY_FROM);

				judge_story(f, &stories[k], ill, &of_story, &first);
				fleet_free(f);
				free(f);
			}
			snprintf(words, sizeof(words), "recall at %d %%", effects[e]);
			tell("stories", stories[k].name, words, &of_story);
			recall.sum += of_story.sum;
			recall.cases += of_story.cases;
		}
		snprintf(words, sizeof(words), "effect %d %%", effects[e]);
		tell("stories", "the server is first", words, &first);
		snprintf(words, sizeof(words), "fleet.stories.recall_%d", effects[e]);
		if (effects[e] != 15)
			result(words, recall.sum / recall.cases);
		if (effects[e] == 20)
			result("fleet.stories.server_first_20", first.sum / first.cases);
	}
}

/* The same stories asked as `fleet why` is: what is said of when and what, and since when it lasts. */
struct asked {
	const char *words;
	int from; /* row from which it is ill; 0 = all of the data */
	int window; /* row with which the window begins; 0 = none is given */
	bool symptom; /* the counter is given, not its server */
};

static const struct asked asked[] = {{"window", STORY_FROM, STORY_FROM, false},
				     {"window, symptom", STORY_FROM, STORY_FROM, true},
				     {"nothing", STORY_FROM, 0, false},
				     {"symptom", STORY_FROM, 0, true},
				     {"nothing, half is ill", STORY_ROWS / 2, 0, false},
				     {"all is ill, nothing", 0, 0, false},
				     {"all is ill, symptom", 0, 0, true},
				     {"all is ill, window", 0, STORY_FROM, false}};

static bool why_names(const struct fleet *f, const struct asked *question, int ill)
{
	struct fleet_question q = fleet_question_default(f);
	const struct causes causes = {};
	struct fleet_answer a;
	bool named;

	q.max_lag = FLEET_LAG_BY_ROWS;
	if (question->window)
		q.window.from = question->window * 300 * NS_PER_SEC;
	if (question->symptom)
		q.counter = 0;
	if (fleet_why_answer(&q, &causes, NULL, &a) < 0)
		return false;
	named = a.server == ill;
	fleet_answer_free(&a);
	return named;
}

static void ask_stories(double effect, const char *name)
{
	struct tally all = {};
	char words[64];

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct tally of_question = {};

		for (size_t k = 0; k < ARRAY_SIZE(stories); k++)
			for (uint64_t seed = 0; seed < STORY_SEEDS; seed++) {
				int ill = (int)(seed * 5 + k) % STORY_SERVERS;
				struct fleet *f = tell_story(&stories[k], effect, seed, ill, asked[i].from);
				bool named = why_names(f, &asked[i], ill);

				count(&of_question, named);
				count(&all, named);
				fleet_free(f);
				free(f);
			}
		snprintf(words, sizeof(words), "why: %s", asked[i].words);
		tell("stories", words, name, &of_question);
	}
	snprintf(words, sizeof(words), "fleet.stories.why_first_%s", name);
	result(words, all.sum / all.cases);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		die("usage: fleet-eval DATA smd|asd|petshop|nezha|stories|asked");
	data_dir = argv[1];
	if (strcmp(argv[2], "smd") == 0)
		evaluate_machines("smd", 38);
	else if (strcmp(argv[2], "asd") == 0)
		evaluate_machines("asd", 19);
	else if (strcmp(argv[2], "petshop") == 0)
		evaluate_petshop();
	else if (strcmp(argv[2], "stories") == 0) {
		evaluate_stories();
		ask_stories(0.2, "20");
	} else if (strcmp(argv[2], "asked") == 0)
		ask_stories(0.2, "20");
	else {
		evaluate_day("2022-08-22", "nezha_ob");
		evaluate_day("2023-01-29", "nezha_tt");
	}
	return 0;
}
