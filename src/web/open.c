/* Opens the web view in the user's browser; starts `serve` if it does not run yet.
 *
 * The login code comes from the server over its control socket, which proves who serves (web/web-control.h), the one that listens on the
 * port. It reaches the browser in a file that only the user reads: a command line is public. The code is good for one login. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "web/serve-verb.h"
#include "web/web-control.h"

#define START_TRIES  100 /* of 100 ms: a starved machine takes its time */
#define BROWSER_TIME (30 * NS_PER_SEC) /* to open the page */

extern char **environ;

/* A server, and the code it gave. */
struct found {
	char *recording; /* that is wanted */
	char *address, *code, *folder;
	uint16_t port;
};

static void found_free(struct found *f)
{
	if (f->code)
		explicit_bzero(f->code, strlen(f->code));
	FREE_ALL(f->recording, f->address, f->code, f->folder);
}

static bool take_server(void *data, const char *folder, uint16_t port, const json_t *answer)
{
	struct found *f = data;
	const char *address, *code, *recording;

	if (json_unpack((json_t *)answer, "{s:s, s:s, s:s}", "address", &address, "code", &code, "recording", &recording) < 0 ||
	    strcmp(recording, f->recording) != 0)
		return true;
	f->address = strdup(address);
	f->code = strdup(code);
	f->folder = strdup(folder);
	f->port = port;
	return false;
}

static bool find(const struct common *common, struct found *f)
{
	(void)web_ask_all(common->config.store_run_dir, "login", take_server, f);
	return f->address && f->code && f->folder;
}

/* errors: a descriptor for standard error; -1 = it is dropped. */
static int start_detached(char *const *argv, int errors, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (errors < 0)
		posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&actions, errors, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	r = -posix_spawnp(ret, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

static int start_server(const struct common *common, int errors, pid_t *ret)
{
	const struct {
		const char *name, *value;
	} given[] = {{"--store", common->store_file}, {"--from", common->from_file}, {"--run-dir", common->run_dir}, {"--config", common->config_file}};
	const char *argv[5 + 2 * ARRAY_SIZE(given)] = {"/proc/self/exe", "serve", "--any-port", "--no-login"};
	size_t n = 4;

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (given[i].value) {
			argv[n++] = given[i].name;
			argv[n++] = given[i].value;
		}
	return start_detached((char *const *)argv, errors, ret);
}

/* A server that has said why it ends, or that does not answer: it is ended, and its reason is said. */
static void explain(pid_t server, int errors)
{
	_cleanup_str_ struct str said = {};

	if (waitpid(server, NULL, WNOHANG) == 0) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	(void)ask_said(errors, &said);
	if (said.len)
		log_error("no web view can be started: %s", said.data);
	else
		log_error("no web view can be started: 'whyslow serve' did not answer within %d s; try again when the machine is less busy",
			  START_TRIES / 10);
}

static int find_or_start(const struct common *common, struct found *f)
{
	_cleanup_close_ int errors = memfd_create("errors", MFD_CLOEXEC);
	pid_t server = 0;
	siginfo_t ended = {};
	int r = find(common, f) ? 1 : start_server(common, errors, &server);

	for (int i = 0; r == 0 && i < START_TRIES && !ended.si_pid; i++) {
		poll(NULL, 0, 100);
		r = find(common, f);
		(void)waitid(P_PID, (id_t)server, &ended, WEXITED | WNOHANG | WNOWAIT);
	}
	if (r > 0)
		return 0;
	if (r < 0)
		log_error("no web view can be started: %s", strerror(-r));
	else
		explain(server, errors);
	return -ECONNREFUSED;
}

/* --- the browser --- */

static int put_page(FILE *f, const char *address)
{
	fprintf(f, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><title>whyslow</title>"
		   "<meta http-equiv=\"refresh\" content=\"0; url=%s\"></head><body><p><a href=\"%s\">Open whyslow</a></p></body></html>\n", address, address);
	return fflush(f) == 0 && !ferror(f) ? 0 : -EIO;
}

/* A page that leads to the address, for its owner alone, in the folder that others do not write. The caller frees the path. */
static int write_page(const struct common *common, const char *address, char **ret)
{
	_cleanup_free_ char *folder = NULL, *path = NULL, *error = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	int r = web_folder(common->config.store_run_dir, &folder, &error), fd;

	if (r < 0)
		return r;
	if (asprintf(&path, "%s/open-XXXXXX.html", folder) < 0)
		return -ENOMEM;
	fd = mkostemps(path, strlen(".html"), O_CLOEXEC); /* 0600 */
	f = fd < 0 ? NULL : fdopen(fd, "w");
	r = f ? put_page(f, address) : -errno;
	if (r == 0)
		*ret = TAKE(path);
	else if (fd >= 0)
		unlink(path);
	return r;
}

static bool is_used(const struct found *f)
{
	_cleanup_free_ char *words = NULL;
	json_t *said = asprintf(&words, "waits %s", f->code) < 0 ? NULL : web_ask(f->folder, f->port, words);
	bool used = said && !json_is_true(json_object_get(said, "waits"));

	json_decref(said);
	return used;
}

static bool is_used_in_time(const struct found *f)
{
	int64_t until = clock_boot() + BROWSER_TIME;
	bool used;

	while (!(used = is_used(f)) && clock_boot() < until)
		poll(NULL, 0, 100);
	return used;
}

/* Whether the browser has opened it: then the code is used up. */
static bool open_in_browser(const struct common *common, const struct found *f, const char *address)
{
	_cleanup_free_ char *page = NULL;
	char *argv[] = {(char *)"xdg-open", NULL, NULL};
	bool used;
	pid_t child;

	if (!(getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) || write_page(common, address, &page) < 0)
		return false;
	argv[1] = page;
	used = start_detached(argv, -1, &child) == 0 && is_used_in_time(f);
	unlink(page);
	return used;
}

/* A user who may not read the recording learns it from the page. */
static bool is_absent(const struct common *common, uint64_t id)
{
	struct store *store = common_asks_recorder(common) ? NULL : common_open_store(common, STORE_READ);
	struct mark m;
	int r = store ? store_mark_get(store, (int64_t)id, &m) : 0;

	if (store && r == 0)
		mark_free(&m);
	store_close(store);
	return r == -ENOENT;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_(found_free) struct found f = {.recording = serve_recording(common)};
	_cleanup_free_ char *address = NULL;
	uint64_t id;

	if (argc > 2 || (argc == 2 && str_parse_u64(argv[1], &id) < 0))
		return verb_usage_error("open",
					"expected a mark's number, or none; 'whyslow list' shows them");
	if (argc == 2 && is_absent(common, id))
		return log_failure(EXIT_ABSENT, "there is no mark %s; 'whyslow list' shows them", argv[1]);
	if (!f.recording || find_or_start(common, &f) < 0)
		return EXIT_CANNOT;
	if (asprintf(&address, "%s#%s%s%slogin=%s", f.address, argc == 2 ? "mark=" : "", argc == 2 ? argv[1] : "", argc == 2 ? "&" : "", f.code) < 0)
		return EXIT_CANNOT;
	if (open_in_browser(common, &f, address))
		puts("opened in the browser");
	else
		printf("%s%s\n", isatty(STDOUT_FILENO) ? "Open this address in a browser; it can be used once, within two minutes:\n" : "", address);
	explicit_bzero(address, strlen(address));
	return EXIT_ANSWERED;
}

const struct verb verb_open = {
	.name = "open",
	.group = "Daily use",
	.words = "[ID] ",
	.help = "open the web view, at a mark or now",
	.about = "Starts 'whyslow serve' if none runs, and opens the page in your browser; without a desktop it prints an address that works "
		 "once, within two minutes.",
	.examples = (const struct example[]){
		{"whyslow open", "the page at this moment"},
		{"whyslow open 7", "the page at incident 7"},
		{}},
	.options = (const struct option_row[]){{}},
	.text_only = true,
	.runs_programs = true,
	.run = run,
};
