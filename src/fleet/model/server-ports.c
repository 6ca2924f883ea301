#include "fleet/model/server-ports.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define PORTS_MAX 16

/* The length of the host in "host:9100", or 0. */
static size_t host_length(const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	return colon && digits && digits <= 5 && !colon[1 + digits] ? (size_t)(colon - name) : 0;
}

struct group {
	size_t of[PORTS_MAX]; /* servers, ascending */
	size_t n;
};

static bool is_same_host(const struct fleet *f, size_t a, size_t b)
{
	size_t n = host_length(f->servers.v[a].name);

	return n && host_length(f->servers.v[b].name) == n && strncmp(f->servers.v[a].name, f->servers.v[b].name, n) == 0;
}

/* Whether the smaller one of two servers has most of its counters for itself. */
static bool have_own_counters(const struct fleet_server *a, const struct fleet_server *b, size_t n)
{
	size_t of_a = 0, of_b = 0, both = 0;

	for (size_t i = 0; i < n; i++) {
		of_a += a->column[i] != NULL;
		of_b += b->column[i] != NULL;
		both += a->column[i] && b->column[i];
	}
	return both * 2 < (of_a < of_b ? of_a : of_b);
}

/* Two exporters of one machine that are asked at moments of their own would leave half of each row empty. */
static bool have_same_times(const struct fleet_server *a, const struct fleet_server *b)
{
	uint32_t i = 0, k = 0, same = 0, least = a->n < b->n ? a->n : b->n;

	while (i < a->n && k < b->n) {
		same += a->time[i] == b->time[k];
		if (a->time[i] < b->time[k])
			i++;
		else
			k++;
	}
	return same >= least - least / 10;
}

static bool are_exporters(const struct fleet *f, char *const *jobs, size_t n_jobs, size_t a, size_t b)
{
	const char *x = jobs && a < n_jobs ? jobs[a] : NULL, *y = jobs && b < n_jobs ? jobs[b] : NULL;

	if (!have_same_times(&f->servers.v[a], &f->servers.v[b]))
		return false;
	return x && y ? strcmp(x, y) != 0 : have_own_counters(&f->servers.v[a], &f->servers.v[b], f->counters.n);
}

static void find_group(const struct fleet *f, char *const *jobs, size_t n_jobs, size_t first, struct group *ret)
{
	*ret = (struct group){.of = {first}, .n = 1};
	for (size_t i = first + 1; i < f->servers.n && ret->n < PORTS_MAX; i++) {
		bool all = is_same_host(f, first, i);

		for (size_t k = 0; k < ret->n && all; k++)
			all = are_exporters(f, jobs, n_jobs, ret->of[k], i);
		if (all)
			ret->of[ret->n++] = i;
	}
}

/* The times of all of them, once each. */
static int64_t *unite_times(const struct fleet *f, const struct group *g, uint32_t *ret_n)
{
	uint32_t at[PORTS_MAX] = {}, total = 0, n = 0;
	int64_t *times;

	for (size_t k = 0; k < g->n; k++)
		total += f->servers.v[g->of[k]].n;
	times = malloc((total + 1) * sizeof(*times));
	for (bool any = times != NULL; any;) {
		int64_t next = INT64_MAX;

		any = false;
		for (size_t k = 0; k < g->n; k++) {
			const struct fleet_server *s = &f->servers.v[g->of[k]];

			if (at[k] < s->n && s->time[at[k]] <= next) {
				next = s->time[at[k]];
				any = true;
			}
		}
		for (size_t k = 0; k < g->n && any; k++)
			at[k] += at[k] < f->servers.v[g->of[k]].n && f->servers.v[g->of[k]].time[at[k]] == next;
		if (any)
			times[n++] = next;
	}
	*ret_n = n;
	return times;
}

/* A column in the rows of other times; its memory is the fleet's. */
static float *lay_out(struct fleet *f, const float *column, const struct fleet_server *s, const int64_t *times, uint32_t n)
{
	float *to;

	if (VEC_GROW(f->blocks) < 0)
		return NULL;
	to = malloc((n + 1) * sizeof(*to));
	if (!to)
		return NULL;
	f->blocks.v[f->blocks.n++] = to;
	for (uint32_t i = 0, k = 0; i < n; i++) {
		to[i] = NAN;
		if (k < s->n && s->time[k] == times[i])
			to[i] = column[k++];
	}
	return to;
}

/* The counter of a port: its own name, or where another port has it, too, with the port as a label. */
static int port_counter(struct fleet *f, const struct group *g, size_t member, size_t counter)
{
	_cleanup_str_ struct str name = {};
	const char *server = f->servers.v[g->of[member]].name, *given = f->counters.v[counter].name;
	size_t have = 0, brace = strcspn(given, "{");
	int added;

	for (size_t k = 0; k < g->n; k++)
		have += f->servers.v[g->of[k]].column[counter] != NULL;
	if (have < 2)
		return (int)counter;
	str_append(&name, given, brace);
	str_printf(&name, "{port=\"%s\"%s%s", server + host_length(server) + 1, given[brace] ? "," : "}", given[brace] ? given + brace + 1 : "");
	added = name.error ? -ENOMEM : fleet_add_counter(f, name.data);
	if (added < 0)
		return added;
	f->counters.v[added].kind = f->counters.v[counter].kind;
	if (!f->counters.v[added].unit && f->counters.v[counter].unit)
		f->counters.v[added].unit = strdup(f->counters.v[counter].unit);
	return added;
}

static int join(struct fleet *f, const struct group *g)
{
	const size_t counters = f->counters.n;
	uint32_t n;
	int64_t *times = unite_times(f, g, &n);
	float **columns = calloc(counters * (g->n + 1) + 1, sizeof(*columns));
	char *host = strndup(f->servers.v[g->of[0]].name, host_length(f->servers.v[g->of[0]].name));
	int r = times && columns && host ? 0 : -ENOMEM;

	for (size_t c = 0; c < counters && r == 0; c++)
		for (size_t k = 0; k < g->n && r == 0; k++) {
			const float *column = f->servers.v[g->of[k]].column[c];
			int to = column ? port_counter(f, g, k, c) : 0;

			r = to < 0 ? to : 0;
			if (column && r == 0 && !(columns[to] = lay_out(f, column, &f->servers.v[g->of[k]], times, n)))
				r = -ENOMEM;
		}
	if (r == 0) {
		struct fleet_server *s = &f->servers.v[g->of[0]];

		memset(s->column, 0, f->counters.n * sizeof(*s->column));
		memcpy(s->column, columns, f->counters.n * sizeof(*columns));
		FREE_ALL(s->time, s->name);
		s->time = times;
		s->name = host;
		s->n = n;
	} else {
		FREE_ALL(times, host);
	}
	free(columns);
	return r;
}

static void remove_server(struct fleet *f, char **jobs, size_t n_jobs, size_t i)
{
	struct fleet_server *s = &f->servers.v[i];

	FREE_ALL(s->name, s->role, s->time, s->column);
	memmove(s, s + 1, (f->servers.n - i - 1) * sizeof(*s));
	f->servers.n--;
	if (!jobs || i >= n_jobs)
		return;
	free(jobs[i]);
	memmove(&jobs[i], &jobs[i + 1], (n_jobs - i - 1) * sizeof(*jobs));
	jobs[n_jobs - 1] = NULL;
}

static int index_again(struct fleet *f)
{
	hmap_free(&f->server_index);
	f->server_index = (struct hmap){};
	for (size_t i = 0; i < f->servers.n; i++)
		if (hmap_put(&f->server_index, hmap_hash_text(f->servers.v[i].name), 0, (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
	return 0;
}

/* How many servers of a host with a port there are: by (hash of the host, 0). */
static int count_hosts(const struct fleet *f, struct hmap *of_host)
{
	for (size_t i = 0; i < f->servers.n; i++) {
		size_t n = host_length(f->servers.v[i].name);
		uint64_t key = n ? hmap_hash_bytes(f->servers.v[i].name, n) : 0;

		if (n && hmap_put(of_host, key, 0, (void *)((uintptr_t)hmap_get(of_host, key, 0) + 1)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int server_ports_join(struct fleet *f, char **jobs, size_t n_jobs)
{
	_cleanup_(hmap_free) struct hmap of_host = {};
	bool any = false;

	if (count_hosts(f, &of_host) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++) {
		size_t n = host_length(f->servers.v[i].name);
		struct group g;
		int r;

		if (!n || (uintptr_t)hmap_get(&of_host, hmap_hash_bytes(f->servers.v[i].name, n), 0) < 2)
			continue;
		find_group(f, jobs, n_jobs, i, &g);
		if (g.n < 2)
			continue;
		r = join(f, &g);
		if (r < 0)
			return r;
		for (size_t k = g.n; k-- > 1;)
			remove_server(f, jobs, n_jobs, g.of[k]);
		any = true;
	}
	return any ? index_again(f) : 0;
}
