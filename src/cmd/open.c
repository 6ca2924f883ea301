/* Opens the web view in the user's browser; starts `serve` if it does not run yet. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/serve.h"
#include "net/http-client.h"
#include "net/users.h"

#define PORT	    7170
#define START_TRIES 50 /* of 100 ms: a starved machine takes its time */

extern char **environ;

static bool answers(const char *token)
{
	struct http_client_options options = {.token = token};
	struct http_request request = {.url = "http://" SERVE_LISTEN "/api/v1/openapi.json"};
	_cleanup_free_ char *error = NULL;
	struct http_reply reply = {};
	struct http_client *client;
	bool good;

	if (http_client_open(&options, &client, &error) < 0)
		return false;
	good = http_send(client, &request, &reply) == 0 && reply.status == 200;
	http_reply_free(&reply);
	http_client_close(client);
	return good;
}

static int start_detached(char *const *argv, bool quiet)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t child;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	for (int fd = 1; quiet && fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	r = -posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

static int start_server(const struct common *common)
{
	const char *argv[12] = {"/proc/self/exe", "serve"};
	size_t n = 2;

	if (common->store_file) {
		argv[n++] = "--store";
		argv[n++] = common->store_file;
	}
	if (common->from_file) {
		argv[n++] = "--from";
		argv[n++] = common->from_file;
	}
	if (common->run_dir) {
		argv[n++] = "--run-dir";
		argv[n++] = common->run_dir;
	}
	return start_detached((char *const *)argv, true);
}

static int wait_for_it(const struct common *common, const char *token)
{
	int r = answers(token) ? 1 : start_server(common);

	for (int i = 0; r == 0 && i < START_TRIES; i++) {
		poll(NULL, 0, 100);
		r = answers(token);
	}
	if (r > 0)
		return 0;
	log_error("no web view at " SERVE_LISTEN ": run 'whyslow serve' to see why");
	return -ECONNREFUSED;
}

static int make_sure_it_runs(const struct common *common, const char *token_file)
{
	_cleanup_free_ char *error = NULL;
	struct credentials c = {};
	int r = token_make(token_file, "user");

	if (r == 0)
		r = credentials_read(token_file, &c, &error);
	if (r < 0)
		log_error("%s: %s", token_file, error ? error : strerror(-r));
	else
		r = wait_for_it(common, c.token);
	credentials_free(&c);
	return r;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_free_ char *token_file = serve_token_file(), *address = NULL, *error = NULL, *state = NULL;
	char *const browser[] = {(char *)"xdg-open", NULL, NULL};
	char *words[3] = {browser[0]};
	uint64_t id;

	if (argc > 2 || (argc == 2 && parse_u64(argv[1], &id) < 0))
		return usage_error("open", "takes a mark's number, or none; 'whyslow list' shows them");
	if (!token_file || (argc == 2 && asprintf(&state, "mark=%s", argv[1]) < 0))
		return EXIT_CANNOT;
	if (make_sure_it_runs(common, token_file) < 0)
		return EXIT_CANNOT;
	if (serve_address("127.0.0.1", PORT, false, token_file, state, &address, &error) < 0) {
		log_error("%s", error ? error : "out of memory");
		return EXIT_CANNOT;
	}
	words[1] = address;
	if ((getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) && start_detached(words, true) == 0) {
		puts("opened in the browser");
		return EXIT_ANSWERED;
	}
	printf("%s\n", address);
	return EXIT_ANSWERED;
}

const struct verb verb_open = {
	.name = "open",
	.group = "Every day",
	.words = "[ID] ",
	.help = "the web view, at a mark or now",
	.options = (const struct option_row[]){{}},
	.run = run,
};
