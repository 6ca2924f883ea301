/* The text that Prometheus scrapes (text format 0.0.4, and OpenMetrics), kept in files: one scrape or many, with or
 * without timestamps; or scraped once from a URL that ends in /metrics.
 *
 *   # HELP node_load1 1m load average.
 *   # TYPE node_load1 gauge
 *   node_load1{instance="web-1"} 0.21 1790000000000
 *
 * `promtool tsdb dump` writes the name as a label: {__name__="node_load1", instance="web-1"} 0.21 1790000000000
 *
 * The server is the label instance, else the file's name; other labels stay in the counter's name. Samples without a
 * timestamp have their file's. Buckets of histograms are left out: their sums and counts say what can be compared.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/number.h"
#include "lib/input/timestamp.h"
#include "lib/net/http-client.h"
#include "lib/net/users.h"

#define FAMILIES_MAX 65536

static const char *const endings[] = {".prom", ".om", ".openmetrics", ".metrics", NULL};

struct family {
	char *name, *unit, *help;
	enum fleet_kind kind;
	bool has_buckets;
};

struct page {
	struct text_lines at;
	int64_t moment; /* of samples without one; 0 = not yet asked for */
	uint64_t buckets; /* left out */
	VEC(struct family) families;
	struct hmap by_name;
};

static void page_free(struct page *p)
{
	VEC_FREE_EACH(p->families, free(each->name); free(each->unit); free(each->help));
	hmap_free(&p->by_name);
}

static struct family *find_family(const struct page *p, const char *name, size_t n)
{
	uintptr_t found = (uintptr_t)hmap_get(&p->by_name, hmap_hash_bytes(name, n), 0);

	return found ? &p->families.v[found - 1] : NULL;
}

static struct family *get_family(struct page *p, const char *name)
{
	struct family f = {}, *known = find_family(p, name, strlen(name));

	if (known || p->families.n >= FAMILIES_MAX)
		return known;
	f.name = strdup(name);
	if (VEC_PUSH_OWNER(p->families, f.name, f) < 0)
		return NULL;
	if (hmap_put(&p->by_name, hmap_hash_text(name), 0, (void *)(uintptr_t)p->families.n) < 0)
		return NULL;
	return &p->families.v[p->families.n - 1];
}

static void set_text(char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
}

static void set_type(struct family *f, const char *type)
{
	static const struct {
		const char *name;
		enum fleet_kind kind;
		bool buckets;
	} types[] = {{"counter", FLEET_COUNTER, false}, {"gauge", FLEET_GAUGE, false},	   {"histogram", FLEET_COUNTER, true},
		     {"summary", FLEET_COUNTER, false}, {"stateset", FLEET_GAUGE, false}, {"gaugehistogram", FLEET_GAUGE, true},
		     {"info", FLEET_GAUGE, false}};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i].name, type) == 0) {
			f->kind = types[i].kind;
			f->has_buckets = types[i].buckets;
		}
}

/* "# TYPE name type", "# HELP name text", "# UNIT name unit"; other comments are nothing. */
static void take_comment(struct page *p, char *line)
{
	char *rest = NULL, *word = strtok_r(line + 1, " \t", &rest), *name = word ? strtok_r(NULL, " \t", &rest) : NULL;
	struct family *f;

	if (!name || !rest || (strcmp(word, "TYPE") && strcmp(word, "HELP") && strcmp(word, "UNIT")))
		return;
	f = get_family(p, name);
	if (!f)
		return;
	if (*word == 'T')
		set_type(f, rest);
	else
		set_text(*word == 'H' ? &f->help : &f->unit, rest);
}

/* The family of a sample: its own name, or without what types add to it. */
static const struct family *family_of(const struct page *p, const char *sample, const char **ret_suffix)
{
	static const char *const suffixes[] = {"_bucket", "_count", "_sum", "_total", "_created", "_info"};
	size_t n = strlen(sample);
	const struct family *f = find_family(p, sample, n);

	*ret_suffix = "";
	for (size_t i = 0; !f && i < ARRAY_SIZE(suffixes); i++) {
		size_t s = strlen(suffixes[i]);

		if (n > s && strcmp(sample + n - s, suffixes[i]) == 0) {
			f = find_family(p, sample, n - s);
			*ret_suffix = suffixes[i];
		}
	}
	if (!f)
		*ret_suffix = "";
	return f;
}

struct sample {
	char *name;
	struct str counter; /* name{labels} */
	char server[256], role[128], job[128];
	const char *rest; /* behind name and labels */
};

/* A label's value up to its closing quote, unescaped in place; behind the quote, or NULL. */
static char *take_label_value(char *at, char **ret)
{
	char *to = at;

	*ret = at;
	for (; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			*to++ = *++at == 'n' ? ' ' : *at;
		else
			*to++ = *at;
	}
	if (*at != '"')
		return NULL;
	*to = '\0';
	return at + 1;
}

/* {__name__="up",...}, as `promtool tsdb dump` writes it: the labels that came before go behind the name. */
static void take_name(struct sample *s, char *name)
{
	struct str labels = s->counter;

	s->name = name;
	s->counter = (struct str){};
	str_printf(&s->counter, "%s%s", name, labels.data ? labels.data : "");
	str_free(&labels);
}

static void take_label(const struct page *p, struct sample *s, const char *name, char *value, bool *any)
{
	const char *server_label = p->at.input->server_column ? p->at.input->server_column : "instance";

	if (strcmp(name, "__name__") == 0 && !*s->name) {
		take_name(s, value);
	} else if (strcmp(name, server_label) == 0) {
		snprintf(s->server, sizeof(s->server), "%s", value);
	} else if (p->at.input->role_column && strcmp(name, p->at.input->role_column) == 0) {
		snprintf(s->role, sizeof(s->role), "%s", value);
	} else if (strcmp(name, "job") == 0) {
		snprintf(s->job, sizeof(s->job), "%s", value);
	} else {
		str_printf(&s->counter, "%s%s=\"%s\"", *any ? "," : "{", name, value);
		*any = true;
	}
}

/* Behind "{": all labels. Where the sample continues, or NULL. */
static char *take_labels(const struct page *p, struct sample *s, char *at)
{
	bool any = false;

	for (;;) {
		char *name, *value;

		at += strspn(at, " \t,");
		if (*at == '}')
			break;
		name = at;
		at += strcspn(at, "= \t\"{}");
		if (at == name || *at == '\0')
			return NULL;
		if (*at != '=') {
			*at++ = '\0';
			at += strspn(at, " \t");
			if (*at != '=')
				return NULL;
		}
		*at++ = '\0';
		at += strspn(at, " \t");
		if (*at++ != '"')
			return NULL;
		at = take_label_value(at, &value);
		if (!at)
			return NULL;
		take_label(p, s, name, value, &any);
	}
	if (any)
		str_putc(&s->counter, '}');
	return at + 1;
}

static bool parse_sample(const struct page *p, char *line, struct sample *s)
{
	size_t n = strcspn(line, "{ \t");
	bool has_labels = line[n] == '{';

	s->name = line;
	if (!line[n] || (!n && !has_labels))
		return false;
	line[n] = '\0';
	str_puts(&s->counter, line);
	s->rest = has_labels ? take_labels(p, s, line + n + 1) : line + n + 1;
	return s->rest && *s->name && s->counter.error == 0;
}

/* "1.5", "1.5 1790000000000", with an exemplar behind "#". False with the word that is wrong in *ret_wrong. */
static bool parse_value(const struct page *p, const char *rest, double *ret, int64_t *ret_time)
{
	const char *at = rest + strspn(rest, " \t"), *end = at + strcspn(at, " \t"), *time = end + strspn(end, " \t");
	const char *time_end = time + strcspn(time, " \t#");

	*ret_time = p->moment;
	if (at == end)
		return false;
	if (end - at >= 3 && strncasecmp(end - 3, "inf", 3) == 0)
		*ret = NAN; /* an open end of a range, not a measurement */
	else if (!number_parse_slowly(at, end, ret))
		return false;
	return time == time_end || timestamp_parse(time, time_end, ret_time) == 0;
}

static int put_sample(struct page *p, const struct sample *s, double value, int64_t time)
{
	const char *suffix;
	const struct family *f = family_of(p, s->name, &suffix);
	struct counter_info info = {};
	int server, counter;

	if (strcmp(suffix, "_created") == 0)
		return 0;
	if (strcmp(suffix, "_bucket") == 0 && f->has_buckets) {
		p->buckets++;
		return 0;
	}
	if (!selection_wants_counter(p->at.input, s->counter.data) || !selection_wants_time(p->at.input, time))
		return 0;
	if (f)
		info = (struct counter_info){f->kind, f->unit, f->help};
	if (f && f->kind == FLEET_COUNTER && strstr(s->counter.data, "quantile=\""))
		info.kind = FLEET_GAUGE; /* a summary's quantile is a level */
	server = intake_server(p->at.into, *s->server ? s->server : p->at.name);
	counter = intake_counter(p->at.into, s->counter.data, &info);
	if (server < 0 || counter < 0 || intake_role(p->at.into, server, s->role) < 0 || intake_job(p->at.into, server, s->job) < 0)
		return -ENOMEM;
	return intake_put(p->at.into, server, counter, time, value);
}

static int64_t file_moment(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 ? s.st_mtim.tv_sec * NS_PER_SEC + s.st_mtim.tv_nsec : clock_wall();
}

static int take_line(struct text_lines *l, char *line)
{
	struct page *p = (struct page *)l;
	struct sample s = {};
	int64_t time;
	double value;
	int r = 0;

	if (!p->moment)
		p->moment = file_moment(p->at.path);
	line += strspn(line, " \t");
	line[strcspn(line, "\r")] = '\0';
	if (*line == '#')
		take_comment(p, line);
	if (!*line || *line == '#')
		return 0;
	if (!parse_sample(p, line, &s))
		intake_bad(p->at.into, p->at.path, p->at.line, "no sample: NAME{LABEL=\"VALUE\"} NUMBER [TIMESTAMP]");
	else if (!parse_value(p, s.rest, &value, &time))
		intake_bad(p->at.into, p->at.path, p->at.line, "no number or timestamp behind %.60s", s.name);
	else
		r = put_sample(p, &s, value, time);
	str_free(&s.counter);
	return r;
}

static void remark_buckets(const struct page *p)
{
	if (p->buckets)
		intake_remark(p->at.into, "%s: %llu samples of histogram buckets were left out; sums and counts are taken", p->at.path,
			      (unsigned long long)p->buckets);
}

static void end_file(struct text_lines *l)
{
	struct page *p = (struct page *)l;

	remark_buckets(p);
	page_free(p);
	*p = (struct page){.at = p->at};
}

static int load_files(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct page p = {.at = {.input = input, .into = into}};

	return text_lines_load(&p.at, endings, end_file, take_line, ret_error);
}

/* "host:port" of a URL: a scrape's own instance. */
static void host_of(const char *url, char *buf, size_t size)
{
	const char *host = strstr(url, "://");
	size_t n;

	host = host ? host + 3 : url;
	n = strcspn(host, "/");
	snprintf(buf, size, "%.*s", (int)n, host);
}

static int scrape(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	char host[256];
	_cleanup_(page_free) struct page p = {.at = {input, into, input->location, host}, .moment = clock_wall()};
	struct http_request q = {.url = input->location};
	_cleanup_(http_reply_free) struct http_reply reply = {};
	struct http_client *c;
	int r = user_open_client(&(struct http_client_options){.ca_file = input->ca_file}, input->token_file, &c, ret_error);

	if (r < 0)
		return r;
	host_of(input->location, host, sizeof(host));
	r = http_send(c, &q, &reply);
	if (r == 0)
		r = http_check_status(c, &q, &reply);
	if (r < 0)
		str_fail(ret_error, r, "%s", http_client_error(c));
	else if (reply.body.len)
		r = text_lines_take(&p.at, reply.body.data, reply.body.len, take_line);
	remark_buckets(&p);
	http_client_close(c);
	return r;
}

static bool is_url(const char *location)
{
	return str_starts(location, "http://") || str_starts(location, "https://");
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	return is_url(input->location) ? scrape(input, into, ret_error) : load_files(input, into, ret_error);
}

static int look(const char *piece, size_t n)
{
	(void)n;
	return str_starts(piece, "# TYPE ") || str_starts(piece, "# HELP ") || str_starts(piece, "{__name__=\"") ? 80 : 0;
}

static int recognise(const char *location)
{
	size_t n = strlen(location);

	if (is_url(location))
		return n > 8 && strcmp(location + n - 8, "/metrics") == 0 ? 50 : 0;
	return files_recognise(location, endings, look);
}

const struct fleet_source fleet_source_openmetrics = {
	.name = "openmetrics",
	.help = "text that Prometheus scrapes, in files (also gz, zst, xz), or scraped once from http://HOST/metrics",
	.recognise = recognise,
	.load = load,
};
