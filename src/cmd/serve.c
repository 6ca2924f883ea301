#include "cmd/serve.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/serve.h"
#include "net/certificate.h"
#include "net/users.h"
#include "view/json.h"

static const char *arg_listen, *arg_cert, *arg_key, *arg_token_file, *arg_name, *arg_spans, *arg_fleet;
static bool arg_openapi;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "listen", "ADDRESS:PORT", &arg_listen, "where (default " SERVE_LISTEN "; elsewhere only with a certificate)"},
	{OPTION_TEXT, 0, "tls-cert", "FILE", &arg_cert, "certificate, PEM"},
	{OPTION_TEXT, 0, "tls-key", "FILE", &arg_key, "its key, PEM"},
	{OPTION_TEXT, 0, "token-file", "FILE", &arg_token_file, "who may ask: lines 'NAME TOKEN' (default: one is made)"},
	{OPTION_TEXT, 0, "name", "HOST", &arg_name, "a further name of this machine"},
	{OPTION_TEXT, 0, "spans", "FILE", &arg_spans, "traced requests: a store that 'spans load' or 'spans receive' wrote (default: the usual one)"},
	{OPTION_TEXT, 0, "fleet", "FILE", &arg_fleet, "counters of a fleet: what 'fleet load' wrote"},
	{OPTION_FLAG, 0, "openapi", NULL, &arg_openapi, "print the interface's description and end"},
	{},
};

char *serve_token_file(void)
{
	const char *home = getenv("XDG_CONFIG_HOME");
	const struct passwd *user = getpwuid(geteuid());
	char *path;

	if (geteuid() == 0)
		return strdup("/etc/whyslow/tokens");
	if (home)
		return asprintf(&path, "%s/whyslow/tokens", home) < 0 ? NULL : path;
	return asprintf(&path, "%s/.config/whyslow/tokens", user ? user->pw_dir : "/tmp") < 0 ? NULL : path;
}

int serve_address(const char *host, uint16_t port, bool tls, const char *token_file, const char *state, char **ret, char **ret_error)
{
	struct credentials c = {};
	int r = credentials_read(token_file, &c, ret_error);

	if (r == 0 && asprintf(ret, "%s://%s:%u/?token=%s%s%s", tls ? "https" : "http", host, port, c.token ? c.token : "",
			       state ? "#" : "", state ? state : "") < 0)
		r = -ENOMEM;
	credentials_free(&c);
	return r;
}

void serve_warn_of_certificate(const char *file)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_str_ struct str warning = {};
	int64_t end;

	if (!file || certificate_end(file, &end, &error) < 0)
		return;
	certificate_warning(end, wall_now(), &warning);
	if (warning.len)
		log_warning("the certificate %s %s", file, warning.data);
}

static int print_openapi(void)
{
	json_t *document = serve_openapi();

	json_print(document, JSON_INDENT(1), stdout);
	return EXIT_ANSWERED;
}

static int tell(const struct serve *s, const char *token_file)
{
	_cleanup_free_ char *address = NULL, *error = NULL;
	int r = serve_address(arg_name ? arg_name : "127.0.0.1", serve_port(s), arg_cert, token_file, NULL, &address, &error);

	if (r < 0)
		return r;
	printf("%s\nOpen it in a browser; the token in it lets in whoever has it. Ctrl-C ends.\n", address);
	fflush(stdout);
	return 0;
}

static int serve(const struct common *common, const char *token_file)
{
	const char *const names[] = {arg_name, NULL};
	struct serve_options o = {.asker = common_asker(common),
				  .listen = arg_listen ? arg_listen : SERVE_LISTEN, .cert_file = arg_cert, .key_file = arg_key,
				  .token_file = token_file, .names = names, .spans_file = arg_spans, .fleet_file = arg_fleet};
	_cleanup_free_ char *error = NULL;
	struct serve *s;
	sigset_t end;
	int r, ended;

	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL); /* the server's threads leave them to us */
	serve_warn_of_certificate(arg_cert);
	r = serve_start(&o, &s, &error);
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		return EXIT_CANNOT;
	}
	if (tell(s, token_file) == 0)
		sigwait(&end, &ended);
	serve_stop(s);
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_free_ char *token_file = arg_token_file ? strdup(arg_token_file) : serve_token_file();
	const struct passwd *user = getpwuid(geteuid());
	int r;

	if (argc > 1)
		return usage_error("serve", "takes no words: '%s'", argv[1]);
	if (arg_openapi)
		return print_openapi();
	if (!arg_cert != !arg_key)
		return usage_error("serve", "--tls-cert and --tls-key go together");
	r = token_file ? token_make(token_file, user ? user->pw_name : "user") : -ENOMEM;
	if (r < 0) {
		log_error("cannot make a token in %s: %s (--token-file names another file)", token_file ? token_file : "?", strerror(-r));
		return EXIT_CANNOT;
	}
	return serve(common, token_file);
}

const struct verb verb_serve = {
	.name = "serve",
	.group = "Run and tend",
	.words = "",
	.help = "the web view and its HTTP interface, on this machine",
	.options = options,
	.run = run,
};
