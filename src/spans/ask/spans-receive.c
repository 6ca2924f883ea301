/* whyslow spans receive, watch: traces over the network into the store; each window of it held against those before. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/vec.h"
#include "lib/net/certificate.h"
#include "lib/net/users.h"
#include "lib/net/webhook.h"
#include "lib/system/locked-memory.h"
#include "spans/ask/spans.h"
#include "spans/pipeline/span-receive.h"

#define FLUSH	 (10 * NS_PER_SEC)
#define PAST	 12 /* windows a new one is compared with */
#define PAST_SEARCHED 48 /* windows among which those are looked for: slower ones are left out */
#define LOOKS	 2	 /* late spans reopen a window once */
#define GIVE_UP	 (600 * NS_PER_SEC) /* a receiver that wrote nothing for so long has died: windows end by the clock */
#define SHORTEST (10 * NS_PER_SEC)
#define LOOK_EACH 2000 /* ms */
#define WATCH_WINDOW (300 * NS_PER_SEC)
#define RECEIVE_WINDOW (60 * NS_PER_SEC)

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void listen_for_the_end(void)
{
	struct sigaction action = {.sa_handler = end};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* --- receive ------------------------------------------------------------------------------------------------------------ */

/* What goes wrong with clients, and what helps: NAME is how it is counted. */
struct receiver_trouble {
	size_t offset;
	const char *words;
	bool again; /* warn_of_clocks() does, as long as it lasts */
};

#define TROUBLE(name, words) {offsetof(struct receiver_counts, name), words, false}
static const struct receiver_trouble troubles[] = {
	TROUBLE(no_token, "requests without a valid token were refused (401); set OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer TOKEN' where they come from"),
	TROUBLE(unreadable, "requests could not be read (400): is another protocol than OTLP sent?"),
	TROUBLE(grpc, "connections of OTLP/gRPC came to the port for OTLP/HTTP; set OTEL_EXPORTER_OTLP_ENDPOINT to the port for OTLP/gRPC (--listen-grpc)"),
	TROUBLE(refused, "requests were refused for now (429); a larger --spans-in-memory accepts more"),
	TROUBLE(dropped, "requests with metrics or logs were accepted and dropped"),
	TROUBLE(repeated, "duplicate requests were counted once"),
	{offsetof(struct receiver_counts, ahead), "spans begin minutes from now: the clock of their sender is ahead; they are kept at the times they say", true},
	TROUBLE(crowded, "windows were closed early: senders' clocks differ too much, or old spans are sent again; their requests are in several parts"),
	TROUBLE(pressed, "windows were closed early, because what is sent takes more memory than there is for it: many different names, versions or windows; their requests are in several parts"),
	TROUBLE(other_names, "names beyond the first 65536 are counted as one, '(other names)': names of operations hold numbers or addresses; name them by the route"),
	TROUBLE(spared, "stored parts are older than --keep by this machine's clock, but not by what was received after them: the clock is ahead, or little was received; they stay until as much was"),
	TROUBLE(left_out, "requests were left out: they came for too many different windows at a time"),
};

static uint64_t trouble_of(const struct receiver_counts *counts, const struct receiver_trouble *t)
{
	return *(const uint64_t *)((const char *)counts + t->offset);
}

/* Each incident when it is first seen. */
static void warn_of_troubles(const struct receiver_counts *now, struct receiver_counts *told)
{
	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++)
		if (!troubles[i].again && trouble_of(now, &troubles[i]) && !trouble_of(told, &troubles[i]))
			log_warning("%" PRIu64 " %s", trouble_of(now, &troubles[i]), troubles[i].words);
	*told = *now;
}

/* Once a minute as long as such spans come: which service, and how far ahead it is. */
static void warn_of_clocks(const struct receiver_counts *now, uint64_t *told, int64_t *told_at)
{
	if (now->ahead == *told || clock_boot() - *told_at < 60 * NS_PER_SEC)
		return;
	log_warning("%" PRIu64 " spans begin minutes from now; set the clock of what sends the service '%s' (it is ahead by %s)", now->ahead - *told,
		    now->ahead_service, CLOCK_SPAN(now->ahead_by));
	*told = now->ahead;
	*told_at = clock_boot();
}

static void print_counts(const struct receiver_counts *counts)
{
	printf("%" PRIu64 " requests, %" PRIu64 " spans, %" PRIu64 " of them not readable; %" PRIu64 " requests were refused for now\n",
	       counts->requests, counts->spans, counts->rejected, counts->refused);
	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++)
		if (trouble_of(counts, &troubles[i]))
			printf("  %" PRIu64 " %s\n", trouble_of(counts, &troubles[i]), troubles[i].words);
}

static int run_receiver(struct receiver *r)
{
	struct receiver_counts counts, told = {};
	uint64_t ahead_told = 0;
	int64_t ahead_told_at = INT64_MIN / 2;
	int result = 0;

	while (!ended) {
		poll(NULL, 0, 1000);
		result = receiver_tick(r);
		if (result < 0)
			log_error("cannot write to the store (%s); trying again", strerror(-result));
		counts = receiver_counts(r);
		warn_of_troubles(&counts, &told);
		warn_of_clocks(&counts, &ahead_told, &ahead_told_at);
	}
	result = receiver_stop(r, &counts);
	print_counts(&counts);
	if (result < 0)
		log_error("the last window could not be written: %s", strerror(-result));
	return result < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

int spans_receive(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **words = argv + 1;
	_cleanup_free_ char *token_file = q->token_file ? strdup(q->token_file) : users_token_file(), *error = NULL;
	struct receive_options o = {.listen = q->listen, .listen_grpc = q->listen_grpc, .cert_file = q->cert_file, .key_file = q->key_file,
				    .window = !q->window ? RECEIVE_WINDOW : q->window > SHORTEST ? q->window : SHORTEST,
				    .flush = FLUSH,
				    .keep = q->keep};
	struct receiver *receiver;
	int r, status;

	if (n)
		return verb_usage_error("spans receive", "unexpected argument '%s'", words[0]);
	if (spans_pipeline_options(q, 0, &o.pipeline) < 0)
		return EXIT_USAGE;
	o.token_file = token_file;
	if (!token_file || user_token_make(token_file, "spans") < 0) {
		log_error("cannot create the token file %s; choose another with --token-file", token_file ? token_file : "it");
		return EXIT_CANNOT;
	}
	if (verb_give_up_rights(DAEMON_RECEIVES))
		return EXIT_CANNOT;
	o.store = spans_open_store(common, true);
	if (!o.store)
		return EXIT_CANNOT;
	/* a large body goes back to the system when it is answered: else the C library keeps those of each thread */
	locked_memory_use_one_heap();
	listen_for_the_end();
	certificate_warn(q->cert_file);
	r = receiver_start(&o, &receiver, &error);
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		span_store_close(o.store);
		return EXIT_CANNOT;
	}
	printf("listening on port %u for OTLP/HTTP (/v1/traces)", receiver_port(receiver));
	if (receiver_grpc_port(receiver))
		printf(" and on port %u for OTLP/gRPC", receiver_grpc_port(receiver));
	printf("; senders need a token of %s:\n  OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer TOKEN'\n", token_file);
	if (receiver_grpc_error(receiver))
		log_warning("OTLP/gRPC is not received: %s", receiver_grpc_error(receiver));
	fflush(stdout);
	status = run_receiver(receiver);
	span_store_close(o.store);
	return status;
}

/* --- watch ---------------------------------------------------------------------------------------------------------------- */

static int run_command(const char *command, const char *finding)
{
	FILE *f = popen(command, "we");
	int status;

	if (!f)
		return -errno;
	fputs(finding, f);
	status = pclose(f);
	if (WIFSIGNALED(status))
		log_warning("'%s' was ended by signal %d", command, WTERMSIG(status));
	else if (status)
		log_warning("'%s' ended with status %d", command, WEXITSTATUS(status));
	return 0;
}

static void post(const char *url, const char *finding)
{
	_cleanup_free_ char *error = NULL;
	int r = webhook_post(url, finding, &error);

	if (r < 0)
		log_error("cannot post the finding: %s", error ? error : strerror(-r));
}

static void act(const struct spans_query *q, const char *finding)
{
	if (q->run)
		run_command(q->run, finding);
	if (q->webhook)
		post(q->webhook, finding);
}

/* A window of the store and its past. */
struct watched {
	struct span_store *store;
	int64_t complete; /* until when the store has everything, wall ns */
	int64_t latest;	  /* the latest window judged */
	bool slower;	  /* as it is */
	struct deployments deployments; /* known when the window that is judged was due */
};

/* Says it when it begins and when it is gone. Of an earlier window, which late spans have reopened, it says only what is slower. */
static void tell(struct watched *w, int64_t begin, bool slower, const char *headline)
{
	if (begin < w->latest) {
		if (slower)
			printf("%s, with late spans: %s\n", CLOCK_LOCAL(begin), headline);
		return;
	}
	w->latest = begin;
	if (slower && !w->slower)
		printf("%s: %s\n", CLOCK_LOCAL(begin), headline);
	else if (!slower && w->slower)
		printf("%s: it has ended\n", CLOCK_LOCAL(begin));
	fflush(stdout);
	w->slower = slower;
}

/* The windows before `begin` that were not slower, the latest first; their number. */
static size_t past_of(const struct spans_query *q, struct watched *w, int64_t begin, int64_t past[PAST])
{
	size_t n = 0;

	for (int64_t k = 1; k <= PAST_SEARCHED && n < PAST; k++) {
		int64_t at = begin - k * q->window, part, requests;
		struct span_judged judged;

		if (span_store_newest(w->store, at, at + q->window, &part, &requests) < 0 || !requests)
			continue;
		if (span_store_judged(w->store, q->window, at, &judged) > 0 && span_is_regression((enum span_verdict)judged.verdict))
			continue;
		past[n++] = at;
	}
	return n;
}

/* A verdict on some requests; free both texts. */
struct judgement {
	json_t *answer; /* NULL: there is nothing to compare with */
	char *headline;
	int verdict;
};

static void judgement_free(struct judgement *j)
{
	json_decref(j->answer);
	free(j->headline);
}

static int judge_between(struct common *common, const struct spans_query *q, struct watched *w, int64_t begin, int64_t end, bool was_slower,
			 struct judgement *ret)
{
	int64_t past[PAST];
	const struct spans_window window = {begin, end, past, past_of(q, w, begin, past), &w->deployments, was_slower};

	*ret = (struct judgement){.verdict = VERDICT_UNCLEAR};
	return window.n_past ? spans_judge_window(common, q, &window, &ret->answer, &ret->headline, &ret->verdict) : 0;
}

/* Was the window before it judged? Then *ret says whether it was slower. */
static bool judged_before(const struct spans_query *q, struct watched *w, int64_t begin, bool *ret)
{
	struct span_judged judged;
	bool known = span_store_judged(w->store, q->window, begin - q->window, &judged) > 0;

	*ret = known && span_is_regression((enum span_verdict)judged.verdict);
	return known;
}

/* A window alone; if that is not slower, together with the one before: what is too faint for one may be sure in two. */
static int judge_requests(struct common *common, const struct spans_query *q, struct watched *w, int64_t begin, struct judgement *ret)
{
	_cleanup_(judgement_free) struct judgement two = {};
	bool was_slower, known = judged_before(q, w, begin, &was_slower);
	int r = judge_between(common, q, w, begin, begin + q->window, was_slower, ret);

	if (r < 0 || span_is_regression((enum span_verdict)ret->verdict) || !known || was_slower)
		return r;
	r = judge_between(common, q, w, begin - q->window, begin + q->window, false, &two);
	if (r < 0 || !span_is_regression((enum span_verdict)two.verdict))
		return r;
	judgement_free(ret);
	*ret = two;
	two = (struct judgement){};
	return 0;
}

/* The file and the store may have more of them than at the last window. A file that cannot be read now must not make the watch blind. */
static void renew_deployments(struct common *common, const struct spans_query *q, struct watched *w)
{
	struct deployments now = {};

	if (spans_deployments(common, q, true, &now) < 0) {
		log_warning("windows are judged with the deployments that were known before");
		deployments_free(&now);
		return;
	}
	deployments_free(&w->deployments);
	w->deployments = now;
}

/* Judges the window that begins there if it has requests, has not been judged, or has late ones. 1 = judged, 0 = there is nothing to
 * judge, -errno. *ret_finding: caller frees. */
static int judge_window(struct common *common, const struct spans_query *q, struct watched *w, int64_t begin, char **ret_finding)
{
	_cleanup_(judgement_free) struct judgement j = {};
	struct span_judged judged = {};
	int64_t part, requests;
	int r = span_store_newest(w->store, begin, begin + q->window, &part, &requests);

	if (r < 0 || !requests)
		return r;
	r = span_store_judged(w->store, q->window, begin, &judged);
	if (r < 0 || (r > 0 && (judged.looks >= LOOKS || judged.part >= part)))
		return r < 0 ? r : 0;
	renew_deployments(common, q, w);
	r = judge_requests(common, q, w, begin, &j);
	if (r < 0)
		return r;
	judged = (struct span_judged){j.verdict, part, judged.looks + 1};
	if (j.answer)
		*ret_finding = json_dumps(j.answer, JSON_INDENT(1));
	r = span_store_judge(w->store, q->window, begin, &judged);
	tell(w, begin, span_is_regression((enum span_verdict)j.verdict), j.headline ? j.headline : "slower");
	return r < 0 ? r : 1;
}

/* Everything that is finished and not judged. A finding of now is acted on; one of before this process began is only reported. */
static int look(struct common *common, const struct spans_query *q, struct watched *w)
{
	int64_t width = q->window, now = clock_wall(), end;
	_cleanup_free_ char *finding = NULL;
	bool was_slower = w->slower;
	int r = span_store_complete(w->store, &w->complete);

	if (r < 0)
		return r;
	if (r == 0 || now - w->complete > GIVE_UP + width)
		w->complete = now;
	end = w->complete / width * width;
	for (int64_t begin = end - PAST * width; r >= 0 && begin < end; begin += width) {
		_cleanup_free_ char *one = NULL;

		r = judge_window(common, q, w, begin, &one);
		if (one) {
			free(finding);
			finding = TAKE(one);
		}
	}
	if (r >= 0 && w->slower && !was_slower)
		act(q, finding ? finding : "{}");
	return r < 0 ? r : 0;
}

/* Where a watch that ended left off: as the latest window was judged. */
static void take_up(const struct spans_query *q, struct watched *w)
{
	int64_t end = clock_wall() / q->window * q->window;
	struct span_judged judged;

	for (int64_t k = 0; k <= PAST; k++) {
		if (span_store_judged(w->store, q->window, end - k * q->window, &judged) <= 0)
			continue;
		w->slower = span_is_regression((enum span_verdict)judged.verdict);
		w->latest = end - k * q->window;
		return;
	}
}

static void say_what_runs(const struct spans_query *q, const struct watched *w)
{
	printf("judged until %s; the window that began then still runs, until %s\n",
	       CLOCK_LOCAL(w->complete / q->window * q->window),
	       CLOCK_LOCAL(w->complete / q->window * q->window + q->window));
	fflush(stdout);
}

static int watch(struct common *common, const struct spans_query *q, struct watched *w)
{
	bool said = false;
	int r = 0;

	take_up(q, w);
	while (!ended) {
		r = look(common, q, w);
		if (r < 0)
			log_error("the windows cannot be judged: %s", span_store_error(w->store));
		else if (!said)
			say_what_runs(q, w);
		said = true;
		if (q->once)
			break;
		poll(NULL, 0, LOOK_EACH);
	}
	return r < 0 ? EXIT_CANNOT : w->slower ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

int spans_watch(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **words = argv + 1;
	struct spans_query with_window = *q;
	struct watched w = {};
	int status;

	if (n)
		return verb_usage_error("spans watch", "unexpected argument '%s'", words[0]);
	with_window.window = q->window ? q->window : WATCH_WINDOW;
	if (with_window.window < SHORTEST)
		return verb_usage_error("spans watch", "--window is at least 10 s");
	if (verb_give_up_rights(DAEMON_WATCHES))
		return EXIT_CANNOT;
	w.store = spans_open_store(common, true);
	if (!w.store)
		return EXIT_CANNOT;
	listen_for_the_end();
	status = spans_deployments(common, q, true, &w.deployments) < 0 ? EXIT_CANNOT : watch(common, &with_window, &w);
	deployments_free(&w.deployments);
	span_store_close(w.store);
	return status;
}
