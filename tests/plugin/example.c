/* An example of both: a source that makes up a wave, and an analysis that lists by the largest value. */
#include <whyslow-plugin.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ll

static int load(const char *location, int64_t from, int64_t to, const struct whyslow_sink *sink, char *error, size_t error_size)
{
	int counter = sink->counter(sink->data, "wave", WHYSLOW_GAUGE, "m", "how high the water stands");
	char name[32];

	if (strncmp(location, "wave:", 5) != 0) {
		snprintf(error, error_size, "'%s' is no wave:SERVERS", location);
		return -1;
	}
	for (int s = 0; s < location[5] - '0'; s++) {
		int server;

		snprintf(name, sizeof(name), "buoy-%d", s);
		server = sink->server(sink->data, name);
		for (int i = 0; i < 100; i++) {
			int64_t time = (1795183200 + i) * SECOND;
			double value = sin(i / 10.) + (s == 1 && i > 80 ? 9 : 0);

			if (time >= from && time < to && sink->put(sink->data, server, counter, 1, &time, &value) < 0)
				return -1;
		}
	}
	sink->bad(sink->data, location, 7, "this row was only foam");
	return 0;
}

static int run(const struct whyslow_data *data, const struct whyslow_question *question,
	       int (*found)(void *to, const struct whyslow_result *result), void *to, char *error, size_t error_size)
{
	(void)question, (void)error, (void)error_size;
	for (size_t s = 0; s < data->n_servers; s++)
		for (size_t c = 0; c < data->n_counters; c++) {
			const float *v = data->values[s * data->n_counters + c];
			struct whyslow_result r = {(int)s, (int)c, -1, 0, 0, 0};

			for (size_t i = 0; v && i < data->n_rows[s]; i++)
				if (v[i] > r.observed) {
					r.score = r.observed = v[i];
					r.since = data->times[s][i];
				}
			if (v && found(to, &r) < 0)
				return -1;
		}
	return 0;
}

static const struct whyslow_source source = {"wave", "made-up waves", load};
static const struct whyslow_analysis analysis = {"largest", "the largest value", run};

#ifndef VERSION
#define VERSION WHYSLOW_PLUGIN_VERSION
#endif
const struct whyslow_plugin whyslow_plugin = {VERSION, &source, &analysis};
