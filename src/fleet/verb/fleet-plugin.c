#include "fleet/verb/fleet-plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../include/whyslow-plugin.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/trusted-file.h"

#define ERROR_MAX 1024

static const struct whyslow_plugin *arg_plugin; /* what --plugin named */

int fleet_plugin_open(const char *file, char **ret_error)
{
	_cleanup_free_ char *real = strchr(file, '/') ? realpath(file, NULL) : NULL;
	const struct whyslow_plugin *found;
	void *handle;

	if (arg_plugin)
		return 0;
	if (real) { /* the same file then: none of its folders can be changed by others, or is a link */
		_cleanup_close_ int fd = trusted_file_open(real, ret_error);

		if (fd == -EPERM)
			return fd;
	}
	handle = dlopen(real ? real : file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return str_fail(ret_error, -EINVAL, "the plug-in cannot be loaded: %s%s", dlerror(),
				 strchr(file, '/') ? "" : " (for one in this folder write ./ before its name)");
	found = dlsym(handle, "whyslow_plugin");
	if (!found || found->version != WHYSLOW_PLUGIN_VERSION) {
		int r = found ? str_fail(ret_error, -EINVAL, "%s was made for version %u of whyslow's plug-ins, and this whyslow takes version %d: "
					  "build it against its include/whyslow-plugin.h", file, found->version, WHYSLOW_PLUGIN_VERSION)
			      : str_fail(ret_error, -EINVAL, "%s is not a whyslow plug-in: it has no symbol whyslow_plugin", file);

		dlclose(handle);
		return r;
	}
	arg_plugin = found;
	return 0;
}

/* --- a source --- */

static int sink_server(void *data, const char *name)
{
	return intake_server(data, name);
}

static int sink_counter(void *data, const char *name, enum whyslow_kind kind, const char *unit, const char *help)
{
	struct counter_info info = {kind == WHYSLOW_GAUGE ? FLEET_GAUGE : kind == WHYSLOW_COUNTER ? FLEET_COUNTER : FLEET_UNKNOWN, unit, help};

	return intake_counter(data, name, &info);
}

static int sink_put(void *data, int server, int counter, size_t n, const int64_t *times, const double *values)
{
	return server < 0 || counter < 0 ? -EINVAL : intake_column(data, server, counter, n, times, values);
}

static void sink_bad(void *data, const char *file, uint64_t line, const char *words)
{
	intake_bad(data, file, line, "%s", words);
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	const struct whyslow_sink sink = {into, sink_server, sink_counter, sink_put, sink_bad};
	char error[ERROR_MAX] = "";
	int r = arg_plugin->source->load(input->location, input->from, input->to, &sink, error, sizeof(error));

	error[sizeof(error) - 1] = '\0';
	return r < 0 ? str_fail(ret_error, -EIO, "%s: %s", arg_plugin->source->name, *error ? error : "the plug-in failed without a message") : 0;
}

static int recognise(const char *location)
{
	(void)location;
	return 1;
}

const struct fleet_source *fleet_plugin_source(void)
{
	static const struct fleet_source source = {.name = "plugin", .help = "a plug-in's", .recognise = recognise, .load = load};

	return arg_plugin && arg_plugin->source ? &source : NULL;
}

/* --- an analysis --- */

struct arrays {
	const char **servers, **counters;
	size_t *n_rows;
	const int64_t **times;
	const float **values;
};

static void arrays_free(struct arrays *a)
{
	FREE_ALL(a->servers, a->counters, a->n_rows, a->times, a->values);
}

static int make_arrays(const struct fleet *f, struct arrays *a)
{
	a->servers = calloc(f->servers.n + 1, sizeof(*a->servers));
	a->counters = calloc(f->counters.n + 1, sizeof(*a->counters));
	a->n_rows = calloc(f->servers.n + 1, sizeof(*a->n_rows));
	a->times = calloc(f->servers.n + 1, sizeof(*a->times));
	a->values = calloc(f->servers.n * f->counters.n + 1, sizeof(*a->values));
	if (!a->servers || !a->counters || !a->n_rows || !a->times || !a->values)
		return -ENOMEM;
	for (size_t c = 0; c < f->counters.n; c++)
		a->counters[c] = f->counters.v[c].name;
	for (size_t s = 0; s < f->servers.n; s++) {
		a->servers[s] = f->servers.v[s].name;
		a->n_rows[s] = f->servers.v[s].n;
		a->times[s] = f->servers.v[s].time;
		for (size_t c = 0; c < f->counters.n; c++)
			a->values[s * f->counters.n + c] = f->servers.v[s].column[c];
	}
	return 0;
}

struct finding_sink {
	const struct fleet_question *q;
	struct fleet_findings *ret;
};

static int take_result(void *to, const struct whyslow_result *result)
{
	struct finding_sink *s = to;
	struct fleet_finding x = fleet_finding_empty;

	if (result->counter < 0 || (size_t)result->counter >= s->q->fleet->counters.n ||
	    (result->server >= 0 && (size_t)result->server >= s->q->fleet->servers.n))
		return -EINVAL;
	x.server = result->server < 0 ? -1 : result->server;
	x.counter = result->counter;
	x.score = result->score;
	x.observed = result->observed;
	x.usual = result->usual;
	x.since = result->since;
	x.flags = x.observed > x.usual ? FLEET_HIGHER : x.observed < x.usual ? FLEET_LOWER : 0;
	if (isnan(x.score) || (!isnan(s->q->threshold) && x.score < s->q->threshold))
		return 0;
	return VEC_PUSH(s->ret->list, x);
}

const char *fleet_plugin_analysis(void)
{
	return arg_plugin && arg_plugin->analysis ? arg_plugin->analysis->name : NULL;
}

int fleet_plugin_run(const struct fleet_question *q, struct fleet_findings *ret, char **ret_error)
{
	const struct whyslow_question question = {q->window.from, q->window.to, q->usual.from, q->usual.to};
	_cleanup_(arrays_free) struct arrays a = {};
	struct finding_sink to = {q, ret};
	char error[ERROR_MAX] = "";
	struct whyslow_data data;
	int r = make_arrays(q->fleet, &a);

	if (r < 0)
		return r;
	data = (struct whyslow_data){q->fleet->servers.n, q->fleet->counters.n, a.servers, a.counters, a.n_rows, a.times, a.values};
	ret->analysis = arg_plugin->analysis->name;
	ret->looked_at = q->fleet->servers.n * q->fleet->counters.n;
	r = arg_plugin->analysis->run(&data, &question, take_result, &to, error, sizeof(error));
	error[sizeof(error) - 1] = '\0';
	if (r < 0)
		return str_fail(ret_error, -EIO, "%s: %s", ret->analysis, *error ? error : "the plug-in failed without a message");
	fleet_findings_sort(ret);
	return 0;
}
