#include "fleet/watch/host-recorders.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/watch/fleet-watch.h"
#include "fleet/watch/ssh-host.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/net/http-client.h"

#define HOST_TIMEOUT   (30 * NS_PER_SEC)
#define TIME_TEXT      40

struct host_recorders {
	struct host_recorders_options options;
	bool folder; /* `location` holds recordings */
	struct watch_list list;
	char here[HOST_NAME_MAX + 1];
};

int host_recorders_open(const struct host_recorders_options *o, struct host_recorders **ret, char **ret_error)
{
	struct host_recorders *h = calloc(1, sizeof(*h));
	struct stat st;
	int r = 0;

	if (!h)
		return -ENOMEM;
	h->options = *o;
	(void)gethostname(h->here, sizeof(h->here) - 1);
	h->folder = o->location && stat(o->location, &st) == 0 && S_ISDIR(st.st_mode);
	if (o->location && !h->folder)
		r = fleet_watch_list_read(o->location, &h->list, ret_error);
	if (r < 0) {
		free(h);
		return r;
	}
	*ret = h;
	return 0;
}

void host_recorders_free(struct host_recorders *h)
{
	if (!h)
		return;
	fleet_watch_list_free(&h->list);
	free(h);
}

/* --- whom a name means --- */

static size_t first_label(const char *name, size_t n)
{
	const char *dot = memchr(name, '.', n);

	return dot ? (size_t)(dot - name) : n;
}

/* "db-1" and "db-1.example.com" are the same host. */
static bool is_same_host(const char *a, size_t n, const char *b)
{
	size_t m = strlen(b), first = first_label(a, n);

	if (n == m && strncasecmp(a, b, n) == 0)
		return true;
	return (first == n || first_label(b, m) == m) && first && first == first_label(b, m) && strncasecmp(a, b, first) == 0;
}

/* "db-1" of "https://db-1:7170/path"; of an IPv6 address what is in its brackets. */
static const char *host_of_url(const char *url, size_t *ret_n)
{
	const char *at = strstr(url, "://");

	at = at ? at + 3 : url;
	at += at[strcspn(at, "@/")] == '@' ? strcspn(at, "@") + 1 : 0;
	if (*at == '[') {
		*ret_n = strcspn(at + 1, "]");
		return at + 1;
	}
	*ret_n = strcspn(at, ":/");
	return at;
}

static const struct watch_host *find_listed(const struct host_recorders *h, const char *host)
{
	VEC_EACH(w, h->list.hosts) {
		size_t n;
		const char *name = host_of_url(w->url, &n);

		if (str_starts(w->url, "prometheus"))
			continue;
		if (w->name ? is_same_host(w->name, strlen(w->name), host) : is_same_host(name, n, host))
			return w;
	}
	return NULL;
}

/* The recording of that host, by its whole name or its first part. A name from a trace must not leave the folder. */
static char *find_recording(const struct host_recorders *h, const char *host)
{
	static const char *const endings[] = {".db", ".whyslow"};
	const int whole = (int)strlen(host), brief = (int)strcspn(host, ".");
	const int lengths[] = {whole, brief};

	if (strchr(host, '/') || *host == '.' || !*host)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		for (size_t k = 0; k < ARRAY_SIZE(endings); k++) {
			char *path;

			if (asprintf(&path, "%s/%.*s%s", h->options.location, lengths[i], host, endings[k]) < 0)
				return NULL;
			if (folder_path_exists(path))
				return path;
			free(path);
		}
	return NULL;
}

/* --- asking --- */

static const char *time_text(int64_t wall, char buf[TIME_TEXT])
{
	snprintf(buf, TIME_TEXT, "@%lld.%09lld", (long long)(wall / NS_PER_SEC), (long long)(wall % NS_PER_SEC));
	return buf;
}

/* Its output as JSON, or the words in which it says why there is none. */
static int take_text(const struct str *text, const char *said, struct host_answer *ret)
{
	ret->why = text->len ? json_loadb(text->data, text->len, 0, NULL) : NULL;
	if (ret->why && json_is_string(json_object_get(ret->why, "schema")))
		return 0;
	json_decref(ret->why);
	ret->why = NULL;
	return str_fail(&ret->error, 0, "%s", said && *said ? said : "its answer is not from whyslow");
}

struct question_words {
	char at[TIME_TEXT], since[TIME_TEXT];
	const char *words[9];
	size_t n;
};

static void add_words(struct question_words *w, const char *option, const char *value)
{
	w->words[w->n++] = option;
	w->words[w->n++] = value;
}

/* The words of the command line that ask it. */
static void write_words(const struct host_question *q, struct question_words *w)
{
	w->n = 0;
	add_words(w, "why", "--json");
	if (q->at)
		add_words(w, "--at", time_text(q->at, w->at));
	if (q->since)
		add_words(w, "--since", time_text(q->since, w->since));
	if (q->program)
		add_words(w, "--", q->program);
}

static int ask_here(const struct asker *asker, const struct host_question *q, struct host_answer *ret)
{
	_cleanup_str_ struct str text = {}, errors = {};
	struct question_words w;
	int status;

	write_words(q, &w);
	status = ask_all(asker, w.n, w.words, &text, &errors);
	if (status < 0)
		return str_fail(&ret->error, status == -ENOMEM ? status : 0, "%s", ask_failure(asker, status));
	return take_text(&text, errors.data, ret);
}

static int put_url(const struct watch_host *w, const struct host_question *q, struct str *url)
{
	char at[TIME_TEXT], since[TIME_TEXT];

	str_printf(url, "%s/api/v1/%s?at=%s", w->url, q->program ? "program" : "why", q->at ? time_text(q->at, at) : "now");
	if (q->since)
		str_printf(url, "&since=%s", time_text(q->since, since));
	if (q->program) {
		str_puts(url, "&for=");
		http_url_escape(url, q->program);
	}
	return url->error;
}

static int send_question(struct http_client *client, const struct watch_host *w, const struct host_question *q, struct host_answer *ret)
{
	_cleanup_str_ struct str url = {};
	_cleanup_(http_reply_free) struct http_reply reply = {};
	struct http_request request;
	int r = put_url(w, q, &url);

	if (r < 0)
		return r;
	request = (struct http_request){.url = url.data};
	r = http_send(client, &request, &reply);
	r = r ?: http_check_status(client, &request, &reply);
	r = r < 0 ? str_fail(&ret->error, 0, "%s", http_client_error(client)) : take_text(&reply.body, NULL, ret);
	return r;
}

static int ask_over_ssh(const struct watch_host *w, const struct host_question *q, struct host_answer *ret)
{
	_cleanup_str_ struct str text = {};
	struct question_words words;
	int r;

	write_words(q, &words);
	r = ssh_host_ask(w->url, words.n, words.words, HOST_TIMEOUT, &text, &ret->error);
	if (r < 0)
		return r == -ENOMEM || !ret->error ? r : 0;
	return take_text(&text, NULL, ret);
}

int host_recorders_ask_listed(const struct host_recorders_options *o, const struct watch_host *w, const struct host_question *q, struct host_answer *ret)
{
	struct http_client *client = NULL;
	int r;

	ret->recorder = strdup(w->url);
	if (!ret->recorder)
		return -ENOMEM;
	if (ssh_host_is(w->url))
		return ask_over_ssh(w, q, ret);
	r = fleet_watch_host_connect(w, o->token_file, o->ca_file, HOST_TIMEOUT, &client, &ret->error);
	if (r == 0)
		r = send_question(client, w, q, ret);
	else if (r != -ENOMEM)
		r = ret->error ? 0 : str_fail(&ret->error, 0, "%s", strerror(-r));
	http_client_close(client);
	return r;
}

static int ask_recording(const struct host_recorders *h, char *path, const struct host_question *q, struct host_answer *ret)
{
	struct asker asker = {.from_file = path, .config_file = h->options.local.config_file};

	ret->recorder = path;
	return ask_here(&asker, q, ret);
}

static int refuse(const struct host_recorders *h, const char *host, struct host_answer *ret)
{
	if (!h->options.location)
		return str_fail(&ret->error, 0, "no list of hosts is given: --hosts FILE names their recorders, --hosts FOLDER holds their recordings");
	if (h->folder)
		return str_fail(&ret->error, 0, "%s has no recording of it (%s.db)", h->options.location, host);
	return str_fail(&ret->error, 0, "%s does not name it: expected a line such as https://%s:7170 token=FILE", h->options.location, host);
}

int host_recorders_ask(struct host_recorders *h, const struct host_question *q, struct host_answer *ret)
{
	const struct watch_host *listed = find_listed(h, q->host);
	char *recording = h->folder ? find_recording(h, q->host) : NULL;
	int r;

	*ret = (struct host_answer){};
	if (listed) {
		r = host_recorders_ask_listed(&h->options, listed, q, ret);
	} else if (recording) {
		r = ask_recording(h, recording, q, ret);
	} else if (is_same_host(h->here, strlen(h->here), q->host)) {
		ret->recorder = strdup("this machine");
		r = ret->recorder ? ask_here(&h->options.local, q, ret) : -ENOMEM;
	} else {
		r = refuse(h, q->host, ret);
	}
	if (r < 0)
		host_answer_free(ret);
	return r;
}
