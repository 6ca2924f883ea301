#include "fleet/watch/fleet-watch.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/model/fleet-source.h"
#include "fleet/watch/fleet-recordings.h"
#include "fleet/watch/lasting-faults.h"
#include "fleet/watch/ssh-host.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/net/http-client.h"
#include "lib/net/users.h"

#define ANSWERS_MAX  48 /* a round: a host that was away for two days has caught up after one */
#define PULL_TIMEOUT (10 * NS_PER_SEC)
#define TIMES_MAX    100000
#define AHEAD	     (300 * NS_PER_SEC) /* clocks that are set by a network differ by less */
#define SILENT_ROUNDS 3 /* a recorder that says nothing new for so long has stopped */

extern const struct fleet_source fleet_source_prometheus;

/* What is kept of a host between rounds. */
struct pull {
	struct http_client *client;
	int64_t next; /* wall ns: what is asked for next begins there */
	int64_t newest; /* boot ns when something new came */
	VEC(struct recorded) parts;
};

struct watch {
	struct watch_list *list;
	const struct watch_options *options;
	int64_t now, keep; /* wall ns; data from `keep` on */
	struct lasting_faults faults;
};

/* --- the list --- */

static void pull_free(struct pull *p)
{
	if (!p)
		return;
	http_client_close(p->client);
	VEC_FREE_EACH(p->parts, recorded_free(each));
	free(p);
}

void fleet_watch_list_free(struct watch_list *l)
{
	VEC_EACH(h, l->hosts) {
		FREE_ALL(h->url, h->name, h->token_file, h->ca_file, h->words);
		pull_free(h->pull);
	}
	VEC_FREE(l->hosts);
}

static int take_word(struct watch_host *h, const char *word)
{
	const struct {
		const char *name;
		char **to;
	} words[] = {{"name=", &h->name}, {"token=", &h->token_file}, {"ca=", &h->ca_file}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_starts(word, words[i].name)) {
			free(*words[i].to);
			*words[i].to = strdup(word + strlen(words[i].name));
			return *words[i].to ? 0 : -ENOMEM;
		}
	return -EINVAL;
}

static bool is_prometheus(const char *url)
{
	return str_starts(url, "prometheus://") || str_starts(url, "prometheus+https://");
}

static int take_host(struct watch_list *l, const char *file, unsigned number, char *line, char **ret_error)
{
	char *rest = NULL, *url = strtok_r(line, " \t\r\n", &rest), *word;
	struct watch_host h = {.ok = true};
	int r = 0;

	if (!url || *url == '#')
		return 0;
	if (!is_prometheus(url) && !str_starts(url, "https://") && !str_starts(url, "http://") && !ssh_host_is(url))
		return str_fail(ret_error, -EINVAL, "%s:%u: invalid host '%s'; expected https://HOST:PORT, ssh://HOST or prometheus://HOST:PORT", file, number, url);
	h.url = strdup(url);
	while (r == 0 && (word = strtok_r(NULL, " \t\r\n", &rest)))
		r = take_word(&h, word);
	while (h.url && *h.url && h.url[strlen(h.url) - 1] == '/')
		h.url[strlen(h.url) - 1] = '\0';
	h.pull = calloc(1, sizeof(*h.pull));
	if (r == -EINVAL)
		str_fail(ret_error, r, "%s:%u: expected name=, token= or ca= after the URL", file, number);
	else if (r < 0 || !h.url || !h.pull || VEC_GROW(l->hosts) < 0)
		r = -ENOMEM;
	else
		l->hosts.v[l->hosts.n++] = h;
	if (r < 0) {
		FREE_ALL(h.url, h.name, h.token_file, h.ca_file, h.pull);
	}
	return r;
}

int fleet_watch_list_read(const char *file, struct watch_list *ret, char **ret_error)
{
	FILE *f = fopen(file, "re");
	struct watch_list l = {};
	int r = 0;

	if (!f)
		return str_fail(ret_error, -errno, "cannot read the list of hosts %s: %s", file, strerror(errno));
	LINES_EACH(line, f)
		r = r ?: take_host(&l, file, line.number, line.text, ret_error);
	if (r == 0 && !l.hosts.n)
		r = str_fail(ret_error, -EINVAL, "%s names no host; expected lines such as https://HOST:7170", file);
	if (r < 0)
		fleet_watch_list_free(&l);
	else
		*ret = l;
	return r;
}

int fleet_watch_list_add(struct watch_list *l, const char *url, char **ret_error)
{
	_cleanup_free_ char *line = strdup(url);

	return line ? take_host(l, "the command line", 1, line, ret_error) : -ENOMEM;
}

/* --- one host --- */

static void set_state(const struct watch *w, struct watch_host *h, bool ok, const char *words)
{
	bool same = h->ok == ok && (h->words && words ? strcmp(h->words, words) == 0 : h->words == words);

	h->changed = !same;
	h->away = ok && !h->ok && h->since ? w->now - h->since : 0;
	if (ok != h->ok || !h->since)
		h->since = w->now;
	h->ok = ok;
	if (same)
		return;
	free(h->words);
	h->words = words ? strdup(words) : NULL;
}

int fleet_watch_host_connect(const struct watch_host *h, const char *token_file, const char *ca_file, int64_t timeout, struct http_client **ret,
		       char **ret_error)
{
	const struct http_client_options o = {.ca_file = h->ca_file ? h->ca_file : ca_file, .timeout = timeout};

	token_file = h->token_file ? h->token_file : token_file;
	if (!token_file)
		return str_fail(ret_error, -EINVAL, "no token for it: --token-file FILE, or token=FILE behind its URL");
	return user_open_client(&o, token_file, ret, ret_error);
}

static int take_counter(struct recorded *r, const json_t *counter)
{
	const char *name = json_string_value(json_object_get(counter, "name")), *unit = json_string_value(json_object_get(counter, "unit"));
	const json_t *values = json_object_get(counter, "values");
	struct recorded_counter c = {};

	if (!name || json_array_size(values) != r->times.n)
		return -EBADMSG;
	c.name = strdup(name);
	c.unit = strdup(unit ? unit : "");
	c.values = malloc((r->times.n + 1) * sizeof(*c.values));
	if (!c.name || !c.unit || !c.values || VEC_GROW(r->counters) < 0) {
		FREE_ALL(c.name, c.unit, c.values);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->times.n; i++) {
		const json_t *v = json_array_get(values, i);

		c.values[i] = json_is_number(v) ? json_number_value(v) : NAN;
	}
	r->counters.v[r->counters.n++] = c;
	return 0;
}

/* The answer of /api/v1/counters. -EBADMSG for anything else. */
static int take_answer(const json_t *root, struct recorded *ret, const char **ret_name)
{
	const json_t *times = json_object_get(root, "times"), *counters = json_object_get(root, "counters"), *item;
	struct recorded r = {};
	int64_t last = INT64_MIN;
	size_t i;
	int code = 0;

	*ret_name = json_string_value(json_object_get(root, "server"));
	if (!json_is_array(times) || !json_is_array(counters) || !*ret_name || json_array_size(times) > TIMES_MAX)
		return -EBADMSG;
	json_array_foreach((json_t *)times, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) <= last)
			code = -EBADMSG;
		last = json_integer_value(item);
		if (code == 0)
			code = VEC_PUSH(r.times, last);
	}
	if (code == 0 && r.times.n)
		json_array_foreach((json_t *)counters, i, item) {
			if (code == 0)
				code = take_counter(&r, item);
		}
	if (code < 0)
		recorded_free(&r);
	else
		*ret = r;
	return code;
}

static int keep_answer(struct watch_host *h, const struct http_reply *reply, size_t *ret_n)
{
	_cleanup_(json_decrefp) json_t *root = json_loadb(reply->body.data ? reply->body.data : "", reply->body.len, 0, NULL);
	struct recorded part = {};
	const char *name;
	int r = take_answer(root, &part, &name);

	if (r == 0 && !h->name)
		h->name = strdup(name);
	*ret_n = part.times.n;
	if (r == 0 && part.times.n && part.times.v[part.times.n - 1] > clock_wall() + AHEAD)
		r = -ERANGE; /* nothing later would be asked for, and this is never old */
	if (r == 0 && part.times.n) {
		h->pull->next = part.times.v[part.times.n - 1] + 1;
		h->pull->newest = clock_boot();
		r = VEC_PUSH(h->pull->parts, part);
		if (r < 0)
			recorded_free(&part);
	} else {
		recorded_free(&part);
	}
	return r;
}

static int ask_http(struct watch_host *h, const char *since, struct http_reply *ret, char **ret_error)
{
	_cleanup_str_ struct str url = {};
	struct http_request q;
	int r;

	if (str_printf(&url, "%s/api/v1/counters?since=%s", h->url, since) < 0)
		return url.error;
	q = (struct http_request){.url = url.data};
	r = http_send(h->pull->client, &q, ret);
	r = r ?: http_check_status(h->pull->client, &q, ret);
	return r < 0 ? str_fail(ret_error, r, "%s", http_client_error(h->pull->client)) : 0;
}

/* Asks once. 0 and how many moments came, or -errno with words. */
static int ask(struct watch_host *h, size_t *ret_n, char **ret_error)
{
	_cleanup_(http_reply_free) struct http_reply reply = {};
	const char *since = STR_TEXT(40, "@%lld.%09lld", (long long)(h->pull->next / NS_PER_SEC), (long long)(h->pull->next % NS_PER_SEC));
	int r = ssh_host_is(h->url) ? ssh_host_ask(h->url, 5, (const char *const[]){"export", "--format", "counters", "--since", since}, PULL_TIMEOUT, &reply.body, ret_error) :
				      ask_http(h, since, &reply, ret_error);

	if (r == 0)
		r = keep_answer(h, &reply, ret_n);
	if (r == -ERANGE && !*ret_error)
		str_fail(ret_error, r, "its answer lies ahead of this machine's time: set the clock of one of both");
	if (r == -EBADMSG && !*ret_error)
		str_fail(ret_error, r, "its answer is not from whyslow: does 'whyslow serve' listen there?");
	return r;
}

static void drop_old(struct pull *p, int64_t before)
{
	size_t kept = 0;

	VEC_EACH(part, p->parts) {
		if (part->times.v[part->times.n - 1] < before)
			recorded_free(part);
		else
			p->parts.v[kept++] = *part;
	}
	p->parts.n = kept;
}

static int pull_host(void *data, size_t i)
{
	struct watch *w = data;
	struct watch_host *h = &w->list->hosts.v[i];
	_cleanup_free_ char *error = NULL;
	int64_t begin = w->keep;
	size_t n = 1;
	int r = 0;

	if (is_prometheus(h->url))
		return 0;
	if (h->pull->next < begin)
		h->pull->next = begin;
	if (!h->pull->client && !ssh_host_is(h->url))
		r = fleet_watch_host_connect(h, w->options->token_file, w->options->ca_file, PULL_TIMEOUT, &h->pull->client, &error);
	for (int k = 0; r == 0 && n && k < ANSWERS_MAX; k++)
		r = ask(h, &n, &error);
	if (r < 0)
		set_state(w, h, false, error ? error : strerror(-r));
	else if (clock_boot() - h->pull->newest > SILENT_ROUNDS * w->options->every + 5 * NS_PER_SEC)
		set_state(w, h, false, "it answers, but records nothing new: is its recorder running?");
	else
		set_state(w, h, true, NULL);
	drop_old(h->pull, begin);
	return 0;
}

/* --- a round --- */

static int put_prometheus(const struct watch *w, struct watch_host *h, struct intake *into)
{
	struct fleet_input in = {.location = h->url, .from = w->keep, .to = w->now,
				 .token_file = h->token_file, .ca_file = h->ca_file ? h->ca_file : w->options->ca_file};
	_cleanup_free_ char *error = NULL;
	int r = fleet_source_prometheus.load(&in, into, &error);
	const char *refusal = error ? error : intake_refusal(into);

	if (!h->name)
		h->name = strdup(h->url);
	set_state(w, h, r == 0, r == 0 ? NULL : refusal ? refusal : strerror(-r));
	return r == -ENOMEM ? r : 0;
}

static int gather(const struct watch *w, struct fleet **ret)
{
	struct intake *into = intake_new();
	int r = into ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < w->list->hosts.n; i++) {
		struct watch_host *h = &w->list->hosts.v[i];

		if (is_prometheus(h->url))
			r = put_prometheus(w, h, into);
		for (size_t k = 0; r == 0 && k < h->pull->parts.n; k++)
			r = fleet_recording_put(&h->pull->parts.v[k], h->name ? h->name : h->url, into);
	}
	r = r ?: intake_finish(into, ret);
	intake_free(into);
	return r;
}

static struct fleet_span looked(const struct watch *w, const struct fleet *f)
{
	int64_t first, last;

	fleet_extent(f, &first, &last);
	return (struct fleet_span){last - w->options->look + 1, last + 1};
}

static int rank(const struct watch *w, const struct fleet *f, const char *analysis, struct fleet_findings *ret)
{
	struct fleet_question q = fleet_question_default(f);
	int64_t first, last;

	fleet_extent(f, &first, &last);
	q.left_out = w->faults.spans.v;
	q.n_left_out = w->faults.spans.n;
	q.window = looked(w, f);
	q.usual = (struct fleet_span){first, last - w->options->look + 1};
	return fleet_analysis_find(analysis)->run(&q, ret);
}

static int one_round(struct watch *w, void (*tell)(void *data, const struct watch_round *round), void *data)
{
	struct watch_round round = {.list = w->list};
	struct fleet_findings findings = {}, alarms = {};
	struct fleet *fleet = NULL;
	int r;

	w->now = round.at = clock_wall();
	w->keep = lasting_faults_keep(&w->faults, w->now, w->options->window);
	(void)parallel_run(16, w->list->hosts.n, pull_host, w);
	r = gather(w, &fleet);
	if (r == 0) {
		round.fleet = fleet;
		if (rank(w, fleet, "deviation", &findings) == 0)
			round.findings = &findings;
		if (w->options->alarms && rank(w, fleet, "alarm", &alarms) == 0)
			round.alarms = &alarms;
	}
	if (round.findings)
		r = lasting_faults_round(&w->faults, fleet, &findings, looked(w, fleet));
	if (r == 0 || r == -ENODATA)
		tell(data, &round);
	fleet_findings_free(&findings);
	fleet_findings_free(&alarms);
	if (fleet)
		fleet_free(fleet);
	free(fleet);
	return r == -ENODATA ? 0 : r;
}

int fleet_watch_run(struct watch_list *list, const struct watch_options *options,
	      void (*tell)(void *data, const struct watch_round *round), void *data, char **ret_error)
{
	struct watch w = {.list = list, .options = options};
	int64_t next = clock_boot();
	int r = 0;

	for (size_t i = 0; i < list->hosts.n; i++)
		list->hosts.v[i].pull->newest = next;
	for (uint64_t n = 0; r == 0 && (!options->rounds || n < options->rounds); n++) {
		int64_t wait = next - clock_boot();

		if (wait > 0)
			poll(NULL, 0, (int)(wait / NS_PER_MS));
		r = one_round(&w, tell, data);
		next += options->every;
		if (next < clock_boot())
			next = clock_boot();
	}
	lasting_faults_free(&w.faults);
	return r < 0 ? str_fail(ret_error, r, "%s", strerror(-r)) : 0;
}
