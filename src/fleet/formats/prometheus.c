/* A Prometheus server's HTTP API: prometheus://HOST[:PORT], prometheus+https://HOST[:PORT], http[s]://HOST:PORT. Or files with
 * answers of its query_range.
 *
 * What is asked: /api/v1/metadata (types, help), /api/v1/label/__name__/values (what there is in the time), and for each
 * name /api/v1/query_range. Running sums come as they are (intake makes rates of them); the server is the label
 * instance (or the one given). /api/v1/series of `up` tells which labels belong to a server (env, rack: the same on all it exposes): those do
 * not become part of counters' names, and one called role, group, tier or pool (or the one given) is the role. Else the role is what the
 * label job tells (server-role.h). Other labels stay in the counter's name.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/stream.h"
#include "lib/net/http-client.h"
#include "lib/net/users.h"

#define ANSWER_MAX     ((size_t)1 << 30) /* of a file */
#define POINTS_MAX     10000 /* of a series in one query: the server's limit is 11,000 */
#define DEFAULT_WINDOW (3600 * NS_PER_SEC)
#define LEAST_STEP     (15 * NS_PER_SEC)
#define MOMENT_MAX     9e9 /* s since 1970: the year 2255, and within 64 bits of ns */
#define WANTED_POINTS  1000 /* where no step is given */

static const char *const endings[] = {".json", NULL};

struct server {
	const struct fleet_input *input;
	struct intake *into;
	struct http_client *http;
	char *base; /* "http://host:port" */
	json_t *metadata;
	json_t *targets; /* by server: {label: value}, those that all of its `up` have */
	int64_t from, to, step;
	uint64_t buckets;
	uint64_t of_none; /* series that say no server */
	char **ret_error;
};

static int fail(const struct server *s, int code, const char *what)
{
	return str_fail(s->ret_error, code, "%s/: %s: is this a Prometheus server?", s->base, what);
}

/* {"status": "success", "data": ...}: the data, which the caller owns. */
static int take_answer(const struct server *s, const struct str *text, json_t **ret)
{
	_cleanup_(json_decrefp) json_t *answer = json_loadb(text->data ? text->data : "", text->len, 0, NULL);
	const char *status = json_string_value(json_object_get(answer, "status"));
	const char *error = json_string_value(json_object_get(answer, "error"));
	int r = 0;

	if (!status)
		r = fail(s, -EBADMSG, "no answer of the kind that was expected");
	else if (strcmp(status, "success") != 0)
		r = str_fail(s->ret_error, -EREMOTEIO, "%s/: Prometheus says: %s", s->base, error ? error : status);
	else
		*ret = json_incref(json_object_get(answer, "data"));
	return r;
}

static int ask(const struct server *s, const char *path, json_t **ret)
{
	_cleanup_str_ struct str url = {};
	struct http_reply reply = {};
	struct http_request q;
	int r;

	str_printf(&url, "%s%s", s->base, path);
	if (url.error)
		return url.error;
	q = (struct http_request){.url = url.data};
	r = http_send(s->http, &q, &reply);
	if (r < 0)
		return str_fail(s->ret_error, r, "%s", http_client_error(s->http));
	if (reply.status != 400 && reply.status != 422) /* those say in the body what is wrong */
		r = http_check_status(s->http, &q, &reply);
	if (r < 0)
		str_fail(s->ret_error, r, "%s", http_client_error(s->http));
	else
		r = take_answer(s, &reply.body, ret);
	http_reply_free(&reply);
	return r;
}

static const char *label_of_servers(const struct server *s)
{
	return s->input->server_column ? s->input->server_column : "instance";
}

/* A counter's info by its metric's name, where the targets reported it. */
static struct counter_info info_of(const struct server *s, const char *name)
{
	static const char *const suffixes[] = {"", "_total", "_sum", "_count", "_bucket"};
	struct counter_info info = {};
	const json_t *about = NULL;
	size_t n = strlen(name);
	const char *type;

	for (size_t i = 0; !about && i < ARRAY_SIZE(suffixes); i++) {
		size_t e = strlen(suffixes[i]);
		_cleanup_free_ char *stem = n > e && strcmp(name + n - e, suffixes[i]) == 0 ? strndup(name, n - e) : NULL;

		about = stem ? json_array_get(json_object_get(s->metadata, stem), 0) : NULL;
	}
	type = json_string_value(json_object_get(about, "type"));
	if (type)
		info.kind = strcmp(type, "gauge") == 0 ? FLEET_GAUGE :
			    strcmp(type, "counter") == 0 || strcmp(type, "histogram") == 0 || strcmp(type, "summary") == 0 ? FLEET_COUNTER :
			    FLEET_UNKNOWN;
	info.unit = json_string_value(json_object_get(about, "unit"));
	info.help = json_string_value(json_object_get(about, "help"));
	return info;
}

/* Whether a label says something of the server, and nothing of the counter. */
static bool is_of_server(const struct server *s, const json_t *target, const char *label, const json_t *value)
{
	const json_t *same = json_object_get(target, label);

	return strcmp(label, "__name__") == 0 || strcmp(label, label_of_servers(s)) == 0 || strcmp(label, "job") == 0 ||
	       (s->input->role_column && strcmp(label, s->input->role_column) == 0) || (same && json_equal(same, value));
}

/* "name{label="value"}". */
static int series_name(const struct server *s, const json_t *labels, const json_t *target, struct str *out)
{
	const char *name = json_string_value(json_object_get(labels, "__name__")), *key;
	bool any = false;
	json_t *value;

	str_puts(out, name ? name : "value");
	json_object_foreach((json_t *)labels, key, value) {
		if (is_of_server(s, target, key, value))
			continue;
		str_printf(out, "%s%s=\"%s\"", any ? "," : "{", key, json_string_value(value));
		any = true;
	}
	if (any)
		str_putc(out, '}');
	return out->error;
}

/* [[seconds, "value"], ...] */
static int put_values(struct server *s, const json_t *values, int server, int counter, const char *name)
{
	const json_t *pair;
	size_t i;

	json_array_foreach((json_t *)values, i, pair) {
		const char *text = json_string_value(json_array_get(pair, 1));
		double at = json_number_value(json_array_get(pair, 0)), value;
		char *end = NULL;
		int r;

		value = text ? strtod(text, &end) : NAN;
		if (!text || end == text || !json_is_number(json_array_get(pair, 0))) {
			intake_bad(s->into, s->base, 0, "point %zu of %s is not a point", i + 1, name);
			continue;
		}
		if (!isfinite(value))
			continue; /* NaN and +Inf are what an exporter says of what it has not measured */
		if (!(fabs(at) < MOMENT_MAX)) {
			intake_bad(s->into, s->base, 0, "point %zu of %s has no time", i + 1, name);
			continue;
		}
		r = intake_put(s->into, server, counter, (int64_t)llround(at * 1000) * NS_PER_MS, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_role(struct server *s, int server, const json_t *labels, const json_t *target)
{
	static const char *const names[] = {"role", "group", "tier", "pool"};
	const char *role = s->input->role_column ? json_string_value(json_object_get(labels, s->input->role_column)) : NULL;

	for (size_t i = 0; !role && !s->input->role_column && i < ARRAY_SIZE(names); i++)
		role = json_string_value(json_object_get(target, names[i]));
	if (intake_role(s->into, server, role) < 0)
		return -ENOMEM;
	return intake_job(s->into, server, json_string_value(json_object_get(labels, "job")));
}

static int put_series(struct server *s, const json_t *series)
{
	const json_t *labels = json_object_get(series, "metric");
	const char *instance = json_string_value(json_object_get(labels, label_of_servers(s)));
	const json_t *target = instance ? json_object_get(s->targets, instance) : NULL;
	const char *metric = json_string_value(json_object_get(labels, "__name__"));
	_cleanup_str_ struct str name = {};
	struct counter_info info = info_of(s, metric ? metric : "");
	int server, counter;

	if (!instance) { /* what rules computed over all servers belongs to none */
		s->of_none++;
		return 0;
	}
	if (series_name(s, labels, target, &name) < 0)
		return -ENOMEM;
	if (strstr(name.data, "quantile=\"") && info.kind == FLEET_COUNTER)
		info.kind = FLEET_GAUGE;
	server = intake_server(s->into, instance);
	counter = intake_counter(s->into, name.data, &info);
	if (server < 0 || counter < 0 || put_role(s, server, labels, target) < 0)
		return -ENOMEM;
	return put_values(s, json_object_get(series, "values"), server, counter, name.data);
}

static int put_result(struct server *s, const json_t *data)
{
	json_t *series;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(data, "result"), i, series) {
		r = put_series(s, series);
		if (r < 0)
			break;
	}
	return r;
}

static int ask_range(struct server *s, const char *metric, int64_t from, int64_t to)
{
	_cleanup_str_ struct str path = {}, selector = {};
	json_t *data = NULL;
	int r;

	str_printf(&selector, "{__name__=\"%s\"}", metric);
	str_puts(&path, "/api/v1/query_range?query=");
	http_url_escape(&path, selector.data ? selector.data : "");
	str_printf(&path, "&start=%.3f&end=%.3f&step=%.3f", (double)from / 1e9, (double)to / 1e9, (double)s->step / 1e9);
	r = path.error ? path.error : ask(s, path.data, &data);
	r = r ?: put_result(s, data);
	json_decref(data);
	return r;
}

static bool is_bucket(const struct server *s, const char *metric)
{
	size_t n = strlen(metric);

	if (n <= 7 || strcmp(metric + n - 7, "_bucket") != 0)
		return false;
	return info_of(s, metric).kind == FLEET_COUNTER;
}

static bool wants_metric(const struct server *s, const char *metric)
{
	_cleanup_str_ struct str prefix = {};

	if (selection_wants_counter(s->input, metric))
		return true;
	str_printf(&prefix, "%s{", metric); /* a pattern may speak of labels: then those decide */
	return s->input->match && !prefix.error && strncmp(s->input->match, prefix.data, prefix.len) == 0;
}

static int load_metric(struct server *s, const char *metric)
{
	int r = 0;

	if (!wants_metric(s, metric))
		return 0;
	if (is_bucket(s, metric)) {
		s->buckets++;
		return 0;
	}
	for (int64_t at = s->from; r == 0 && at < s->to; at += POINTS_MAX * s->step) {
		int64_t last = at + (POINTS_MAX - 1) * s->step;

		r = ask_range(s, metric, at, last < s->to - 1 ? last : s->to - 1);
	}
	return r;
}

/* Keeps of what is known of a server what these labels say, too. */
static int add_target(json_t *targets, const char *instance, json_t *labels)
{
	json_t *known = json_object_get(targets, instance), *value;
	const char *key;
	void *next;

	if (!known)
		return json_object_set(targets, instance, labels);
	json_object_foreach_safe(known, next, key, value)
		if (!json_equal(value, json_object_get(labels, key)))
			json_object_del(known, key);
	return 0;
}

/* The labels of each server's targets. Two scrapes of one server (jobs, ports) differ in labels that are the scrape's. */
static int ask_targets(struct server *s)
{
	_cleanup_str_ struct str path = {};
	json_t *all = NULL, *labels;
	size_t i;
	int r;

	str_printf(&path, "/api/v1/series?match%%5B%%5D=up&start=%.3f&end=%.3f", (double)s->from / 1e9, (double)s->to / 1e9);
	s->targets = json_object();
	r = path.error || !s->targets ? -ENOMEM : ask(s, path.data, &all);
	json_array_foreach(all, i, labels) {
		const char *instance = json_string_value(json_object_get(labels, label_of_servers(s)));

		if (r == 0 && instance && add_target(s->targets, instance, labels) < 0)
			r = -ENOMEM;
	}
	json_decref(all);
	return r;
}

static int load_all(struct server *s)
{
	_cleanup_str_ struct str path = {};
	json_t *names = NULL, *name;
	size_t i;
	int r = ask(s, "/api/v1/metadata", &s->metadata);

	r = r ?: ask_targets(s);
	if (r < 0)
		return r;
	str_printf(&path, "/api/v1/label/__name__/values?start=%.3f&end=%.3f", (double)s->from / 1e9, (double)s->to / 1e9);
	r = path.error ? path.error : ask(s, path.data, &names);
	if (r == 0)
		json_array_foreach(names, i, name) {
			r = json_is_string(name) ? load_metric(s, json_string_value(name)) : 0;
			if (r < 0)
				break;
			intake_progress(s->into, i + 1, json_array_size(names));
		}
	json_decref(names);
	if (r == 0 && s->buckets)
		intake_remark(s->into, "%" PRIu64 " metrics of histogram buckets were left out; sums and counts are taken", s->buckets);
	return r;
}

static void tell_of_none(const struct server *s)
{
	if (s->of_none)
		intake_remark(s->into, "%" PRIu64 " series without the label '%s' belong to no server and were left out; --server-column LABEL names another",
			      s->of_none, label_of_servers(s));
}

static void choose_time(struct server *s)
{
	const struct fleet_input *in = s->input;

	s->to = in->to == INT64_MAX ? clock_wall() : in->to;
	s->from = in->from == INT64_MIN ? s->to - DEFAULT_WINDOW : in->from;
	s->step = in->step ? in->step : (s->to - s->from) / WANTED_POINTS;
	if (!in->step && s->step < LEAST_STEP)
		s->step = LEAST_STEP;
}

/* The schemes of our own become those of HTTP; what follows the host goes. */
static char *base_of(const char *location)
{
	static const char *const schemes[][2] = {
		{"prometheus+https://", "https://"}, {"prometheus://", "http://"}, {"https://", "https://"}, {"http://", "http://"}};
	char *base = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		const char *rest = location + strlen(schemes[i][0]);
		size_t n;

		if (!str_starts(location, schemes[i][0]))
			continue;
		n = strcspn(rest, "?#");
		while (n && rest[n - 1] == '/')
			n--;
		return asprintf(&base, "%s%.*s", schemes[i][1], (int)n, rest) < 0 ? NULL : base;
	}
	return NULL;
}

/* Answers that something kept. */
static int load_files(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct server s = {.input = input, .into = into, .ret_error = ret_error};
	struct file_list files;
	int r = files_list(input->location, endings, &files);

	if (r < 0)
		return str_fail(ret_error, r, "%s: %s", input->location, strerror(-r));
	for (size_t i = 0; r == 0 && i < files.paths.n; i++) {
		_cleanup_str_ struct str text = {.max = ANSWER_MAX};
		json_t *data = NULL;

		s.base = files.paths.v[i];
		r = stream_read_all(s.base, &text);
		r = r < 0 ? str_fail(ret_error, r, "%s: %s", s.base, strerror(-r)) : take_answer(&s, &text, &data);
		r = r ?: put_result(&s, data);
		json_decref(data);
		intake_progress(into, i + 1, files.paths.n);
	}
	file_list_free(&files);
	tell_of_none(&s);
	return r;
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	_cleanup_free_ char *base = base_of(input->location);
	struct server s = {.input = input, .into = into, .base = base, .ret_error = ret_error};
	int r;

	if (!base)
		return strstr(input->location, "://") ? -ENOMEM : load_files(input, into, ret_error);
	r = user_open_client(&(struct http_client_options){.ca_file = input->ca_file}, input->token_file, &s.http, ret_error);
	if (r < 0)
		return r;
	choose_time(&s);
	r = load_all(&s);
	tell_of_none(&s);
	json_decref(s.metadata);
	json_decref(s.targets);
	http_client_close(s.http);
	return r;
}

static int recognise_answer(const char *location)
{
	struct file_list files;
	char head[512];
	int score;

	if (files_list(location, endings, &files) < 0)
		return 0;
	stream_head(files.paths.v[0], head, sizeof(head));
	score = head[0] == '{' && strstr(head, "\"resultType\"") && strstr(head, "\"matrix\"") ? 90 : 0;
	file_list_free(&files);
	return score;
}

static int recognise(const char *location)
{
	if (str_starts(location, "prometheus://") || str_starts(location, "prometheus+https://"))
		return 50;
	if (strstr(location, "://"))
		return str_starts(location, "http://") || str_starts(location, "https://") ? 30 : 0;
	return recognise_answer(location);
}

const struct fleet_source fleet_source_prometheus = {
	.name = "prometheus",
	.help = "a Prometheus server: prometheus://HOST:PORT (or http, https), or files (.json) with answers of its query_range",
	.recognise = recognise,
	.load = load,
};
