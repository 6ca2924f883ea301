#include "web/serve-verb.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/net/certificate.h"
#include "lib/net/users.h"
#include "lib/rights/fewer-rights.h"
#include "lib/view/json.h"
#include "web/serve.h"

#define END_PATIENCE 5 /* s for answers that are under way to end */

static const char *arg_listen, *arg_cert, *arg_key, *arg_token_file, *arg_name, *arg_spans, *arg_fleet, *arg_calls, *arg_hosts, *arg_user;
static const char *arg_add_token, *arg_revoke_token, *arg_scope, *arg_end_session;
static int64_t arg_expires;
static bool arg_openapi, arg_any_port, arg_no_login, arg_tokens, arg_sessions;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "listen", "ADDRESS:PORT", &arg_listen, "where (default " SERVE_LISTEN "; elsewhere only with a certificate)"},
	{OPTION_FLAG, 0, "any-port", NULL, &arg_any_port, "use another port of 127.0.0.1 if that one is in use"},
	{OPTION_TEXT, 0, "tls-cert", "FILE", &arg_cert, "certificate, PEM"},
	{OPTION_TEXT, 0, "tls-key", "FILE", &arg_key, "its key, PEM"},
	{OPTION_TEXT, 0, "name", "HOST", &arg_name, "another name of this machine"},
	{OPTION_TEXT, 0, "spans", "FILE", &arg_spans, "traced requests: a store that 'spans load' or 'spans receive' wrote (default: the default store)"},
	{OPTION_TEXT, 0, "fleet", "FILE", &arg_fleet, "counters of a fleet: what 'fleet load' wrote"},
	{OPTION_TEXT, 0, "calls", "FILE", &arg_calls, "which server of the fleet calls which, as 'fleet why --calls'"},
	{OPTION_TEXT, 0, "hosts", "FILE", &arg_hosts, "recorders to ask about slow requests, as 'spans why --hosts'; its user must be able to read the list and its token files"},
	{OPTION_TEXT, 0, "user", "NAME", &arg_user, "when root starts it: run with this user's rights (default: the user who called sudo, else whyslow-web); 'root' shows everything"},
	{OPTION_FLAG, 0, "no-login", NULL, &arg_no_login, "print no address with a login code; 'whyslow open' makes one"},
	{OPTION_TEXT, 0, "token-file", "FILE", &arg_token_file, "file with the tokens of programs"},
	{OPTION_TEXT, 0, "add-token", "NAME", &arg_add_token, "make a token for a program, print it, and exit"},
	{OPTION_TEXT, 0, "scope", "SCOPE", &arg_scope, "scope of that token: all, read (default) or metrics"},
	{OPTION_SPAN, 0, "expires", "SPAN", &arg_expires, "lifetime of that token, e.g. 90d (default: unlimited)"},
	{OPTION_TEXT, 0, "revoke-token", "NAME", &arg_revoke_token, "revoke a token, and exit"},
	{OPTION_FLAG, 0, "tokens", NULL, &arg_tokens, "list the tokens, and exit"},
	{OPTION_FLAG, 0, "sessions", NULL, &arg_sessions, "list the sessions of running web views, and exit"},
	{OPTION_TEXT, 0, "end-session", "N", &arg_end_session, "end one session by its number, or all, and exit"},
	{OPTION_FLAG, 0, "openapi", NULL, &arg_openapi, "print the description of the HTTP interface, and exit"},
	{},
};

char *serve_recording(const struct common *c)
{
	char *text;

	return asprintf(&text, "%s\n%s\n%s\n%s", c->store_file ? c->store_file : "", c->from_file ? c->from_file : "",
			c->run_dir ? c->run_dir : "", c->config_file ? c->config_file : "") < 0 ? NULL : text;
}

static int print_openapi(void)
{
	_cleanup_free_ char *error = NULL;
	json_t *document = calls_openapi(verb_options_of, &error);

	if (!document)
		return log_failure(EXIT_CANNOT, "%s", error ? error : "out of memory");
	json_print(document, JSON_INDENT(1), stdout);
	return EXIT_ANSWERED;
}

/* --- serving --- */

/* Where nothing but the recorder is asked, root's rights are of no use. */
static bool gives_up_root(const struct common *c)
{
	return geteuid() == 0 && (arg_user || !(c->store_file || c->from_file || c->run_dir || c->config_file));
}

static int give_up_root(const struct serve_user *user, char **ret_error)
{
	int r = serve_become(user, ret_error);

	if (r == 0 && user->uid != 0)
		fprintf(stderr, "It serves as the user %s, and shows what that user may see; --user root shows everything.\n", user->name);
	return r;
}

static void print_address(const struct serve *s)
{
	char code[SECRET_TEXT];

	if (arg_no_login || serve_login_code(s, code) < 0)
		return;
	printf("%s#login=%s\nOpen it in a browser within ten minutes; it works once. 'whyslow open' makes another. Ctrl-C stops the server.\n",
	       serve_address(s), code);
	fflush(stdout);
	explicit_bzero(code, sizeof(code));
}

static void warn_of_clear_tokens(const struct serve *s)
{
	size_t n = serve_tokens_in_clear(s);

	if (n)
		log_warning("%zu token%s in the token file %s stored in clear text ('whyslow serve --tokens' shows which): replace each with --revoke-token NAME and --add-token NAME", n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

static int start(struct serve_options *o, struct serve **ret, char **ret_error)
{
	int r = serve_start(o, ret, ret_error);

	if (r != -EADDRINUSE || !arg_any_port)
		return r;
	free(*ret_error);
	*ret_error = NULL;
	o->listen = "127.0.0.1:0";
	return serve_start(o, ret, ret_error);
}

static void leave(int number)
{
	(void)number;
	_exit(EXIT_ANSWERED);
}

/* Who ends it does not wait for what a thread of it waits for: a recorder that is stopped, an answer, a disk. */
static void end_soon(void)
{
	(void)signal(SIGALRM, leave);
	alarm(END_PATIENCE);
}

static int serve(const struct common *common, const char *token_file)
{
	const char *const names[] = {arg_name, NULL};
	_cleanup_free_ char *error = NULL, *recording = serve_recording(common);
	bool drops = gives_up_root(common);
	struct serve_options o = {.verb_options = verb_options_of, .asker = drops ? common_recorder_asker(common) : common_asker(common), .run_dir = common->config.store_run_dir,
				  .recording = recording, .listen = arg_listen ? arg_listen : SERVE_LISTEN, .cert_file = arg_cert,
				  .key_file = arg_key, .token_file = token_file, .names = names, .spans_file = arg_spans, .fleet_file = arg_fleet, .calls_file = arg_calls, .hosts_file = arg_hosts};
	struct serve_user user = {};
	struct serve *s = NULL;
	sigset_t end;
	int r, ended;

	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL); /* the server's threads leave them to us */
	certificate_warn(arg_cert);
	r = fewer_rights_take_daemon(DAEMON_SERVES); /* before there are threads */
	if (r == 0 && drops)
		r = serve_choose_user(arg_user, &user, &error);
	if (r == 0 && drops && user.uid == 0)
		o.asker = common_asker(common);
	r = r ?: start(&o, &s, &error);
	if (r == 0 && drops)
		r = give_up_root(&user, &error);
	if (r == 0) {
		warn_of_clear_tokens(s);
		print_address(s);
		sigwait(&end, &ended);
		end_soon();
	} else {
		log_error("%s", error ? error : strerror(-r));
	}
	serve_stop(s);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_free_ char *token_file = arg_token_file ? strdup(arg_token_file) : users_token_file();
	const struct serve_token_options token = {token_file, arg_add_token ? arg_add_token : arg_revoke_token, arg_scope, arg_expires};

	if (argc > 1)
		return verb_usage_error("serve", "unexpected argument '%s'", argv[1]);
	if (arg_openapi)
		return print_openapi();
	if (!arg_cert != !arg_key)
		return verb_usage_error("serve", "--tls-cert and --tls-key require each other");
	if ((arg_scope || arg_expires) && !arg_add_token)
		return verb_usage_error("serve", "--scope and --expires require --add-token");
	if (arg_add_token)
		return serve_add_token(&token);
	if (arg_revoke_token)
		return serve_revoke_token(&token);
	if (arg_tokens)
		return serve_list_tokens(&token, common->json);
	if (arg_sessions)
		return serve_list_sessions(common);
	if (arg_end_session)
		return serve_end_session(common, arg_end_session);
	return serve(common, token_file);
}

const struct verb verb_serve = {
	.name = "serve",
	.group = "Administration",
	.words = "",
	.help = "serve the web view and its HTTP interface on this machine",
	.about = "Serves the page, the HTTP interface and /metrics until it is stopped. It listens on this machine alone unless it has a "
		 "certificate, gives root's rights up, and shows what its user may see. docs/serve.md has the details.",
	.examples = (const struct example[]){
		{"whyslow serve", "prints an address with a login code"},
		{"whyslow serve --listen 0.0.0.0:7170 --tls-cert serve.crt --tls-key serve.key", "for other machines"},
		{"whyslow serve --add-token prometheus --scope metrics", "a token for a program"},
		{}},
	.options = options,
	.runs_programs = true,
	.run = run,
};
