#include "machine/cmd-waits/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/net/http-client.h"
#include "lib/net/users.h"
#include "lib/rights/write-path.h"
#include "lib/view/json.h"
#include "machine/answer-history/answer-history.h"
#include "machine/answer-history/incidents.h"
#include "machine/recording/store.h"
#include "machine/verb/client-rights.h"
#include "machine/view-why/metrics.h"
#include "machine/view-why/otlp.h"

#define CULPRITS_SHOWN 100
#define NEWEST	       (10 * NS_PER_SEC) /* processes that sleep are recorded now and then */
#define WRITTEN_AFTER  (5 * NS_PER_SEC) /* an incident's end is in the recording so long after it, at the latest */

/* A moment of the recorder. */
struct collected {
	struct store *store;
	struct dataset d;
	struct incidents blamed;
	struct totals_row *rows;
	const char *culprits[CULPRITS_SHOWN];
	struct metrics metrics;
};

static void collected_free(struct collected *c)
{
	incidents_free(&c->blamed);
	free(c->rows);
	dataset_free(&c->d);
	store_close(c->store);
}

static bool any_continues(const struct totals_row *rows)
{
	for (size_t i = 0; i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(rows, i);

		if (row && row->kind == TOTALS_RULE && __atomic_load_n(&row->values[TOTALS_RULE_CONTINUING], __ATOMIC_RELAXED) > 0)
			return true;
	}
	return false;
}

/* Who is blamed is asked only while an incident continues: else no marks are read. */
static void find_blamed(struct common *common, struct collected *c)
{
	struct mark *marks = NULL;
	size_t n = 0;

	c->metrics.culprits = c->culprits;
	if (!any_continues(c->metrics.rows) || store_open_incidents(c->store, &marks, &n) < 0)
		return;
	(void)incidents_by_program(c->store, marks, n, common->config.answer_window, 0, &common->viewer, &c->blamed);
	marks_free(marks, n);
	for (size_t i = 0; i < c->blamed.list.n && c->metrics.n_culprits < CULPRITS_SHOWN; i++)
		if (c->blamed.list.v[i].program)
			c->culprits[c->metrics.n_culprits++] = c->blamed.list.v[i].program;
}

/* 0; negative, after saying why. */
static int collect(struct common *common, int64_t from, int64_t to, struct collected *ret)
{
	const char *run_dir = common->config.store_run_dir;
	const struct totals_row *rows = NULL;
	unsigned damaged;
	int r = totals_open(run_dir, &rows);

	r = r ?: totals_view(rows, &common->viewer, &ret->rows);
	totals_close(rows);
	ret->metrics.rows = ret->rows;
	if (r < 0)
		return log_failure(r, "cannot read the running sums in %s (%s): this format is for a running recorder", run_dir, strerror(-r));
	if (client_give_up_rights(common, 0))
		return -EPERM;
	ret->store = common_open_store(common, STORE_READ);
	if (!ret->store)
		return -EIO;
	r = store_load(ret->store, from, to, &ret->d, &damaged);
	if (r < 0)
		return log_failure(r, "%s", store_reason(ret->store, r));
	r = dataset_hide(&ret->d, &common->viewer);
	if (r < 0)
		return log_failure(r, "cannot hide what other users' programs are called (%s)", strerror(-r));
	ret->metrics.d = &ret->d;
	find_blamed(common, ret);
	return 0;
}

int collect_prometheus(struct common *common, int64_t from, int64_t to, FILE *out)
{
	_cleanup_(collected_free) struct collected c = {};

	if (collect(common, from, to, &c) < 0)
		return EXIT_CANNOT;
	metrics_prometheus(&c.metrics, out);
	return EXIT_ANSWERED;
}

/* --- OpenTelemetry --- */

static int print_document(const char *signal, const json_t *document, void *data)
{
	FILE *out = data;

	(void)signal;
	return json_dumpf(document, out, JSON_COMPACT) < 0 || fputc('\n', out) == EOF ? -EIO : 0;
}

static int post(struct http_client *client, const struct http_request *q)
{
	struct http_reply reply = {};
	int r = http_send(client, q, &reply);

	r = r ?: http_check_status(client, q, &reply);
	http_reply_free(&reply);
	return r < 0 ? log_failure(r, "%s", http_client_error(client)) : 0;
}

static int post_document(const char *signal, const json_t *document, void *data)
{
	const struct collect_otlp *o = data;
	const char *end = o->url[strlen(o->url) - 1] == '/' ? "" : "/";
	_cleanup_free_ char *body = json_dumps(document, JSON_COMPACT), *url = NULL, *error = NULL;
	struct http_client *client;
	int r;

	if (!body || asprintf(&url, "%s%sv1/%s", o->url, end, signal) < 0)
		return -ENOMEM;
	r = user_open_client(&(struct http_client_options){.ca_file = o->ca_file}, o->token_file, &client, &error);
	if (r < 0)
		return log_failure(r, "%s", error ? error : strerror(-r));
	http_client_warn_of_readers(client, url, "what is sent");
	r = post(client, &(struct http_request){.url = url, .body = body, .n = strlen(body), .content_type = "application/json", .gzip = true});
	http_client_close(client);
	return r;
}

static struct saved_answer answer_of(struct common *common, struct store *store, const struct mark *m)
{
	struct saved_answer a;

	return saved_answer_get(store, NULL, m, common->config.answer_window, &common->viewer, &a) < 0 ? (struct saved_answer){} : a;
}

/* A rule's name stands before what it found: "cpu: CPU of the whole machine up to 97 %". */
static char *rule_of(const struct mark *m)
{
	const char *end = mark_is_of_rule(m) && m->note ? strstr(m->note, ": ") : NULL;

	return !mark_is_of_rule(m) ? NULL : end ? strndup(m->note, (size_t)(end - m->note)) : strdup("");
}

static int send_incident(struct common *common, const struct collected *c, const struct mark *m, otlp_send send, void *data)
{
	struct saved_answer a = answer_of(common, c->store, m);
	_cleanup_free_ char *rule = rule_of(m);
	const struct otlp_incident x = {m->id, m->wall, m->last, rule, m->note, a.summary, a.culprit, a.cause, a.bottleneck, a.confidence};
	int r = otlp_incidents(&x, 1, c->metrics.rows, send, data);

	saved_answer_free(&a);
	return r;
}

/* Those that ended between the two moments. 0 or -errno. */
static int send_incidents(struct common *common, const struct collected *c, int64_t from, int64_t to, otlp_send send, void *data)
{
	struct mark *marks;
	size_t n;
	int r = store_marks(c->store, INT64_MIN, to, &marks, &n);

	if (r < 0)
		return log_failure(r, "%s", store_reason(c->store, r));
	for (size_t i = 0; i < n && r == 0; i++)
		if (!marks[i].goes_on && marks[i].last > from && marks[i].last <= to)
			r = send_incident(common, c, &marks[i], send, data);
	marks_free(marks, n);
	return r;
}

/* Both signals. 0; negative, after saying why. */
static int send_all(struct common *common, const struct collect_otlp *o, int64_t from, int64_t to)
{
	_cleanup_(collected_free) struct collected c = {};
	otlp_send send = o->url ? post_document : print_document;
	void *data = o->url ? (void *)o : o->out;
	int64_t now = clock_wall();
	int r = collect(common, now - NEWEST, now, &c);

	r = r ?: otlp_metrics(&c.metrics, send, data);
	return r ?: send_incidents(common, &c, from, to, send, data);
}

/* The file's time: until when incidents were sent. It outlives this process. */
static int64_t sent_until(const char *stamp, int64_t otherwise)
{
	struct stat st;

	return stat(stamp, &st) == 0 ? st.st_mtim.tv_sec * NS_PER_SEC + st.st_mtim.tv_nsec : otherwise;
}

/* A clock that was ahead, and was set back since, would hold back everything until it is there again. */
static int64_t not_ahead(int64_t from)
{
	const int64_t now = clock_wall();

	if (from <= now)
		return from;
	log_warning("incidents were sent until a moment that is %s from now: the clock was ahead then; sending continues from now on",
		    CLOCK_SPAN(from - now));
	return now - WRITTEN_AFTER;
}

static void remember_sent(const char *stamp, int64_t until)
{
	const struct timespec at = {until / NS_PER_SEC, until % NS_PER_SEC}, times[2] = {at, at};
	_cleanup_free_ char *error = NULL;
	_cleanup_close_ int fd = write_path_open(stamp, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &error);
	int r = fd < 0 ? fd : futimens(fd, times) < 0 ? -errno : 0;

	if (r < 0)
		log_warning("cannot write %s (%s): after a restart incidents may be sent again, or not at all", stamp, error ? error : strerror(-r));
}

/* A failure is reported, and the next time is another try: sums miss nothing, and incidents wait. */
static int send_again_and_again(struct common *common, const struct collect_otlp *o)
{
	_cleanup_free_ char *stamp = NULL;
	int64_t from, to;

	if (asprintf(&stamp, "%s.otlp", common_paths(common).file) < 0) {
		stamp = NULL;
		return log_failure(EXIT_CANNOT, "out of memory");
	}
	for (from = sent_until(stamp, clock_wall());; from = to) {
		struct timespec rest = {o->every / NS_PER_SEC, o->every % NS_PER_SEC};

		from = not_ahead(from);
		to = clock_wall() - WRITTEN_AFTER;
		if (to > from && send_all(common, o, from, to) == 0)
			remember_sent(stamp, to);
		else
			to = from;
		while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
			continue;
	}
}

int collect_otlp(struct common *common, const struct collect_otlp *o)
{
	if (o->every)
		return send_again_and_again(common, o);
	return send_all(common, o, o->from, o->to) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}
