/* Synthetic changes with known causes, after the description of set S in "RiskLoc: Localization of Multi-dimensional
 * Root Causes by Weighted Risk" (Kalander, arXiv 2205.10004, section 5.1): make-leaves FOLDER CASES SEED
 *
 * Five attributes of 10, 12, 10, 8 and 5 values; leaf values 100 x Weibull(shape 0.5..1); 0..25 % of leaves are zero;
 * forecasts off by a relative Gaussian error of 0..0.25, on either side; 1..3 anomalies, each of 1..3 elements of one
 * set of 1..5 attributes, with a severity of 0.2..1 above the noise and a deviation of 0..0.1; elements of different
 * anomalies share no value of a shared attribute. All go the way the forecasts' total error goes.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"

#define ATTRIBUTES 5
#define LEAVES	   (10 * 12 * 10 * 8 * 5)
#define CAUSES_MAX 9
#define MOST	   3 /* anomalies, and elements of one */

static const unsigned values_of[ATTRIBUTES] = {10, 12, 10, 8, 5};

struct cause {
	unsigned anomaly, mask;
	unsigned value[ATTRIBUTES];
};

struct world {
	double observed[LEAVES], expected[LEAVES];
	struct cause causes[CAUSES_MAX];
	size_t n_causes;
	double noise, zeros;
	double severity[MOST], deviation[MOST];
};

static uint64_t state;

/* splitmix64 */
static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double uniform(double from, double to)
{
	return from + (to - from) * ((double)(next() >> 11) + 0.5) * 0x1p-53;
}

static unsigned whole(unsigned from, unsigned to)
{
	return from + (unsigned)(next() % (to - from + 1));
}

static double normal(void)
{
	return sqrt(-2 * log(uniform(0, 1))) * cos(2 * M_PI * uniform(0, 1));
}

static void value_at(size_t leaf, unsigned *value)
{
	for (unsigned a = ATTRIBUTES; a-- > 0; leaf /= values_of[a])
		value[a] = (unsigned)(leaf % values_of[a]);
}

static bool belongs(const struct cause *c, const unsigned *value)
{
	for (unsigned a = 0; a < ATTRIBUTES; a++)
		if (c->mask >> a & 1 && c->value[a] != value[a])
			return false;
	return true;
}

static void make_normal(struct world *w)
{
	double shape = uniform(0.5, 1);

	w->zeros = uniform(0, 0.25);
	w->noise = uniform(0, 0.25);
	for (size_t i = 0; i < LEAVES; i++) {
		double value = uniform(0, 1) < w->zeros ? 0 : 100 * pow(-log(uniform(0, 1)), 1 / shape);
		double off = fmax(value * (1 + w->noise * normal()), 0);
		bool swap = next() & 1;

		w->observed[i] = swap ? off : value;
		w->expected[i] = swap ? value : off;
	}
}

static unsigned choose_attributes(unsigned n)
{
	unsigned mask;

	do
		mask = (unsigned)(next() & ((1u << ATTRIBUTES) - 1));
	while ((unsigned)__builtin_popcount(mask) != n);
	return mask;
}

static bool used_by_others(const struct world *w, unsigned anomaly, unsigned attribute, unsigned value)
{
	for (size_t k = 0; k < w->n_causes; k++) {
		const struct cause *c = &w->causes[k];

		if (c->anomaly != anomaly && c->mask >> attribute & 1 && c->value[attribute] == value)
			return true;
	}
	return false;
}

static bool mask_used(const struct world *w, unsigned anomaly, unsigned mask)
{
	for (size_t k = 0; k < w->n_causes; k++)
		if (w->causes[k].anomaly != anomaly && w->causes[k].mask == mask && mask != (1u << ATTRIBUTES) - 1)
			return true;
	return false;
}

static bool acceptable(const struct world *w, const struct cause *c)
{
	for (unsigned a = 0; a < ATTRIBUTES; a++)
		if (c->mask >> a & 1 && used_by_others(w, c->anomaly, a, c->value[a]))
			return false;
	for (size_t k = 0; k < w->n_causes; k++)
		if (w->causes[k].mask == c->mask && belongs(&w->causes[k], c->value))
			return false;
	if (c->mask == (1u << ATTRIBUTES) - 1) {
		size_t leaf = 0;

		for (unsigned a = 0; a < ATTRIBUTES; a++)
			leaf = leaf * values_of[a] + c->value[a];
		return w->observed[leaf] > 0;
	}
	return true;
}

/* False: these attributes have not that many free elements; others are to be drawn. */
static bool place_anomaly(struct world *w, unsigned anomaly, unsigned mask, unsigned elements)
{
	size_t before = w->n_causes;

	if (mask_used(w, anomaly, mask))
		return false;
	for (unsigned tries = 0; w->n_causes < before + elements; tries++) {
		struct cause c = {.anomaly = anomaly, .mask = mask};

		if (tries > 1000) {
			w->n_causes = before;
			return false;
		}
		for (unsigned a = 0; a < ATTRIBUTES; a++)
			c.value[a] = whole(0, values_of[a] - 1);
		if (acceptable(w, &c))
			w->causes[w->n_causes++] = c;
	}
	return true;
}

static void place_anomalies(struct world *w)
{
	unsigned anomalies = whole(1, MOST);

	w->n_causes = 0;
	for (unsigned k = 0; k < anomalies; k++) {
		unsigned attributes = whole(1, ATTRIBUTES), elements = whole(1, MOST);

		w->severity[k] = uniform(0.2, 1) + w->noise;
		w->deviation[k] = uniform(0, 0.1);
		while (!place_anomaly(w, k, choose_attributes(attributes), elements))
			;
	}
}

static void apply(struct world *w)
{
	double error = 0;
	double *lowered = w->observed, *kept = w->expected;

	for (size_t i = 0; i < LEAVES; i++)
		error += w->observed[i] - w->expected[i];
	if (error > 0) {
		lowered = w->expected;
		kept = w->observed;
	}
	for (size_t i = 0; i < LEAVES; i++) {
		unsigned value[ATTRIBUTES];

		value_at(i, value);
		for (size_t k = w->n_causes; k-- > 0;) {
			const struct cause *c = &w->causes[k];

			if (!belongs(c, value))
				continue;
			lowered[i] = fmax(kept[i] * (1 - w->severity[c->anomaly] - w->deviation[c->anomaly] * normal()), 0);
			break;
		}
	}
}

static FILE *open_in(const char *folder, const char *name)
{
	_cleanup_free_ char *path = NULL;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : fopen(path, "we");
}

static int write_leaves(const struct world *w, const char *folder, unsigned number)
{
	_cleanup_fclose_ FILE *out = NULL;
	char name[32];

	snprintf(name, sizeof(name), "%06u.csv", number);
	out = open_in(folder, name);
	if (!out)
		return -errno;
	fputs("a,b,c,d,e,real,predict\n", out);
	for (size_t i = 0; i < LEAVES; i++) {
		unsigned v[ATTRIBUTES];

		value_at(i, v);
		fprintf(out, "a%u,b%u,c%u,d%u,e%u,%.9g,%.9g\n", v[0] + 1, v[1] + 1, v[2] + 1, v[3] + 1, v[4] + 1, w->observed[i],
			w->expected[i]);
	}
	return 0;
}

static void write_truth(const struct world *w, FILE *out, unsigned number)
{
	fprintf(out, "%06u,", number);
	for (size_t k = 0; k < w->n_causes; k++) {
		if (k)
			fputc(';', out);
		for (unsigned a = 0, n = 0; a < ATTRIBUTES; a++)
			if (w->causes[k].mask >> a & 1)
				fprintf(out, "%s%c=%c%u", n++ ? "&" : "", 'a' + (int)a, 'a' + (int)a, w->causes[k].value[a] + 1);
	}
	fprintf(out, ",%.4f,%.4f\n", w->zeros, w->noise);
}

int main(int argc, char **argv)
{
	static struct world w;
	_cleanup_fclose_ FILE *truth = NULL;

	if (argc != 4) {
		fputs("usage: make-leaves FOLDER CASES SEED\n", stderr);
		return 2;
	}
	state = strtoull(argv[3], NULL, 10);
	mkdir(argv[1], 0755);
	truth = open_in(argv[1], "injection_info.csv");
	if (!truth) {
		perror(argv[1]);
		return 1;
	}
	fputs("timestamp,set,zero_rate,noise_level\n", truth);
	for (unsigned k = 0; k < strtoul(argv[2], NULL, 10); k++) {
		make_normal(&w);
		place_anomalies(&w);
		apply(&w);
		if (write_leaves(&w, argv[1], k + 1) < 0)
			return 1;
		write_truth(&w, truth, k + 1);
	}
	return 0;
}
