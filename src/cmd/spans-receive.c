/* whyslow spans receive, watch: traces over the network into the store; each window of it held against those before. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/serve.h"
#include "cmd/spans.h"
#include "daemon/span-receive.h"
#include "net/users.h"
#include "net/webhook.h"

#define FLUSH	 (10 * NS_PER_SEC)
#define PAST	 12 /* windows a new one is compared with */
#define SHORTEST (10 * NS_PER_SEC)

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

static int run_receiver(struct receiver *r)
{
	struct receiver_counts counts;
	int result = 0;

	while (!ended) {
		poll(NULL, 0, 1000);
		result = receiver_tick(r);
		if (result < 0)
			log_error("cannot write to the store (%s); trying again", strerror(-result));
	}
	counts = receiver_counts(r);
	result = receiver_stop(r);
	printf("%" PRIu64 " requests, %" PRIu64 " spans, %" PRIu64 " of them not readable; %" PRIu64 " requests were told to come again\n",
	       counts.requests, counts.spans, counts.rejected, counts.refused);
	if (result < 0)
		log_error("the last window could not be written: %s", strerror(-result));
	return result < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

int spans_receive(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **words = argv + 1;
	_cleanup_free_ char *token_file = spans_arg.token_file ? strdup(spans_arg.token_file) : serve_token_file(), *error = NULL;
	struct receive_options o = {.listen = spans_arg.listen, .cert_file = spans_arg.cert_file, .key_file = spans_arg.key_file,
				    .window = spans_arg.window > SHORTEST ? spans_arg.window : SHORTEST, .flush = FLUSH,
				    .keep = spans_arg.keep};
	struct receiver *receiver;
	int r, status;

	if (n)
		return usage_error("spans receive", "takes no files: '%s'", words[0]);
	if (spans_pipeline_options(0, &o.pipeline) < 0)
		return EXIT_USAGE;
	o.token_file = token_file;
	if (!token_file || token_make(token_file, "spans") < 0) {
		log_error("cannot make %s, where those who may send are listed; --token-file names another", token_file ? token_file : "it");
		return EXIT_CANNOT;
	}
	o.store = spans_open_store(common, true);
	if (!o.store)
		return EXIT_CANNOT;
	listen_for_the_end();
	serve_warn_of_certificate(spans_arg.cert_file);
	r = receiver_start(&o, &receiver, &error);
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		span_store_close(o.store);
		return EXIT_CANNOT;
	}
	printf("listening on port %u for OTLP/HTTP (/v1/traces); senders need a token of %s:\n"
	       "  OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer TOKEN'\n",
	       receiver_port(receiver), token_file);
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
		log_error("the finding could not be posted: %s", error ? error : strerror(-r));
}

static void act(const char *finding)
{
	if (spans_arg.run)
		run_command(spans_arg.run, finding);
	if (spans_arg.webhook)
		post(spans_arg.webhook, finding);
}

/* Says it once when it begins and once when it is gone. */
static void tell(bool slower, bool *was_slower, const char *finding, const char *headline)
{
	if (slower && !*was_slower) {
		printf("%s\n", headline);
		act(finding);
	} else if (!slower && *was_slower) {
		puts("it is gone again");
	}
	fflush(stdout);
	*was_slower = slower;
}

static int look(struct common *common, int64_t now, bool *was_slower)
{
	_cleanup_free_ char *headline = NULL, *finding = NULL;
	json_t *answer = NULL;
	bool slower = false;
	int r;

	spans_arg.only_from = now - (PAST + 1) * spans_arg.window;
	r = spans_judge_since(common, now - spans_arg.window, &answer, &headline, &slower);
	spans_arg.only_from = spans_arg.only_to = 0;
	if (r < 0)
		return r;
	finding = json_dumps(answer, JSON_INDENT(1));
	json_decref(answer);
	tell(slower, was_slower, finding ? finding : "{}", headline ? headline : "slower");
	return slower;
}

int spans_watch(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **words = argv + 1;
	bool slower = false;
	int r = 0;

	if (n)
		return usage_error("spans watch", "takes no files: '%s'", words[0]);
	if (spans_arg.window < SHORTEST)
		return usage_error("spans watch", "--window is at least 10 s");
	listen_for_the_end();
	while (!ended) {
		r = look(common, wall_now(), &slower);
		if (spans_arg.once)
			break;
		for (int64_t slept = 0; slept < spans_arg.window && !ended; slept += NS_PER_SEC)
			poll(NULL, 0, 1000);
	}
	return r < 0 ? EXIT_CANNOT : slower ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}
